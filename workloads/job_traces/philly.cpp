#include "workloads/job_traces/philly.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "workloads/csv_reader.hpp"
#include "workloads/job_traces/trace_builder.hpp"
#include "workloads/limits.hpp"

namespace weft {

namespace {

enum Column : std::size_t { timestamp, duration, num_gpus, cluster };
constexpr std::array kColumns = {CsvColumn{"timestamp"}, CsvColumn{"duration"}, CsvColumn{"num_gpus"}, CsvColumn{"cluster", false}};

/// Two or four digits at `at`; none if there is anything else.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

/// Days since 1970-01-01 of a date of the Gregorian calendar (Hinnant's algorithm).
std::int64_t days_from_civil(int year, int month, int day) {
  const std::int64_t y = month <= 2 ? year - 1 : year;
  const std::int64_t era = y / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

int days_in_month(int year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

/// Seconds since 1970 of "YYYY-MM-DD hh:mm:ss"; none if it is not such a text.
std::optional<std::int64_t> seconds_of(std::string_view text) {
  if (text.size() != 19 || text[4] != '-' || text[7] != '-' || text[10] != ' ' || text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const auto year = digits(text, 0, 4);
  const auto month = digits(text, 5, 2);
  const auto day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2);
  const auto minute = digits(text, 14, 2);
  const auto second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (*year < 1 || *month < 1 || *month > 12 || *day < 1 || *day > days_in_month(*year, *month)) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  return days_from_civil(*year, *month, *day) * 86400 + *hour * 3600 + *minute * 60 + *second;
}

}  // namespace

JobTrace read_philly(const SourceText& source) {
  Diagnostics diagnostics;
  CsvReader rows(source, kColumns, OtherColumns::allowed, diagnostics);
  struct Row {
    TraceJob job;
    std::int64_t submitted_s = 0;
  };
  std::vector<Row> read;
  std::int64_t earliest = INT64_MAX;
  std::string earliest_text;
  for (std::size_t number = 1; rows.next(); ++number) {
    const auto submitted = seconds_of(rows.field(timestamp));
    if (!submitted) {
      diagnostics.error("bad-value", "timestamp is no date and time: \"" + std::string(rows.field(timestamp)) + "\"",
                        rows.place(timestamp), "write it like 2017-10-09 07:01:55");
    }
    const auto run = rows.duration(duration, "s");
    const auto gpus = rows.whole_number(num_gpus, 1, workload_rank_count_max);
    if (!submitted || !run || !gpus) continue;
    Row row;
    row.submitted_s = *submitted;
    row.job.name = "job" + std::to_string(number);
    if (rows.has(cluster)) row.job.group = std::string(rows.field(cluster));
    row.job.run = *run;
    row.job.gpus = static_cast<std::uint32_t>(*gpus);
    row.job.line = rows.line();
    if (*submitted < earliest) {
      earliest = *submitted;
      earliest_text = std::string(rows.field(timestamp));
    }
    read.push_back(std::move(row));
  }
  JobTrace trace;
  for (Row& row : read) {
    const std::int64_t since_first_s = row.submitted_s - earliest;
    if (since_first_s > op_duration_max.in_ticks() / Duration::ticks_per_s) {
      diagnostics.error("out-of-range", "this job was submitted more than a year after the first", source.at(row.job.line, 0),
                        "cut the trace into parts of a year at most");
      continue;
    }
    row.job.submit = Duration::s(since_first_s);
    trace.jobs.push_back(std::move(row.job));
  }
  trace.origin_of_time = earliest_text;
  return finish_trace(std::move(trace), source, diagnostics);
}

}  // namespace weft
