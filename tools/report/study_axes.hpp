// SPDX-License-Identifier: Apache-2.0
// Study axes: how the values of a study's settings lie on the axes of its charts.
//
// Where it sits: tools/report/study_report.
// Model: numbers, and quantities of one kind (times, sizes, rates), stand where their size
// says; other values are categories, in order of first appearance.
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct ChartedValues {
  std::vector<std::string> values;  ///< each once, in the order of the axis
  std::vector<double> numbers;      ///< by value, in the unit; empty: they are categories
  std::string unit;                 ///< "s", "bytes", "bps" or ""

  /// Where a value lies: its number, or its place. Requires: it is one of them.
  double position_of(const std::string& value) const;
};

/// `texts`: may hold a value several times.
ChartedValues charted(const std::vector<std::string>& texts);

}  // namespace weft
