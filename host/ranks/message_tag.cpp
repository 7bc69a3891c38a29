// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/message_tag.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

namespace {

constexpr std::uint64_t mask(int bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

/// Bits that hold the numbers 0..count-1.
int bits_for(std::uint64_t count) { return count <= 1 ? 0 : static_cast<int>(std::bit_width(count - 1)); }

}  // namespace

MessageTags::MessageTags(const Workload& workload, const JobCollectives& collectives) {
  const std::uint64_t communicators = workload.communicators.size();
  std::uint64_t ordinals = 1;
  for (const RoleDag& dag : workload.roles) {
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      const OpKind kind = dag.kind(OpId(i));
      if (kind == OpKind::compute) continue;
      ordinals = std::max<std::uint64_t>(ordinals, std::uint64_t{dag.match_ordinal(OpId(i))} + 1);
      if (kind != OpKind::collective) user_tags_.push_back(dag.op(OpId(i)).tag);
    }
  }
  std::sort(user_tags_.begin(), user_tags_.end());
  user_tags_.erase(std::unique(user_tags_.begin(), user_tags_.end()), user_tags_.end());
  communicator_bits_ = bits_for(communicators);
  ordinal_bits_ = bits_for(ordinals);
  detail_bits_ = bits_for(
      std::max<std::uint64_t>({user_tags_.size(), collectives.program_size_max(), std::uint64_t{collectives.slots_max()} + 1}));
  iteration_bits_ = std::min(32, 63 - communicator_bits_ - ordinal_bits_ - detail_bits_);
  if (iteration_bits_ < iteration_bits_min) {
    fail("too-many-messages",
         fmt::format("the workload has too many communicators ({}), collectives in one of them ({}) and message tags or steps to "
                     "be told apart",
                     communicators, ordinals),
         SourcePlace::named("weft run"), "split the iteration into several, or reuse tags: equal sends are matched in order");
  }
}

std::uint64_t MessageTags::pack(const MessageTag& tag) const {
  WEFT_CHECK(tag.communicator <= mask(communicator_bits_) && tag.ordinal <= mask(ordinal_bits_) && tag.detail <= mask(detail_bits_),
             "a message fits the tags made for its run");
  std::uint64_t packed = tag.point_to_point ? 1 : 0;
  packed = packed << iteration_bits_ | (tag.iteration & mask(iteration_bits_));
  packed = packed << communicator_bits_ | tag.communicator;
  packed = packed << ordinal_bits_ | tag.ordinal;
  return packed << detail_bits_ | tag.detail;
}

MessageTag MessageTags::unpack(std::uint64_t packed) const {
  const auto take = [&packed](int bits) {
    const auto field = static_cast<std::uint32_t>(packed & mask(bits));
    packed >>= bits;
    return field;
  };
  MessageTag tag;
  tag.detail = take(detail_bits_);
  tag.ordinal = take(ordinal_bits_);
  tag.communicator = take(communicator_bits_);
  tag.iteration = take(iteration_bits_);
  tag.point_to_point = take(1) != 0;
  return tag;
}

std::uint64_t MessageTags::pack_stream(MessageTag tag) const {
  if (!tag.point_to_point) tag.detail = 0;
  return pack(tag);
}

bool MessageTags::ahead_of(std::uint32_t iteration, std::uint64_t current) const {
  return ((iteration - current) & mask(iteration_bits_)) < (std::uint64_t{1} << (iteration_bits_ - 1));
}

std::uint32_t MessageTags::index_of(std::uint32_t user_tag) const {
  const auto found = std::lower_bound(user_tags_.begin(), user_tags_.end(), user_tag);
  WEFT_CHECK(found != user_tags_.end() && *found == user_tag, "every tag of a run is in its index");
  return static_cast<std::uint32_t>(found - user_tags_.begin());
}

}  // namespace weft
