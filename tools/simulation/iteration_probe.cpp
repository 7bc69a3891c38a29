// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/iteration_probe.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/text/param_rows.hpp"
#include "host/ranks/host_settings.hpp"
#include "tools/simulation/run.hpp"

namespace weft {

namespace {

Duration run_alone(const Scenario& alone) {
  ResultSink nobody;
  // Not the makespan, which holds the way from the scheduler to the hosts and back.
  return Duration::from_seconds(finish_run(alone, nobody, {}).summary.mean_iteration_s);
}

}  // namespace

ProbedIteration probe_iteration(const Scenario& scenario, const std::shared_ptr<const Workload>& workload,
                                const SourcePlace& place) {
  constexpr std::uint32_t rounds = 2;
  Scenario alone;
  alone.name = "probe";
  alone.mode = simulates_network(scenario.mode) ? scenario.mode : Mode::flow;
  alone.seed = scenario.seed;
  alone.topology = scenario.topology;
  alone.routes = scenario.routes;
  alone.placement = scenario.placement;
  alone.parameters = scenario.parameters;
  alone.switch_profiles = scenario.switch_profiles;
  alone.workloads.push_back(workload);
  alone.workload_files = scenario.workload_files;
  // On the hosts that jobs get.
  alone.storage = scenario.storage;
  alone.failures.hot_spares = scenario.failures.hot_spares;
  alone.failures.cold_spares = scenario.failures.cold_spares;
  const auto speeds = filled<HostSettings>(scenario.parameters.of("host"));
  const bool has_slow_hosts = !scenario.host_speeds.empty() || speeds.straggler_share > 0 || speeds.speed_spread > 0;
  if (has_slow_hosts) {
    alone.parameters.apply("host.straggler_share", "0", {});
    alone.parameters.apply("host.speed_spread", "0", {});
  }
  JobSpec job;
  job.name = workload->name;
  job.gpus = workload->rank_count;
  job.iterations = rounds;
  job.workload = workload;
  job.place = place;
  alone.jobs.push_back(std::move(job));
  ProbedIteration probed;
  probed.time = run_alone(alone);
  if (!has_slow_hosts || probed.time == Duration::zero()) return probed;
  HostSpeedEntry half{{}, 0.5, Time::zero(), Time::max()};
  for (std::uint32_t host = 0; host < alone.topology->host_count(); ++host) half.hosts.emplace_back(host);
  alone.host_speeds.push_back(std::move(half));
  probed.compute_share = std::clamp(run_alone(alone).in_s() / probed.time.in_s() - 1, 0.0, 1.0);
  return probed;
}

}  // namespace weft
