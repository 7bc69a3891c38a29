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
#include "host/across/across_door.hpp"
#include "host/inside/inside_order.hpp"
#include "host/inside/inside_traffic.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

static_assert(op_priority_max < 1U << transfer_priority_bits);

std::size_t RankRunner::KeyHash::operator()(const SendKey& key) const noexcept {
  return mix64(key.tag ^ mix64(key.destination.index()));
}
std::size_t RankRunner::KeyHash::operator()(const MessageKey& key) const noexcept {
  return mix64(key.stream ^ mix64(key.source.index()));
}

/// Where collectives meet the rank and its network.
class RankRunner::Port final : public CollectivePort {
 public:
  Port(RankRunner& runner, EventContext& context) : runner_(runner), context_(context) {}
  Time now() const override { return context_.now(); }
  void start(const Transfer& transfer) override { runner_.hand_over(transfer, context_); }
  void take_over_after(Duration delay, std::uint64_t stream, std::uint32_t step) override {
    runner_.take_over_after(delay, stream, step, context_);
  }
  void finish(OpId op) override {
    if (std::erase(runner_.counted_, op) > 0) runner_.inside_->end(runner_.slot_);
    runner_.finish_op(op, context_.now(), true, context_);
  }

 private:
  RankRunner& runner_;
  EventContext& context_;
};

RankRunner::RankRunner(const RunningJob& job, RankId rank, std::uint32_t slot, const RankRunnerContext& shared,
                       std::vector<OpRecord>& records, InsideTraffic* inside)
    : job_(job),
      dag_(job.workload->dag_of(rank)),
      shared_(shared),
      records_(records),
      rank_(rank),
      slot_(slot),
      endpoint_((*job.endpoint_of_rank)[rank.index()]),
      iteration_(job.first_iteration),
      inside_(inside),
      collectives_(job, rank, shared.reduction_time_per_mib),
      exposure_(job.workload->communicators.size()) {}

void RankRunner::start(EventContext& context) {
  exposure_.begin(context.now());
  begin_iteration(context);
  run_ready(context);
}

void RankRunner::begin_iteration(EventContext& context) {
  // A DAG without ops ends at once; the loop keeps millions of such rounds off the stack.
  while (!done()) {
    note_round(context.now());
    exposure_.account(context.now());
    exposure_.take_exposed();
    ops_left_ = dag_.size();
    pending_.resize(dag_.size());
    op_start_.assign(dag_.size(), context.now());
    for (std::uint32_t i = 0; i < dag_.size(); ++i) {
      const std::uint32_t predecessors = dag_.predecessor_count(OpId(i));
      pending_[i] = static_cast<std::uint16_t>(std::min<std::uint32_t>(predecessors, UINT16_MAX));
      if (predecessors > UINT16_MAX) more_pending_[i] = predecessors - UINT16_MAX;
      if (predecessors == 0) ready_.push_back(OpId(i));
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
  schedule(job_.checkpoint_write, checkpoint_written, timer(0), context);
  return false;
}

void RankRunner::close_round(EventContext& context) {
  round_waits_ = false;
  exposure_.account(context.now());
  if (end_iteration(exposure_.take_exposed(), context)) begin_iteration(context);
}

void RankRunner::send_checkpoint(EventContext& context) {
  if (job_.checkpoint == nullptr) return;
  const auto part = std::ranges::lower_bound(*job_.checkpoint, rank_, {}, &StoredData::rank);
  if (part == job_.checkpoint->end() || part->rank != rank_) return;
  shared_.network.start({job_.attempt, endpoint_, part->store, storage_connection, 0, iteration_, part->size}, context);
}

void RankRunner::schedule(Duration delay, RankTimer kind, const RankTimerPayload& payload, EventContext& context) {
  if (inside_ != nullptr) {
    inside_->timers().add(delay, kind, payload);
  } else {
    context.schedule(delay, EventClass::timer, kind, payload);
  }
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

/// Whether an op can be carried out before its time has come.
bool RankRunner::may_start_ahead(const Op& description) const {
  if (order_ == nullptr || exposure_.changes_ahead() >= changes_ahead_max) return false;
  if (description.kind == OpKind::compute) return true;
  return description.kind == OpKind::collective && inside_->has_group(slot_, description.communicator);
}

void RankRunner::start_op(OpId op, EventContext& context) {
  const Op description = dag_.op(op);
  Time& start = op_start_[op.index()];
  start = std::max(start, context.now());
  if (start > context.now() && !may_start_ahead(description)) return wake_at(start, op_starts, op, context);
  switch (description.kind) {
    case OpKind::compute:
      start_compute(op, description, start, context);
      return;
    case OpKind::collective:
      start_collective(op, description, start, context);
      return;
    case OpKind::send: {
      note(Exposure::Change::communication_begins, description.communicator, start, context);
      const std::uint64_t tag = job_.tags->pack(tag_of(op, description));
      const NodeId destination = peer_endpoint(description);
      in_flight_[{tag, destination}] = op;
      hand_over({job_.attempt, endpoint_, destination, point_to_point_connection(description.communicator), description.priority,
                 tag, description.bytes},
                context);
      return;
    }
    case OpKind::receive: {
      note(Exposure::Change::communication_begins, description.communicator, start, context);
      const MessageKey key{job_.tags->pack(tag_of(op, description)), peer_endpoint(description)};
      if (const auto early = early_messages_.find(key); early != early_messages_.end()) {
        early_messages_.erase(early);
        finish_op(op, start, true, context);
      } else {
        waiting_receives_[key] = op;
      }
      return;
    }
  }
}

void RankRunner::start_compute(OpId op, const Op& description, Time at, EventContext& context) {
  Duration duration = description.duration;
  const bool is_on_gpu = description.processor == Processor::gpu;
  if (is_on_gpu) duration += shared_.kernel_launch_latency;
  const bool takes_time = duration > Duration::zero();
  const Duration takes = takes_time && order_ != nullptr ? clock_.time_of(description.processor, duration) : duration;
  // What ends after the simulated clock does is left to it.
  const bool goes_ahead = order_ != nullptr && takes < Time::max() - at;
  if (!goes_ahead && at > context.now()) return wake_at(at, op_starts, op, context);
  if (is_on_gpu) note(Exposure::Change::compute_begins, 0, at, context);
  if (!takes_time || goes_ahead) {
    finish_op(op, at + takes, true, context);
  } else {
    plan_ends({clock_.start(op, description.processor, duration, at)}, context);
  }
}

void RankRunner::plan_ends(const std::vector<ComputeClock::End>& ends, EventContext& context) {
  for (const ComputeClock::End& end : ends) {
    schedule(end.in, compute_done, timer(end.op.index(), end.version), context);
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

void RankRunner::start_collective(OpId op, const Op& description, Time at, EventContext& context) {
  const CollectivePlan* plan = collectives_.plan_of(description);
  const Duration latency = plan == nullptr ? Duration::zero() : plan->launch_latency;
  const bool goes_ahead = may_start_ahead(description) && latency < Time::max() - at;
  if (!goes_ahead && at > context.now()) return wake_at(at, op_starts, op, context);
  note(Exposure::Change::communication_begins, description.communicator, at, context);
  if (plan == nullptr) {
    finish_op(op, at, true, context);
  } else if (goes_ahead || latency == Duration::zero()) {
    run_collective(op, description, *plan, at + latency, context);
  } else {
    schedule(latency, launch_done, timer(op.index()), context);
  }
}

bool RankRunner::is_across(std::uint16_t communicator, const CollectivePlan& plan) {
  if (shared_.across == nullptr) return false;
  if (suits_across_.empty()) suits_across_.resize(job_.workload->communicators.size());
  std::optional<bool>& suits = suits_across_[communicator];
  if (!suits) suits = shared_.across->suits(job_, communicator, job_.workload->communicators[communicator].group_of(rank_));
  return *suits && shared_.across->suits(plan);
}

void RankRunner::launched(OpId op, EventContext& context) {
  const Op description = dag_.op(op);
  run_collective(op, description, *collectives_.plan_of(description), context.now(), context);
}

/// The steps of a collective may run from an instant on.
void RankRunner::run_collective(OpId op, const Op& description, const CollectivePlan& plan, Time at, EventContext& context) {
  const std::uint16_t communicator = description.communicator;
  if (inside_ != nullptr && inside_->has_group(slot_, communicator)) {
    const std::uint32_t position = job_.workload->communicators[communicator].position_of(rank_);
    const CollectiveTrial::Begin begin{position, op, iteration_, op_start_[op.index()], at};
    told_of_.push_back(op);
    const std::uint64_t stream = collective_stream(job_, rank_, description, op, iteration_);
    const InsideAnswer answer = inside_->begin(slot_, communicator, begin, stream, plan, context);
    if (answer == InsideAnswer::will_tell) return;
    std::erase(told_of_, op);
    if (answer == InsideAnswer::ask_then) return wake_at(at, launch_done, op, context);
    counted_.push_back(op);
  } else if (is_across(communicator, plan)) {
    told_of_.push_back(op);
    shared_.across->begin(job_, rank_, op, iteration_, op_start_[op.index()], context);
    return;
  }
  Port port(*this, context);
  collectives_.begin(op, iteration_, op_start_[op.index()], port);
}

void RankRunner::finish_told(OpId op, Time end, bool is_recorded, EventContext& context) {
  std::erase(told_of_, op);
  finish_op(op, end, is_recorded, context);
  run_ready(context);
}

void RankRunner::begin_again(OpId op, Time at, EventContext& context) {
  std::erase(told_of_, op);
  wake_at(at, launch_done, op, context);
}

void RankRunner::note_holdup(const SlotHoldup& holdup, Time end, Time now) {
  if (end <= now) return collectives_.note_holdup(holdup);
  held_ahead_.push({end, holdup});
}

std::vector<SlotHoldup> RankRunner::slot_holdups(Time until) const {
  std::vector<SlotHoldup> holdups = collectives_.slot_holdups();
  for (std::uint32_t i = 0; i < held_ahead_.size() && held_ahead_[i].end <= until; ++i) add_holdup(held_ahead_[i].holdup, holdups);
  return holdups;
}

Duration RankRunner::gap_after(OpId op) {
  const InsideOrder::Next& next = order_->after(op);
  if (next.op.is_none()) return Duration::zero();
  const CollectivePlan* const plan = collectives_.plan_of(dag_.op(next.op));
  const Duration latency = plan == nullptr ? Duration::zero() : plan->launch_latency;
  // Ops end at whole ticks each.
  return next.gap == Duration::zero() ? latency : clock_.time_of(Processor::cpu, next.gap) - Duration::ticks(1) + latency;
}

void RankRunner::go_on_with(OpId op) {
  std::erase(told_of_, op);
  counted_.push_back(op);
}

void RankRunner::take_over_after(Duration delay, std::uint64_t stream, std::uint32_t step, EventContext& context) {
  schedule(delay, receive_done, timer(step, stream), context);
}

void RankRunner::hand_over(const Transfer& transfer, EventContext& context) {
  if (inside_ == nullptr || !inside_->start(slot_, transfer, context)) shared_.network.start(transfer, context);
}

bool RankRunner::release(OpId op) {
  if (!more_pending_.empty()) {
    if (std::uint32_t* const more = more_pending_.find(op.index())) {
      if (--*more == 0) more_pending_.erase(op.index());
      return false;
    }
  }
  return --pending_[op.index()] == 0;
}

/// An op is over at an instant, now or later.
void RankRunner::finish_op(OpId op, Time end, bool is_recorded, EventContext& context) {
  const OpKind kind = dag_.kind(op);
  if (kind != OpKind::compute) {
    note(Exposure::Change::communication_ends, dag_.communicator(op), end, context);
  } else if (dag_.processor(op) == Processor::gpu) {
    note(Exposure::Change::compute_ends, 0, end, context);
  }
  const Recording needed = kind == OpKind::compute ? Recording::everything : Recording::communication;
  if (is_recorded && shared_.recording >= needed)
    records_.push_back({job_.attempt, rank_, static_cast<std::uint32_t>(iteration_), op, op_start_[op.index()], end});
  ahead_until_ = std::max(ahead_until_, end);
  for (const OpId next : dag_.successors(op)) {
    op_start_[next.index()] = std::max(op_start_[next.index()], end);
    if (release(next)) ready_.push_back(next);
  }
  WEFT_CHECK(ops_left_ > 0, "an op finishes once per iteration");
  if (--ops_left_ > 0) return;
  if (ahead_until_ > context.now()) {
    round_waits_ = true;
  } else {
    close_round(context);
  }
}

void RankRunner::wake_at(Time at, RankTimer kind, OpId op, EventContext& context) {
  woken_at_ = std::max(woken_at_, at);
  schedule(at - context.now(), kind, timer(op.index()), context);
}

void RankRunner::plan_waking(EventContext& context) {
  for (; !held_ahead_.empty() && held_ahead_.front().end <= context.now(); held_ahead_.pop())
    collectives_.note_holdup(held_ahead_.front().holdup);
  if (ahead_until_ <= std::max(context.now(), woken_at_)) return;
  woken_at_ = ahead_until_;
  schedule(ahead_until_ - context.now(), clock_is_there, timer(0), context);
}

void RankRunner::on_timer(std::uint16_t kind, const RankTimerPayload& payload, EventContext& context) {
  switch (kind) {
    case compute_done:
      if (clock_.finish(OpId(payload.index), payload.stream)) finish_op(OpId(payload.index), context.now(), true, context);
      break;
    case op_starts:
      start_op(OpId(payload.index), context);
      break;
    case launch_done:
      launched(OpId(payload.index), context);
      break;
    case checkpoint_written:
      begin_iteration(context);
      break;
    case clock_is_there:
      if (round_waits_ && ahead_until_ <= context.now()) close_round(context);
      break;
    default: {
      Port port(*this, context);
      collectives_.on_taken_over(payload.stream, payload.index, port);
      break;
    }
  }
  run_ready(context);
}

void RankRunner::on_sent(const Transfer& transfer, EventContext& context) {
  if (job_.tags->unpack(transfer.tag).point_to_point) {
    const auto found = in_flight_.find({transfer.tag, transfer.destination});
    WEFT_CHECK(found != in_flight_.end(), "a sent notice belongs to a send in flight");
    const OpId op = found->second;
    in_flight_.erase(found);
    finish_op(op, context.now(), true, context);
  } else {
    Port port(*this, context);
    collectives_.on_sent(transfer, port);
  }
  run_ready(context);
}

void RankRunner::on_delivered(const Transfer& transfer, EventContext& context) {
  const MessageTag tag = job_.tags->unpack(transfer.tag);
  const bool is_of_peer = !is_control(transfer) && !SwitchOperationName::is_one(transfer.destination);
  if (is_of_peer && !job_.tags->ahead_of(tag.iteration, iteration_)) {
    const SourcePlace place = SourcePlace::named(job_.workload->name.empty() ? "workload" : job_.workload->name);
    fail("ran-ahead",
         fmt::format("a rank ran more iterations ahead of rank {} than its messages can tell apart (2^{})", rank_.index(),
                     job_.tags->iteration_bits() - 1),
         place, "let the sender wait for its receiver, for example by a receive or a collective");
  }
  if (tag.point_to_point) {
    take_message({transfer.tag, transfer.source}, context);
  } else {
    Port port(*this, context);
    collectives_.on_delivered(transfer, port);
  }
  run_ready(context);
}

void RankRunner::take_message(const MessageKey& key, EventContext& context) {
  if (const auto waiting = waiting_receives_.find(key); waiting != waiting_receives_.end()) {
    const OpId op = waiting->second;
    waiting_receives_.erase(waiting);
    finish_op(op, context.now(), true, context);
  } else {
    const bool is_new = early_messages_.insert(key).second;
    WEFT_CHECK(is_new, "messages of one stream have distinct ordinals");
  }
}

std::vector<RankRunner::FinishedIteration> RankRunner::take_finished() { return std::exchange(finished_, {}); }

std::vector<OpId> RankRunner::waiting_ops() const {
  std::vector<OpId> ops = collectives_.ops_under_way();
  ops.insert(ops.end(), told_of_.begin(), told_of_.end());
  for (const auto& [key, op] : waiting_receives_) ops.push_back(op);
  for (const auto& [key, op] : in_flight_) ops.push_back(op);
  std::sort(ops.begin(), ops.end());
  return ops;
}

void RankRunner::note(Exposure::Change change, std::uint16_t communicator, Time at, EventContext& context) {
  exposure_.note(change, communicator, at, context.now());
  if (shared_.compute_slowdown == 1) return;
  plan_ends(clock_.set_gpu_speed(exposure_.is_communicating() ? 1 / shared_.compute_slowdown : 1, context.now()), context);
}

}  // namespace weft
