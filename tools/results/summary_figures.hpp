// SPDX-License-Identifier: Apache-2.0
// Summary figures: the numbers of a summary.json, by name.
//
// Where it sits: studies note some of them of each run, comparisons hold all of two runs against
// each other.
// Model: nested ones have their names joined by a dot ("packets.ecn_marks"). What is of the machine
// and not of the run is left out, as no two runs have it alike.
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

struct SummaryFigures {
  std::vector<std::pair<std::string, double>> numbers;     ///< in the order of the file
  std::vector<std::pair<std::string, std::string>> texts;  ///< such as busiest_link
};

/// None of a text that is no JSON object.
SummaryFigures figures_in(std::string_view summary_json);

}  // namespace weft
