// SPDX-License-Identifier: Apache-2.0
// Calibrate text: what `weft calibrate` prints, of a fit and of a night.
// Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "calibration/profile.hpp"
#include "tools/calibrate/calibrator.hpp"
#include "tools/calibrate/nightly.hpp"

namespace weft {

/// Parameters and errors as tables.
void print_calibration(const CalibrationProfile& profile, const CalibrationResult& result);
std::string calibration_json(const CalibrationProfile& profile, const CalibrationResult& result, double wall_time_s);

/// Some of the measured times, each on a line of stderr. `simulated_s` may be null.
void list_times(const char* what, const std::vector<std::size_t>& which, const MeasuredTables& measured,
                const std::vector<double>* simulated_s);

/// What a night came to.
void print_night(const NightResult& night);

}  // namespace weft
