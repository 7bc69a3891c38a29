// SPDX-License-Identifier: Apache-2.0
// Nightly calibration: measured times come in, values are fitted, verified and published.
//
// Where it sits: `weft calibrate --nightly`, begun by a timer (tools/nightly).
//
// Model:
//   ingest   cases of the date are read. A night with too many unreadable or unmatched rows, with
//            far fewer rows than nights before it, or whose times are far from what is predicted,
//            is refused: nothing is fitted.
//   fit      from the values in force (tools/calibrate/calibrator).
//   verify   the fit is published if it predicts the times held out no worse than the values in
//            force do, the search was not cut off before intervals were found, no value wants to
//            leave its range, and the values in force are of no later night; else these are kept.
//   publish  the profile is replaced at once: whoever reads it finds the old or the new one whole,
//            also where the program is killed. Then the night's record is written, and the page.
// Drift is the mean difference of what the reference predicts, the first profile published, from
// what the night's fit does. There is an alarm where it is more than drift_max in the median over
// the nights of the last drift_days days, this one among them, that were held against the same
// reference: a fit is as noisy as what was measured that night, and of hundreds some are far off.
// There is another where the error of the values in force is by more larger than it was on the
// reference's night. Outliers count in both.
// Of one date, a second night replaces the first, unless it is refused and the first was published.
// Threads: one night of a history at a time, which a lock sees to.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/calibrate/calibrator.hpp"
#include "tools/calibrate/night_record.hpp"
#include "tools/calibrate/nightly_config.hpp"

namespace weft {

struct NightOptions {
  std::string date;  ///< as check_date() takes it
  /// The values in force after this night are the reference from now on.
  bool accepts_drift = false;
  CalibrationOptions fit;                  ///< but for its journal
  std::vector<std::string> settings = {};  ///< of scenarios, as --set has them
  /// Whether the user, and not the clock, stopped the fit.
  std::function<bool()> is_interrupted = {};
};

struct NightResult {
  NightRecord record;
  std::optional<CalibrationProfile> fitted;
  bool stopped = false;  ///< nothing was published or recorded; the same night goes on from there
  std::vector<std::string> notes;
};

/// Throws InputError: [night-in-progress], [cannot-write], and what is wrong with the
/// configuration, its scenarios, the published profile or the history. What is wrong with the
/// measurements of a night is in its record.
NightResult run_night(const NightlyConfig& config, const NightOptions& options);

}  // namespace weft
