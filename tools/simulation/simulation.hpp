// Simulation: assembles a run from a scenario, executes it, and fills the results.
//
// Where it sits: `weft run` calls run_simulation() once everything was read. Entities are the hosts in order, the scheduler (or
// the flow list's source) and the fabric; their ids never depend on threads or partition.
// Thread safety: one simulation per call; two may run in one process.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/text/log.hpp"
#include "core/values/units.hpp"
#include "host/symmetry/job_link_demand.hpp"
#include "scheduler/lifecycle/cluster_snapshot.hpp"
#include "tools/results/run_summary.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

struct SimulationOptions {
  std::uint32_t threads = 1;
  std::string zeta = "auto";       ///< "auto", "table", or a duration
  std::filesystem::path out;       ///< created and locked when the run starts (tools/results/results_folder)
  bool trace = false;              ///< also write trace.json
  std::optional<Duration> sample;  ///< also write link_samples.csv, in packet mode
  const std::atomic<bool>* interrupt = nullptr;
  std::optional<Time> until;                                       ///< the run stops after the events of that instant
  std::optional<Time> snapshot;                                    ///< when on_snapshot is called, unless all jobs have ended
  std::function<std::string(const ClusterSnapshot&)> on_snapshot;  ///< returns the text of snapshot.textproto
  std::shared_ptr<const ClusterSnapshot> from;                     ///< the jobs go on from there; null: the cluster begins empty
  std::shared_ptr<const KnownLinkDemands> link_demands;            ///< on the scenario's topology, of jobs of `from`; may be null
  std::function<void(const ClusterSnapshot&)> at_end;              ///< called when the run has stopped or ended
  double load_wall_time_s = 0;                                     ///< what reading the scenario took, for the summary
  std::function<void(RunSummary&)> complete_summary;  ///< called before the summary is written, if the run has not been cut off
  /// Called now and then with the state of the run; `share` of the work done, negative if unknown.
  std::function<void(Time sim_time, std::uint64_t events, double share)> progress;
  Log log;
};

/// Finds what run_simulation() would refuse before it starts. Throws InputError.
void check_simulation(const Scenario& scenario);

/// Of the jobs of a snapshot that run workloads.
std::shared_ptr<const KnownLinkDemands> link_demands_of(const Scenario& scenario, const ClusterSnapshot& snapshot,
                                                        std::uint32_t threads);

/// Runs to the end, until told to stop, or until nothing gets on any more (RunSummary::standstill); results hold what was finished. Throws
/// InputError as ResultsFolder does, [bad-zeta], and [stuck] when the jobs of a finished run have not finished, naming the ranks that wait
/// and what for.
RunSummary run_simulation(Scenario& scenario, const SimulationOptions& options);

/// Likewise; why the run stands still is an InputError.
RunSummary finish_simulation(Scenario& scenario, const SimulationOptions& options);

}  // namespace weft
