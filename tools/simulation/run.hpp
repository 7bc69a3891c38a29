// SPDX-License-Identifier: Apache-2.0
// Run: carries a scenario out and hands its results to a sink.
//
// Where it sits: `weft run` and `weft predict`, probes, comparisons and studies call it. A run is a
// value: it touches no disk, no terminal and nothing global; several go on in one process at a
// time.
// Model: what a run has to know of a job's placement beforehand (which ranks are alike), it learns
// from a run that got as far as placing it, and begins again: runs are deterministic.
// Thread safety: one thread per call; a scenario may be run by several at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/text/log.hpp"
#include "core/text/manifest.hpp"
#include "core/values/units.hpp"
#include "host/symmetry/job_link_demand.hpp"
#include "scheduler/lifecycle/cluster_snapshot.hpp"
#include "tools/results/folder_sink.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/results/run_summary.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

struct RunRecording;
struct JobQueueBlame;

/// How far a run has come.
struct RunState {
  Time sim_time;
  std::uint64_t events = 0;
  std::uint64_t done = 0;  ///< of `total`
  std::uint64_t total = 0;
  const char* what = "";  ///< "iterations", "transfers" or "jobs"

  double share() const { return total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0; }
};

struct RunOptions {
  std::uint32_t threads = 1;
  std::string zeta = "auto";  ///< "auto", "table", or a duration
  /// packet mode: the sink gets LinkSampleRows, one interval after the other
  std::optional<Duration> sample_links;
  /// the sink gets TierSampleRows when the run is over; nothing where there is no network
  bool samples_tiers = false;
  const std::atomic<bool>* interrupt = nullptr;
  std::optional<Time> until;        ///< the run stops after the events of that instant
  std::optional<Time> snapshot_at;  ///< when on_snapshot is called, unless all jobs have ended
  std::function<void(const ClusterSnapshot&)> on_snapshot;
  bool keeps_end = false;  ///< RunOutcome::end is filled in
  /// the jobs go on from there; null: the cluster begins empty
  std::shared_ptr<const ClusterSnapshot> from;
  /// On the scenario's topology, of jobs of `from`; may be null.
  std::shared_ptr<const KnownLinkDemands> link_demands;
  /// Called now and then, from one thread at a time.
  std::function<void(const RunState&)> progress;
  /// Called with what is known of the run as soon as it is: whether ranks are simulated for others.
  /// From one thread at a time, which may be another than that of run().
  std::function<void(const std::string& note)> on_note;
  /// Where not null, all that the run does is recorded there. Requires: flow mode on one thread
  /// (max_min, host.fold_ranks=off, host.private_links=off), neither fast forward nor changes of
  /// the network, no flow.detect_congestion.
  RunRecording* recording = nullptr;
  /// Packet mode: where not null, who waited for whom in switches goes there.
  std::vector<JobQueueBlame>* queue_blame = nullptr;
  /// Collectives are carried out as on this topology, of the same nodes and links; null: as on the
  /// scenario's.
  std::shared_ptr<const Topology> collectives_as_on;
  Log log;
};

struct RunOutcome {
  RunSummary summary;
  /// when the run stopped or ended, if it was to be kept; not of flow lists
  std::optional<ClusterSnapshot> end;
};

/// Finds what run() would refuse before it starts. Throws InputError.
void check_run(const Scenario& scenario);

/// Runs to the end, until told to stop, or until nothing gets on any more (RunSummary::standstill);
/// rows are of what was finished. The sink hears nothing before check_run() has passed. Throws
/// InputError [bad-zeta], and [stuck] when the jobs of a finished run have not finished, naming the
/// ranks that wait and what for.
RunOutcome run(const Scenario& scenario, ResultSink& sink, const RunOptions& options);

/// The same where nothing but the end will do: why the run stands still is an InputError.
RunOutcome finish_run(const Scenario& scenario, ResultSink& sink, const RunOptions& options);

/// Of the running jobs of a snapshot that run workloads: what their transfers put on each link.
std::shared_ptr<const KnownLinkDemands> link_demands_of(const Scenario& scenario, const ClusterSnapshot& snapshot,
                                                        std::uint32_t threads);

/// What describes the run: the scenario's inputs, all parameters, seed, threads.
RunManifest manifest_of(const Scenario& scenario, const RunOptions& options);

/// The tables that a run of the scenario fills, for its folder; what is asked for besides is the
/// caller's.
FolderContents folder_contents(const Scenario& scenario);

}  // namespace weft
