// SPDX-License-Identifier: Apache-2.0
// Island: ranks of one job on one host that share links with nobody else, and what they say to each
// other.
//
// Where it sits: a host's InsideTraffic has one for each set of ranks that talk inside the host.
//
// Model: a collective of ranks that are all here runs by itself as long as nothing else begins
// among them. So when its last rank has begun, its end at every rank is known, from a trial
// (host/inside/collective_trial) or from an earlier one (host/inside/collective_replay). If
// anything else begins meanwhile, the trial is made up to that instant and goes on as a part of the
// run: its steps at the ranks, its messages in the island's own network. A collective that some
// rank may leave before all have begun it is a part of the run from the start.
// Times are those that the fabric gives to the tick.
// Ranks that go ahead of the clock (host/ranks/rank_runner) begin collectives at times to come. If
// it is certain that nothing can disturb a collective, as each rank computes for long enough
// between two of them, its ends are told at once, and ranks go on from there.
//
// Threads: as its host.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/engine/entity.hpp"
#include "host/inside/collective_trial.hpp"
#include "host/inside/inside_order.hpp"
#include "host/inside/inside_records.hpp"
#include "network/flow/inside_network.hpp"

namespace weft {

class RankRunner;

/// Which communicators ops of a workload name.
class CommunicatorsInUse {
 public:
  /// By communicator. Any thread may ask. Requires: the workload outlives this.
  const std::vector<bool>& of(const Workload& workload);

 private:
  std::mutex mutex_;
  std::map<const Workload*, std::vector<bool>> known_;  ///< looked up only
};

/// What all islands of a run share. Referenced objects outlive it.
struct InsideWiring {
  using PolicyFactory = std::function<std::unique_ptr<AllocationPolicy>(std::vector<double> capacities_bps)>;
  InsideWiring(const Topology& in, const FlowSettings& how, Duration reduction_time, PolicyFactory make)
      : topology(in),
        settings(how),
        delays(in, how.switching_delay, how.forwarding),
        make_policy(std::move(make)),
        reduction_time_per_mib(reduction_time) {}

  const Topology& topology;
  const FlowSettings& settings;
  LinkDelays delays;
  PolicyFactory make_policy;
  Duration reduction_time_per_mib;
  CollectiveReplays replays;
  CommunicatorsInUse communicators;
  InsideOrders orders;
};

/// What a rank hears that begins a collective.
enum class InsideAnswer : std::uint8_t {
  will_tell,  ///< it is told of the end (RankRunner::finish_collective)
  run_steps,  ///< it has to run its steps
  ask_then,   ///< of one that begins later: it has to ask again then
};

/// An island's own event at its host.
inline constexpr std::uint16_t inside_due = 311;
struct InsideDue {
  std::uint64_t island = 0;
};

class Island {
 public:
  struct Member {
    RankId rank;
    NodeId endpoint;
    std::uint32_t slot = 0;  ///< of the host's endpoints
  };
  /// A group of a communicator whose ranks are all here.
  struct Group {
    std::uint16_t communicator = 0;
    GroupId id;
    std::vector<RankId> ranks;  ///< by position
    std::uint32_t layout = 0;   ///< CollectiveReplays::layout_of
  };
  using Runners = std::vector<std::unique_ptr<RankRunner>>;

  /// Keeps references. `runners`: by slot. The links are those of the members, in their order.
  /// `told`: where slots are put down whose ranks are told of anything.
  Island(std::uint64_t number, InsideWiring& wiring, const RunningJob& job, std::vector<Member> members,
         std::shared_ptr<const PrivateLinks> links, const Runners& runners, std::vector<std::uint32_t>& told);

  std::uint64_t number() const { return number_; }
  AttemptId attempt() const { return job_.attempt; }
  bool has(NodeId endpoint) const;
  /// A rank is over. Returns whether it was the last one.
  bool end_rank() { return --ranks_left_ == 0; }
  /// Of a group whose ranks these are, by position. Valid as long as the island. Requires: they are
  /// members; not asked before.
  const Group& add_group(std::uint16_t communicator, GroupId id, std::span<const RankId> ranks);
  const std::vector<Member>& members() const { return members_; }
  /// Its ranks go ahead of the clock: what each one does here is in order
  /// (host/inside/inside_order).
  void go_ahead() { goes_ahead_ = true; }

  /// A rank begins the steps of a collective of a group, now or later.
  InsideAnswer begin(const Group& group, const CollectiveTrial::Begin& begin, std::uint64_t stream, const CollectivePlan& plan,
                     EventContext& context);
  /// The steps of such a collective that a rank has run are over.
  void end() { --running_; }
  /// A rank sends to another member.
  void start(const Transfer& transfer, EventContext& context);
  void on_due(EventContext& context);
  /// Nobody is told of anything any more, and nothing enters the network; what ends after
  /// `ended` has not ended.
  void stop(Time now, Time ended);
  /// Whether bytes are under way, but for what was told ahead.
  bool is_moving() const { return (undisturbed_ && undisturbed_->is_complete()) || (network_ != nullptr && network_->is_moving()); }
  /// Since when nothing has been under way, as of now.
  Time busy_until(Time now) const;
  /// Transfers that never leave their sources if nothing else happens.
  std::vector<UnfinishedTransfer> unfinished() const;
  /// All that has happened until `now`. Requires: all that happens before has been told.
  void add_to(InsideRecords& records, Time now) const;

 private:
  class Observer;
  /// A collective that nothing else has disturbed so far.
  struct Undisturbed {
    Undisturbed(std::uint64_t which, const CollectivePlan& carried_out, const Group& among)
        : stream(which), plan(&carried_out), group(&among) {}
    std::uint64_t stream;
    const CollectivePlan* plan;
    const Group* group;
    /// In the order in which ranks told of it; once all have, by position.
    std::vector<CollectiveTrial::Begin> begun;
    /// Once all have begun, like the next two.
    const CollectiveReplay* replay = nullptr;
    Time all_begun;
    std::size_t told = 0;  ///< of replay->by_finish, that it has ended
    Time end(std::uint32_t position) const { return all_begun + replay->finish[position]; }
    Time next_end() const { return end(replay->by_finish[told]); }
    bool is_complete() const { return begun.size() == group->ranks.size(); }
  };

  const Member& member(RankId rank) const;
  const Member& member_at(NodeId endpoint) const;
  RankRunner& runner(const Member& member) const { return *runners_[member.slot]; }
  /// Who is told of something.
  RankRunner& telling(const Member& member);
  InsideNetwork make_network() const;
  std::unique_ptr<CollectiveTrial> trial_of(const Undisturbed& undisturbed, Time until) const;
  CollectiveReplay outcome_of(const Undisturbed& undisturbed, CollectiveTrial& trial) const;
  void foresee_all(EventContext& context);
  void foresee(EventContext& context);
  bool is_certain(const Undisturbed& undisturbed) const;
  void tell_ahead(EventContext& context);
  void tell_ends(EventContext& context);
  void tell_end(const Undisturbed& undisturbed, std::uint32_t position, EventContext& context);
  void keep(const Undisturbed& ended);
  /// What is undisturbed goes on as a part of the run.
  void go_on(EventContext& context);
  void begin_later_again(Undisturbed& undisturbed, EventContext& context);
  /// What a trial has done so far is the island's, and so is its network.
  void adopt(CollectiveTrial& trial);
  void add_transfers(const std::vector<FinishedTransfer>& transfers, InsideRecords& records) const;
  /// That have ended.
  std::size_t replays_until(Time now) const;
  std::optional<Undisturbed> under_way(Time not_ended, Time begun) const;
  void add_ends(const Undisturbed& undisturbed, Time until, std::vector<OpRecord>& records) const;
  OpRecord record_of(const Group& group, const CollectiveTrial::Begin& begun, Time end) const;
  void plan_due(EventContext& context);

  std::uint64_t number_;
  InsideWiring& wiring_;
  const RunningJob& job_;
  std::vector<Member> members_;
  std::size_t ranks_left_;
  std::shared_ptr<const PrivateLinks> links_;
  const Runners& runners_;
  std::vector<std::unique_ptr<const Group>> groups_;
  bool goes_ahead_ = false;
  std::unique_ptr<InsideNetwork> network_;  ///< null: nothing is under way but what is undisturbed
  /// It may be telling of something still.
  std::vector<std::unique_ptr<InsideNetwork>> retired_;
  std::optional<Undisturbed> undisturbed_;
  bool foresees_ = false;
  std::uint32_t running_ = 0;  ///< collectives of groups whose steps ranks run
  std::vector<std::uint32_t>& told_;
  std::vector<Time> planned_;  ///< due events under way, latest first
  std::optional<Time> stopped_at_;
  std::vector<InsideRecords::Replayed> replays_;  ///< in order; those at the end may lie ahead
  std::vector<OpRecord> ops_;                     ///< of collectives that some were told of
  std::vector<FinishedTransfer> transfers_;
  std::vector<Bytes> link_bytes_;  ///< of networks that are gone, by private link
  Time busy_until_;                ///< of them
};

}  // namespace weft
