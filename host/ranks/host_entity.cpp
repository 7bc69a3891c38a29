// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/host_entity.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/check.hpp"
#include "host/across/across_door.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

namespace {

/// Whether what ops of a rank take is known when they start.
bool may_go_ahead(HostId host, const HostWiring& wiring) {
  return wiring.ranks.compute_slowdown == 1 && wiring.speeds.changes(host).empty();
}

}  // namespace

HostEntity::HostEntity(HostId host, const HostWiring& wiring) : host_(host), wiring_(wiring) {
  const std::span<const NodeId> endpoints = wiring.topology.endpoints_of(host);
  endpoints_.assign(endpoints.begin(), endpoints.end());
  runners_.resize(endpoints_.size());
  speed_ = wiring.speeds.at(host, Time::zero());
  if (wiring.inside != nullptr) inside_.emplace(*wiring.inside, runners_, may_go_ahead(host, wiring));
}

void HostEntity::handle(const Event& event, EventContext& context) {
  take(event, context);
  if (!inside_) return;
  for (const std::uint32_t slot : inside_->take_told()) {
    if (runners_[slot] != nullptr) report(*runners_[slot], context);
  }
  inside_->timers().post(context);
}

void HostEntity::take(const Event& event, EventContext& context) {
  switch (event.kind) {
    case start_job:
      start(event.payload_as<StartJob>().attempt, context);
      return;
    case stop_job:
      stop(event.payload_as<StopJob>(), context);
      return;
    case send_data:
      send_stored(event.payload_as<StartJob>().attempt, context);
      return;
    case send_checkpoint:
      send_last_checkpoint(event.payload_as<StartJob>().attempt, context);
      return;
    case transfer_sent: {
      const auto transfer = event.payload_as<Transfer>();
      if (transfer.connection == storage_connection) return;
      if (RankRunner* const runner = runner_at(transfer.source, transfer.attempt)) {
        runner->on_sent(transfer, context);
        report(*runner, context);
      }
      return;
    }
    case transfer_delivered: {
      const auto transfer = event.payload_as<Transfer>();
      if (transfer.connection == storage_connection) {
        if (const RunningJob& job = wiring_.jobs.at(transfer.attempt); job.data != nullptr || job.is_last_checkpoint)
          context.send(wiring_.scheduler, wiring_.control_delay, data_arrived, DataArrived{transfer.attempt});
        return;
      }
      if (RankRunner* const runner = runner_at(receiver_of(transfer), transfer.attempt)) {
        runner->on_delivered(transfer, context);
        report(*runner, context);
      }
      return;
    }
    case collective_ends: {
      const auto ends = event.payload_as<CollectiveEnds>();
      const NodeId endpoint = (*wiring_.jobs.at(ends.attempt).endpoint_of_rank)[ends.rank.index()];
      if (RankRunner* const runner = runner_at(endpoint, ends.attempt)) {
        runner->finish_across(ends.op, context);
        report(*runner, context);
      }
      return;
    }
    case speed_changes:
      change_speed(context);
      return;
    case inside_due:
      inside_->on_due(event.payload_as<InsideDue>(), context);
      return;
    case compute_done:
    case receive_done:
    case launch_done:
    case checkpoint_written:
    case op_starts:
    case clock_is_there:
      take_timer(event.kind, event.payload_as<RankTimerPayload>(), context);
      return;
    case several_ranks: {
      const auto ranks = event.payload_as<SeveralRanksPayload>();
      RankTimers::each(ranks,
                       [&](const RankTimerPayload& timer) { take_timer(static_cast<std::uint16_t>(ranks.kind), timer, context); });
      return;
    }
    default:
      fail_check("event.kind is known", fmt::format("a host knows event kind {}", event.kind), __FILE__, __LINE__);
  }
}

void HostEntity::take_timer(std::uint16_t kind, const RankTimerPayload& payload, EventContext& context) {
  RankRunner* const runner = runners_[payload.slot].get();
  if (runner == nullptr || runner->attempt() != payload.attempt) {
    // The end of an op that was moved outlives the rank, as does what came at its end.
    WEFT_CHECK(kind == compute_done || kind == clock_is_there || stopped_.contains(payload.attempt),
               "a timer finds its rank running");
    return;
  }
  runner->on_timer(kind, payload, context);
  report(*runner, context);
}

std::size_t HostEntity::slot_at(NodeId endpoint) const {
  // Mostly they are numbered one after the other.
  const std::size_t guess = endpoint.index() - endpoints_.front().index();
  if (guess < endpoints_.size() && endpoints_[guess] == endpoint) return guess;
  const auto found = std::ranges::find(endpoints_, endpoint);
  WEFT_CHECK(found != endpoints_.end(), "a notice reaches the host of its endpoint");
  return static_cast<std::size_t>(found - endpoints_.begin());
}

RankRunner* HostEntity::runner_at(NodeId endpoint, AttemptId attempt) {
  RankRunner* const runner = runners_[slot_at(endpoint)].get();
  if (runner != nullptr && runner->attempt() == attempt) return runner;
  WEFT_CHECK(stopped_.contains(attempt), "a notice finds the rank of its job running");
  return nullptr;
}

void HostEntity::start(AttemptId attempt, EventContext& context) {
  if (stopped_.contains(attempt)) return;
  const RunningJob& running = wiring_.jobs.at(attempt);
  std::vector<RankRunner*> started;
  std::vector<Island::Member> members;
  for (std::uint32_t rank = 0; rank < running.endpoint_of_rank->size(); ++rank) {
    const NodeId endpoint = (*running.endpoint_of_rank)[rank];
    if (wiring_.topology.node(endpoint).host != host_) continue;
    if (running.folding != nullptr && !running.folding->is_representative(RankId(rank))) continue;
    const std::size_t slot = slot_at(endpoint);
    WEFT_CHECK(runners_[slot] == nullptr, "an endpoint runs one rank at a time");
    runners_[slot] = std::make_unique<RankRunner>(running, RankId(rank), static_cast<std::uint32_t>(slot), wiring_.ranks, records_,
                                                  inside_ ? &*inside_ : nullptr);
    members.push_back({RankId(rank), endpoint, static_cast<std::uint32_t>(slot)});
    runners_[slot]->set_host_speed(speed_, context);
    started.push_back(runners_[slot].get());
  }
  if (inside_) inside_->start_ranks(running, members);
  // All ranks exist before the first one runs: a job whose ops take no time ends inside start().
  for (RankRunner* runner : started) {
    runner->start(context);
    report(*runner, context);
  }
}

void HostEntity::send_stored(AttemptId attempt, EventContext& context) {
  if (stopped_.contains(attempt)) return;
  const RunningJob& job = wiring_.jobs.at(attempt);
  for (std::size_t i = 0; i < job.data->size(); ++i) {
    const StoredData& part = (*job.data)[i];
    if (wiring_.topology.node(part.store).host != host_) continue;
    const NodeId destination = (*job.endpoint_of_rank)[part.rank.index()];
    wiring_.ranks.network.start({attempt, part.store, destination, storage_connection, 0, i, part.size}, context);
  }
}

void HostEntity::send_last_checkpoint(AttemptId attempt, EventContext& context) {
  const RunningJob& job = wiring_.jobs.at(attempt);
  for (const StoredData& part : *job.checkpoint) {
    const NodeId source = (*job.endpoint_of_rank)[part.rank.index()];
    if (wiring_.topology.node(source).host == host_)
      wiring_.ranks.network.start({attempt, source, part.store, storage_connection, 0, job.first_iteration, part.size}, context);
  }
}

void HostEntity::stop(const StopJob& stopped, EventContext& context) {
  stopped_.insert(stopped.attempt);
  // What ends at this instant comes after the scheduler's messages.
  const Time before = context.now() - Duration::ticks(1);
  if (inside_) inside_->stop(stopped.attempt, context.now(), before);
  if (stopped.is_over != 0) wiring_.ranks.network.stop(stopped.attempt, host_, context);
  for (std::unique_ptr<RankRunner>& runner : runners_) {
    if (runner != nullptr && runner->attempt() == stopped.attempt) leave(runner, before);
  }
  const auto lies_ahead = [&](const OpRecord& record) {
    if (record.attempt != stopped.attempt || record.end <= before) return false;
    if (record.end > context.now()) return true;
    const RoleDag& dag = wiring_.jobs.at(record.attempt).workload->dag_of(record.rank);
    return dag.kind(record.op) == OpKind::compute && record.start < record.end;
  };
  if (inside_) std::erase_if(records_, lies_ahead);
}

void HostEntity::leave(std::unique_ptr<RankRunner>& runner, Time until) {
  exposures_.push_back({runner->attempt(), runner->rank(), runner->exposed_by_communicator(until)});
  const std::vector<SlotHoldup> holdups = runner->slot_holdups(until);
  slot_holdups_.insert(slot_holdups_.end(), holdups.begin(), holdups.end());
  runner.reset();
}

void HostEntity::change_speed(EventContext& context) {
  speed_ = wiring_.speeds.at(host_, context.now());
  for (const std::unique_ptr<RankRunner>& runner : runners_) {
    if (runner != nullptr) runner->set_host_speed(speed_, context);
  }
}

void HostEntity::report(RankRunner& runner, EventContext& context) {
  for (const RankRunner::FinishedIteration& finished : runner.take_finished()) {
    context.send(
        wiring_.scheduler, wiring_.control_delay, iteration_done,
        IterationDone{runner.attempt(), runner.rank(), finished.iteration, 0, context.now(), finished.exposed_communication});
  }
  if (!runner.done()) {
    if (inside_) runner.plan_waking(context);
    return;
  }
  const auto place = std::ranges::find(runners_, &runner, &std::unique_ptr<RankRunner>::get);
  if (inside_) inside_->end_rank(static_cast<std::uint32_t>(place - runners_.begin()), context.now());
  leave(*place, context.now());
}

std::vector<RankExposure> HostEntity::exposures(Time now) const {
  std::vector<RankExposure> exposures = exposures_;
  for (const std::unique_ptr<RankRunner>& runner : runners_) {
    if (runner != nullptr) exposures.push_back({runner->attempt(), runner->rank(), runner->exposed_by_communicator(now)});
  }
  return exposures;
}

InsideRecords HostEntity::inside_records(Time now) const { return inside_ ? inside_->records(now) : InsideRecords{}; }

std::vector<UnfinishedTransfer> HostEntity::inside_unfinished() const {
  return inside_ ? inside_->unfinished() : std::vector<UnfinishedTransfer>();
}

std::vector<SlotHoldup> HostEntity::slot_holdups(Time now) const {
  std::vector<SlotHoldup> all = slot_holdups_;
  for (const std::unique_ptr<RankRunner>& runner : runners_) {
    if (runner == nullptr) continue;
    const std::vector<SlotHoldup> of_rank = runner->slot_holdups(now);
    all.insert(all.end(), of_rank.begin(), of_rank.end());
  }
  return all;
}

bool HostEntity::is_busy(Time now) const {
  if (inside_ && inside_->is_moving()) return true;
  return std::ranges::any_of(runners_, [now](const auto& runner) { return runner != nullptr && runner->is_computing(now); });
}

std::vector<WaitingRank> HostEntity::waiting_ranks() const {
  std::vector<WaitingRank> waiting;
  for (const std::unique_ptr<RankRunner>& runner : runners_) {
    if (runner != nullptr) waiting.push_back({runner->attempt(), runner->rank(), runner->iteration(), runner->waiting_ops()});
  }
  return waiting;
}

}  // namespace weft
