#include "host/message_tag.hpp"

#include <algorithm>
#include <string>

#include "core/check.hpp"

namespace weft {

namespace {

constexpr std::uint64_t mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

}  // namespace

std::uint64_t MessageTag::pack() const {
  std::uint64_t packed = point_to_point ? 1 : 0;
  packed = packed << iteration_bits | (iteration & mask(iteration_bits));
  packed = packed << communicator_bits | communicator;
  packed = packed << ordinal_bits | ordinal;
  return packed << detail_bits | detail;
}

std::uint64_t MessageTag::pack_without_step() const {
  MessageTag stream = *this;
  if (!point_to_point) stream.detail = 0;
  return stream.pack();
}

MessageTag MessageTag::unpack(std::uint64_t packed) {
  const auto take = [&packed](int bits) {
    const auto field = static_cast<std::uint32_t>(packed & mask(bits));
    packed >>= bits;
    return field;
  };
  MessageTag tag;
  tag.detail = take(detail_bits);
  tag.ordinal = take(ordinal_bits);
  tag.communicator = take(communicator_bits);
  tag.iteration = take(iteration_bits);
  tag.point_to_point = take(1) != 0;
  return tag;
}

TagIndex::TagIndex(std::span<const Workload* const> workloads) {
  for (const Workload* workload : workloads) {
    for (const RoleDag& dag : workload->roles) {
      for (std::uint32_t i = 0; i < dag.size(); ++i) {
        const OpKind kind = dag.kind(OpId(i));
        if (kind == OpKind::send || kind == OpKind::receive) tags_.push_back(dag.op(OpId(i)).tag);
      }
    }
  }
  std::sort(tags_.begin(), tags_.end());
  tags_.erase(std::unique(tags_.begin(), tags_.end()), tags_.end());
}

std::uint32_t TagIndex::index_of(std::uint32_t user_tag) const {
  const auto found = std::lower_bound(tags_.begin(), tags_.end(), user_tag);
  WEFT_CHECK(found != tags_.end() && *found == user_tag, "every tag of a run is in its index");
  return static_cast<std::uint32_t>(found - tags_.begin());
}

void check_tag_limits(const Workload& workload, const SourcePlace& place, Diagnostics& diagnostics) {
  if (workload.communicators.size() > mask(MessageTag::communicator_bits) + 1) {
    diagnostics.error("too-many-communicators",
                      "the workload has " + std::to_string(workload.communicators.size()) + " communicators", place,
                      "at most 256 are supported; groups of equal purpose belong in one communicator");
  }
  for (const RoleDag& dag : workload.roles) {
    std::uint32_t ordinal_max = 0;
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      if (dag.kind(OpId(i)) != OpKind::compute) ordinal_max = std::max(ordinal_max, dag.match_ordinal(OpId(i)));
    }
    if (ordinal_max > mask(MessageTag::ordinal_bits)) {
      diagnostics.error("too-many-collectives", "a role has more than 1048576 collectives or equal sends in one communicator",
                        place, "split the iteration into several, or use several communicators");
      return;
    }
  }
  const Workload* one[] = {&workload};
  if (TagIndex(one).size() > mask(MessageTag::detail_bits) + 1) {
    diagnostics.error("too-many-tags", "the workload has more than 4194304 distinct point-to-point tags", place,
                      "reuse tags: equal sends are matched in order");
  }
}

}  // namespace weft
