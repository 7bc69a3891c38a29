// SPDX-License-Identifier: Apache-2.0
// What `weft optimes` prints: the error table of a profile, one of its regressors, a prediction;
// text and JSON.
//
// Where it sits: command_optimes.cpp fits and asks, this shows.
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/op_times/regressor_profile.hpp"

namespace weft {

/// A line for each regressor, then outliers and notes.
std::string profile_table(const RegressorProfile& profile);

/// Sampled ranges, law and settings of one.
std::string regressor_page(const Regressor& regressor);

nlohmann::ordered_json profile_json(const RegressorProfile& profile);

/// A time, what it comes from and what is doubtful about it.
struct ShownTime {
  std::string asked;
  std::string origin;
  std::optional<double> time_us;  ///< none: unknown there
  std::optional<double> test_error;
  std::string outside;
  std::vector<std::string> notes;
};
std::string shown_time_text(const ShownTime& shown);
nlohmann::ordered_json shown_time_json(const ShownTime& shown);

}  // namespace weft
