// SPDX-License-Identifier: Apache-2.0
// Job specification: what the scheduler is told about a job before the run.
//
// Where it sits: made from a job trace or from a scenario; JobLifecycle takes all jobs of a run,
// sorted by submission.
//
// Model: a job either runs a workload, one rank per GPU, for a number of iterations, or, in job
// mode, holds its GPUs for a duration: a draw from a model, or its iterations times a measured time
// that depends on where its GPUs are.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/units.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/duration_model.hpp"
#include "scheduler/placement/placer.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/job_traces/job_trace.hpp"
#include "workloads/measurements/placement_times.hpp"

namespace weft {

struct JobSpec {
  std::string name;
  std::string user;   ///< who submitted it; may be empty, like the next two
  std::string group;  ///< virtual cluster or user
  std::string model;  ///< what it trains
  Time submit;        ///< of one that is held: when it is known
  std::uint32_t gpus = 1;
  /// job mode: it may restart on fewer GPUs, but for these
  /// (scheduler/lifecycle/elastic_restart); 0: it does not
  std::uint32_t min_gpus = 0;
  std::int32_t priority = 0;
  /// number of the region where its data is, if that is known
  std::optional<std::uint32_t> data_region;
  /// with a workload at least 1; in job mode as declared, 0 if unknown
  std::uint64_t iterations = 0;
  std::uint64_t samples_per_iteration = 0;   ///< 0 if unknown; decides nothing
  std::shared_ptr<const Workload> workload;  ///< null in job mode
  /// what it may restart with instead, the most ranks first
  std::vector<std::shared_ptr<const Workload>> smaller_workloads;
  /// of a workload, in a run in packet mode
  bool is_in_flow_mode = false;
  DurationModel duration;  ///< job mode; beside a workload what its owner declared, zero if nothing
  /// Job mode: if set, the job runs for its iterations times the time of its placement, which the
  /// table knows for its number of GPUs, and `duration` is that where the empty cluster would place
  /// it.
  std::shared_ptr<const PlacementTimes> iteration_times;
  /// Job mode: the share of the duration that hosts compute, where it was measured: slow hosts take
  /// as much longer for that. None: of all of it.
  std::optional<double> compute_share;
  /// that its ranks fetch before they begin (scheduler/lifecycle/storage)
  Bytes data;
  std::vector<HostId> data_hosts;  ///< where it lies; none: on the storage hosts
  Bytes checkpoint;                ///< what one writes to the storage hosts
  SourcePlace place;               ///< where the job was described
  /// Number of the source in closed loop that it is of, from 1; 0: of none.
  std::uint32_t queue = 0;
  /// It is submitted when another of its source leaves the queue (scheduler/lifecycle/held_queues).
  bool is_held = false;
  /// of a job trace, whose jobs the user may leave out by their size
  bool is_of_trace = false;
};

/// The jobs of a trace, in job mode. `file` is the path that messages name.
std::vector<JobSpec> jobs_of_trace(const JobTrace& trace, const std::string& file);

/// Sorts jobs by submission; jobs of one instant keep their order. JobIds are indices into the
/// sorted list.
void sort_by_submission(std::vector<JobSpec>& jobs);

/// Finds every job that could not run on the cluster even if it were empty, and every job that
/// contradicts itself:
///   [no-gpus], [job-too-large], [unplaceable-job], [rank-count-mismatch], [no-iterations],
///   [too-many-iterations], [negative-submit], and, for all jobs together, [too-much-work] if their
///   GPU time cannot fit the simulated clock.
void check_jobs(const std::vector<JobSpec>& jobs, const ClusterState& cluster, const Placer& placer, Diagnostics& diagnostics);

/// Throws InputError [beyond-clock]: a job that starts then would end after the simulated clock.
[[noreturn]] void fail_beyond_clock(const JobSpec& job, Time start);

}  // namespace weft
