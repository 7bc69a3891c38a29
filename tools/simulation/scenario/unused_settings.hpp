// SPDX-License-Identifier: Apache-2.0
// Unused settings: a parameter that was set and has no effect in the run is noted, since the run is
// the same without it.
//
// Where it sits: load_scenario() asks once mode, policy and placement are known. Rows and modules
// say when they are unused (module_uses); nothing here knows a single parameter.
// Thread safety: pure functions.
#pragma once

#include <set>
#include <string>

namespace weft {

struct Scenario;

/// Adds an assumption for each parameter that is not at its default and has no effect. A builder of
/// topologies is used if it is that of the run. Returns these parameters, "module.param".
std::set<std::string> note_unused_settings(Scenario& scenario);

}  // namespace weft
