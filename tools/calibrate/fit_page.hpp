// SPDX-License-Identifier: Apache-2.0
// Fit page: what a calibration found, as the rows and the page that show it.
//
// Where it sits: `weft calibrate --page` and --breakdown; nights add their own to it.
// Threads: pure.
#pragma once

#include <vector>

#include "tools/calibrate/calibration_page.hpp"
#include "tools/calibrate/calibrator.hpp"

namespace weft {

/// Every measured time with what was simulated before and after. The job's GPUs and the host that a
/// flow comes from are those of the scenario.
std::vector<TimedError> timed_errors(const CalibrationCases& all, const CalibrationResult& result);

/// Without a status and nights.
CalibrationPage fit_page(const CalibrationCases& all, const FitSpace& space, const CalibrationResult& result,
                         const CalibrationProfile& profile);

}  // namespace weft
