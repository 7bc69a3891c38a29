// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/slots.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/check.hpp"
#include "host/collectives/collective_program.hpp"
#include "host/ranks/message_tag.hpp"

namespace weft {

namespace {

/// Of the message of a step, with equal parts.
std::int64_t equal_bytes(const CollectivePlan& plan, const CollectiveStep& step) {
  const std::int64_t part = (plan.buffer.count() + plan.parts - 1) / plan.parts;
  return part * step.parts.count * step.parts.blocks;
}

}  // namespace

CollectiveSlots::CollectiveSlots(const CollectivePlan& plan, std::uint32_t count, Bytes size, Bytes chunk)
    : count_(count), size_(size), chunk_(chunk) {
  WEFT_CHECK(count >= 1 && size > Bytes::zero(), "there are slots, and they hold something");
  for (const CollectiveProgram& program : plan.programs) {
    using Rule = std::tuple<bool, std::uint8_t, PeerRule::Kind, std::uint8_t, std::int32_t>;
    std::map<Rule, std::size_t> known;
    std::vector<Use>& uses = uses_.emplace_back();
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      const CollectiveStep& step = program.step(i);
      const bool sends = step.kind == StepKind::send;
      if (!sends && step.kind != StepKind::receive && step.kind != StepKind::receive_reduce) continue;
      WEFT_CHECK(step.channel < channels_with_slots, "what is told of slots names the channel");
      const Rule rule(sends, step.channel, step.peer.kind, step.peer.division, step.peer.operand);
      const auto [found, is_new] = known.try_emplace(rule, uses.size());
      if (is_new) uses.push_back({i, step.channel, sends, 0, 0});
      Use& use = uses[found->second];
      const std::uint32_t taken = taken_by(plan, step);
      const std::uint32_t chunks = chunks_of(plan, step);
      if (chunks > 1) cuts_ = true;
      use.slots += chunks * taken;
      use.largest = std::max(use.largest, taken);
      most += std::uint64_t{chunks} * taken;
    }
    if (most > count) limits_ = true;
  }
}

std::uint32_t CollectiveSlots::chunks_of(const CollectivePlan& plan, const CollectiveStep& step) const {
  if (chunk_ == Bytes::zero() || step.from_splits) return 1;
  const std::int64_t chunks = (equal_bytes(plan, step) + chunk_.count() - 1) / chunk_.count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(chunks, 1, chunks_max));
}

std::uint32_t CollectiveSlots::taken_by(const CollectivePlan& plan, const CollectiveStep& step) const {
  if (step.from_splits) return 1;
  const std::int64_t chunks = chunks_of(plan, step);
  const std::int64_t bytes = (equal_bytes(plan, step) + chunks - 1) / chunks;
  const std::int64_t needed = (bytes + size_.count() - 1) / size_.count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(needed, 1, std::max(1U, count_ / 2)));
}

std::vector<LimitedConnection> CollectiveSlots::limited(const CollectivePlan& plan, std::uint32_t position) const {
  std::vector<LimitedConnection> connections;
  if (!limits_) return connections;
  // Several rules may lead to one peer.
  std::map<std::tuple<std::uint32_t, std::uint8_t, bool>, LimitedConnection> by_peer;
  const CollectiveProgram& program = plan.program_of(position);
  for (const Use& use : uses_[plan.role_at(position)]) {
    const std::uint32_t peer = plan.peer(program.step(use.step), position);
    LimitedConnection& connection = by_peer[{peer, use.channel, use.sends}];
    connection.peer = peer;
    connection.channel = use.channel;
    connection.sends = use.sends;
    connection.slots += use.slots;
    connection.largest = std::max(connection.largest, use.largest);
  }
  for (const auto& [key, connection] : by_peer) {
    if (connection.slots > count_) connections.push_back(connection);
  }
  return connections;
}

std::uint32_t CollectiveSlots::told_from(const LimitedConnection& connection) const {
  // Whatever the sender does not know of, it can send the largest message: it has all but
  // told_from() - 1 slots then.
  return std::max(1U, std::min((count_ + 1) / 2, count_ - connection.largest + 1));
}

}  // namespace weft
