// Flow comparison: what a run in packet mode comes to in flow mode, so that the difference is seen beside the result.
//
// Where it sits: `weft run --mode=packet` runs the scenario again in flow mode before it writes the summary, unless told not to.
// Thread safety: as run_simulation().
#pragma once

#include <atomic>
#include <optional>

#include "tools/weft/scenario.hpp"
#include "tools/weft/simulation.hpp"

namespace weft {

/// Runs a scenario of packet mode in flow mode, with as many threads as `options` says and without its results. None if flow mode refuses it, if it is interrupted, or if it
/// takes longer than `wall_time_max_s`, as flow mode may where very many flows meet.
std::optional<FlowModeFigures> flow_mode_figures(const Scenario& scenario, const SimulationOptions& options,
                                                 double wall_time_max_s);

}  // namespace weft
