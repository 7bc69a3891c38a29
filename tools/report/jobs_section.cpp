// SPDX-License-Identifier: Apache-2.0
// Section of a run's report: jobs, GPUs and the queue over time.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/report/reduction.hpp"
#include "tools/report/run_sections.hpp"

namespace weft {

namespace {

constexpr std::size_t gantt_jobs_max = 200;
constexpr std::size_t gantt_bars_max = 2'000;
constexpr std::size_t cluster_points_max = 400;
constexpr std::size_t job_rows_max = 5'000;

struct Attempt {
  std::string job;
  double start_s = 0;
  double end_s = 0;
  std::string reason;
  double gpus = 0;
  std::string hosts;
};

std::vector<Attempt> attempts_of(const RunFolder& run) {
  std::vector<Attempt> attempts;
  run.table("attempts.csv").each([&](const ResultsTable::Row& row) {
    attempts.push_back({std::string(row.text("job")), row.number("start_s").value_or(0), row.number("end_s").value_or(0),
                        std::string(row.text("reason")), row.number("gpus").value_or(0), std::string(row.text("hosts"))});
  });
  std::ranges::stable_sort(attempts, {}, &Attempt::start_s);
  return attempts;
}

void add_gantt(const std::vector<Attempt>& attempts, ReportSection& section) {
  if (attempts.empty()) return;
  std::vector<std::string> jobs;
  std::map<std::string, std::size_t> row_of;
  for (const Attempt& attempt : attempts) {
    if (row_of.emplace(attempt.job, jobs.size()).second) jobs.push_back(attempt.job);
  }
  const std::vector<std::size_t> kept = which_to_keep(jobs.size(), gantt_jobs_max);
  std::map<std::string, std::size_t> shown;
  std::vector<std::string> rows;
  for (const std::size_t job : kept) {
    shown[jobs[job]] = rows.size();
    rows.push_back(jobs[job]);
  }
  std::vector<std::string> states;
  ReportJson bars = ReportJson::array();
  ReportJson details = ReportJson::array();
  double begin = attempts.front().start_s;
  double end = begin;
  std::size_t of_shown = 0;
  for (const Attempt& attempt : attempts) {
    end = std::max(end, attempt.end_s);
    const auto found = shown.find(attempt.job);
    if (found == shown.end()) continue;
    ++of_shown;
    if (bars.size() >= gantt_bars_max) continue;
    auto state = std::ranges::find(states, attempt.reason);
    if (state == states.end()) state = states.insert(states.end(), attempt.reason);
    bars.push_back(ReportJson::array({found->second, attempt.start_s, attempt.end_s, state - states.begin()}));
    details.push_back(fmt::format("{}: {}", counted(static_cast<std::uint64_t>(attempt.gpus), "GPU", "GPUs"), attempt.hosts));
  }
  ReportJson chart =
      chart_of("gantt", "gantt", "When jobs ran",
               fmt::format("{} of {} between {} and {}. A bar is the time in which a job held GPUs, coloured by how it ended.",
                           counted(attempts.size(), "attempt", "attempts"), counted(jobs.size(), "job", "jobs"), readable(begin),
                           readable(end)));
  chart["x"] = ReportAxis{"time", "s"}.json();
  chart["row_name"] = "job";
  chart["state_name"] = "ended as";
  chart["detail_name"] = "on";
  chart["rows"] = rows;
  chart["states"] = states;
  chart["bars"] = std::move(bars);
  chart["details"] = std::move(details);
  std::string note;
  if (rows.size() < jobs.size())
    note = fmt::format("{} of {} jobs are drawn, every {}th by first start. ", rows.size(), jobs.size(), kept[1]);
  if (of_shown > gantt_bars_max) note += fmt::format("Of their {} attempts the first {} are drawn.", of_shown, gantt_bars_max);
  if (!note.empty()) chart["note"] = note;
  section.charts.push_back(std::move(chart));
}

struct ClusterTimes {
  std::vector<double> times;
  std::map<std::string, std::vector<double>> values;
  double end = 0;

  /// Points to draw: each change if they are few, else means over equal intervals.
  ReportSeries series(const std::string& name, const char* column) const {
    const std::vector<double>& of_column = values.at(column);
    ReportSeries series{name};
    if (times.size() <= cluster_points_max) {
      for (std::size_t i = 0; i < times.size(); ++i) series.values.emplace_back(times[i], of_column[i]);
      series.values.emplace_back(end, of_column.back());
      return series;
    }
    const std::vector<double> means = step_means(times, of_column, times.front(), end, cluster_points_max);
    const double width = (end - times.front()) / static_cast<double>(cluster_points_max);
    for (std::size_t i = 0; i < means.size(); ++i)
      series.values.emplace_back(times.front() + static_cast<double>(i) * width, means[i]);
    series.values.emplace_back(end, means.back());
    return series;
  }
  bool has_any(const char* column) const {
    return std::ranges::any_of(values.at(column), [](double value) { return value > 0; });
  }
  /// Mean over time.
  double mean(const char* column) const { return step_means(times, values.at(column), times.front(), end, 1).front(); }
  std::string note() const {
    return times.size() <= cluster_points_max ? ""
                                              : fmt::format("The means over {} equal intervals of the {} changes of the cluster.",
                                                            cluster_points_max, times.size());
  }
};

void add_cluster(const RunFolder& run, double end, ReportSection& section) {
  static constexpr std::array columns = {"busy_gpus", "free_gpus",    "stranded_gpus", "fragmented_gpus",
                                         "gpus_out",  "waiting_jobs", "waiting_gpus",  "running_jobs"};
  ClusterTimes cluster;
  run.table("cluster.csv").each([&](const ResultsTable::Row& row) {
    cluster.times.push_back(row.number("time_s").value_or(0));
    for (const char* column : columns) cluster.values[column].push_back(row.number(column).value_or(0));
  });
  if (cluster.times.empty()) return;
  cluster.end = std::max(end, cluster.times.back());
  if (cluster.end <= cluster.times.front()) return;
  const double gpus = cluster.mean("busy_gpus") + cluster.mean("free_gpus") + cluster.mean("gpus_out");

  std::vector<ReportSeries> series = {cluster.series("held by jobs", "busy_gpus")};
  std::string stranding = " No GPU stood free while jobs waited.";
  if (cluster.has_any("stranded_gpus")) {
    series.push_back(cluster.series("stranded: free while jobs wait", "stranded_gpus"));
    stranding = fmt::format(" {:.4g} on average were stranded: free while jobs waited.", cluster.mean("stranded_gpus"));
  }
  if (cluster.has_any("fragmented_gpus"))
    series.push_back(cluster.series("fragmented: free on hosts partly held", "fragmented_gpus"));
  if (cluster.has_any("gpus_out")) series.push_back(cluster.series("out of service", "gpus_out"));
  const ReportAxis time{"time", "s"};
  ReportJson use =
      xy_chart("lines", "gpu_use", "What GPUs did",
               fmt::format("Jobs held {:.4g} of {:.4g} GPUs on average.{}", cluster.mean("busy_gpus"), gpus, stranding), time,
               ReportAxis{"GPUs"}, series);
  use["step"] = true;
  if (const std::string note = cluster.note(); !note.empty()) use["note"] = note;
  section.charts.push_back(std::move(use));

  if (!cluster.has_any("waiting_jobs")) return;
  const std::vector<double>& waiting = cluster.values["waiting_jobs"];
  const std::vector<ReportSeries> queue = {cluster.series("jobs waiting", "waiting_jobs"),
                                           cluster.series("jobs running", "running_jobs")};
  ReportJson chart = xy_chart("lines", "queue", "The queue",
                              fmt::format("Up to {} waited at a time, {:.3g} on average.",
                                          counted(static_cast<std::uint64_t>(*std::ranges::max_element(waiting)), "job", "jobs"),
                                          cluster.mean("waiting_jobs")),
                              time, ReportAxis{"jobs"}, queue);
  chart["step"] = true;
  if (const std::string note = cluster.note(); !note.empty()) chart["note"] = note;
  section.charts.push_back(std::move(chart));
}

ReportJson cell_of(const std::optional<double>& number) { return number ? ReportJson(*number) : ReportJson(); }

void add_job_table(const RunFolder& run, ReportSection& section) {
  ReportTable table{"jobs-table",
                    "Jobs",
                    {{"job", "text"},
                     {"GPUs", ""},
                     {"submitted", "s"},
                     {"waited", "s"},
                     {"ran", "s"},
                     {"completion time", "s"},
                     {"iterations", ""},
                     {"mean iteration", "s"},
                     {"exposed communication", "s"},
                     {"restarts", ""},
                     {"placement", "text"}}};
  std::uint64_t rows = 0;
  run.table("jobs.csv").each([&](const ResultsTable::Row& row) {
    if (++rows > job_rows_max) return;
    table.rows.push_back(
        ReportJson::array({row.text("job"), cell_of(row.number("gpus")), cell_of(row.number("submit_s")),
                           cell_of(row.number("wait_s")), cell_of(row.number("run_s")), cell_of(row.number("jct_s")),
                           cell_of(row.number("iterations")), cell_of(row.number("mean_iteration_s")),
                           cell_of(row.number("exposed_comm_s")), cell_of(row.number("restarts")), row.text("placement")}));
  });
  if (rows > job_rows_max) table.note = fmt::format("The first {} of {} jobs; jobs.csv has all.", job_rows_max, rows);
  if (rows > 0) section.tables.push_back(std::move(table));
}

}  // namespace

ReportSection jobs_section(const RunFolder& run) {
  ReportSection section{"jobs", "Jobs and GPUs"};
  const std::vector<Attempt> attempts = attempts_of(run);
  add_gantt(attempts, section);
  double end = 0;
  for (const Attempt& attempt : attempts) end = std::max(end, attempt.end_s);
  if (!attempts.empty()) add_cluster(run, end, section);
  add_job_table(run, section);
  return section;
}

}  // namespace weft
