// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/trace_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/check.hpp"
#include "core/text/about_option.hpp"
#include "core/text/counted.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

/// More than a year apart, in whatever order.
bool are_far_apart(const Timestamp& a, const Timestamp& b) {
  const std::optional<Duration> distance = a < b ? between(a, b) : between(b, a);
  return !distance || *distance > op_duration_max;
}

}  // namespace

std::vector<std::string> JobTrace::notes() const {
  std::vector<std::string> lines;
  for (const LeftOutRows& reason : left_out) lines.push_back(reason.to_text());
  lines.insert(lines.end(), assumptions.begin(), assumptions.end());
  return lines;
}

TraceBuilder::TraceBuilder(const SourceText& source, const JobTraceOptions& options, std::string_view format_zone)
    : source_(source),
      zone_(about_option("time_zone",
                         [&] {
                           return TimeZone::parse(options.time_zone.empty() ? format_zone : std::string_view(options.time_zone),
                                                  SourcePlace::named(options.names("time_zone", options.time_zone)));
                         })),
      zone_is_assumed_(options.time_zone.empty()),
      dirty_(options.strict, diagnostics_) {}

std::optional<Timestamp> TraceBuilder::timestamp(CsvReader& rows, std::size_t column, const std::optional<Timestamp>& not_before) {
  WEFT_CHECK(zone_.has_value(), "dates are read by a builder that has a zone");
  // The row before may have been left out, and its dates with it.
  if (rows.line() != row_line_) row_use_ = ZoneUse();
  row_line_ = rows.line();
  const std::optional<Timestamp> value = parse_timestamp(rows.field(column), *zone_, &row_use_, not_before);
  if (!value) {
    rows.fault(column, "bad-value", fmt::format("{} is no date and time: \"{}\"", rows.name(column), rows.field(column)),
               "write it like 2017-10-09 07:01:55, or with its zone 2017-10-09 07:01:55+08:00");
  }
  return value;
}

std::optional<Timestamp> TraceBuilder::instant(CsvReader& rows, std::size_t column, std::string_view unit) {
  const std::optional<Timestamp> value = parse_instant(rows.field(column), unit);
  if (!value) {
    rows.fault(column, "bad-value",
               fmt::format("{} is no number of {}: {}", rows.name(column), unit, in_quotes(rows.field(column))),
               fmt::format("write a plain number, like 3600 or 0.5; the unit is {}", unit));
    return std::nullopt;
  }
  if (value->seconds < 0) {
    rows.fault(column, "negative-duration", fmt::format("{} is negative", rows.name(column)), "times are 0 or more");
    return std::nullopt;
  }
  return value;
}

std::optional<Duration> TraceBuilder::within_a_year(CsvReader& rows, std::size_t column, const Timestamp& submitted,
                                                    const Timestamp& end) {
  const std::optional<Duration> completion = between(submitted, end);
  if (completion && *completion <= op_duration_max) return completion;
  rows.fault(column, "out-of-range", "this job ends more than a year after its submission",
             fmt::format("at most {}", to_text(op_duration_max)));
  return std::nullopt;
}

std::optional<std::uint32_t> TraceBuilder::gpus(CsvReader& rows, std::size_t column) {
  const std::optional<std::uint64_t> count = rows.whole_number(column, 0, workload_rank_count_max);
  if (!count) return std::nullopt;
  if (*count == 0) {
    rows.fault(column, "no-gpus", "this job has no GPU", "only jobs with GPUs are simulated; leave the row out");
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(*count);
}

void TraceBuilder::add(TraceJob job, Timestamp submitted, const ZoneUse& zone_use) {
  trace_.jobs.push_back(std::move(job));
  submitted_.push_back(submitted);
  zone_uses_.push_back(zone_use);
}

void TraceBuilder::leave_out_duplicates() {
  std::unordered_map<std::string_view, int> lines;
  lines.reserve(trace_.jobs.size());
  std::vector<bool> twice(trace_.jobs.size(), false);
  for (std::size_t i = 0; i < trace_.jobs.size(); ++i) {
    const TraceJob& job = trace_.jobs[i];
    const auto [first, is_new] = lines.emplace(job.name, job.line);
    if (is_new) continue;
    twice[i] = true;
    dirty_.report("", {Severity::error, "duplicate-job", fmt::format("job \"{}\" stands in the trace twice", job.name),
                       source_.at(job.line, 0), fmt::format("it is defined at line {} already; names are unique", first->second)});
  }
  leave_out(twice);
}

void TraceBuilder::leave_out_outliers() {
  if (submitted_.empty()) return;
  std::vector<Timestamp> sorted = submitted_;
  std::sort(sorted.begin(), sorted.end());
  // With an even number of jobs there are two in the middle, and a job is near if it is near one of
  // them.
  const Timestamp lower = sorted[(sorted.size() - 1) / 2];
  const Timestamp upper = sorted[sorted.size() / 2];
  std::vector<bool> outlier(submitted_.size(), false);
  for (std::size_t i = 0; i < submitted_.size(); ++i) {
    outlier[i] = are_far_apart(lower, submitted_[i]) && are_far_apart(upper, submitted_[i]);
  }
  const std::string distance = " submitted more than a year from the median job";
  if (dirty_.strict()) {
    report_far_jobs(outlier, distance, "leave the row out, or cut the trace into parts of a year at most",
                    "leave these rows out, or cut the trace into parts of a year at most");
  } else {
    for (std::size_t i = 0; i < submitted_.size(); ++i) {
      if (outlier[i])
        dirty_.report("", {Severity::error, "out-of-range", fmt::format("this job was{}", distance), place_of(i), ""});
    }
  }
  leave_out(outlier);
}

SourcePlace TraceBuilder::place_of(std::size_t job) const { return source_.at(trace_.jobs[job].line, 0); }

void TraceBuilder::report_far_jobs(const std::vector<bool>& far, const std::string& distance, const std::string& help_for_one,
                                   const std::string& help_for_many) {
  const auto first = std::find(far.begin(), far.end(), true);
  if (first == far.end()) return;
  const auto count = std::count(far.begin(), far.end(), true);
  const auto at = static_cast<std::size_t>(first - far.begin());
  if (count == 1) {
    diagnostics_.error("out-of-range", fmt::format("this job was{}", distance), place_of(at), help_for_one);
    return;
  }
  const auto last = static_cast<std::size_t>(far.rend() - std::find(far.rbegin(), far.rend(), true)) - 1;
  diagnostics_.error("out-of-range",
                     fmt::format("{} of {} jobs were{}: the first at line {}, the last at line {}", count, far.size(), distance,
                                 trace_.jobs[at].line, trace_.jobs[last].line),
                     place_of(at), help_for_many);
}

void TraceBuilder::leave_out(const std::vector<bool>& which) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trace_.jobs.size(); ++i) {
    if (which[i]) continue;
    if (kept != i) trace_.jobs[kept] = std::move(trace_.jobs[i]);
    zone_uses_[kept] = zone_uses_[i];
    submitted_[kept++] = submitted_[i];
  }
  trace_.jobs.resize(kept);
  submitted_.resize(kept);
  zone_uses_.resize(kept);
}

void TraceBuilder::require_jobs() {
  if (!trace_.jobs.empty() || diagnostics_.has_errors()) return;
  if (dirty_.rows() == 0) {
    diagnostics_.error("no-jobs", "the trace has no jobs", source_.whole_file(), "add a row for each job");
    return;
  }
  for (const LeftOutRows& reason : dirty_.reasons()) diagnostics_.add(reason.first);
  diagnostics_.error(
      "no-usable-rows",
      fmt::format("{} that can be simulated",
                  dirty_.rows() == 1 ? "the only row is no job" : fmt::format("none of the {} rows is a job", dirty_.rows())),
      source_.whole_file(), "is it this format? the first row of each kind of fault is shown above");
}

void TraceBuilder::note_zone() {
  const std::string& name = zone_->name();
  ZoneUse all;
  for (const ZoneUse& use : zone_uses_) all += use;
  if (zone_is_assumed_ && all.dates > 0) {
    assume(fmt::format("{} taken as {}", counted(all.dates, "date names no time zone and is", "dates name no time zone and are"),
                       name));
  }
  if (zone_->is_from_database() && all.dates > 0) assume(fmt::format("{} is as this machine's time-zone database has it", name));
  const auto note = [this](std::uint64_t dates, const std::string& where) {
    if (dates > 0) assume(fmt::format("{} into an hour that {}", counted(dates, "date falls", "dates fall"), where));
  };
  note(all.first_pass, fmt::format("passes twice in {}: taken as its first pass", name));
  note(all.second_pass,
       fmt::format("passes twice in {}: taken as its second pass, since the first lies before what it follows", name));
  note(all.skipped, fmt::format("clocks skip in {}: taken as standard time", name));
}

void TraceBuilder::sort_jobs() {
  // Each job is moved once: moving them around takes longer than anything else that is done here.
  std::vector<std::tuple<Duration, int, std::size_t>> order;
  order.reserve(trace_.jobs.size());
  for (const TraceJob& job : trace_.jobs) order.emplace_back(job.submit, job.line, order.size());
  std::sort(order.begin(), order.end());
  std::vector<TraceJob> sorted;
  sorted.reserve(order.size());
  for (const auto& place : order) sorted.push_back(std::move(trace_.jobs[std::get<2>(place)]));
  trace_.jobs = std::move(sorted);
}

JobTrace TraceBuilder::finish() {
  leave_out_duplicates();
  leave_out_outliers();
  require_jobs();
  diagnostics_.throw_if_errors();
  const Timestamp earliest = *std::min_element(submitted_.begin(), submitted_.end());
  std::vector<bool> too_late(submitted_.size(), false);
  for (std::size_t i = 0; i < submitted_.size(); ++i) {
    const std::optional<Duration> since_first = between(earliest, submitted_[i]);
    too_late[i] = !since_first || *since_first > op_duration_max;
    if (!too_late[i]) trace_.jobs[i].submit = *since_first;
  }
  const std::string cut = "cut the trace into parts of a year at most";
  report_far_jobs(too_late, " submitted more than a year after the first", cut, fmt::format("{}, each a file of its own", cut));
  diagnostics_.throw_if_errors();
  if (zone_) {
    note_zone();
    trace_.origin = earliest;
    trace_.origin_of_time = to_utc_text(earliest);
  } else {
    trace_.origin_of_time = fmt::format("{} on the clock of the trace", to_clock_text(earliest));
  }
  sort_jobs();
  trace_.name = std::filesystem::path(source_.name()).filename().string();
  trace_.left_out.assign(dirty_.reasons().begin(), dirty_.reasons().end());
  trace_.left_out_rows = dirty_.rows();
  return std::move(trace_);
}

}  // namespace weft
