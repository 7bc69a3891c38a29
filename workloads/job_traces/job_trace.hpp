// SPDX-License-Identifier: Apache-2.0
// Job trace: which jobs arrive when, how many GPUs they want and how long they run.
//
// Where it sits: readers (workloads/job_traces/) make one; the scheduler replays it in job mode,
// or, with rules, in flow mode.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/text/dirty_rows.hpp"
#include "core/text/option_names.hpp"
#include "core/values/units.hpp"
#include "workloads/job_traces/timestamp.hpp"
#include "workloads/measurements/placement_times.hpp"

namespace weft {

/// What became of a job on the cluster that the trace was recorded on.
struct RecordedRun {
  Duration wait;        ///< submission to first start
  Duration completion;  ///< submission to end
};

struct TraceJob {
  std::string name;   ///< the trace's own id, or "jobN" by row
  std::string user;   ///< who submitted it; may be empty, like the next two
  std::string group;  ///< virtual cluster or user
  std::string model;  ///< what it trains, or its type
  Duration submit;    ///< since the earliest submission of the trace
  Duration run;       ///< how long it holds its GPUs; zero if the trace has no run times
  std::uint32_t gpus = 1;
  std::uint64_t iterations = 0;  ///< 0 if the trace does not say
  std::int32_t priority = 0;
  int line = 0;                          ///< of the file, for messages
  std::optional<RecordedRun> real = {};  ///< where the trace tells
  /// Where the run time depends on the placement: of its number of GPUs. `run` is `iterations`
  /// times that of packed().
  std::shared_ptr<const PlacementTimes> iteration_times = {};
  /// Number of the region where its data is, from 0.
  std::optional<std::uint32_t> data_region = {};
  /// On which it may restart once it has run; 0: on no fewer than `gpus`.
  std::uint32_t min_gpus = 0;
};

struct JobTrace {
  std::string name;
  std::vector<TraceJob> jobs;  ///< by (submit, line)
  /// What instant `submit` 0 stands for: "2017-09-04 17:30:41 UTC", or "90s on the clock of the
  /// trace" where that clock has no date.
  std::string origin_of_time;
  std::optional<Timestamp> origin;       ///< that instant, where it has a date
  bool has_run_times = true;             ///< false: iterations only
  std::vector<LeftOutRows> left_out;     ///< rows that are no jobs to simulate, by reason
  std::uint64_t left_out_rows = 0;       ///< how many in all
  std::vector<std::string> assumptions;  ///< what the format did not say and the reader assumed

  /// Rows left out and assumptions, a line each, for the notes of a run.
  std::vector<std::string> notes() const;
};

/// What the user may say about a trace beyond its path. A format names the options it reads; giving
/// it another one is an error.
struct JobTraceOptions {
  bool strict = false;           ///< --strict: a row that cannot become a job is an error
  std::string time_zone;         ///< --time-zone: of dates without one; empty: the format's default
  std::string throughputs_path;  ///< --throughputs: table of measured steps per second
  std::string gpu_type;          ///< --gpu-type: a type of that table
  /// --limit-share: of the time limit of jobs that have not ended, for which they run
  std::string limit_share = {};
  /// The trace tells the state of a cluster: what has not ended is kept, also without a time limit.
  bool is_state = false;
  OptionNames names = {};  ///< as the user gave them

  friend bool operator==(const JobTraceOptions&, const JobTraceOptions&) = default;
};

}  // namespace weft
