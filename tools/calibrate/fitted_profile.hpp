// SPDX-License-Identifier: Apache-2.0
// Fitted profile: what a calibration found, as a profile (calibration/profile) and in words.
//
// Where it sits: `weft calibrate` and nights write it.
// Threads: pure.
#pragma once

#include <string>
#include <vector>

#include "calibration/profile.hpp"
#include "tools/calibrate/calibrator.hpp"

namespace weft {

/// Of now. `search`: by which it was found. Reads all inputs once more for their hashes.
CalibrationProfile fitted_profile(const CalibrationCases& all, const FitSpace& space, const CalibrationResult& result,
                                  const std::string& search);

/// Adds the values of a profile that the fit began from and did not look for. They are transferred
/// where that was of another machine.
void keep_values(const CalibrationProfile& from, CalibrationProfile& profile);

/// As a person reads it: "1.25 %".
std::string percent_text(double share);

/// What a row of the profile says beside its interval; empty: nothing.
std::string meaning_of(const CalibrationProfile::Parameter& parameter);

/// Parameters that end at an end of what was looked at and would go on.
std::vector<std::string> ranges_left(const FitSpace& space, const CalibrationResult& result);

/// The median of simulated over measured times, with the fitted values.
double middle_ratio(const CalibrationCases& all, const CalibrationResult& result);
/// Beyond 3, or below its inverse, units are rather wrong than the simulation.
inline constexpr double middle_ratio_max = 3;

}  // namespace weft
