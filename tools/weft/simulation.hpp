// Simulation: assembles a run from a scenario, executes it, and fills the results.
//
// Where it sits: `weft run` calls run_simulation() once everything was read. Entities are the hosts in order, the scheduler (or
// the flow list's source) and the fabric; their ids never depend on threads or partition.
// Thread safety: one simulation per call; two may run in one process.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "core/log.hpp"
#include "core/units.hpp"
#include "tools/weft/run_summary.hpp"
#include "tools/weft/scenario.hpp"

namespace weft {

struct SimulationOptions {
  std::uint32_t threads = 1;
  std::string zeta = "auto";       ///< "auto", "table", or a duration
  std::filesystem::path out;       ///< created when the run starts
  bool trace = false;              ///< also write trace.json
  std::optional<Duration> sample;  ///< also write link_samples.csv, in packet mode
  const std::atomic<bool>* interrupt = nullptr;
  /// Called now and then with the state of the run; `share` of the work done, negative if unknown.
  std::function<void(Time sim_time, std::uint64_t events, double share)> progress;
  Log log;
};

/// Finds what run_simulation() would refuse before it starts. Throws InputError.
void check_simulation(const Scenario& scenario);

/// Runs to the end, or until interrupted. Throws InputError [cannot-write], [bad-zeta], and [stuck] when the jobs of a finished run have not
/// finished, naming the ranks that wait and what for.
RunSummary run_simulation(Scenario& scenario, const SimulationOptions& options);

}  // namespace weft
