// SPDX-License-Identifier: Apache-2.0
// Content checks: whether a scenario has somewhere to run and something to run, of kinds that go
// together.
//
// Where it sits: load_scenario() asks when file and flags have been read. `file` is null without a
// scenario file.
// Thread safety: pure functions.
#pragma once

#include "tools/simulation/scenario/run_flags.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/scenario/scenario_file.hpp"

namespace weft {

/// A run needs somewhere to run. Throws InputError.
void check_cluster(const Scenario& scenario, const RunFlags& flags, const ScenarioFile* file);

/// A run needs something to run, of a kind that its mode can. Throws InputError.
void check_content(const Scenario& scenario, const RunFlags& flags, const ScenarioFile* file);

/// Whether the regions in which jobs have data exist. Where the policy knows none, a note says so.
/// Throws InputError.
void check_data_regions(Scenario& scenario);

}  // namespace weft
