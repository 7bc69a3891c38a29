// SPDX-License-Identifier: Apache-2.0
// Profile use: a run takes the parameters of a calibration profile.
//
// Where it sits: `weft run --profile`.
// What a profile says goes before defaults, presets and the scenario file; --set goes before it.
// Threads: values.
#pragma once

#include <string>
#include <vector>

#include "calibration/profile.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// Reads the profile and adds its values to settings of --set that do not name these parameters.
/// Throws InputError.
CalibrationProfile take_profile(const std::string& file, std::vector<std::string>& settings);

/// Gives a scenario that was read the values of a profile. Throws InputError at its lines.
void apply_profile(const CalibrationProfile& profile, const std::string& file, Scenario& scenario);

/// Servers that a profile fitted to the scenario holds for; empty: without a name.
std::string machine_of(const Scenario& scenario);

/// Notes in the scenario what the profile is of, and what it is not sure of. Throws InputError
/// [transferred-profile] unless `takes_transferred`, if the values are of other machines than the
/// scenario's.
void note_profile(const CalibrationProfile& profile, const std::string& file, bool takes_transferred, Scenario& scenario);

}  // namespace weft
