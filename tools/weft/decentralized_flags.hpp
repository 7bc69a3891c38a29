// SPDX-License-Identifier: Apache-2.0
// What `weft project decentralized` is told, and its answer.
//
// Where it sits: the command and the Python module fill the flags.
// Threads: one thread per call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/text/params.hpp"
#include "tools/projections/site_simulation.hpp"
#include "workloads/decentralized/closed_forms.hpp"

namespace weft {

struct DecentralizedFlags {
  std::vector<std::string> settings;  ///< "variable=value", of closed forms or of the simulation
  std::string as = "weft";            ///< "weft" or "seed"
  bool simulate = false;
};

struct ProjectedSites {
  ParamSet forms;  ///< variables of closed forms ...
  ParamSet world;  ///< ... and of the simulated world
  DecentralizedForecast forecast;
  std::optional<SiteSimulation> simulation;  ///< if asked for
};

/// Throws InputError: [bad-setting], [unused-setting], and what ParamSet::set(),
/// forecast_decentralized() and simulate_sites() do.
ProjectedSites projected_sites(const DecentralizedFlags& flags, const RunOptions& options);

}  // namespace weft
