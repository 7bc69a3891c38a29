// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/rank_runner.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/values/fingerprint.hpp"
#include "core/values/units.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

static_assert(op_priority_max < 1U << transfer_priority_bits);

std::size_t RankRunner::KeyHash::operator()(const SendKey& key) const noexcept {
  return mix64(key.tag ^ mix64(key.destination.index()));
}
std::size_t RankRunner::KeyHash::operator()(const MessageKey& key) const noexcept {
  return mix64(key.stream ^ mix64(key.source.index()));
}

RankRunner::RankRunner(const RunningJob& job, RankId rank, std::uint32_t slot, const RankRunnerContext& shared,
                       std::vector<OpRecord>& records)
    : job_(job),
      dag_(job.workload->dag_of(rank)),
      shared_(shared),
      records_(records),
      rank_(rank),
      slot_(slot),
      endpoint_((*job.endpoint_of_rank)[rank.index()]),
      iteration_(job.first_iteration),
      communicating_in_(job.workload->communicators.size()),
      exposed_by_communicator_(job.workload->communicators.size()) {}

void RankRunner::start(EventContext& context) {
  accounted_until_ = context.now();
  begin_iteration(context);
  run_ready(context);
}

void RankRunner::begin_iteration(EventContext& context) {
  // A DAG without ops ends at once; the loop keeps millions of such rounds off the stack.
  while (!done()) {
    note_round(context.now());
    account(context.now());
    exposed_ = Duration::zero();
    ops_left_ = dag_.size();
    pending_.resize(dag_.size());
    op_start_.assign(dag_.size(), Time::max());
    for (std::uint32_t i = 0; i < dag_.size(); ++i) {
      pending_[i] = dag_.predecessor_count(OpId(i));
      if (pending_[i] == 0) ready_.push_back(OpId(i));
    }
    if (ops_left_ > 0) return;
    if (!end_iteration(Duration::zero(), context)) return;
  }
}

bool RankRunner::end_iteration(Duration exposed, EventContext& context) {
  finished_.push_back({static_cast<std::uint32_t>(iteration_), exposed});
  ++iteration_;
  if (!job_.has_checkpoint_after(iteration_)) return true;
  send_checkpoint(context);
  if (job_.checkpoint_write == Duration::zero()) return true;
  context.schedule(job_.checkpoint_write, EventClass::timer, checkpoint_written, timer(0));
  return false;
}

void RankRunner::send_checkpoint(EventContext& context) {
  if (job_.checkpoint == nullptr) return;
  const auto part = std::ranges::lower_bound(*job_.checkpoint, rank_, {}, &StoredData::rank);
  if (part == job_.checkpoint->end() || part->rank != rank_) return;
  shared_.network.start({job_.attempt, endpoint_, part->store, storage_connection, 0, iteration_, part->size}, context);
}

void RankRunner::note_round(Time now) {
  rounds_at_instant_ = now == instant_ ? rounds_at_instant_ + 1 : 1;
  instant_ = now;
  if (rounds_at_instant_ <= rounds_per_instant_max) return;
  const SourcePlace place = SourcePlace::named(job_.workload->name.empty() ? "workload" : job_.workload->name);
  fail("no-progress",
       fmt::format("rank {} ends {} iterations without simulated time going by", rank_.index(), rounds_per_instant_max), place,
       "give an op a duration, or ask for fewer iterations");
}

void RankRunner::run_ready(EventContext& context) {
  // Ops that take no time finish inside start_op and make others ready; this loop, not recursion,
  // runs them all.
  if (running_ready_) return;
  running_ready_ = true;
  for (std::size_t next = 0; next < ready_.size(); ++next) start_op(ready_[next], context);
  ready_.clear();
  running_ready_ = false;
}

void RankRunner::start_op(OpId op, EventContext& context) {
  const Op description = dag_.op(op);
  op_start_[op.index()] = context.now();
  account(context.now());
  switch (description.kind) {
    case OpKind::compute:
      start_compute(op, description, context);
      return;
    case OpKind::collective:
      begin_communication(description.communicator, context);
      start_collective(op, description, context);
      return;
    case OpKind::send: {
      begin_communication(description.communicator, context);
      const std::uint64_t tag = job_.tags->pack(tag_of(op, description));
      const NodeId destination = peer_endpoint(description);
      in_flight_[{tag, destination}] = SendInFlight{0, 0, op};
      shared_.network.start({job_.attempt, endpoint_, destination, connection_number(description.communicator, 0),
                             description.priority, tag, description.bytes},
                            context);
      return;
    }
    case OpKind::receive: {
      begin_communication(description.communicator, context);
      const MessageKey key{job_.tags->pack(tag_of(op, description)), peer_endpoint(description)};
      if (const auto early = early_messages_.find(key); early != early_messages_.end()) {
        early_messages_.erase(early);
        finish_op(op, context);
      } else {
        waiting_receives_[key] = op;
      }
      return;
    }
  }
}

void RankRunner::start_compute(OpId op, const Op& description, EventContext& context) {
  Duration duration = description.duration;
  if (description.processor == Processor::gpu) {
    ++gpu_computing_;
    duration += shared_.kernel_launch_latency;
  }
  if (duration == Duration::zero()) {
    finish_op(op, context);
  } else {
    plan_ends({clock_.start(op, description.processor, duration, context.now())}, context);
  }
}

void RankRunner::plan_ends(const std::vector<ComputeClock::End>& ends, EventContext& context) {
  for (const ComputeClock::End& end : ends) {
    context.schedule(end.in, EventClass::timer, compute_done, timer(end.op.index(), end.version));
  }
}

void RankRunner::set_host_speed(double speed, EventContext& context) {
  plan_ends(clock_.set_host_speed(speed, context.now()), context);
}

MessageTag RankRunner::tag_of(OpId op, const Op& description) const {
  MessageTag tag;
  tag.point_to_point = description.kind != OpKind::collective;
  tag.iteration = static_cast<std::uint32_t>(iteration_);
  tag.communicator = description.communicator;
  tag.ordinal = dag_.match_ordinal(op);
  tag.detail = tag.point_to_point ? job_.tags->index_of(description.tag) : 0;
  return tag;
}

NodeId RankRunner::peer_endpoint(const Op& description) const {
  const Communicator& communicator = job_.workload->communicators[description.communicator];
  return (*job_.endpoint_of_rank)[communicator.peer_of(rank_, description.addressing, description.peer).index()];
}

const CollectivePlan* RankRunner::plan_of(const Op& description) const {
  const Communicator& communicator = job_.workload->communicators[description.communicator];
  return job_.collectives->find(description, communicator.group_of(rank_), communicator.position_of(rank_));
}

void RankRunner::start_collective(OpId op, const Op& description, EventContext& context) {
  const CollectivePlan* plan = plan_of(description);
  if (plan == nullptr) {
    finish_op(op, context);
  } else if (plan->launch_latency == Duration::zero()) {
    run_collective(op, description, *plan, context);
  } else {
    context.schedule(plan->launch_latency, EventClass::timer, launch_done, timer(op.index()));
  }
}

void RankRunner::run_collective(OpId op, const Op& description, const CollectivePlan& plan, EventContext& context) {
  const std::uint32_t position = job_.workload->communicators[description.communicator].position_of(rank_);
  const std::uint64_t stream = job_.tags->pack_stream(tag_of(op, description));
  ActiveCollective& active = active_[stream];
  active.op = op;
  active.plan = &plan;
  active.program = &plan.program_of(position);
  active.position = position;
  active.steps_left = active.program->size();
  const std::span<const std::uint32_t> counts = active.program->predecessor_counts();
  active.pending.assign(counts.begin(), counts.end());
  active.accounts.clear();
  if (plan.slots.cuts()) active.chunks.assign(active.program->size(), 0);
  for (const LimitedConnection& connection : plan.slots.limited(plan, position))
    active.accounts.push_back({.connection = connection, .peer = endpoint_at(active, connection.peer)});
  std::vector<std::uint32_t> startable;
  for (std::uint32_t step = 0; step < active.program->size(); ++step) {
    const CollectiveStep& started = active.program->step(step);
    if (plan.awaits_message(started, position)) active.pending[step] += plan.slots.chunks_of(plan, started);
    if (active.pending[step] == 0) startable.push_back(step);
  }
  for (const std::uint32_t step : startable) start_step(active_.at(stream), stream, step, context);
  if (const auto early = early_steps_.find(stream); early != early_steps_.end()) {
    const std::vector<std::uint32_t> steps = std::move(early->second);
    early_steps_.erase(early);
    for (const std::uint32_t step : steps) take_in(stream, step, context);
  }
}

void RankRunner::start_step(ActiveCollective& active, std::uint64_t stream, std::uint32_t step, EventContext& context) {
  const CollectiveStep& description = active.program->step(step);
  const CollectivePlan& plan = *active.plan;
  switch (description.kind) {
    case StepKind::join:
      finish_step(stream, step, context);
      return;
    case StepKind::in_network: {
      const Op op = dag_.op(active.op);
      const GroupId group = job_.workload->communicators[op.communicator].group_of(rank_);
      MessageTag tag = job_.tags->unpack(stream);
      tag.detail = step;
      const NodeId operation = job_.collectives->switch_operation(plan, op.communicator, group, description, active.position);
      shared_.network.start({job_.attempt, endpoint_, operation, connection_number(op.communicator, description.channel),
                             op.priority, job_.tags->pack(tag), plan.moved_bytes(description, active.position)},
                            context);
      return;
    }
    case StepKind::receive:
    case StepKind::receive_reduce: {
      Duration work =
          plan.is_left_out(description, active.position) ? Duration::zero() : plan.hop_latency(description, active.position);
      if (description.kind == StepKind::receive_reduce) {
        const double bytes = static_cast<double>(plan.message_bytes(description, active.position).count());
        work +=
            Duration::from_seconds(shared_.reduction_time_per_mib.in_s() * (bytes / static_cast<double>(Bytes::mib(1).count())));
      }
      if (work == Duration::zero()) {
        finish_step(stream, step, context);
      } else {
        context.schedule(work, EventClass::timer, receive_done, timer(step, stream));
      }
      return;
    }
    case StepKind::send: {
      if (plan.is_left_out(description, active.position)) {
        finish_step(stream, step, context);
        return;
      }
      send_next(active, stream, step, context);
      return;
    }
  }
}

/// A send's message, or its next chunk, goes as soon as it has slots.
void RankRunner::send_next(ActiveCollective& active, std::uint64_t stream, std::uint32_t step, EventContext& context) {
  const NodeId destination = endpoint_at(active, active.plan->peer(active.program->step(step), active.position));
  if (take_slots(active, step, destination, context.now())) hand_over(active, stream, step, destination, context);
}

NodeId RankRunner::endpoint_at(const ActiveCollective& active, std::uint32_t position) const {
  const Communicator& communicator = job_.workload->communicators[dag_.op(active.op).communicator];
  return (*job_.endpoint_of_rank)[communicator.ranks(communicator.group_of(rank_))[position].index()];
}

void RankRunner::hand_over(ActiveCollective& active, std::uint64_t stream, std::uint32_t step, NodeId destination,
                           EventContext& context) {
  const CollectiveStep& description = active.program->step(step);
  const CollectivePlan& plan = *active.plan;
  const Op op = dag_.op(active.op);
  MessageTag tag = job_.tags->unpack(stream);
  tag.detail = description.remote_step;
  const std::uint64_t packed = job_.tags->pack(tag);
  in_flight_[{packed, destination}] = SendInFlight{stream, step, OpId::none()};
  Bytes size = plan.moved_bytes(description, active.position);
  if (!active.chunks.empty()) size = part_of(size, plan.slots.chunks_of(plan, description), active.chunks[step]++);
  shared_.network.start(
      {job_.attempt, endpoint_, destination, connection_number(op.communicator, description.channel), op.priority, packed, size},
      context);
}

RankRunner::SlotAccount* RankRunner::account_of(ActiveCollective& active, NodeId peer, std::uint8_t channel, bool sends) {
  for (SlotAccount& account : active.accounts) {
    if (account.peer == peer && account.connection.channel == channel && account.connection.sends == sends) return &account;
  }
  return nullptr;
}

bool RankRunner::take_slots(ActiveCollective& active, std::uint32_t step, NodeId peer, Time now) {
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
void RankRunner::note_left(ActiveCollective& active, std::uint32_t step, NodeId peer, Time now) {
  SlotAccount* const account = account_of(active, peer, active.program->step(step).channel, true);
  if (account == nullptr) return;
  WEFT_CHECK(account->leaving > 0, "what has left was leaving");
  if (--account->leaving == 0 && !account->waiting.empty()) account->held_since = now;
}

void RankRunner::keep_slot_holdups(const ActiveCollective& active, Time now) {
  for (const SlotAccount& account : active.accounts) {
    if (account.held == Duration::zero()) continue;
    const auto is_it = [&](const SlotHoldup& known) {
      return known.plan == active.plan && known.peer == account.peer && known.channel == account.connection.channel;
    };
    auto known = std::ranges::find_if(slot_holdups_, is_it);
    if (known == slot_holdups_.end()) {
      SlotHoldup first;
      first.attempt = job_.attempt;
      first.rank = rank_;
      first.op = active.op;
      first.plan = active.plan;
      first.source = endpoint_;
      first.peer = account.peer;
      first.communicator = dag_.op(active.op).communicator;
      first.channel = account.connection.channel;
      first.connection = account.connection;
      known = slot_holdups_.insert(slot_holdups_.end(), first);
    }
    const CollectiveStep& step = active.program->step(account.held_step);
    const Bytes message =
        part_of(active.plan->moved_bytes(step, active.position), active.plan->slots.chunks_of(*active.plan, step), 0);
    if (known->message_slots == 0 || message > known->message) {
      known->message = message;
      known->message_slots = active.plan->slots.taken_by(*active.plan, step);
      known->take_over = active.plan->hop_latency(step, active.position);
    }
    known->times += account.times_held;
    known->held += account.held;
    known->under_way += now - op_start_[active.op.index()];
  }
}

/// A message has been received: its slots are free, which its sender hears of if it may need them.
void RankRunner::note_taken_over(ActiveCollective& active, std::uint64_t stream, std::uint32_t step, EventContext& context) {
  const CollectivePlan& plan = *active.plan;
  const CollectiveStep& description = active.program->step(step);
  if (!plan.awaits_message(description, active.position)) return;
  const NodeId peer = endpoint_at(active, plan.peer(description, active.position));
  SlotAccount* const account = account_of(active, peer, description.channel, false);
  if (account == nullptr || account->told + plan.slots.count() >= account->connection.slots) return;
  account->taken += plan.slots.taken_by(plan, description);
  if (account->taken < plan.slots.told_from(account->connection)) return;
  const Op op = dag_.op(active.op);
  MessageTag tag = job_.tags->unpack(stream);
  tag.detail = std::exchange(account->taken, 0);
  account->told += tag.detail;
  shared_.network.start({job_.attempt, endpoint_, peer, slots_connection(op.communicator, description.channel, op.collective),
                         op.priority, job_.tags->pack(tag), Bytes::zero()},
                        context);
}

void RankRunner::on_slots_told(const Transfer& transfer, EventContext& context) {
  const MessageTag tag = job_.tags->unpack(transfer.tag);
  const std::uint64_t stream = job_.tags->pack_stream(tag);
  const auto found = active_.find(stream);
  WEFT_CHECK(found != active_.end(), "a sender hears of slots as long as it has something to send");
  ActiveCollective& active = found->second;
  SlotAccount* const account = account_of(active, transfer.source, channel_of_slots(transfer.connection), true);
  WEFT_CHECK(account != nullptr && account->taken >= tag.detail, "both ends of a connection count its slots alike");
  account->taken -= tag.detail;
  while (!account->waiting.empty()) {
    const std::uint32_t step = account->waiting.front();
    const std::uint32_t needed = active.plan->slots.taken_by(*active.plan, active.program->step(step));
    if (account->taken + needed > active.plan->slots.count()) return;
    account->taken += needed;
    if (account->held_since != Time::max()) {
      account->held += context.now() - std::exchange(account->held_since, Time::max());
      ++account->times_held;
      account->held_step = step;
    }
    ++account->leaving;
    account->waiting.pop();
    hand_over(active, stream, step, transfer.source, context);
  }
}

/// A message, or a chunk of one, has arrived for a step.
void RankRunner::take_in(std::uint64_t stream, std::uint32_t step, EventContext& context) {
  ActiveCollective& active = active_.at(stream);
  const bool is_last =
      active.chunks.empty() || ++active.chunks[step] == active.plan->slots.chunks_of(*active.plan, active.program->step(step));
  if (!is_last && !active.accounts.empty()) note_taken_over(active, stream, step, context);
  release_step(stream, step, context);
}

void RankRunner::release_step(std::uint64_t stream, std::uint32_t step, EventContext& context) {
  ActiveCollective& active = active_.at(stream);
  WEFT_CHECK(active.pending[step] > 0, "a collective step is released once per predecessor");
  if (--active.pending[step] == 0) start_step(active, stream, step, context);
}

void RankRunner::finish_step(std::uint64_t stream, std::uint32_t step, EventContext& context) {
  ActiveCollective& active = active_.at(stream);
  if (!active.accounts.empty()) note_taken_over(active, stream, step, context);
  const std::span<const std::uint32_t> successors = active.program->successors(step);
  const bool last = --active.steps_left == 0;
  if (last) {
    const OpId op = active.op;
    keep_slot_holdups(active, context.now());
    active_.erase(stream);
    finish_op(op, context);
    return;
  }
  for (const std::uint32_t next : successors) release_step(stream, next, context);
}

void RankRunner::finish_op(OpId op, EventContext& context) {
  account(context.now());
  const OpKind kind = dag_.kind(op);
  if (kind == OpKind::compute) {
    if (dag_.processor(op) == Processor::gpu) --gpu_computing_;
  } else {
    end_communication(dag_.op(op).communicator, context);
  }
  if (shared_.recording == Recording::everything || kind != OpKind::compute) {
    records_.push_back({job_.attempt, rank_, static_cast<std::uint32_t>(iteration_), op, op_start_[op.index()], context.now()});
  }
  for (const OpId next : dag_.successors(op)) {
    if (--pending_[next.index()] == 0) ready_.push_back(next);
  }
  WEFT_CHECK(ops_left_ > 0, "an op finishes once per iteration");
  if (--ops_left_ == 0) {
    if (end_iteration(exposed_, context)) begin_iteration(context);
  }
}

void RankRunner::on_timer(std::uint16_t kind, const RankTimerPayload& payload, EventContext& context) {
  switch (kind) {
    case compute_done:
      if (clock_.finish(OpId(payload.index), payload.stream)) finish_op(OpId(payload.index), context);
      break;
    case launch_done: {
      const OpId op(payload.index);
      const Op description = dag_.op(op);
      run_collective(op, description, *plan_of(description), context);
      break;
    }
    case checkpoint_written:
      begin_iteration(context);
      break;
    default:
      finish_step(payload.stream, payload.index, context);
      break;
  }
  run_ready(context);
}

void RankRunner::on_sent(const Transfer& transfer, EventContext& context) {
  const auto found = in_flight_.find({transfer.tag, transfer.destination});
  WEFT_CHECK(found != in_flight_.end(), "a sent notice belongs to a send in flight");
  const SendInFlight send = found->second;
  in_flight_.erase(found);
  if (send.op.is_none()) {
    ActiveCollective& active = active_.at(send.stream);
    if (!active.accounts.empty()) note_left(active, send.step, transfer.destination, context.now());
    const CollectivePlan& plan = *active.plan;
    if (!active.chunks.empty() && active.chunks[send.step] < plan.slots.chunks_of(plan, active.program->step(send.step))) {
      send_next(active, send.stream, send.step, context);
      return;
    }
    finish_step(send.stream, send.step, context);
  } else {
    finish_op(send.op, context);
  }
  run_ready(context);
}

void RankRunner::on_delivered(const Transfer& transfer, EventContext& context) {
  if (is_control(transfer)) return on_slots_told(transfer, context);
  const MessageTag tag = job_.tags->unpack(transfer.tag);
  if (SwitchOperationName::is_one(transfer.destination)) {
    const std::uint64_t stream = job_.tags->pack_stream(tag);
    const ActiveCollective& active = active_.at(stream);
    const Duration work = active.plan->hop_latency(active.program->step(tag.detail), active.position);
    if (work == Duration::zero()) {
      finish_step(stream, tag.detail, context);
      run_ready(context);
    } else {
      context.schedule(work, EventClass::timer, receive_done, timer(tag.detail, stream));
    }
    return;
  }
  if (!job_.tags->ahead_of(tag.iteration, iteration_)) {
    const SourcePlace place = SourcePlace::named(job_.workload->name.empty() ? "workload" : job_.workload->name);
    fail("ran-ahead",
         fmt::format("a rank ran more iterations ahead of rank {} than its messages can tell apart (2^{})", rank_.index(),
                     job_.tags->iteration_bits() - 1),
         place, "let the sender wait for its receiver, for example by a receive or a collective");
  }
  if (tag.point_to_point) {
    const MessageKey key{transfer.tag, transfer.source};
    if (const auto waiting = waiting_receives_.find(key); waiting != waiting_receives_.end()) {
      const OpId op = waiting->second;
      waiting_receives_.erase(waiting);
      finish_op(op, context);
    } else {
      const bool is_new = early_messages_.insert(key).second;
      WEFT_CHECK(is_new, "messages of one stream have distinct ordinals");
    }
  } else {
    const std::uint64_t stream = job_.tags->pack_stream(tag);
    if (active_.contains(stream)) {
      take_in(stream, tag.detail, context);
    } else {
      early_steps_[stream].push_back(tag.detail);
    }
  }
  run_ready(context);
}

std::vector<RankRunner::FinishedIteration> RankRunner::take_finished() { return std::exchange(finished_, {}); }

std::vector<OpId> RankRunner::waiting_ops() const {
  std::vector<OpId> ops;
  for (const auto& [stream, active] : active_) ops.push_back(active.op);
  for (const auto& [key, op] : waiting_receives_) ops.push_back(op);
  for (const auto& [key, send] : in_flight_) {
    if (!send.op.is_none()) ops.push_back(send.op);
  }
  std::sort(ops.begin(), ops.end());
  return ops;
}

void RankRunner::account(Time now) {
  if (communicating_ > 0 && gpu_computing_ == 0 && now > accounted_until_) {
    exposed_ += now - accounted_until_;
    for (const std::uint16_t communicator : communicators_) exposed_by_communicator_[communicator] += now - accounted_until_;
  }
  accounted_until_ = now;
}

void RankRunner::begin_communication(std::uint16_t communicator, EventContext& context) {
  if (communicating_++ == 0) plan_ends(clock_.set_gpu_speed(1 / shared_.compute_slowdown, context.now()), context);
  if (communicating_in_[communicator]++ == 0) communicators_.push_back(communicator);
}

void RankRunner::end_communication(std::uint16_t communicator, EventContext& context) {
  if (--communicating_ == 0) plan_ends(clock_.set_gpu_speed(1, context.now()), context);
  if (--communicating_in_[communicator] == 0) std::erase(communicators_, communicator);
}

}  // namespace weft
