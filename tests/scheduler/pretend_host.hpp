// SPDX-License-Identifier: Apache-2.0
// Hosts that only pretend: each rank's iteration takes a time given by a formula. For runs of jobs
// with workloads.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"
#include "tests/scheduler/scheduler_run.hpp"

namespace weft::testing_scheduler {

using IterationTime = std::function<Duration(JobId, RankId, std::uint32_t iteration)>;

/// Runs every rank on its endpoints for the time that the formula says, or on fewer GPUs for as
/// much longer; a tenth of it is exposed communication.
class PretendHost final : public Entity {
 public:
  /// Data of a job, or its last checkpoint, arrives all at once, when the storage can have sent or
  /// taken all of it.
  PretendHost(NodeId first, std::uint32_t endpoints, const JobTable& jobs, Duration control_delay,
              const std::vector<JobSpec>& specs, const IterationTime& time, const StorageSettings& storage = {})
      : first_(first),
        endpoints_(endpoints),
        jobs_(jobs),
        control_delay_(control_delay),
        specs_(specs),
        time_(time),
        storage_(storage) {}

  void handle(const Event& event, EventContext& context) override {
    if (event.kind == start_job) {
      scheduler_ = event.key.source;
      ++starts;
      const RunningJob& running = jobs_.at(event.payload_as<StartJob>().attempt);
      if (stopped_.contains(running.attempt)) return;
      for (std::uint32_t rank = 0; rank < running.endpoint_of_rank->size(); ++rank) {
        const std::uint32_t endpoint = (*running.endpoint_of_rank)[rank].index();
        if (endpoint >= first_.index() && endpoint < first_.index() + endpoints_)
          begin({running.attempt, RankId(rank), running.first_iteration}, Duration::zero(), context);
      }
      return;
    }
    if (event.kind == send_data) {
      scheduler_ = event.key.source;
      const AttemptId attempt = event.payload_as<StartJob>().attempt;
      std::vector<RankData> all;
      for (const StoredData& part : *jobs_.at(attempt).data) all.push_back({part.rank, GpuSlot(0), part.size});
      context.schedule(fetching_time(all, storage_), EventClass::timer, kDataLeaves, event.payload_as<StartJob>());
      return;
    }
    if (event.kind == kDataLeaves) {
      const AttemptId attempt = event.payload_as<StartJob>().attempt;
      for (const StoredData& part : *jobs_.at(attempt).data) {
        const bool lies_here = part.store.index() >= first_.index() && part.store.index() < first_.index() + endpoints_;
        if (lies_here && !stopped_.contains(attempt)) context.send(scheduler_, control_delay_, data_arrived, DataArrived{attempt});
      }
      return;
    }
    if (event.kind == send_checkpoint) {
      scheduler_ = event.key.source;
      const RunningJob& running = jobs_.at(event.payload_as<StartJob>().attempt);
      std::vector<RankData> all;
      for (const StoredData& part : *running.checkpoint) all.push_back({part.rank, GpuSlot(0), part.size});
      context.schedule(fetching_time(all, storage_), EventClass::timer, kCheckpointLeaves, event.payload_as<StartJob>());
      return;
    }
    if (event.kind == kCheckpointLeaves) {
      const AttemptId attempt = event.payload_as<StartJob>().attempt;
      const RunningJob& running = jobs_.at(attempt);
      for (const StoredData& part : *running.checkpoint) {
        const std::uint32_t source = (*running.endpoint_of_rank)[part.rank.index()].index();
        const bool is_here = source >= first_.index() && source < first_.index() + endpoints_;
        if (is_here && !stopped_.contains(attempt)) context.send(scheduler_, control_delay_, data_arrived, DataArrived{attempt});
      }
      return;
    }
    if (event.kind == stop_job) {
      stopped_.insert(event.payload_as<StopJob>().attempt);
      return;
    }
    const auto step = event.payload_as<Step>();
    if (stopped_.contains(step.attempt)) return;
    const RunningJob& running = jobs_.at(step.attempt);
    const auto iteration = static_cast<std::uint32_t>(step.iteration);
    const Duration took = time_of(running, step.rank, iteration);
    context.send(scheduler_, control_delay_, iteration_done,
                 IterationDone{step.attempt, step.rank, iteration, 0, context.now(), Duration::ticks(took.in_ticks() / 10)});
    if (step.iteration + 1 == running.iterations) return;
    const bool writes = running.has_checkpoint_after(step.iteration + 1);
    begin({step.attempt, step.rank, step.iteration + 1}, writes ? running.checkpoint_write : Duration::zero(), context);
  }

  int starts = 0;

 private:
  static constexpr std::uint16_t kDataLeaves = 2;
  static constexpr std::uint16_t kCheckpointLeaves = 3;

  struct Step {
    AttemptId attempt;
    RankId rank;
    std::uint64_t iteration;
  };
  void begin(const Step& step, Duration after, EventContext& context) {
    const auto iteration = static_cast<std::uint32_t>(step.iteration);
    context.schedule(after + time_of(jobs_.at(step.attempt), step.rank, iteration), EventClass::timer, 1, step);
  }
  Duration time_of(const RunningJob& running, RankId rank, std::uint32_t iteration) const {
    return time_on_fewer(time_(running.job, rank, iteration), specs_[running.job.index()].gpus,
                         static_cast<std::uint32_t>(running.endpoint_of_rank->size()));
  }

  NodeId first_;
  std::uint32_t endpoints_;
  const JobTable& jobs_;
  Duration control_delay_;
  const std::vector<JobSpec>& specs_;
  const IterationTime& time_;
  StorageSettings storage_;
  EntityId scheduler_;
  std::set<AttemptId> stopped_;
};

class Iterations final : public JobObserver {
 public:
  void iteration_finished(const JobSpec&, const IterationRecord& record) override { records.push_back(record); }
  std::vector<IterationRecord> records;
};

inline JobSpec workload_job(std::string name, Time submit, std::uint32_t ranks, std::uint64_t iterations) {
  JobSpec spec = job(std::move(name), 0, ranks, {});
  spec.submit = submit;
  spec.iterations = iterations;
  auto workload = std::make_shared<Workload>();
  workload->name = "pretended";
  workload->rank_count = ranks;
  spec.workload = std::move(workload);
  return spec;
}

struct HostedRun {
  std::vector<JobRecord> records;
  std::vector<IterationRecord> iterations;
  std::vector<int> starts;  ///< start_job messages per host
  JobCounters counters;
  FastForwardReport fast_forward;
  RunReport report;
  std::string failure;  ///< of require_all_finished()
};

/// With the settings given, but for the wiring.
inline HostedRun run_on_hosts(const std::vector<JobSpec>& jobs, std::uint32_t hosts, std::uint32_t gpus_per_host,
                              const IterationTime& time, JobLifecycleSettings settings, EngineOptions options = {}) {
  JobTable table;
  settings.wiring.jobs = &table;
  EngineBuilder builder;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    settings.wiring.entity_of_host.push_back(
        builder.add_entity(std::make_unique<PretendHost>(NodeId(100 + host * gpus_per_host), gpus_per_host, table,
                                                         settings.control_delay, jobs, time, settings.storage),
                           "host" + std::to_string(host)));
    // Nodes are not numbered as slots are, so that a mix-up shows.
    for (std::uint32_t gpu = 0; gpu < gpus_per_host; ++gpu)
      settings.wiring.endpoint_of_gpu.emplace_back(100 + host * gpus_per_host + gpu);
  }
  const std::vector<EntityId> entities = settings.wiring.entity_of_host;
  const EntityId id =
      JobLifecycle::add_to(builder, std::make_unique<JobLifecycle>(jobs, ClusterState(hosts, gpus_per_host), std::move(settings)));
  Engine engine = std::move(builder).build(std::move(options));
  HostedRun run;
  run.report = engine.run({});
  const JobLifecycle& lifecycle = engine.entity_as<JobLifecycle>(id);
  try {
    lifecycle.require_all_finished();
  } catch (const CheckFailure& failure) {
    run.failure = failure.what();
  }
  run.records = lifecycle.records();
  run.counters = lifecycle.counters();
  run.fast_forward = lifecycle.fast_forward();
  for (const EntityId entity : entities) run.starts.push_back(engine.entity_as<PretendHost>(entity).starts);
  return run;
}

/// First come, first served, noting iterations.
inline HostedRun run_on_hosts(const std::vector<JobSpec>& jobs, std::uint32_t hosts, std::uint32_t gpus_per_host,
                              const IterationTime& time, EngineOptions options = {}) {
  Iterations observer;
  HostedRun run = run_on_hosts(jobs, hosts, gpus_per_host, time, fcfs_first_fit(&observer), std::move(options));
  run.iterations = observer.records;
  return run;
}

}  // namespace weft::testing_scheduler
