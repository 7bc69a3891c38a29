// SPDX-License-Identifier: Apache-2.0
// Flow comparison: what a run in packet mode comes to in flow mode, so that the difference is seen
// beside the result.
//
// Where it sits: `weft run --mode=packet` runs the scenario again in flow mode before it writes the
// summary, unless told not to.
// Thread safety: as run_simulation().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

struct FlowComparison {
  std::optional<FlowModeFigures> figures;
  std::string left_out_because;  ///< if there are none
};

/// Runs a scenario of packet mode in flow mode, with as many threads as `options` says and without
/// its results. There are no figures if flow mode refuses it, if it is interrupted, or if it takes
/// more than `events_max` events; so it does not depend on how fast the machine is.
FlowComparison compare_with_flow_mode(const Scenario& scenario, const RunOptions& options, std::uint64_t events_max);

}  // namespace weft
