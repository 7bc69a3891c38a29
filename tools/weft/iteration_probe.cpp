#include "tools/weft/iteration_probe.hpp"

#include "tools/weft/simulation.hpp"
#include "tools/weft/temporary_folder.hpp"

namespace weft {

Duration probe_iteration(const Scenario& scenario, const std::shared_ptr<const Workload>& workload, const SourcePlace& place) {
  constexpr std::uint32_t rounds = 2;
  Scenario alone;
  alone.name = "probe";
  alone.mode = simulates_network(scenario.mode) ? scenario.mode : Mode::flow;
  alone.seed = scenario.seed;
  alone.topology = scenario.topology;
  alone.routes = scenario.routes;
  alone.placement = scenario.placement;
  alone.parameters = scenario.parameters;
  alone.workloads.push_back(workload);
  alone.workload_files = scenario.workload_files;
  // On the hosts that jobs get, at the speeds that these always have.
  alone.storage = scenario.storage;
  alone.failures.hot_spares = scenario.failures.hot_spares;
  alone.failures.cold_spares = scenario.failures.cold_spares;
  for (const HostSpeedEntry& entry : scenario.host_speeds) {
    if (entry.from == Time::zero() && entry.until == Time::max()) alone.host_speeds.push_back(entry);
  }
  JobSpec job;
  job.name = workload->name;
  job.gpus = workload->rank_count;
  job.iterations = rounds;
  job.workload = workload;
  job.place = place;
  alone.jobs.push_back(std::move(job));
  const TemporaryFolder folder;
  SimulationOptions options;
  options.out = folder.path();
  // Not the makespan, which holds the way from the scheduler to the hosts and back.
  return Duration::from_seconds(run_simulation(alone, options).mean_iteration_s);
}

}  // namespace weft
