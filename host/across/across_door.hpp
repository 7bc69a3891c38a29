// SPDX-License-Identifier: Apache-2.0
// Across door: where ranks hand over collectives between hosts to be carried out at the fabric.
//
// Where it sits: a rank runner asks whether a collective is carried out there, and tells of its
// beginning (resident_message) instead of running its steps; host/across/across_traffic, which
// lives at the fabric, tells the rank's host of the end.
//
// Model: all ranks of a group that know of each other do so, for one collective as for another of
// the same plan: which ones depends on the group, the plan and the run.
// Threads: any may ask.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "core/engine/entity.hpp"
#include "host/ranks/job.hpp"

namespace weft {

class Topology;
class CollectiveReplays;

/// Payload of resident_message: a rank has begun its steps.
struct CollectiveBegins {
  AttemptId attempt;
  RankId rank;
  OpId op;
  std::uint32_t iteration = 0;
  Time op_started;
  Time at;
};

/// Fabric -> host, payload CollectiveEnds: the rank's last step is done.
inline constexpr std::uint16_t collective_ends = 320;
struct CollectiveEnds {
  AttemptId attempt;
  RankId rank;
  OpId op;
};

class AcrossDoor {
 public:
  /// Keeps references. `latency`: of a message to the fabric's entity, no more than any transfer
  /// takes to enter.
  AcrossDoor(const Topology& topology, CollectiveReplays& replays, EntityId fabric, Duration latency)
      : topology_(topology), replays_(replays), fabric_(fabric), latency_(latency) {}

  // What is carried out at the fabric are collectives of groups and plans that both suit.
  /// Whether the group's ranks are on a host each.
  bool suits(const RunningJob& job, std::uint16_t communicator, GroupId group) const;
  /// Whether no rank can leave before all have begun, and each sends to few.
  bool suits(const CollectivePlan& plan);
  /// A rank begins the steps of such a collective, at context.now().
  void begin(const RunningJob& job, RankId rank, OpId op, std::uint64_t iteration, Time op_started, EventContext& context) const;

 private:
  const Topology& topology_;
  CollectiveReplays& replays_;
  EntityId fabric_;
  Duration latency_;
  std::mutex mutex_;
  std::map<const CollectivePlan*, bool> suitable_plans_;  ///< looked up only
};

}  // namespace weft
