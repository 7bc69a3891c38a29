// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/fit_page.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/calibrate/job_sizes.hpp"

namespace weft {

std::vector<TimedError> timed_errors(const CalibrationCases& all, const CalibrationResult& result) {
  std::vector<TimedError> rows(all.measured.size());
  for (const CalibrationCase& one : all.cases) {
    const JobSizes sizes(one.scenario);
    for_times_of(all.measured, one, [&](std::size_t i) {
      const TimedEntity& timed = all.measured[i];
      TimedError& row = rows[i];
      row = {timed.time_s, result.before_s[i], result.after_s[i], timed.size_bytes, timed.ranks, "", result.is_held_out[i]};
      row.host = timed.source.substr(0, timed.source.find('/'));
      if (!row.gpus) row.gpus = sizes.gpus(timed);
    });
  }
  return rows;
}

CalibrationPage fit_page(const CalibrationCases& all, const FitSpace& space, const CalibrationResult& result,
                         const CalibrationProfile& profile) {
  CalibrationPage page;
  std::vector<std::string> names;
  for (const CalibrationCase& one : all.cases) names.push_back(one.name);
  page.title = fmt::format("Calibration of {}", fmt::join(names, ", "));
  page.profile = profile;
  for (std::size_t i = 0; i < space.parameters().size(); ++i)
    page.parameter_meanings[space.parameters()[i].name] = space.meaning(i);
  page.times = timed_errors(all, result);
  return page;
}

}  // namespace weft
