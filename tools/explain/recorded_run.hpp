// SPDX-License-Identifier: Apache-2.0
// Recorded run: a scenario, run once with everything on record, and the jobs whose
// time is to be explained.
//
// Where it sits: tools/explain/explanation makes one; sensitivities, blame and critical paths read
// it.
// Model: a job's time ends with the last rank that reports its last iteration; its flows are those
// of all its attempts. A flow list is one job, of which the last delivery and the mean of its
// transfers' times are of interest.
// Threads: one call is one run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/explain/link_sensitivities.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/results/run_summary.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/run_recording.hpp"

namespace weft {

/// --set of a run that is recorded: its results are those of any other.
inline const std::vector<std::string>& recording_settings() {
  static const std::vector<std::string> settings{"host.fold_ranks=off", "host.private_links=off"};
  return settings;
}

/// Throws InputError where a run of the scenario cannot be recorded, and says why.
void check_recordable(const Scenario& scenario);

struct ExplainedJob {
  JobId id = JobId::none();  ///< none: the flow list
  std::string name;
  Time begin;  ///< of its first attempt, or the first flow
  Time end;
  std::uint32_t last = FlowTape::none;  ///< node at which it ended
  std::vector<WeighedFlow> ends;        ///< what `end` waited for; empty: no flow
  double seconds() const { return (end - begin).in_s(); }
};

/// A stretch of a rank's time.
struct OpSpan {
  JobId job;
  std::uint32_t rank = 0;
  std::uint64_t iteration = 0;
  bool is_compute = false;
  bool is_point_to_point = false;
  Time start;
  Time end;
};

/// Keeps what ranks did, and when iterations began and ended.
class OpSpans final : public ResultSink {
 public:
  Needs needs() const override { return {.ops = true, .collectives = false}; }
  void begin() override { ops.clear(); }
  void add_op(const OpRow& row) override {
    ops.push_back({row.job_id, row.rank, row.iteration, row.is_compute, row.is_point_to_point, row.start, row.end});
  }
  std::vector<OpSpan> ops;
};

struct TapedRun {
  std::unique_ptr<RunRecording> recording;
  std::shared_ptr<const Topology> topology;
  OpSpans spans;
  RunSummary summary;
  std::vector<ExplainedJob> jobs;  ///< that have finished, in order of submission

  const FlowTape& tape() const { return recording->tape; }
};

/// Events, with what belongs to them, that half of this machine's memory holds: 50 million in 24
/// GiB.
std::size_t records_that_fit();

struct RecordingOptions {
  std::size_t records_max = records_that_fit();
  const std::atomic<bool>* interrupt = nullptr;
  std::vector<JobQueueBlame>* queue_blame = nullptr;  ///< packet mode: also tells this
  std::function<void(const RunState&)> progress;
};

/// Throws InputError [too-long-to-explain] and what finish_run() does. Requires:
/// check_recordable(), and the settings above.
std::unique_ptr<TapedRun> record_run(const Scenario& scenario, const RecordingOptions& options);

/// Of a flow list: what the mean of its transfers' times waited for.
std::vector<WeighedFlow> mean_of_transfers(const FlowTape& tape);

}  // namespace weft
