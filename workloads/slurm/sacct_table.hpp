// SPDX-License-Identifier: Apache-2.0
// Table of `sacct -P` (parsable2): fields between "|", the names of the columns in the first line.
//
// Where it sits: slurm_jobs.hpp makes jobs of its rows.
// Model: columns stand in any order and others are passed over. Needed are JobID, State, Submit,
// Start, End, and AllocTRES or ReqTRES. Where there is no Timelimit or Elapsed, TimelimitRaw
// (minutes) and ElapsedRaw (seconds) stand in. A row whose JobID has a "." is a step and passed
// over.
// Threads: belongs to one thread; source and zone outlive it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/dirty_rows.hpp"
#include "core/text/source_text.hpp"
#include "workloads/job_traces/timestamp.hpp"
#include "workloads/slurm/slurm_jobs.hpp"

namespace weft {

struct SacctRow {
  SlurmJob job;  ///< without state, GPUs and shares
  std::string state;
  std::string reason;
  std::string hosts;
  std::string resources;
  std::string waiting_tasks;  ///< of an array
  std::string group_id;       ///< of a heterogeneous job
  bool is_restarted = false;
  std::optional<Timestamp> now;  ///< of a job that runs: start and time elapsed
};

class SacctTable {
 public:
  /// Throws InputError [empty-file], [missing-column].
  SacctTable(const SourceText& source, const TimeZone& zone, DirtyRows& dirty);
  /// The next job; none at the end.
  std::optional<SacctRow> next();

 private:
  enum Column : std::size_t {
    job_id,
    state,
    submit,
    start,
    end,
    alloc_tres,
    req_tres,
    job_name,
    user,
    account,
    partition,
    time_limit,
    time_limit_raw,
    elapsed,
    elapsed_raw,
    priority,
    node_list,
    reason,
    restarts,
    column_count
  };
  bool has(Column column) const { return position_[column] < fields_.size(); }
  std::string_view field(Column column) const { return has(column) ? fields_[position_[column]] : std::string_view(); }
  SourcePlace place(Column column) const;
  void fault(Column column, std::string code, std::string message, std::string help);
  std::optional<SacctRow> read_row();
  /// False if the field is no date; none in `value` if Slurm knows none.
  bool read_date(Column column, std::optional<Timestamp>& value, ZoneUse& use);
  /// False if the field is no time; none in `value` if Slurm knows none. A plain number counts
  /// units of `plain`.
  bool read_time(Column column, Duration plain, std::optional<Duration>& value);

  const SourceText& source_;
  const TimeZone& zone_;
  DirtyRows& dirty_;
  std::vector<std::size_t> position_;  ///< of our columns in a row
  std::size_t field_count_ = 0;
  std::size_t line_ = 1;
  std::vector<std::string_view> fields_;
};

}  // namespace weft
