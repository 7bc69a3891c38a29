// SPDX-License-Identifier: Apache-2.0
#include "tools/study/study_stop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/values/mean_interval.hpp"

namespace weft {

namespace {

using Records = std::vector<std::optional<StudyRecord>>;

/// Of the first `count` runs of a point. A metric of which no run tells anything keeps none going.
bool is_narrow(const Study& study, const Records& records, std::size_t point, std::uint32_t count) {
  for (std::size_t k = 0; k < study.metrics.size(); ++k) {
    if (!study.stop->metrics.empty() && std::ranges::find(study.stop->metrics, k) == study.stop->metrics.end()) continue;
    std::vector<double> values;
    for (std::uint32_t replicate = 0; replicate < count; ++replicate) {
      const StudyRecord& record = *records[point * study.replicates + replicate];
      if (!record.has_failed() && record.values[k]) values.push_back(*record.values[k]);
    }
    const std::optional<MeanInterval> interval = mean_interval(values);
    if (interval && (!interval->half_width || *interval->half_width > study.stop->precision * std::abs(interval->mean)))
      return false;
  }
  return true;
}

}  // namespace

NeededRuns needed_runs(const Study& study, const Records& records, const std::function<bool(std::size_t run)>& is_own) {
  NeededRuns needed;
  needed.counts.resize(records.size());
  const std::size_t points = records.size() / study.replicates;
  const std::uint32_t least = study.stop ? study.stop->replicates_min : study.replicates;
  const bool has_budget = study.stop && study.stop->runs > 0;
  const std::uint64_t budget = has_budget ? study.stop->runs : std::numeric_limits<std::uint64_t>::max();
  enum class Fate : std::uint8_t { goes_on, narrow, unknown };
  std::vector<Fate> fates(points, Fate::goes_on);
  std::uint64_t counted = 0;
  for (std::uint32_t replicate = 0; replicate < study.replicates; ++replicate) {
    // What comes beyond a budget depends on all points.
    if (has_budget && replicate >= least && !needed.missing.empty()) break;
    for (std::size_t point = 0; point < points && counted < budget; ++point) {
      const std::size_t run = point * study.replicates + replicate;
      if (fates[point] != Fate::goes_on || !is_own(run)) continue;
      needed.counts[run] = true;
      ++counted;
      if (!records[run]) needed.missing.push_back(run);
    }
    if (!study.stop || replicate + 1 < least) continue;
    for (std::size_t point = 0; point < points; ++point) {
      const auto first = records.begin() + static_cast<std::ptrdiff_t>(point * study.replicates);
      if (fates[point] != Fate::goes_on || !is_own(point * study.replicates)) continue;
      if (!std::all_of(first, first + replicate + 1, [](const auto& record) { return record.has_value(); })) {
        fates[point] = Fate::unknown;
      } else if (is_narrow(study, records, point, replicate + 1)) {
        fates[point] = Fate::narrow;
      }
    }
  }
  needed.runs_max = counted;
  for (std::size_t point = 0; point < points; ++point) {
    for (std::size_t run = point * study.replicates; fates[point] != Fate::narrow && run < (point + 1) * study.replicates; ++run)
      needed.runs_max += is_own(run) && !needed.counts[run] ? 1 : 0;
  }
  needed.runs_max = std::min(needed.runs_max, budget);
  return needed;
}

}  // namespace weft
