// SPDX-License-Identifier: Apache-2.0
// Host entity: a server in the simulation. Starts the ranks placed on it and routes their timers
// and network notices.
//
// Where it sits: the scheduler's `start_job` makes it create one RankRunner per rank placed on one
// of its endpoints; transfers go out through the NetworkPort and come back as transfer_sent /
// transfer_delivered; finished iterations go to the scheduler as `iteration_done`. `stop_job` takes
// the runners of an attempt away; timers and notices that come for them afterwards are dropped.
// `send_data` makes it send what lies on it; what arrives for its ranks before they begin goes to
// the scheduler as `data_arrived`. An endpoint runs one rank at a time (the scheduler never places
// two).
//
// Records of what ran are kept per host and read after the run; an unfinished run tells which ranks
// wait.
// Threads: belongs to its logical process; records may be read by anyone once the engine has
// stopped.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/engine/entity.hpp"
#include "host/inside/inside_traffic.hpp"
#include "host/ranks/host_speed.hpp"
#include "host/ranks/rank_runner.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// A host's own event: its speed changes now. No payload.
inline constexpr std::uint16_t speed_changes = 310;

/// What a host needs to know of the rest of the run. Referenced objects outlive it.
struct HostWiring {
  const Topology& topology;
  const JobTable& jobs;
  const HostSpeeds& speeds;
  RankRunnerContext ranks;
  EntityId scheduler;
  Duration control_delay;          ///< of messages to the scheduler
  InsideWiring* inside = nullptr;  ///< null: the network has all that stays inside hosts, too
};

/// A rank that has not finished, and the ops it is stuck in.
struct WaitingRank {
  AttemptId attempt;
  RankId rank;
  std::uint64_t iteration = 0;
  std::vector<OpId> ops;
};

/// Over all of a rank's iterations of an attempt so far, by communicator: time with its
/// communication under way and no GPU compute op running. When several communicators are under way,
/// each counts.
struct RankExposure {
  AttemptId attempt;
  RankId rank;
  std::vector<Duration> by_communicator;
};

class HostEntity final : public Entity {
 public:
  /// At every later change of the host's speed, `speed_changes` has to be posted to it.
  HostEntity(HostId host, const HostWiring& wiring);

  void handle(const Event& event, EventContext& context) override;

  /// Of ops that hosts did not replay (inside_records()); where a run was cut off, some may lie
  /// ahead.
  const std::vector<OpRecord>& records() const { return records_; }
  std::vector<RankExposure> exposures(Time now) const;
  std::vector<WaitingRank> waiting_ranks() const;
  /// Whether any of its ranks computes, or moves anything inside the host by itself.
  bool is_busy(Time now) const;
  /// Of ranks that have ended or run still.
  std::vector<SlotHoldup> slot_holdups(Time now) const;
  /// What the network has not moved, until `now`: when the run is over, or was cut off.
  InsideRecords inside_records(Time now) const;
  /// Of that, transfers that never leave their sources.
  std::vector<UnfinishedTransfer> inside_unfinished() const;
  /// Since when none of it has been under way, as of now.
  Time inside_busy_until(Time now) const { return inside_ ? inside_->busy_until(now) : Time::zero(); }

 private:
  void take(const Event& event, EventContext& context);
  void take_timer(std::uint16_t kind, const RankTimerPayload& payload, EventContext& context);
  /// Of an endpoint that is the host's.
  std::size_t slot_at(NodeId endpoint) const;
  /// Null if what is said is about an attempt that was stopped.
  RankRunner* runner_at(NodeId endpoint, AttemptId attempt);
  void start(AttemptId attempt, EventContext& context);
  void stop(const StopJob& stopped, EventContext& context);
  void send_stored(AttemptId attempt, EventContext& context);
  void send_last_checkpoint(AttemptId attempt, EventContext& context);
  /// What a rank has done until then stays.
  void leave(std::unique_ptr<RankRunner>& runner, Time until);
  void change_speed(EventContext& context);
  void report(RankRunner& runner, EventContext& context);

  HostId host_;
  HostWiring wiring_;
  double speed_ = 1;
  std::vector<NodeId> endpoints_;
  std::vector<std::unique_ptr<RankRunner>> runners_;  ///< per local endpoint; null while idle
  std::optional<InsideTraffic> inside_;
  /// Attempts whose messages nobody takes any more.
  std::unordered_set<AttemptId> stopped_;
  std::vector<OpRecord> records_;
  std::vector<RankExposure> exposures_;   ///< of ranks that have ended
  std::vector<SlotHoldup> slot_holdups_;  ///< likewise
};

}  // namespace weft
