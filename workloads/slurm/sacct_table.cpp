// SPDX-License-Identifier: Apache-2.0
#include "workloads/slurm/sacct_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/text_pieces.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/slurm/slurm_text.hpp"

namespace weft {

namespace {

constexpr std::size_t absent = SIZE_MAX;
constexpr std::array sacct_names = {"JobID",      "State",    "Submit",   "Start",     "End",       "AllocTRES",    "ReqTRES",
                                    "JobName",    "User",     "Account",  "Partition", "Timelimit", "TimelimitRaw", "Elapsed",
                                    "ElapsedRaw", "Priority", "NodeList", "Reason",    "Restarts"};
constexpr const char* sacct_command =
    "sacct -aXP -o JobID,JobName,User,Account,Partition,Submit,Start,End,Elapsed,Timelimit,State,ReqTRES,AllocTRES,NodeList,"
    "Priority";

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t bar = line.find('|');
    fields.push_back(trimmed(line.substr(0, bar), " \r"));
    if (bar == std::string_view::npos) return fields;
    line.remove_prefix(bar + 1);
  }
}

/// What Slurm prints where there is nothing.
bool is_nothing(std::string_view text) {
  return text.empty() || text == "Unknown" || text == "None" || text == "None assigned" || text == "N/A";
}

/// What Slurm prints for a job without a limit of its own.
bool is_no_limit(std::string_view text) { return text == "UNLIMITED" || text == "Partition_Limit" || text == "INVALID"; }

/// Digits with marks between them, of which one at most is for days.
bool looks_like_time(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.find_first_not_of("0123456789-:.") == std::string_view::npos && is_digit(text.front()) && is_digit(text.back()) &&
         std::ranges::count(text, '-') <= 1;
}

}  // namespace

SacctTable::SacctTable(const SourceText& source, const TimeZone& zone, DirtyRows& dirty)
    : source_(source), zone_(zone), dirty_(dirty), position_(column_count, absent) {
  static_assert(sacct_names.size() == column_count);
  source.require_utf8_text("table of sacct");
  const std::vector<std::string_view> header = split(source.line(1));
  field_count_ = header.size();
  for (std::size_t i = 0; i < header.size(); ++i) {
    for (std::size_t column = 0; column < sacct_names.size(); ++column) {
      if (header[i] == sacct_names[column]) position_[column] = i;
    }
  }
  Diagnostics diagnostics;
  const std::string help = fmt::format("take what `{}` prints", sacct_command);
  for (const Column column : {job_id, state, submit, start, end}) {
    if (position_[column] == absent) {
      diagnostics.error("missing-column", fmt::format("there is no column {}", sacct_names[column]), source.at(1), help);
    }
  }
  if (position_[alloc_tres] == absent && position_[req_tres] == absent) {
    diagnostics.error("missing-column", "there is neither a column AllocTRES nor ReqTRES, which tell the GPUs", source.at(1), help);
  }
  diagnostics.throw_if_errors();
}

SourcePlace SacctTable::place(Column column) const {
  const std::string_view line = source_.line(line_);
  const std::string_view text = field(column);
  if (!has(column)) return source_.at(static_cast<int>(line_));
  return source_.at(static_cast<int>(line_), static_cast<int>(text.data() - line.data()) + 1,
                    std::max<int>(1, static_cast<int>(text.size())));
}

void SacctTable::fault(Column column, std::string code, std::string message, std::string help) {
  dirty_.report(sacct_names[column], {Severity::error, std::move(code), std::move(message), place(column), std::move(help)});
}

bool SacctTable::read_date(Column column, std::optional<Timestamp>& value, ZoneUse& use) {
  if (is_nothing(field(column))) return true;
  value = parse_timestamp(field(column), zone_, &use);
  if (value) return true;
  fault(column, "bad-value", fmt::format("{} is no date: {}", sacct_names[column], in_quotes(field(column))),
        "write it like 2026-01-31T12:00:00, or Unknown");
  return false;
}

bool SacctTable::read_time(Column column, Duration plain, std::optional<Duration>& value) {
  const std::string_view text = field(column);
  if (is_nothing(text) || is_no_limit(text)) return true;
  if (const auto number = plain_number<std::uint32_t>(text)) {
    if (*number > op_duration_max.in_ticks() / plain.in_ticks()) return true;
    value = plain * static_cast<std::int64_t>(*number);
    return true;
  }
  value = parse_slurm_duration(text);
  // Times of more than a year are none, either.
  if (value || looks_like_time(text)) return true;
  fault(column, "bad-value", fmt::format("{} is no time: {}", sacct_names[column], in_quotes(text)), "write it like 1-02:03:04");
  return false;
}

std::optional<SacctRow> SacctTable::next() {
  while (line_ < source_.line_count()) {
    ++line_;
    const std::string_view line = source_.line(line_);
    if (trimmed(line, " \r").empty()) continue;
    fields_ = split(line);
    if (fields_.size() != field_count_) {
      const std::string message = fmt::format("this row has {} fields and the header {}", fields_.size(), field_count_);
      dirty_.report(
          "", {Severity::error, "wrong-field-count", message, source_.at(static_cast<int>(line_)), "fields stand between \"|\""});
      continue;
    }
    if (field(job_id).find('.') != std::string_view::npos) continue;
    if (std::optional<SacctRow> row = read_row()) return row;
  }
  return std::nullopt;
}

std::optional<SacctRow> SacctTable::read_row() {
  SacctRow row;
  SlurmJob& job = row.job;
  job.line = static_cast<int>(line_);
  job.place = place(job_id);
  std::string_view id = field(job_id);
  if (id.empty()) {
    fault(job_id, "bad-value", "this job has no JobID", "give it a unique one");
    return std::nullopt;
  }
  if (const std::size_t bracket = id.find("_["); bracket != std::string_view::npos) {
    row.waiting_tasks = std::string(trimmed(id.substr(bracket + 1), "[]"));
    id = id.substr(0, bracket);
  }
  if (const std::size_t plus = id.find('+'); plus != std::string_view::npos) row.group_id = std::string(id.substr(0, plus));
  job.id = std::string(id);
  std::optional<Timestamp> submitted;
  if (!read_date(submit, submitted, job.zone_use) || !read_date(start, job.start, job.zone_use) ||
      !read_date(end, job.end, job.zone_use))
    return std::nullopt;
  if (!submitted) {
    fault(submit, "bad-value", fmt::format("job {} has no time of submission", job.id), "write it like 2026-01-31T12:00:00");
    return std::nullopt;
  }
  job.submit = *submitted;
  std::optional<Duration> took;
  if (!read_time(is_nothing(field(elapsed)) ? elapsed_raw : elapsed, Duration::s(1), took) ||
      !read_time(is_nothing(field(time_limit)) ? time_limit_raw : time_limit, Duration::s(60), job.time_limit))
    return std::nullopt;
  if (took && job.start && !job.end)
    row.now = Timestamp{job.start->seconds + static_cast<std::int64_t>(took->in_s()), job.start->fraction};
  job.name = std::string(field(job_name));
  job.user = std::string(field(user));
  job.group = std::string(field(account).empty() ? field(partition) : field(account));
  job.priority = plain_number<std::uint64_t>(field(priority)).value_or(0);
  row.state = std::string(field(state));
  row.reason = std::string(field(reason));
  row.hosts = std::string(field(node_list));
  row.resources = std::string(field(alloc_tres));
  if (gpus_in_resources(row.resources) == 0U) row.resources = std::string(field(req_tres));
  row.is_restarted = plain_number<std::uint64_t>(field(restarts)).value_or(0) > 0;
  return row;
}

}  // namespace weft
