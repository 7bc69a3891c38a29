// SPDX-License-Identifier: Apache-2.0
// Cluster snapshot: how far all jobs of a run have come at some instant, and where they run, so
// that another run can go on from there.
//
// Where it sits: lifecycle/snapshot_capture fills one at the instant that was asked for, and a run
// may begin with one. tools/simulation/snapshot_file keeps it in a file.
//
// Model: absolute times stay what they are; a run that goes on from a snapshot begins at its
// instant. What is not kept is what the scheduler does not know:
//   - Of an iteration that is being simulated nothing is kept: its job goes on from the end of the
//     last one. Jobs of job mode and those that are fast-forwarded go on as if
//     nothing had happened.
//   - Ranks that wait for data wait for all of it anew.
//   - A job one of whose parts has failed, or which moves, waits; one that was cancelled has ended.
//   - GPUs that are out of service stay so. Links that carry less, or nothing, are listed, for the
//     other run to put into its topology; those that flap are not. Spares, failures, repairs,
//     drains and arrivals to come are for the other run to say. Its settings are those that it
//     began with, with what its scripted events have set up to the instant.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/values/units.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/job_record.hpp"
#include "scheduler/lifecycle/progress_model.hpp"
#include "topologies/reduced_topology.hpp"

namespace weft {

/// The pace of a job that is fast-forwarded.
struct KnownPace {
  Duration period;
  Duration spread;  ///< of the iterations that it was measured by
};

struct ClusterSnapshot {
  enum class State : std::uint8_t { not_arrived, waits, runs, ended };
  struct Job {
    State state = State::not_arrived;
    JobRecord record;
    KeptWork kept;  ///< from before the last start
    Duration iterating;
    Time queued;  ///< when it last began to wait
    std::int32_t priority = 0;
    std::optional<Time> submitted = {};  ///< of one that was held until then
    // While it runs:
    Placement placement;
    Time since;
    Time part_since;
    AttemptAccount past;   ///< up to then
    bool fetches = false;  ///< its ranks wait for their data
    /// If it is fast-forwarded, from part_since on.
    std::optional<KnownPace> pace;
    /// For whoever changes the cluster: its pace may not hold any more, so that it is looked at
    /// from its next iteration on.
    bool is_pace_old = false;
    // For whoever looks at it, not needed to go on:
    /// In job mode and while it is fast-forwarded, if nothing changes its pace.
    std::optional<Time> expected_end = {};
    /// With fast-forward, as last measured since its start.
    std::optional<Duration> iteration_time = {};
  };

  Time at;
  std::vector<Job> jobs;                ///< by JobId
  std::vector<GpuSlot> out_of_service;  ///< ascending
  std::vector<CableShare> slow_cables;  ///< likewise
};

}  // namespace weft
