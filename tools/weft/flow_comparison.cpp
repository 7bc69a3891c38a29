#include "tools/weft/flow_comparison.hpp"

#include <chrono>

#include "core/diagnostics.hpp"
#include "tools/weft/temporary_folder.hpp"

namespace weft {

std::optional<FlowModeFigures> flow_mode_figures(const Scenario& scenario, const SimulationOptions& options,
                                                 double wall_time_max_s) {
  Scenario in_flow_mode = scenario;
  in_flow_mode.mode = Mode::flow;
  for (JobSpec& job : in_flow_mode.jobs) job.is_in_flow_mode = false;
  const TemporaryFolder folder;
  std::atomic<bool> stop = false;
  const auto started = std::chrono::steady_clock::now();
  SimulationOptions alone;
  alone.threads = options.threads;
  alone.zeta = options.zeta;
  alone.out = folder.path();
  alone.interrupt = &stop;
  alone.progress = [&](Time, std::uint64_t, double) {
    const double taken_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (taken_s > wall_time_max_s || (options.interrupt != nullptr && *options.interrupt)) stop = true;
  };
  try {
    const RunSummary summary = run_simulation(in_flow_mode, alone);
    if (summary.interrupted) return std::nullopt;
    return FlowModeFigures{summary.makespan.in_s(), summary.mean_iteration_s, summary.mean_fct_s, summary.run_wall_time_s};
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace weft
