// SPDX-License-Identifier: Apache-2.0
// Scheduler: a cluster trace of the Philly kind (82,247 jobs, mostly one GPU, long tail) on 300
// hosts of 8 GPUs, in job mode.
//
// Measures the whole run from jobs in memory to records in memory: kernel, policy, placement,
// cluster state. `load` is the mean demand in percent of the cluster over the span of submissions:
// above 100 the queue grows and its head is blocked most of the time.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/values/random.hpp"
#include "scheduler/lifecycle/job_lifecycle.hpp"
#include "scheduler/placement/first_fit.hpp"
#include "scheduler/policies/fcfs.hpp"

namespace weft {
namespace {

constexpr std::uint32_t job_count = 82'247;
constexpr std::uint32_t gpus_per_host = 8;

std::vector<JobSpec> philly_like(std::uint32_t hosts, double load) {
  std::vector<JobSpec> jobs(job_count);
  RandomStream random(1, 0, 0);
  double gpu_time_s = 0;
  for (std::uint32_t i = 0; i < job_count; ++i) {
    JobSpec& job = jobs[i];
    const std::uint64_t kind = random.below(100);
    job.gpus = kind < 85 ? 1 : 1U << random.below(kind < 99 ? 4 : 6);
    const Duration run = Duration::from_seconds(random.lognormal(7, 2));
    job.duration = DurationModel::fixed(run);
    gpu_time_s += job.gpus * run.in_s();
  }
  const double span_s = gpu_time_s / (load * hosts * gpus_per_host);
  double submit_s = 0;
  for (JobSpec& job : jobs) {
    submit_s += random.exponential(span_s / job_count);
    job.submit = Time::zero() + Duration::from_seconds(submit_s);
  }
  return jobs;
}

void fcfs_first_fit(benchmark::State& state) {
  const auto hosts = static_cast<std::uint32_t>(state.range(0));
  const std::vector<JobSpec> jobs = philly_like(hosts, static_cast<double>(state.range(1)) / 100);
  JobCounters counters;
  for (auto _ : state) {
    JobLifecycleSettings settings;
    settings.policy = std::make_unique<Fcfs>();
    settings.placer = std::make_unique<FirstFit>();
    EngineBuilder builder;
    const EntityId id = JobLifecycle::add_to(
        builder, std::make_unique<JobLifecycle>(jobs, ClusterState(hosts, gpus_per_host), std::move(settings)));
    Engine engine = std::move(builder).build({});
    engine.run({});
    engine.entity_as<JobLifecycle>(id).require_all_finished();
    counters = engine.entity_as<JobLifecycle>(id).counters();
  }
  state.SetItemsProcessed(state.iterations() * job_count);
  state.counters["queue_max"] = static_cast<double>(counters.queue_length_max);
  state.counters["passes"] = static_cast<double>(counters.passes);
}
BENCHMARK(fcfs_first_fit)
    ->ArgNames({"hosts", "load"})
    ->Args({300, 50})
    ->Args({300, 120})
    ->Args({4096, 2000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
