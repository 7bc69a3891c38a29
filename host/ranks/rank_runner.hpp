// SPDX-License-Identifier: Apache-2.0
// Rank runner: executes the DAG of one rank, iteration after iteration.
//
// Where it sits: a host entity owns one per rank placed on it and forwards timers and network
// notices; the runner hands transfers to the network and reports finished iterations.
//
// Model
//   - An op starts when all its predecessors are done (streams are edges already,
//     workloads/dag/dag.hpp): computation and communication overlap unless an edge forbids it.
//   - compute takes its duration at the host's speed (host/ranks/host_speed), after
//     kernel_launch_latency if it runs on the GPU; while communication is under way, GPU compute
//     runs compute_slowdown times slower. A collective runs its program
//     (host/ranks/rank_collectives); those of one rank take no time. A send is done when its last
//     byte has left; a receive when the matching message has arrived. Messages are eager: they may
//     arrive before the receiver asks for them.
//   - Ahead of the clock: where nothing can change it any more (host/inside/inside_order), the end
//     of a compute op or of a collective inside the host is known when it starts, and the rank goes
//     on from there at once. What goes to other hosts starts, and an iteration ends, when its time
//     has come. What lies ahead of a stop is not recorded.
//   - After an iteration with a checkpoint a rank stands still for as long as writing takes; the
//     bytes, if the job says how many, go to the store beside what follows.
//
// Invariants: 1. every op runs exactly once per iteration; 2. iteration i+1 of a rank starts when
// its iteration i has ended, and the checkpoint after it is written.
// Threads: belongs to the logical process of its host.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/containers/small_map.hpp"
#include "core/engine/entity.hpp"
#include "host/ranks/compute_clock.hpp"
#include "host/ranks/exposure.hpp"
#include "host/ranks/job.hpp"
#include "host/ranks/op_record.hpp"
#include "host/ranks/rank_collectives.hpp"
#include "host/ranks/rank_timers.hpp"
#include "network/network_model.hpp"

namespace weft {

class AcrossDoor;
class InsideOrder;
class InsideTraffic;

/// What a host records while it runs; read after the run.
enum class Recording : std::uint8_t { nothing, communication, everything };

/// Settings shared by all ranks of a run. Referenced objects outlive the run.
struct RankRunnerContext {
  const NetworkPort& network;
  Duration reduction_time_per_mib;
  Duration kernel_launch_latency;  ///< of GPU compute ops
  double compute_slowdown = 1;     ///< >= 1
  Recording recording = Recording::communication;
  AcrossDoor* across = nullptr;  ///< null: ranks run the steps of all collectives between hosts
};

class RankRunner {
 public:
  /// Keeps references. `inside` may be null.
  RankRunner(const RunningJob& job, RankId rank, std::uint32_t slot, const RankRunnerContext& shared,
             std::vector<OpRecord>& records, InsideTraffic* inside = nullptr);

  /// What a handler call led to: rounds that ended, in order.
  struct FinishedIteration {
    std::uint32_t iteration = 0;
    Duration exposed_communication;
  };

  /// It may go ahead of the clock. Requires: before start(); the host's speed does not change, and
  /// `order` is that of the rank's DAG and outlives it.
  void go_ahead_in(const InsideOrder& order) { order_ = &order; }
  void start(EventContext& context);
  void on_timer(std::uint16_t kind, const RankTimerPayload& payload, EventContext& context);
  void on_sent(const Transfer& transfer, EventContext& context);
  void on_delivered(const Transfer& transfer, EventContext& context);

  // Of collectives that the host's InsideTraffic took.
  /// One is over at `end`, now or later; inside has what is to be recorded of it.
  void finish_collective(OpId op, Time end, EventContext& context) { finish_told(op, end, false, context); }
  /// One goes on as steps of the rank, with what is under way of it in collectives().
  void go_on_with(OpId op);
  /// One that the fabric carried out is over.
  void finish_across(OpId op, EventContext& context) { finish_told(op, context.now(), true, context); }
  /// One that was to begin at a later time begins anew then.
  void begin_again(OpId op, Time at, EventContext& context);
  /// Connections waited for slots in one that is over at `end`.
  void note_holdup(const SlotHoldup& holdup, Time end, Time now);
  /// The least time from the end of one until the rank begins the next on its host.
  Duration gap_after(OpId op);
  /// on_timer(receive_done) follows.
  void take_over_after(Duration delay, std::uint64_t stream, std::uint32_t step, EventContext& context);
  RankCollectives& collectives() { return collectives_; }

  /// From now on compute ops take 1 / `speed` of their time. Requires: speed > 0.
  void set_host_speed(double speed, EventContext& context);

  /// Whoever called it last in an event: it wakes up when what lies ahead has come.
  void plan_waking(EventContext& context);

  /// Rounds that ended since the last call.
  std::vector<FinishedIteration> take_finished();
  bool done() const { return iteration_ == job_.iterations; }

  std::uint64_t iteration() const { return iteration_; }
  AttemptId attempt() const { return job_.attempt; }
  RankId rank() const { return rank_; }
  /// By communicator, over all iterations until then; see RankExposure.
  std::vector<Duration> exposed_by_communicator(Time until) const { return exposure_.by_communicator(until); }
  /// Connections that waited for slots, in collectives that were over by then.
  std::vector<SlotHoldup> slot_holdups(Time until) const;
  /// Ops that have started and wait for a message, for the report of a run that cannot go on.
  std::vector<OpId> waiting_ops() const;
  /// Also while it has gone ahead of `now`.
  bool is_computing(Time now) const { return clock_.is_running() || ahead_until_ > now; }

 private:
  struct SendKey {
    std::uint64_t tag = 0;
    NodeId destination;
    friend bool operator==(const SendKey&, const SendKey&) = default;
  };
  struct MessageKey {
    std::uint64_t stream = 0;
    NodeId source;
    friend bool operator==(const MessageKey&, const MessageKey&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const SendKey& key) const noexcept;
    std::size_t operator()(const MessageKey& key) const noexcept;
  };
  class Port;

  /// More rounds than this in one instant are refused: nobody means them, and they would run for
  /// ever.
  static constexpr std::uint64_t rounds_per_instant_max = 1'000'000;
  /// A rank that is so many beginnings and ends of ops ahead waits for the clock.
  static constexpr std::uint32_t changes_ahead_max = 4096;

  RankTimerPayload timer(std::uint32_t index, std::uint64_t stream = 0) const { return {slot_, index, stream, job_.attempt, 0}; }
  void schedule(Duration delay, RankTimer kind, const RankTimerPayload& payload, EventContext& context);
  void note_round(Time now);
  /// Returns whether the next iteration may begin at once.
  bool end_iteration(Duration exposed, EventContext& context);
  void send_checkpoint(EventContext& context);
  void begin_iteration(EventContext& context);
  void close_round(EventContext& context);
  bool may_start_ahead(const Op& description) const;
  void start_op(OpId op, EventContext& context);
  void start_compute(OpId op, const Op& description, Time at, EventContext& context);
  void start_collective(OpId op, const Op& description, Time at, EventContext& context);
  /// Whether a collective is carried out at the fabric.
  bool is_across(std::uint16_t communicator, const CollectivePlan& plan);
  void launched(OpId op, EventContext& context);
  void run_collective(OpId op, const Op& description, const CollectivePlan& plan, Time at, EventContext& context);
  void finish_told(OpId op, Time end, bool is_recorded, EventContext& context);
  /// A predecessor of an op is over. Returns whether it was the last.
  bool release(OpId op);
  void finish_op(OpId op, Time end, bool is_recorded, EventContext& context);
  void run_ready(EventContext& context);
  void wake_at(Time at, RankTimer kind, OpId op, EventContext& context);
  MessageTag tag_of(OpId op, const Op& description) const;
  NodeId peer_endpoint(const Op& description) const;
  void take_message(const MessageKey& key, EventContext& context);
  void hand_over(const Transfer& transfer, EventContext& context);
  void note(Exposure::Change change, std::uint16_t communicator, Time at, EventContext& context);
  void plan_ends(const std::vector<ComputeClock::End>& ends, EventContext& context);

  const RunningJob& job_;
  const RoleDag& dag_;
  const RankRunnerContext& shared_;
  std::vector<OpRecord>& records_;
  RankId rank_;
  std::uint32_t slot_ = 0;
  NodeId endpoint_;

  std::uint64_t iteration_ = 0;
  std::vector<std::uint16_t> pending_;    ///< by op: predecessors that are not over
  SmallMap<std::uint32_t> more_pending_;  ///< of ops with more of them: how many more
  /// Once it has started; before, the latest end of a predecessor that is over.
  std::vector<Time> op_start_;
  std::uint32_t ops_left_ = 0;
  std::vector<OpId> ready_;
  bool running_ready_ = false;
  std::vector<FinishedIteration> finished_;

  InsideTraffic* inside_;  ///< null: there is none
  /// By communicator, whether its group is one of those whose collectives may be carried out at the
  /// fabric, as far as that was asked.
  std::vector<std::optional<bool>> suits_across_;
  RankCollectives collectives_;
  std::vector<OpId> told_of_;                             ///< collectives whose end others tell
  std::vector<OpId> counted_;                             ///< and those whose end it has to hear of
  std::unordered_map<SendKey, OpId, KeyHash> in_flight_;  ///< sends between two ranks
  std::unordered_map<MessageKey, OpId, KeyHash> waiting_receives_;
  std::unordered_set<MessageKey, KeyHash> early_messages_;

  ComputeClock clock_;
  Exposure exposure_;
  Time instant_ = Time::max();  ///< of the latest round's start
  std::uint64_t rounds_at_instant_ = 0;

  const InsideOrder* order_ = nullptr;  ///< null: it stays with the clock
  Time ahead_until_;                    ///< the latest end that is known
  Time woken_at_;                       ///< the latest instant at which it will be
  bool round_waits_ = false;            ///< for the clock, all its ops being over by ahead_until_
  struct Held {
    Time end;
    SlotHoldup holdup;
  };
  Fifo<Held> held_ahead_;
};

}  // namespace weft
