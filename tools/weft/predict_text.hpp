// SPDX-License-Identifier: Apache-2.0
// What `weft predict` prints of a forecast: a table with one unit per column and a line of totals,
// or JSON.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "tools/simulation/forecast.hpp"

namespace weft {

std::string to_text(const Forecast& forecast);
/// With all jobs and a final newline.
std::string to_json_text(const Forecast& forecast);

}  // namespace weft
