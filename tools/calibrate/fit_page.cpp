// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/fit_page.hpp"

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft {

std::vector<TimedError> timed_errors(const CalibrationCases& all, const CalibrationResult& result) {
  std::vector<TimedError> rows(all.measured.size());
  for (const CalibrationCase& one : all.cases) {
    std::map<std::string, std::uint64_t, std::less<>> gpus_of_job;
    for (const JobSpec& job : one.scenario.jobs) gpus_of_job[job.name] = job.gpus;
    for_times_of(all.measured, one, [&](std::size_t i) {
      const TimedEntity& timed = all.measured[i];
      TimedError& row = rows[i];
      row = {timed.time_s, result.before_s[i], result.after_s[i], timed.size_bytes, timed.ranks, "", result.is_held_out[i]};
      row.host = timed.source.substr(0, timed.source.find('/'));
      // Measurements of the only job need not name it.
      const auto job = timed.job.empty() && gpus_of_job.size() == 1 ? gpus_of_job.begin() : gpus_of_job.find(timed.job);
      if (!row.gpus && job != gpus_of_job.end()) row.gpus = job->second;
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
