// SPDX-License-Identifier: Apache-2.0
// Job rules: what the jobs of a trace run, by their number of GPUs, name, group and model.
//
// Where it sits: a scenario's `jobs { file: ... rule { ... } }` becomes rules; load_scenario()
// applies them once topology and parameters are known.
//
// Model: each job gets the first rule that it matches. A rule gives it
//   - a workload (flow mode): one rank per GPU, for as many iterations as fit the job's run time,
//     run / iteration time to the nearest and at least 1. The iteration time is the rule's, or
//     measured: the workload runs alone on the empty cluster (iteration_probe). Where nothing may
//     run (`weft check`) the number stays 1 and a note says so. A rule may also say the number of
//     iterations; a trace without run times gives its own.
//     In job mode the workload is not run and the job holds its GPUs for its run time. Where the
//     rule itself says job mode, in a run of any mode, the job holds them for its iterations times
//     the iteration time.
//   - measured iterations (either mode): a table of step times by placement (placement_times.hpp);
//     the job holds its GPUs for its iterations times the time of the placement it gets. Without
//     iterations in rule or trace they are chosen so that the run time fits where the scenario's
//     placement puts the job on the empty cluster. Where that placement was not measured, the note
//     says what stands in for it; the run takes the same table for the placement that a job really
//     gets.
// A job of a trace with a table of throughputs of its own has such a table of step times too,
// without any rule.
// A job that matches no rule holds its GPUs for its run time. What was chosen is noted.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "tools/simulation/iteration_probe.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/job_traces/job_trace.hpp"
#include "workloads/measurements/gavel_throughputs.hpp"
#include "workloads/measurements/placement_times.hpp"

namespace weft {

/// Step times of jobs by placement.
class MeasuredIterations {
 public:
  virtual ~MeasuredIterations() = default;
  /// The times of one job. Throws InputError [not-measured], [unknown-job-type], [does-not-run] at
  /// `place`.
  virtual std::shared_ptr<const PlacementTimes> of(const TraceJob& job, const SourcePlace& place) const = 0;
};

/// The same for every job: a table such as Pollux's, of one model and batch size.
std::unique_ptr<MeasuredIterations> measured_for_all(PlacementTimes times, std::string file);
/// By the job's model, on one host as GPU type `gpu_type` says and on several as `gpu_type` +
/// "_unconsolidated", where the table has it. Throws InputError [unknown-gpu-type] at `place`.
std::unique_ptr<MeasuredIterations> measured_by_job_type(GavelThroughputs table, const std::string& gpu_type,
                                                         const SourcePlace& place);

struct JobRule {
  std::uint32_t gpus_min = 1;
  std::uint32_t gpus_max = UINT32_MAX;
  std::string name;   ///< pattern with * and ?; empty: any
  std::string group;  ///< likewise
  std::string model;  ///< likewise
  /// The workload for a number of GPUs, loaded when first asked for; null: none.
  std::function<std::shared_ptr<const Workload>(std::uint32_t gpus)> workload;
  std::string workload_name;
  std::uint64_t iterations = 0;             ///< 0: so that the run time fits
  std::uint64_t samples_per_iteration = 0;  ///< 0: unknown
  std::optional<Duration> iteration_time;   ///< of the workload; none: measured
  std::unique_ptr<MeasuredIterations> measured;
  Bytes data;  ///< as JobSpec has it, like the next two
  std::vector<HostId> data_hosts;
  Bytes checkpoint;
  std::optional<Mode> mode;  ///< none: that of the run; others as may_be_in() says
  SourcePlace mode_place;
  SourcePlace place;

  bool matches(const TraceJob& job) const;
};

/// "8", "1-8", "64-" or "" for all. Throws InputError [bad-value] at `place`.
void read_gpu_range(const std::string& text, const SourcePlace& place, JobRule& rule);

/// What rules ask about the cluster that the jobs are to run on.
struct ClusterProbes {
  /// How long an iteration of a workload takes. Throws InputError; `place` is what it was asked
  /// for. Null: nothing may run.
  std::function<ProbedIteration(const std::shared_ptr<const Workload>& workload, const SourcePlace& place)> iteration;
  /// How many GPUs on each of its hosts a job gets on the empty cluster; nothing if it has no place
  /// there.
  std::function<std::vector<std::uint32_t>(std::uint32_t gpus)> placement;
  bool has_network = true;  ///< false: no iteration can be measured
};

/// The jobs of a trace under rules. `path` is what messages call the trace; notes are added to
/// `assumptions`. Throws InputError: at the job's line [no-run-times], [not-measured],
/// [unknown-job-type], [does-not-run], [out-of-range]; at the rule [zero-iteration], [job-mode],
/// and what loading a workload or measuring it throws.
std::vector<JobSpec> jobs_by_rule(const JobTrace& trace, const std::string& path, const std::vector<JobRule>& rules, Mode mode,
                                  const ClusterProbes& probes, std::vector<std::string>& assumptions);

}  // namespace weft
