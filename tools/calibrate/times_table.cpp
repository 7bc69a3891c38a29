// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/times_table.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace weft {

void write_times_table(CsvFile& file, const CalibrationCases& all, const CalibrationResult& result) {
  std::vector<bool> is_outlier(all.measured.size(), false);
  std::vector<bool> is_dropped(all.measured.size(), false);
  for (const std::size_t i : result.outliers) is_outlier[i] = true;
  for (const std::size_t i : result.dropped) is_dropped[i] = true;
  const auto number = [&](const std::optional<std::uint64_t>& n) {
    if (n) {
      file.number(*n);
    } else {
      file.text("");
    }
  };
  for (const CalibrationCase& one : all.cases) {
    for_times_of(all.measured, one, [&](std::size_t i) {
      const TimedEntity& timed = all.measured[i];
      const bool is_matched = !std::isnan(result.before_s[i]);
      file.text(one.name).text(all.measured.file_of(i)).number(static_cast<std::uint64_t>(timed.line)).text(timed.to_text());
      number(timed.size_bytes);
      number(timed.ranks);
      file.number(timed.time_s);
      file.number_if_known(result.before_s[i]).number_if_known(result.after_s[i]);
      file.number_if_known(result.aligned_s.empty() ? std::numeric_limits<double>::quiet_NaN() : result.aligned_s[i]);
      file.text(!is_matched ? "unmatched" : result.is_held_out[i] ? "held_out" : is_dropped[i] ? "dropped" : "training");
      file.number(std::uint64_t{is_outlier[i]});
      file.end_row();
    });
  }
  file.commit();
}

}  // namespace weft
