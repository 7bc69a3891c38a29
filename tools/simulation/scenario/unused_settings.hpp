// Unused settings: a parameter that was set and that nothing in the run asks for is noted, since the run is the same without it.
//
// Where it sits: load_scenario() asks once mode, policy and placement are known.
// Thread safety: pure functions.
#pragma once

#include <set>
#include <string>

namespace weft {

struct Scenario;

/// Adds an assumption for each parameter that is not at its default and whose module takes no part: the network in job mode, the scheduler
/// beside a flow list, algorithms and policies that are not chosen. Without `has_builder` the topology builder that the scenario names is
/// not used either. Returns these parameters, "module.param".
std::set<std::string> note_unused_settings(Scenario& scenario, bool has_builder);

}  // namespace weft
