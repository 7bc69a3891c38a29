// SPDX-License-Identifier: Apache-2.0
// Across traffic: collectives between hosts, carried out at the fabric.
//
// Where it sits: it lives at the flow fabric (network/flow/fabric_resident). Ranks tell it of their
// beginning (host/across/across_door), and it tells their hosts of the end; the messages between
// never leave the fabric's entity.
//
// Model: the steps of the ranks of a group run here (host/across/across_group), and their messages
// are transfers of the fabric's. As long as all ranks are in the same collective and nobody else is
// on its links, the group is secluded (host/across/secluded_group): its transfers leave the fabric,
// and it goes ahead by itself. As soon as another transfer enters on one of its links, or a rank
// begins anything else, it is taken back to that instant and goes on among the others. Times are
// the same to the tick.
// It pays where a group is left alone for many transfers. So it goes ahead by few at first and then
// by more and more; and after each time in a row that it was disturbed it waits for longer until it
// is secluded again. Both begin anew with the next collective after a pause.
//
// Invariants
//   1. A link is of one secluded group at most, and carries no flow of the fabric's then.
//   2. Each rank that begins is told of its end once, unless its attempt is stopped.
// Threads: as the fabric.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "host/across/across_door.hpp"
#include "host/across/across_group.hpp"
#include "host/across/across_ways.hpp"
#include "host/across/secluded_group.hpp"
#include "host/ranks/slot_holdups.hpp"
#include "network/flow/fabric_resident.hpp"
#include "network/flow/flow_fabric.hpp"

namespace weft {

/// What it needs of the run. Referenced objects outlive it.
struct AcrossWiring {
  const Topology& topology;
  const FlowSettings& settings;
  const JobTable& jobs;
  SecludedGroup::MakePolicy make_policy;
  Duration reduction_time_per_mib;
  std::vector<EntityId> entity_of_host;
};

class AcrossTraffic final : public FabricResident {
 public:
  /// Keeps a reference to the fabric.
  AcrossTraffic(AcrossWiring wiring, FlowFabric& fabric);

  void take(const Event& message) override;
  void on_stopped(AttemptId attempt) override { stopped_.push_back(attempt); }
  void begin_instant(const std::deque<Transfer>& entering, Time now) override;
  void on_left(const OwnedTransfer& left, Time sent, Time delivered) override;
  void go_on(EventContext& context) override;
  std::vector<OwnedTransfer> take_entering() override { return std::exchange(due_, {}); }
  void end_instant(Time now) override;
  Time next() const override;
  void catch_up(Time now) override;

  /// Connections that waited for slots, in collectives that were over at their ranks by `now`.
  std::vector<SlotHoldup> slot_holdups(Time now) const;

 private:
  using Key = std::tuple<AttemptId, std::uint16_t, GroupId>;
  struct Running {
    Key key;
    const RunningJob* job = nullptr;
    std::unique_ptr<AcrossGroup> group;  ///< null while it is secluded
    std::unique_ptr<SecludedGroup> secluded;
    Time planned = Time::max();  ///< when it is looked at next; max(): that is not planned
    std::size_t window = 0;      ///< transfers that it goes ahead by
    std::uint32_t patience = 1;  ///< rounds of transfers until it is secluded again
    /// Transfers, since it is among the others and since all have begun its latest collective.
    std::uint64_t left = 0;
    JobCollectives::Recent recent_plans;
    bool is_candidate = false;  ///< to be secluded
    AcrossGroup& ranks() { return group != nullptr ? *group : secluded->group(); }
  };
  using Wake = std::pair<Time, std::uint32_t>;

  std::uint32_t find_or_add(const CollectiveBegins& begins, std::uint16_t communicator, GroupId id);
  std::shared_ptr<const AcrossWays> ways_of(const Running& running, const CollectivePlan& plan);
  void begin(const CollectiveBegins& begins, Time now);
  /// It is looked at by then.
  void wake(std::uint32_t owner, Time at);
  /// The next group that is to be looked at by `now`; none if there is none.
  std::optional<std::uint32_t> take_awake(Time now);
  void look_for_disturbed(const Transfer& entering, Time now);
  /// It is one of the others from before `now` on.
  void disturb(std::uint32_t owner, Time now);
  void hand_over(std::uint32_t owner);
  void arrive(std::uint32_t owner, Time now);
  void consider(std::uint32_t owner);
  void seclude(std::uint32_t owner, Time now);
  void run_ranks(std::uint32_t owner, EventContext& context);
  void keep_holdups(std::vector<SlotHoldup> holdups, Time end, Time now);
  void drop_stopped(Time now);
  void close(std::uint32_t owner);

  AcrossWiring wiring_;
  FlowFabric& fabric_;
  std::vector<CollectiveBegins> begins_;  ///< of this instant
  std::vector<std::unique_ptr<Running>> running_;
  std::vector<std::uint32_t> free_running_;
  std::map<Key, std::uint32_t> places_;
  std::map<std::tuple<AttemptId, std::uint16_t, GroupId, const CollectivePlan*>, std::shared_ptr<const AcrossWays>> ways_;
  std::vector<std::uint32_t> secluded_on_;  ///< by link, the number of a group + 1; 0: none
  std::size_t secluded_ = 0;                ///< how many are
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
  std::vector<std::uint32_t> awake_;       ///< at this instant
  std::vector<std::uint32_t> candidates_;  ///< likewise
  std::vector<OwnedTransfer> due_;         ///< likewise
  std::vector<AttemptId> stopped_;         ///< likewise
  std::vector<AcrossGroup::Entering> entering_;
  std::size_t ways_count_ = 0;  ///< of all in ways_
  struct Held {
    Time end;  ///< of the collective at the rank
    SlotHoldup holdup;
  };
  using HoldupsOfRanks = std::map<std::pair<AttemptId, RankId>, std::vector<SlotHoldup>>;
  HoldupsOfRanks holdups_;
  std::vector<Held> late_holdups_;  ///< those that may lie ahead
};

}  // namespace weft
