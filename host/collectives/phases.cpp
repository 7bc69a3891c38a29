// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/phases.hpp"

#include <algorithm>

namespace weft {

PartRange PhaseGround::shares(std::int32_t from_offset, std::uint32_t count) const {
  const PartIndex::Kind kind = by_position ? PartIndex::Kind::position : PartIndex::Kind::offset;
  return {base, count * width, outer, {kind, division, from_offset, stride}, 0, blocks};
}

void RingRounds::add(std::int32_t from_offset, std::uint32_t count, StepKind receive_kind, std::uint32_t rounds) {
  const std::uint32_t send = builder_.size();
  CollectiveStep step{StepKind::send, ground_.channel, false, ground_.neighbour(+1), send + 1, ground_.shares(from_offset, count)};
  step.rounds = rounds;
  builder_.add(step);
  step = {receive_kind, ground_.channel, false, ground_.neighbour(-1), 0, ground_.shares(from_offset - 1, count)};
  step.rounds = rounds;
  builder_.add(step);
  if (last_send_) {
    builder_.after(send, *last_send_);      // one message at a time
    builder_.after(send, *last_send_ + 1);  // the data it forwards
  } else if (entry_) {
    builder_.after(send, *entry_);
  }
  if (entry_) builder_.after(send + 1, *entry_);
  last_send_ = send;
}

void RingRounds::pass_on(std::int32_t first_offset, StepKind receive_kind) {
  const std::uint32_t rounds = ground_.members - 1;
  const std::uint32_t messages = std::min(rounds, messages_max_.value_or(rounds));
  for (std::uint32_t i = 0; i < messages; ++i) {
    const auto begin = static_cast<std::uint32_t>(std::uint64_t{i} * rounds / messages);
    const auto end = static_cast<std::uint32_t>((std::uint64_t{i} + 1) * rounds / messages);
    add(first_offset - static_cast<std::int32_t>(end - 1), end - begin, receive_kind, end - begin);
  }
}

void RingRounds::reduce_scatter(std::int32_t finished_offset) { pass_on(finished_offset - 1, StepKind::receive_reduce); }

void RingRounds::all_gather(std::int32_t owned_offset) { pass_on(owned_offset, StepKind::receive); }

std::uint32_t RingRounds::join() {
  const std::uint32_t join = builder_.add_join();
  if (last_send_) {
    builder_.after(join, *last_send_);
    builder_.after(join, *last_send_ + 1);
  } else if (entry_) {
    builder_.after(join, *entry_);
  }
  return join;
}

std::uint32_t add_exchange(CollectiveProgramBuilder& builder, const PhaseGround& ground, Carries carries, StepKind receive_kind,
                           std::optional<std::uint32_t> entry) {
  const std::uint32_t first = builder.size();
  const bool by_table = carries == Carries::splits;
  for (std::uint32_t k = 1; k < ground.members; ++k) {
    const auto offset = static_cast<std::int32_t>(k);
    const std::int32_t sent = carries == Carries::peers_share ? offset : 0;
    const std::int32_t received = carries == Carries::peers_share ? 0 : -offset;
    const std::uint32_t send = builder.size();
    builder.add({StepKind::send, ground.channel, by_table, ground.neighbour(offset), send + 1, ground.shares(sent)});
    builder.add({receive_kind, ground.channel, by_table, ground.neighbour(-offset), 0, ground.shares(received)});
    if (entry) {
      builder.after(send, *entry);
      builder.after(send + 1, *entry);
    }
  }
  return first;
}

std::uint32_t add_in_network(CollectiveProgramBuilder& builder, const PhaseGround& ground, SwitchOperationKind operation,
                             std::uint32_t root, std::optional<std::uint32_t> entry) {
  const bool has_shares = operation == SwitchOperationKind::reduce_scatter || operation == SwitchOperationKind::all_gather;
  CollectiveStep step;
  step.kind = StepKind::in_network;
  step.channel = ground.channel;
  step.peer = {PeerRule::Kind::member, ground.division, static_cast<std::int32_t>(root)};
  step.operation = operation;
  step.parts = has_shares ? ground.shares(0) : PartRange{ground.base, ground.members * ground.stride, ground.outer, {}, 0, 1};
  const std::uint32_t index = builder.add(step);
  if (entry) builder.after(index, *entry);
  return index;
}

std::uint32_t join_all(CollectiveProgramBuilder& builder, std::uint32_t first, std::uint32_t end) {
  const std::uint32_t join = builder.add_join();
  for (std::uint32_t step = first; step < end; ++step) builder.after(join, step);
  return join;
}

}  // namespace weft
