// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/rank_collectives.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

RankCollectives::RankCollectives(const RunningJob& job, RankId rank, Duration reduction_time_per_mib)
    : job_(job),
      dag_(job.workload->dag_of(rank)),
      rank_(rank),
      endpoint_((*job.endpoint_of_rank)[rank.index()]),
      reduction_time_per_mib_(reduction_time_per_mib) {}

RankCollectives::RankCollectives(const RankCollectives& other)
    : job_(other.job_),
      dag_(other.dag_),
      rank_(other.rank_),
      endpoint_(other.endpoint_),
      reduction_time_per_mib_(other.reduction_time_per_mib_),
      early_steps_(other.early_steps_),
      slot_holdups_(other.slot_holdups_) {
  for (const std::unique_ptr<Active>& active : other.active_) active_.push_back(std::make_unique<Active>(*active));
}

const CollectivePlan* RankCollectives::plan_of(const Op& op) {
  const Communicator& communicator = job_.workload->communicators[op.communicator];
  return job_.collectives->find(op, communicator.group_of(rank_), communicator.position_of(rank_), recent_plans_);
}

std::uint64_t collective_stream(const RunningJob& job, RankId rank, const Op& description, OpId op, std::uint64_t iteration) {
  MessageTag tag;
  tag.iteration = static_cast<std::uint32_t>(iteration);
  tag.communicator = description.communicator;
  tag.ordinal = job.workload->dag_of(rank).match_ordinal(op);
  return job.tags->pack_stream(tag);
}

void RankCollectives::begin(OpId op, std::uint64_t iteration, Time op_started, CollectivePort& port) {
  const Op description = dag_.op(op);
  const CollectivePlan& plan = *plan_of(description);
  const std::uint32_t position = job_.workload->communicators[description.communicator].position_of(rank_);
  const std::uint64_t stream = collective_stream(job_, rank_, description, op, iteration);
  WEFT_CHECK(find(stream) == nullptr, "a collective is under way once");
  Active& active = *active_.emplace_back(spare_ == nullptr ? std::make_unique<Active>() : std::move(spare_));
  active.stream = stream;
  active.op = op;
  active.op_started = op_started;
  active.plan = &plan;
  active.program = &plan.program_of(position);
  active.position = position;
  active.steps_left = active.program->size();
  active.released.clear();
  active.chunks.clear();
  active.accounts.clear();
  for (const LimitedConnection& connection : plan.slots.limited(plan, position))
    active.accounts.push_back({.connection = connection, .peer = endpoint_at(active, connection.peer)});
  std::vector<std::uint32_t> arrived;
  if (const auto early = early_steps_.find(stream); early != early_steps_.end()) {
    arrived = std::move(early->second);
    early_steps_.erase(early);
  }
  // Only the last of all these can end the collective.
  const CollectiveProgram& program = *active.program;
  for (const std::uint32_t step : program.first_steps()) {
    if (!plan.awaits_message(program.step(step), position)) start_step(active, step, port);
  }
  for (const std::uint32_t step : arrived) take_in(active, step, port);
}

RankCollectives::Active* RankCollectives::find(std::uint64_t stream) {
  const auto found = std::ranges::find(active_, stream, [](const auto& active) { return active->stream; });
  return found == active_.end() ? nullptr : found->get();
}

RankCollectives::Active& RankCollectives::at(std::uint64_t stream) {
  Active* const active = find(stream);
  WEFT_CHECK(active != nullptr, "the collective is under way");
  return *active;
}

void RankCollectives::start_step(Active& active, std::uint32_t step, CollectivePort& port) {
  const CollectiveStep& description = active.program->step(step);
  const CollectivePlan& plan = *active.plan;
  switch (description.kind) {
    case StepKind::join:
      finish_step(active, step, port);
      return;
    case StepKind::in_network: {
      const Op op = dag_.op(active.op);
      const GroupId group = job_.workload->communicators[op.communicator].group_of(rank_);
      MessageTag tag = job_.tags->unpack(active.stream);
      tag.detail = step;
      const NodeId operation = job_.collectives->switch_operation(plan, op.communicator, group, description, active.position);
      port.start({job_.attempt, endpoint_, operation, connection_number(op.communicator, description.channel), op.priority,
                  job_.tags->pack(tag), plan.moved_bytes(description, active.position)});
      return;
    }
    case StepKind::receive:
    case StepKind::receive_reduce: {
      Duration work =
          plan.is_left_out(description, active.position) ? Duration::zero() : plan.hop_latency(description, active.position);
      if (description.kind == StepKind::receive_reduce) {
        const double bytes = static_cast<double>(plan.message_bytes(description, active.position).count());
        work += Duration::from_seconds(reduction_time_per_mib_.in_s() * (bytes / static_cast<double>(Bytes::mib(1).count())));
      }
      if (work == Duration::zero()) {
        finish_step(active, step, port);
      } else {
        port.take_over_after(work, active.stream, step);
      }
      return;
    }
    case StepKind::send: {
      if (plan.is_left_out(description, active.position)) {
        finish_step(active, step, port);
        return;
      }
      send_next(active, step, port);
      return;
    }
  }
}

/// A send's message, or its next chunk, goes as soon as it has slots.
void RankCollectives::send_next(Active& active, std::uint32_t step, CollectivePort& port) {
  const NodeId destination = endpoint_at(active, active.plan->peer(active.program->step(step), active.position));
  if (take_slots(active, step, destination, port.now())) hand_over(active, step, destination, port);
}

NodeId RankCollectives::endpoint_at(const Active& active, std::uint32_t position) const {
  const Communicator& communicator = job_.workload->communicators[dag_.op(active.op).communicator];
  return (*job_.endpoint_of_rank)[communicator.ranks(communicator.group_of(rank_))[position].index()];
}

void RankCollectives::hand_over(Active& active, std::uint32_t step, NodeId destination, CollectivePort& port) {
  const CollectiveStep& description = active.program->step(step);
  const CollectivePlan& plan = *active.plan;
  const Op op = dag_.op(active.op);
  MessageTag tag = job_.tags->unpack(active.stream);
  tag.detail = description.remote_step;
  Bytes size = plan.moved_bytes(description, active.position);
  if (const std::uint32_t chunks = chunks_of(active, step); chunks > 1) size = part_of(size, chunks, active.chunks[step]++);
  port.start({job_.attempt, endpoint_, destination, connection_number(op.communicator, description.channel), op.priority,
              job_.tags->pack(tag), size});
}

RankCollectives::SlotAccount* RankCollectives::account_of(Active& active, NodeId peer, std::uint8_t channel, bool sends) {
  for (SlotAccount& account : active.accounts) {
    if (account.peer == peer && account.connection.channel == channel && account.connection.sends == sends) return &account;
  }
  return nullptr;
}

bool RankCollectives::take_slots(Active& active, std::uint32_t step, NodeId peer, Time now) {
  if (active.accounts.empty()) return true;
  const CollectiveStep& description = active.program->step(step);
  SlotAccount* const account = account_of(active, peer, description.channel, true);
  if (account == nullptr) return true;
  const std::uint32_t needed = active.plan->slots.taken_by(*active.plan, description);
  if (!account->waiting.empty() || account->taken + needed > active.plan->slots.count()) {
    account->waiting.push(step);
    if (account->leaving == 0 && account->held_since == Time::max()) account->held_since = now;
    return false;
  }
  account->taken += needed;
  ++account->leaving;
  return true;
}

/// The last byte of a send has left.
void RankCollectives::note_left(Active& active, std::uint32_t step, NodeId peer, Time now) {
  SlotAccount* const account = account_of(active, peer, active.program->step(step).channel, true);
  if (account == nullptr) return;
  WEFT_CHECK(account->leaving > 0, "what has left was leaving");
  if (--account->leaving == 0 && !account->waiting.empty()) account->held_since = now;
}

void RankCollectives::keep_slot_holdups(const Active& active, Time now) {
  for (const SlotAccount& account : active.accounts) {
    if (account.held == Duration::zero()) continue;
    const CollectiveStep& step = active.program->step(account.held_step);
    const CollectiveSlots& slots = active.plan->slots;
    SlotHoldup holdup;
    holdup.attempt = job_.attempt;
    holdup.rank = rank_;
    holdup.op = active.op;
    holdup.plan = active.plan;
    holdup.source = endpoint_;
    holdup.peer = account.peer;
    holdup.communicator = dag_.op(active.op).communicator;
    holdup.channel = account.connection.channel;
    holdup.connection = account.connection;
    holdup.message = part_of(active.plan->moved_bytes(step, active.position), slots.chunks_of(*active.plan, step), 0);
    holdup.message_slots = slots.taken_by(*active.plan, step);
    holdup.take_over = active.plan->hop_latency(step, active.position);
    holdup.times = account.times_held;
    holdup.held = account.held;
    holdup.under_way = now - active.op_started;
    note_holdup(holdup);
  }
}

void RankCollectives::note_holdup(const SlotHoldup& holdup) { add_holdup(holdup, slot_holdups_); }

void RankCollectives::take_over(RankCollectives& other) {
  for (std::unique_ptr<Active>& active : other.active_) {
    WEFT_CHECK(find(active->stream) == nullptr, "a collective is under way once");
    active_.push_back(std::move(active));
  }
  other.active_.clear();
  early_steps_.merge(other.early_steps_);
}

/// A message has been received: its slots are free, which its sender hears of if it may need them.
void RankCollectives::note_taken_over(Active& active, std::uint32_t step, CollectivePort& port) {
  const CollectivePlan& plan = *active.plan;
  const CollectiveStep& description = active.program->step(step);
  if (!plan.awaits_message(description, active.position)) return;
  const NodeId peer = endpoint_at(active, plan.peer(description, active.position));
  SlotAccount* const account = account_of(active, peer, description.channel, false);
  if (account == nullptr || account->told + plan.slots.count() >= account->connection.slots) return;
  account->taken += plan.slots.taken_by(plan, description);
  if (account->taken < plan.slots.told_from(account->connection)) return;
  const Op op = dag_.op(active.op);
  MessageTag tag = job_.tags->unpack(active.stream);
  tag.detail = std::exchange(account->taken, 0);
  account->told += tag.detail;
  port.start({job_.attempt, endpoint_, peer, slots_connection(op.communicator, description.channel, op.collective), op.priority,
              job_.tags->pack(tag), Bytes::zero()});
}

void RankCollectives::on_slots_told(const Transfer& transfer, CollectivePort& port) {
  const MessageTag tag = job_.tags->unpack(transfer.tag);
  Active& active = at(job_.tags->pack_stream(tag));
  SlotAccount* const account = account_of(active, transfer.source, channel_of_slots(transfer.connection), true);
  WEFT_CHECK(account != nullptr && account->taken >= tag.detail, "both ends of a connection count its slots alike");
  account->taken -= tag.detail;
  while (!account->waiting.empty()) {
    const std::uint32_t step = account->waiting.front();
    const std::uint32_t needed = active.plan->slots.taken_by(*active.plan, active.program->step(step));
    if (account->taken + needed > active.plan->slots.count()) return;
    account->taken += needed;
    if (account->held_since != Time::max()) {
      const Duration held = port.now() - std::exchange(account->held_since, Time::max());
      account->held += held;
      // It does not count which of two things came first at one instant.
      if (held > Duration::zero()) {
        ++account->times_held;
        account->held_step = step;
      }
    }
    ++account->leaving;
    account->waiting.pop();
    hand_over(active, step, transfer.source, port);
  }
}

std::uint32_t RankCollectives::chunks_of(const Active& active, std::uint32_t step) {
  const CollectivePlan& plan = *active.plan;
  return plan.slots.cuts() ? plan.slots.chunks_of(plan, active.program->step(step)) : 1;
}

std::uint32_t RankCollectives::releases_of(const Active& active, std::uint32_t step) {
  const bool awaits_message = active.plan->awaits_message(active.program->step(step), active.position);
  return active.program->predecessor_counts()[step] + (awaits_message ? chunks_of(active, step) : 0);
}

/// A message, or a chunk of one, has arrived for a step.
void RankCollectives::take_in(Active& active, std::uint32_t step, CollectivePort& port) {
  if (const std::uint32_t chunks = chunks_of(active, step); chunks > 1) {
    if (++active.chunks[step] == chunks) {
      active.chunks.erase(step);
    } else if (!active.accounts.empty()) {
      note_taken_over(active, step, port);
    }
  }
  release_step(active, step, port);
}

void RankCollectives::release_step(Active& active, std::uint32_t step, CollectivePort& port) {
  const std::uint32_t releases = releases_of(active, step);
  WEFT_CHECK(releases > 0, "a step that is released waits for something");
  if (releases > 1) {
    if (++active.released[step] < releases) return;
    active.released.erase(step);
  }
  start_step(active, step, port);
}

void RankCollectives::finish_step(Active& active, std::uint32_t step, CollectivePort& port) {
  if (!active.accounts.empty()) note_taken_over(active, step, port);
  if (--active.steps_left > 0) {
    // Only the last of these can end the collective.
    for (const std::uint32_t next : active.program->successors(step)) release_step(active, next, port);
    return;
  }
  const OpId op = active.op;
  keep_slot_holdups(active, port.now());
  const auto place = std::ranges::find(active_, &active, &std::unique_ptr<Active>::get);
  spare_ = std::move(*place);
  active_.erase(place);
  port.finish(op);
}

std::uint32_t RankCollectives::sender_of(const Active& active, const Transfer& transfer, std::uint32_t remote_step) const {
  const std::span<const std::uint32_t> sends = active.program->sends_to(remote_step);
  if (sends.size() == 1) return sends.front();
  const auto goes_there = [&](std::uint32_t step) {
    return endpoint_at(active, active.plan->peer(active.program->step(step), active.position)) == transfer.destination;
  };
  const auto found = std::ranges::find_if(sends, goes_there);
  WEFT_CHECK(found != sends.end(), "a sent notice belongs to a send of the program");
  return *found;
}

void RankCollectives::on_sent(const Transfer& transfer, CollectivePort& port) {
  const MessageTag tag = job_.tags->unpack(transfer.tag);
  Active& active = at(job_.tags->pack_stream(tag));
  const std::uint32_t step = sender_of(active, transfer, tag.detail);
  if (!active.accounts.empty()) note_left(active, step, transfer.destination, port.now());
  if (const std::uint32_t chunks = chunks_of(active, step); chunks > 1) {
    if (active.chunks[step] < chunks) return send_next(active, step, port);
    active.chunks.erase(step);
  }
  finish_step(active, step, port);
}

void RankCollectives::on_delivered(const Transfer& transfer, CollectivePort& port) {
  if (is_control(transfer)) return on_slots_told(transfer, port);
  const MessageTag tag = job_.tags->unpack(transfer.tag);
  const std::uint64_t stream = job_.tags->pack_stream(tag);
  Active* const active = find(stream);
  if (SwitchOperationName::is_one(transfer.destination)) {
    WEFT_CHECK(active != nullptr, "who joins an operation in switches awaits its result");
    const Duration work = active->plan->hop_latency(active->program->step(tag.detail), active->position);
    if (work == Duration::zero()) {
      finish_step(*active, tag.detail, port);
    } else {
      port.take_over_after(work, stream, tag.detail);
    }
  } else if (active != nullptr) {
    take_in(*active, tag.detail, port);
  } else {
    early_steps_[stream].push_back(tag.detail);
  }
}

void RankCollectives::on_taken_over(std::uint64_t stream, std::uint32_t step, CollectivePort& port) {
  finish_step(at(stream), step, port);
}

std::vector<OpId> RankCollectives::ops_under_way() const {
  std::vector<OpId> ops;
  for (const auto& active : active_) ops.push_back(active->op);
  return ops;
}

}  // namespace weft
