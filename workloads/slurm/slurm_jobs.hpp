// SPDX-License-Identifier: Apache-2.0
// Slurm jobs: the jobs that `squeue --json`, `sacct -P` and `sacct --json` list.
//
// Where it sits: job_traces/slurm_trace makes a trace of them, tools/simulation/operator_snapshot
// the state of a cluster.
//
// Model
//   - Jobs that ask for no GPU are counted and left out. GPUs are those of the allocation, before
//     it those of the request: TRES and GRES, typed or not.
//   - A job array whose tasks wait is one entry of Slurm's and a job per task here. The components
//     of a heterogeneous job start and end together: they are one job with the GPUs of all.
//   - Steps (`sacct` without -X) are no jobs. Fields that are not known here are passed over.
// Versions: 22.05 to 24.05, whose JSON differs (workloads/slurm/json_list).
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/text/dirty_rows.hpp"
#include "core/text/source_text.hpp"
#include "core/values/units.hpp"
#include "workloads/job_traces/timestamp.hpp"

namespace weft {

/// GPUs of a job on a host.
struct SlurmShare {
  std::string host;
  std::optional<std::uint32_t> gpus;   ///< none: not told by host
  std::vector<std::uint32_t> indices;  ///< which; empty: not told
};

struct SlurmJob {
  /// held: it waits for something other than GPUs (a dependency, a user, a time)
  enum class State : std::uint8_t { waits, held, runs, ended };

  std::string id;    ///< "17", "17_3" of an array
  std::string name;  ///< as its user called it
  std::string user;
  std::string group;  ///< account, or the partition where there is none
  State state = State::waits;
  std::string state_text;  ///< Slurm's, with the reason: "PENDING (Dependency)"
  std::uint32_t gpus = 0;
  Timestamp submit;
  std::optional<Timestamp> start;  ///< if it was started
  std::optional<Timestamp> end;    ///< if it has ended
  std::optional<Duration> time_limit;
  std::uint64_t priority = 0;
  std::vector<SlurmShare> shares;  ///< by host, while it runs
  int line = 0;
  SourcePlace place;
  ZoneUse zone_use;  ///< of its dates
};

struct SlurmJobs {
  std::vector<SlurmJob> jobs;
  std::uint64_t without_gpus = 0;
  std::uint64_t array_tasks = 0;   ///< that wait, of arrays
  std::uint64_t merged_parts = 0;  ///< components of heterogeneous jobs beyond the first
  std::uint64_t dependent = 0;     ///< that wait for others
  std::uint64_t restarted = 0;     ///< that were requeued or preempted before
  std::optional<Timestamp> now;    ///< latest instant that the file tells of
};

/// `zone`: of dates that name none. Faults of single jobs go to `dirty`. Throws InputError:
/// [bad-json], [missing-field], [empty-file].
SlurmJobs read_squeue_jobs(const SourceText& source, DirtyRows& dirty);
/// JSON where the file begins with a brace, else the table of `sacct -P` with its header. Throws
/// InputError, [missing-column] among others.
SlurmJobs read_sacct_jobs(const SourceText& source, const TimeZone& zone, DirtyRows& dirty);

}  // namespace weft
