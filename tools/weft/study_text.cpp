// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/study_text.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "core/values/mean_interval.hpp"
#include "tools/weft/aligned_rows.hpp"
#include "tools/weft/figure_text.hpp"

namespace weft {

namespace {

constexpr std::size_t errors_shown_max = 5;

/// What a metric came to in the runs of a point.
std::vector<double> values_of(const Study& study, const StudyResult& result, std::size_t point, std::size_t metric) {
  std::vector<double> values;
  for (std::size_t i = point * study.replicates; i < (point + 1) * study.replicates; ++i) {
    const std::optional<StudyRecord>& record = result.records[i];
    if (record && !record->has_failed() && record->values[metric]) values.push_back(*record->values[metric]);
  }
  return values;
}

std::string number_text(double number, const StudyMetric& metric, int digits) {
  return figure_text(number, metric.column.empty() && metric.unit.empty() ? unit_of_figure(metric.name) : unit_of(metric), digits);
}

std::string text_of(const std::optional<MeanInterval>& estimate, const StudyMetric& metric) {
  constexpr int mean_digits = 6;
  constexpr int half_width_digits = 2;
  if (!estimate) return "-";
  const std::string mean = number_text(estimate->mean, metric, mean_digits);
  if (!estimate->half_width) return mean;
  return mean + " +- " + (*estimate->half_width > 0 ? number_text(*estimate->half_width, metric, half_width_digits) : "0");
}

/// The largest half of an interval, as a share of its mean, of those that were to be smaller.
std::string imprecision_of(const Study& study, const StudyResult& result, std::size_t point) {
  double largest = 0;
  for (std::size_t metric = 0; metric < study.metrics.size(); ++metric) {
    const std::vector<std::size_t>& chosen = study.stop->metrics;
    if (!chosen.empty() && std::ranges::find(chosen, metric) == chosen.end()) continue;
    const std::optional<MeanInterval> interval = mean_interval(values_of(study, result, point, metric));
    if (interval && interval->half_width && interval->mean != 0)
      largest = std::max(largest, *interval->half_width / std::abs(interval->mean));
  }
  return largest > study.stop->precision ? fmt::format("not precise enough: {:.2g} %", 100 * largest) : "";
}

std::string fate_of(const Study& study, const StudyResult& result, std::size_t point) {
  std::uint64_t counted = 0;
  std::uint64_t failed = 0;
  std::uint64_t missing = 0;
  for (std::size_t i = point * study.replicates; i < (point + 1) * study.replicates; ++i) {
    if (!result.counts[i]) continue;
    ++counted;
    if (!result.records[i]) ++missing;
    if (result.records[i] && result.records[i]->has_failed()) ++failed;
  }
  if (failed > 0) return failed == counted ? "failed" : fmt::format("{} failed", failed);
  if (missing > 0) return missing == counted ? "not run" : fmt::format("{} not run", missing);
  return study.stop ? imprecision_of(study, result, point) : "";
}

std::uint64_t runs_of(const Study& study, const StudyResult& result, std::size_t point) {
  std::uint64_t runs = 0;
  for (std::size_t i = point * study.replicates; i < (point + 1) * study.replicates; ++i) runs += result.records[i] ? 1 : 0;
  return runs;
}

std::string stop_text(const Study& study, const StudyResult& result) {
  std::string text = fmt::format("until half of the 95 % interval is {:.3g} % of the mean, at most {} runs each",
                                 100 * study.stop->precision, study.replicates);
  if (study.stop->runs > 0) text += fmt::format(" and {} in all", study.stop->runs);
  return fmt::format("{}: {}; +- has the mean with 95 %", counted(result.ended(), "run", "runs"), text);
}

}  // namespace

std::string study_page(const Study& study, const StudyResult& result) {
  const std::vector<std::string> names = study.names();
  std::vector<std::vector<std::string>> rows(1);
  rows.front() = {"point"};
  rows.front().insert(rows.front().end(), names.begin(), names.end());
  if (study.stop) rows.front().emplace_back("runs");
  for (const StudyMetric& metric : study.metrics) rows.front().push_back(metric.name);
  const std::size_t points = result.points.size() / study.replicates;
  for (std::size_t point = 0; point < points; ++point) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(std::to_string(point));
    for (const std::string& name : names) {
      const std::string value = result.points[point * study.replicates].value_of(name);
      row.push_back(value.empty() ? "-" : value);
    }
    if (study.stop) row.push_back(std::to_string(runs_of(study, result, point)));
    for (std::size_t metric = 0; metric < study.metrics.size(); ++metric)
      row.push_back(text_of(mean_interval(values_of(study, result, point, metric)), study.metrics[metric]));
    if (const std::string fate = fate_of(study, result, point); !fate.empty()) row.push_back(fate);
  }
  std::string text = study.question.empty() ? study.name + "\n" : study.question + "\n";
  text += counted(points, "point", "points");
  if (study.stop) {
    text += ", " + stop_text(study, result);
  } else if (study.replicates > 1) {
    text += fmt::format(", {} runs each; +- has the mean with 95 %", study.replicates);
  }
  text += "\n\n" + aligned_rows(rows, "  ");
  for (const StudyMetric& metric : study.metrics) {
    if (!metric.numbering.empty()) text += fmt::format("  {}: {}\n", metric.name, metric.numbering);
  }
  std::size_t shown = 0;
  for (std::size_t i = 0; i < result.records.size() && shown < errors_shown_max; ++i) {
    if (!result.records[i] || !result.records[i]->has_failed()) continue;
    text += fmt::format("{}run {} failed: {}\n", shown == 0 ? "\n" : "", i, result.records[i]->error);
    ++shown;
  }
  return text;
}

std::vector<std::string> study_notes(const Study& study, const StudyResult& result) {
  constexpr std::size_t notes_max = 20;
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (const std::optional<StudyRecord>& record : result.records) {
    if (!record) continue;
    for (const std::string& note : record->notes) {
      const auto found = std::ranges::find(counts, note, &std::pair<std::string, std::uint64_t>::first);
      if (found != counts.end()) {
        ++found->second;
      } else if (counts.size() < notes_max) {
        counts.emplace_back(note, 1);
      }
    }
  }
  std::vector<std::string> notes;
  if (result.repeated > 0)
    notes.push_back(fmt::format("{} carried out again, as what they read was changed since",
                                counted(result.repeated, "earlier run was", "earlier runs were")));
  const bool has_any = result.ended() > result.failed();
  for (std::size_t metric = 0; metric < study.metrics.size() && has_any && result.missing() == 0; ++metric) {
    const bool has_value = std::ranges::any_of(result.records, [&](const std::optional<StudyRecord>& record) {
      return record && !record->has_failed() && record->values[metric];
    });
    if (!has_value) notes.push_back(fmt::format("no run has a value of {}", study.metrics[metric].name));
  }
  for (const auto& [note, count] : counts)
    notes.push_back(count == result.ended() && result.missing() == 0 ? note
                                                                     : fmt::format("{} ({})", note, counted(count, "run", "runs")));
  return notes;
}

nlohmann::ordered_json study_json(const Study& study, const StudyResult& result) {
  nlohmann::ordered_json json = {
      {"name", study.name},        {"question", study.question},  {"runs", result.ended() + result.missing()},
      {"failed", result.failed()}, {"missing", result.missing()}, {"points", nlohmann::ordered_json::array()}};
  for (std::size_t point = 0; point * study.replicates < result.points.size(); ++point) {
    nlohmann::ordered_json entry;
    for (const StudySetting& setting : result.points[point * study.replicates].settings) entry["set"][setting.name] = setting.value;
    entry["runs"] = runs_of(study, result, point);
    for (std::size_t metric = 0; metric < study.metrics.size(); ++metric) {
      const std::optional<MeanInterval> estimate = mean_interval(values_of(study, result, point, metric));
      nlohmann::ordered_json& to = entry["metrics"][study.metrics[metric].name];
      if (!estimate) continue;
      to["mean"] = estimate->mean;
      if (estimate->half_width) to["half_width"] = *estimate->half_width;
    }
    json["points"].push_back(entry);
  }
  return json;
}

std::string study_progress_text(const StudyProgress& progress, double elapsed_s) {
  if (!progress.is_total_known) {
    std::string text = fmt::format("{} of at most {}", counted(progress.done, "run", "runs"), progress.total);
    return progress.failed > 0 ? text + fmt::format(", {} failed", progress.failed) : text;
  }
  const double share = progress.total > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.total) : 1;
  std::string text = fmt::format("{:3.0f} % of {}", 100 * share, counted(progress.total, "run", "runs"));
  if (progress.failed > 0) text += fmt::format(", {} failed", progress.failed);
  const std::uint64_t here = progress.done - progress.before;
  if (here > 0 && progress.done < progress.total) {
    const double each_s = elapsed_s / static_cast<double>(here);
    text += fmt::format("  {} left", readable(each_s * static_cast<double>(progress.total - progress.done)));
  }
  return text;
}

std::string slurm_progress_text(const SlurmProgress& progress) {
  std::string text = fmt::format("array {}: {} of {}, {}", progress.array, progress.done, counted(progress.total, "run", "runs"),
                                 counted(progress.running, "task runs", "tasks run"));
  if (progress.waiting > 0)
    text += fmt::format(", {} wait{} ({})", progress.waiting, progress.waiting == 1 ? "s" : "", progress.reason);
  if (progress.round > 1) text += fmt::format(", submission {}", progress.round);
  return text;
}

}  // namespace weft
