// SPDX-License-Identifier: Apache-2.0
// Nightly configuration: what is calibrated every night, where to, and which nights are refused
// (calibrate.proto).
//
// Where it sits: `weft calibrate --nightly` reads it; tools/calibrate/nightly goes by it.
// Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/calibrate/calibration_cases.hpp"

namespace weft {

struct NightlyConfig {
  std::vector<CaseFiles> cases;  ///< with {date} in paths
  std::vector<std::string> fit;  ///< as FitSpace has them
  std::string profile;           ///< file that is published
  std::string history;           ///< folder
  // Shares, and a number of days; see calibrate.proto.
  double drift_max = 0.05;
  std::uint32_t drift_days = 7;
  double unreadable_max = 0.01;
  double unmatched_max = 0.01;
  double far_off_max = 0.05;
  double rows_min = 0.7;
  std::string file;

  /// Throws InputError: what the text format's reader does, [missing-field], [out-of-range].
  static NightlyConfig read(const std::string& path);
};

}  // namespace weft
