// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/flow_comparison.hpp"

#include <atomic>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

FlowComparison compare_with_flow_mode(const Scenario& scenario, const RunOptions& options, std::uint64_t events_max) {
  Scenario in_flow_mode = scenario;
  in_flow_mode.mode = Mode::flow;
  for (JobSpec& job : in_flow_mode.jobs) job.is_in_flow_mode = false;
  std::atomic<bool> stop = false;
  RunOptions alone;
  alone.threads = options.threads;
  alone.zeta = options.zeta;
  alone.interrupt = &stop;
  std::atomic<bool> takes_too_many = false;
  alone.progress = [&](const RunState& state) {
    if (state.events > events_max) takes_too_many = true;
    if (takes_too_many || (options.interrupt != nullptr && *options.interrupt)) stop = true;
  };
  try {
    ResultSink nobody;
    const RunSummary summary = finish_run(in_flow_mode, nobody, alone).summary;
    // Also where nobody looked before it was over.
    if (takes_too_many || summary.events > events_max)
      return {std::nullopt, fmt::format("it takes more events than packets did, {}", events_max)};
    if (summary.interrupted) return {std::nullopt, "interrupted"};
    return {FlowModeFigures{summary.makespan.in_s(), summary.mean_iteration_s, summary.mean_fct_s, summary.run_wall_time_s}, ""};
  } catch (const InputError& error) {
    return {std::nullopt, std::string("flow mode refuses it: ") + error.what()};
  }
}

}  // namespace weft
