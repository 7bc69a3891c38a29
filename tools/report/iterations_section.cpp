// SPDX-License-Identifier: Apache-2.0
// Section of a run's report: what iterations take.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/text/readable.hpp"
#include "tools/report/reduction.hpp"
#include "tools/report/run_sections.hpp"

namespace weft {

namespace {

constexpr std::size_t iteration_bars_max = 24;
constexpr std::size_t iteration_points_max = 300;
constexpr std::size_t iteration_lines_max = 8;

struct IterationsOfJob {
  std::vector<double> numbers;
  std::vector<double> durations;
  double exposed_s = 0;  ///< summed

  double mean() const {
    double sum = 0;
    for (const double duration : durations) sum += duration;
    return sum / static_cast<double>(durations.size());
  }
};

struct IterationTimes {
  std::vector<std::string> jobs;  ///< in order of their first iteration
  std::map<std::string, IterationsOfJob> of_job;
};

IterationTimes iteration_times(const RunFolder& run) {
  IterationTimes times;
  run.table("iterations.csv").each([&](const ResultsTable::Row& row) {
    const std::string job(row.text("job"));
    const std::optional<double> duration = row.number("duration_s");
    if (!duration) return;
    if (!times.of_job.contains(job)) times.jobs.push_back(job);
    IterationsOfJob& of_job = times.of_job[job];
    of_job.numbers.push_back(row.number("iteration").value_or(0));
    of_job.durations.push_back(*duration);
    of_job.exposed_s += row.number("exposed_comm_s").value_or(0);
  });
  return times;
}

/// By job and communicator, per iteration.
std::map<std::string, std::map<std::string, double>> exposures_of(const RunFolder& run) {
  std::map<std::string, std::map<std::string, double>> exposures;
  run.table("communicators.csv").each([&](const ResultsTable::Row& row) {
    exposures[std::string(row.text("job"))][std::string(row.text("communicator"))] = row.number("exposed_s").value_or(0);
  });
  return exposures;
}

void add_breakdown(const RunFolder& run, const IterationTimes& times, ReportSection& section) {
  const std::vector<std::size_t> kept = which_to_keep(times.jobs.size(), iteration_bars_max);
  const auto exposures = exposures_of(run);
  std::vector<std::string> communicators;
  for (const auto& [job, of_job] : exposures) {
    for (const auto& [communicator, exposed_s] : of_job) {
      if (exposed_s > 0 && std::ranges::find(communicators, communicator) == communicators.end())
        communicators.push_back(communicator);
    }
  }
  ReportJson categories = ReportJson::array();
  std::vector<ReportJson> values(communicators.size() + 2, ReportJson::array());
  bool overlaps = false;
  bool has_rest = false;
  double exposed_most = 0;
  std::string most_exposed;
  for (const std::size_t i : kept) {
    const std::string& job = times.jobs[i];
    const IterationsOfJob& of_job = times.of_job.at(job);
    const double mean = of_job.mean();
    const double exposed = of_job.exposed_s / static_cast<double>(of_job.durations.size());
    double sum = 0;
    const auto found = exposures.find(job);
    if (found != exposures.end()) {
      for (const auto& [communicator, exposed_s] : found->second) sum += exposed_s;
    }
    // Where several communicators are under way at a time each counts; bars share that time out.
    constexpr double rounding = 1e-6;
    const double scale = sum > exposed * (1 + rounding) ? exposed / sum : 1;
    overlaps = overlaps || scale < 1;
    categories.push_back(job);
    values[0].push_back(std::max(0.0, mean - exposed));
    for (std::size_t k = 0; k < communicators.size(); ++k) {
      const bool has = found != exposures.end() && found->second.contains(communicators[k]);
      values[k + 1].push_back(has ? ReportJson(found->second.at(communicators[k]) * scale) : ReportJson());
    }
    const double rest = exposed - sum * scale;
    const bool is_rest = rest > rounding * mean;
    has_rest = has_rest || is_rest;
    values.back().push_back(is_rest ? ReportJson(rest) : ReportJson());
    if (mean > 0 && exposed / mean >= exposed_most) {
      exposed_most = exposed / mean;
      most_exposed = job;
    }
  }
  ReportJson chart = chart_of(
      "bars", "breakdown", "What an iteration's time goes into",
      fmt::format(
          "The mean iteration of each job: computation, with the communication that it hides, and communication that nothing "
          "hides, by communicator. {} is exposed most, {} of its time. Waiting for a pipeline's neighbour counts as exposed "
          "communication of the pipeline's communicator.",
          most_exposed, readable_share(exposed_most)));
  chart["category_name"] = "job";
  chart["categories"] = std::move(categories);
  chart["y"] = ReportAxis{"mean time per iteration", "s"}.json();
  chart["series"] = ReportJson::array({{{"name", "computation"}, {"values", values[0]}}});
  for (std::size_t k = 0; k < communicators.size(); ++k)
    chart["series"].push_back({{"name", "exposed: " + communicators[k]}, {"values", values[k + 1]}});
  if (has_rest) chart["series"].push_back({{"name", "exposed: other"}, {"values", values.back()}});
  std::string note;
  if (kept.size() < times.jobs.size())
    note = fmt::format("{} of {} jobs, every {}th by their first iteration. ", kept.size(), times.jobs.size(), kept[1]);
  if (overlaps) note += "Where several communicators are exposed at a time, their time is shared out in proportion.";
  if (!note.empty()) chart["note"] = note;
  section.charts.push_back(std::move(chart));
}

void add_durations(const IterationTimes& times, ReportSection& section) {
  std::vector<ReportSeries> series;
  WeightedValues all;
  std::size_t most = 0;
  for (const std::string& job : times.jobs) {
    const IterationsOfJob& of_job = times.of_job.at(job);
    for (const double duration : of_job.durations) all.add(duration);
    most = std::max(most, of_job.durations.size());
  }
  constexpr std::size_t worth_a_line = 3;
  if (most < worth_a_line) return;
  bool sampled = false;
  for (const std::size_t i : which_to_keep(times.jobs.size(), iteration_lines_max)) {
    const IterationsOfJob& of_job = times.of_job.at(times.jobs[i]);
    ReportSeries& line = series.emplace_back(ReportSeries{times.jobs[i]});
    const std::vector<std::size_t> kept = which_to_keep(of_job.durations.size(), iteration_points_max);
    sampled = sampled || kept.size() < of_job.durations.size();
    for (const std::size_t k : kept) line.values.emplace_back(of_job.numbers[k], of_job.durations[k]);
  }
  ReportJson chart = xy_chart("lines", "durations", "Iterations one by one",
                              fmt::format("Half of the iterations took less than {}, 99 % less than {}.",
                                          readable(all.quantile(0.5)), readable(all.quantile(0.99))),
                              ReportAxis{"iteration"}, ReportAxis{"duration", "s"}, series);
  if (most <= 40) chart["marked"] = true;
  std::string note;
  if (series.size() < times.jobs.size()) note = fmt::format("{} of {} jobs are drawn. ", series.size(), times.jobs.size());
  if (sampled)
    note += fmt::format("Of a job's iterations every k-th is drawn, {} at most; percentiles are of all.", iteration_points_max);
  if (!note.empty()) chart["note"] = note;
  section.charts.push_back(std::move(chart));
}

}  // namespace

ReportSection iterations_section(const RunFolder& run) {
  ReportSection section{"iterations", "Iterations"};
  const IterationTimes times = iteration_times(run);
  if (times.jobs.empty()) return section;
  add_breakdown(run, times, section);
  add_durations(times, section);
  return section;
}

}  // namespace weft
