// SPDX-License-Identifier: Apache-2.0
// Rank collectives: the collectives of one rank that are under way, step by step.
//
// Where it sits: a rank runner begins them and hears of their end; their messages go through a
// CollectivePort, and what arrives for the rank comes back here.
//
// Model: a collective runs its program (host/collectives/collective_program). A send goes as soon
// as it has slots (host/collectives/slots); messages may arrive before the rank begins. What a
// receive takes after the arrival is the protocol's, and reduction_time_per_mib for adding up; zero
// means hidden behind the transfer, as fused GPU kernels do.
// Threads: as its rank.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/containers/fifo.hpp"
#include "core/containers/small_map.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "host/ranks/job.hpp"
#include "host/ranks/slot_holdups.hpp"
#include "network/network_model.hpp"
#include "workloads/dag/op_kinds.hpp"

namespace weft {

/// What the collectives of a rank meet, at an instant.
class CollectivePort {
 public:
  virtual ~CollectivePort() = default;
  virtual Time now() const = 0;
  /// Hands over a message of the rank.
  virtual void start(const Transfer& transfer) = 0;
  /// After `delay`, RankCollectives::on_taken_over() is called.
  virtual void take_over_after(Duration delay, std::uint64_t stream, std::uint32_t step) = 0;
  /// The last step of a collective is done.
  virtual void finish(OpId op) = 0;
};

/// What tells a collective of a rank and an iteration from all others of the job:
/// MessageTags::pack_stream.
std::uint64_t collective_stream(const RunningJob& job, RankId rank, const Op& description, OpId op, std::uint64_t iteration);

/// A rank begins its steps of a collective.
struct CollectiveBegin {
  std::uint32_t position = 0;  ///< in the group
  OpId op;
  std::uint64_t iteration = 0;
  Time op_started;
  Time at;
};

class RankCollectives {
 public:
  /// Keeps a reference to the job.
  RankCollectives(const RunningJob& job, RankId rank, Duration reduction_time_per_mib);
  RankCollectives(RankCollectives&&) = default;
  /// The same rank, as far as this one has come.
  RankCollectives(const RankCollectives& other);

  /// Null for an op that has nothing to do.
  const CollectivePlan* plan_of(const Op& op);
  /// The steps of a collective may run; the op has started at `op_started`. Requires: plan_of(op)
  /// is not null.
  void begin(OpId op, std::uint64_t iteration, Time op_started, CollectivePort& port);
  /// The last byte of a message of a collective has left.
  void on_sent(const Transfer& transfer, CollectivePort& port);
  /// A message of a collective has arrived, a result from switches, or news of slots.
  void on_delivered(const Transfer& transfer, CollectivePort& port);
  void on_taken_over(std::uint64_t stream, std::uint32_t step, CollectivePort& port);

  /// Takes over what another one of the same rank has under way. Requires: not the same
  /// collectives.
  void take_over(RankCollectives& other);
  /// Adds a connection's waiting in a collective that ran elsewhere.
  void note_holdup(const SlotHoldup& holdup);
  /// Connections that waited for slots, in collectives that are over.
  const std::vector<SlotHoldup>& slot_holdups() const { return slot_holdups_; }
  /// Those since it was asked last.
  std::vector<SlotHoldup> take_slot_holdups() { return std::exchange(slot_holdups_, {}); }
  /// Ops of those that are under way, in no particular order.
  std::vector<OpId> ops_under_way() const;

 private:
  /// One end's account of a connection's slots.
  struct SlotAccount {
    LimitedConnection connection;
    NodeId peer;
    /// A sender's: by what is on its way. A receiver's: free again, and the sender does not know of
    /// it.
    std::uint32_t taken = 0;
    std::uint32_t told = 0;            ///< a receiver's: what the sender knows of
    Fifo<std::uint32_t> waiting = {};  ///< a sender's: steps that wait for slots
    std::uint32_t leaving = 0;         ///< a sender's: messages whose last byte has not left
    Time held_since = Time::max();     ///< a sender's: some wait and nothing is leaving
    std::uint64_t times_held = 0;
    Duration held = {};
    std::uint32_t held_step = 0;  ///< the last that waited so
  };
  struct Active {
    std::uint64_t stream = 0;  ///< MessageTags::pack_stream
    OpId op;
    Time op_started;
    const CollectivePlan* plan = nullptr;
    const CollectiveProgram* program = nullptr;
    std::uint32_t position = 0;
    std::uint32_t steps_left = 0;
    /// Steps that wait for some of what they need: how often they have been released.
    SmallMap<std::uint32_t> released;
    /// Steps of which some chunks have been handed over or arrived: how many.
    SmallMap<std::uint32_t> chunks;
    std::vector<SlotAccount> accounts;  ///< of connections with more to carry than they have slots
  };

  /// Null if it is not under way.
  Active* find(std::uint64_t stream);
  Active& at(std::uint64_t stream);
  void start_step(Active& active, std::uint32_t step, CollectivePort& port);
  static SlotAccount* account_of(Active& active, NodeId peer, std::uint8_t channel, bool sends);
  /// Whether a send may go; else it waits for slots.
  static bool take_slots(Active& active, std::uint32_t step, NodeId peer, Time now);
  static void note_left(Active& active, std::uint32_t step, NodeId peer, Time now);
  void keep_slot_holdups(const Active& active, Time now);
  void note_taken_over(Active& active, std::uint32_t step, CollectivePort& port);
  void on_slots_told(const Transfer& transfer, CollectivePort& port);
  NodeId endpoint_at(const Active& active, std::uint32_t position) const;
  void send_next(Active& active, std::uint32_t step, CollectivePort& port);
  void take_in(Active& active, std::uint32_t step, CollectivePort& port);
  void hand_over(Active& active, std::uint32_t step, NodeId destination, CollectivePort& port);
  /// How often a step is released until it starts: by its predecessors, and by chunks that arrive.
  static std::uint32_t releases_of(const Active& active, std::uint32_t step);
  static std::uint32_t chunks_of(const Active& active, std::uint32_t step);
  /// The step of a message that has left.
  std::uint32_t sender_of(const Active& active, const Transfer& transfer, std::uint32_t remote_step) const;
  // After these two, start_step() and take_in() the collective may be over, and `active` is spare_.
  void release_step(Active& active, std::uint32_t step, CollectivePort& port);
  void finish_step(Active& active, std::uint32_t step, CollectivePort& port);

  const RunningJob& job_;
  const RoleDag& dag_;
  RankId rank_;
  NodeId endpoint_;
  Duration reduction_time_per_mib_;

  std::vector<std::unique_ptr<Active>> active_;  ///< few at a time
  std::unique_ptr<Active> spare_;                ///< one that is over, for its memory
  /// Steps whose messages have arrived before the rank has begun, by stream.
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> early_steps_;
  JobCollectives::Recent recent_plans_;
  std::vector<SlotHoldup> slot_holdups_;
};

}  // namespace weft
