// SPDX-License-Identifier: Apache-2.0
// Parameter changes: the parameters that a scenario's events set while the run goes on, and what
// they make of the scheduler's settings.
//
// Where it sits: the scenario reader checks with it what events say; the simulation hands the
// changes to the scheduler.
//
// Model: changes follow each other in time, each on top of those before. What may change is what
// the scheduler decides by: its policy and placement (scheduler.policy, scheduler.placement) and
// their parameters, and those that changeable_parameters() names. All else is fixed when the run
// starts.
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scheduler/lifecycle/settings_change.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// Beside the parameters of policies and placements, in the order of a sentence: "scheduler.policy,
/// scheduler.round, ...".
std::string changeable_parameters();

/// What the scenario's changes come to, one for each. Throws InputError with all that is wrong, at
/// the places of the changes: [fixed-parameter], [unknown-module], [unknown-param], [bad-value],
/// [out-of-range]. Parameters of a policy or placement that is not in use from then on are in the
/// list of `unused`, if it is not null.
std::vector<SettingsChange> settings_changes(const Scenario& scenario, std::vector<std::string>* unused = nullptr);

/// The policy, placement and parameters of a run as its events have set them by then, that instant
/// included.
void apply_changes_until(Scenario& scenario, Time when);

}  // namespace weft
