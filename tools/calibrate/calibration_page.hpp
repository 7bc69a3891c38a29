// SPDX-License-Identifier: Apache-2.0
// Calibration page: what a fit, and the nights before it, came to, as a page that an operator opens
// in the morning.
//
// Where it sits: after a calibration; whoever asked for it writes the text to a file.
//
// One file of HTML that needs nothing else, neither scripts nor the net, and is XML as well. What
// there are no figures for is left out. Sections:
//   status, headline figures, parameters, simulated against measured times, errors by message size,
//   by job size and by host (figures 5 to 7 of the paper), errors over the nights, what it was
//   fitted to
// Below each picture stand its figures as a table, for readers and screen readers.
// Threads: pure function.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/error_breakdown.hpp"
#include "calibration/profile.hpp"

namespace weft {

/// Errors of one night's measured times; shares, NaN where not known: the night was refused, or
/// there is no such profile.
struct NightPoint {
  std::string date;              ///< "2026-01-31", also with a time behind it
  double uncalibrated_mape = 0;  ///< with the scenario as it stands
  /// Mean difference of what the reference profile, which is not fitted anew, predicts from what
  /// the night's fit does.
  double drift = 0;
  double drift_median = 0;    ///< of the nights that an alarm goes by
  double published_mape = 0;  ///< with the profile that holds after the night
  std::string status;         ///< as of the page
  bool alarm = false;         ///< say, the median drift was beyond the threshold
};

struct CalibrationPage {
  enum class Tone : std::uint8_t { neutral, good, warning, bad };

  std::string title;
  std::string status;  ///< "published", "kept the old profile: ..."; empty: left out
  Tone tone = Tone::neutral;
  std::vector<std::string> reasons;  ///< for the status
  CalibrationProfile profile;        ///< without parameters and counts: left out
  /// What parameters are, by name; those that are not here go without.
  std::map<std::string, std::string> parameter_meanings;
  std::vector<TimedError> times;
  std::vector<NightPoint> nights;  ///< in their order
  /// Share beyond which a median drift is an alarm.
  std::optional<double> drift_threshold;

  std::string to_html() const;
};

}  // namespace weft
