// SPDX-License-Identifier: Apache-2.0
// Night record: what a nightly calibration came to, a file night.json in a folder of its date.
//
// Where it sits: nights (tools/calibrate/nightly) write one each, read those before, and draw them.
// Format: JSON; errors are shares, null where they are not known.
// Threads: values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/profile.hpp"

namespace weft {

enum class NightStatus : std::uint8_t {
  published,  ///< its values came into force
  kept,       ///< the profile before it is
  refused,    ///< the same: nothing was fitted
};
std::string_view to_text(NightStatus status);

struct NightRecord {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  std::string date;  ///< "2026-01-31"
  NightStatus status = NightStatus::refused;
  std::vector<std::string> reasons;  ///< why it was kept or refused
  std::uint64_t rows = 0;            ///< readable ones
  std::uint64_t matched = 0;
  std::uint64_t outliers = 0;  ///< of the fit; they count in all errors
  /// Mean absolute percentage errors of that night's times, as shares: of scenarios as they stand,
  double uncalibrated_mape = unknown;
  double reference_mape = unknown;   ///< of the reference profile,
  double published_mape = unknown;   ///< of the one in force after the night;
  double hold_out_before = unknown;  ///< of times held out, by the profile before it
  double hold_out_after = unknown;   ///< and by the night's own fit.
  /// Mean difference of the reference's predictions from those of the fit, as a share.
  double drift = unknown;
  /// The same in the median of this night and those just before it.
  double drift_median = unknown;
  /// Night of the reference's profile. Empty: there was none, or the values in force became it.
  std::string reference;
  std::vector<std::string> alarms;
  /// Of the fit: name, value, low, high, knowledge.
  std::vector<CalibrationProfile::Parameter> parameters;

  std::string to_json() const;
  /// Throws InputError [bad-night] if it is no such record, or of another date than its folder.
  static NightRecord read(const std::string& path);
};

/// All nights in a folder of such folders, in the order of their dates. Throws InputError.
std::vector<NightRecord> read_nights(const std::filesystem::path& history);

}  // namespace weft
