// SPDX-License-Identifier: Apache-2.0
// Inside traffic: what ranks of a host say to each other over links that nobody else can use.
//
// Where it sits: a host has one, where a run allows it; its ranks offer it their collectives and
// messages, and give to the network what it does not take.
//
// Model: ranks of a job on one host that share a group of any communicator in use are an island
// (host/inside/island), if the links among them are private (network/flow/private_links). There are
// none where collectives use switches inside hosts, or one rank stands for others.
// Threads: as its host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine/entity.hpp"
#include "host/inside/inside_records.hpp"
#include "host/inside/island.hpp"
#include "host/ranks/rank_timers.hpp"

namespace weft {

class InsideTraffic {
 public:
  /// Keeps references. `runners`: by slot. `may_go_ahead`: what ops take is known when they start.
  InsideTraffic(InsideWiring& wiring, const Island::Runners& runners, bool may_go_ahead);

  /// Of ranks that begin now.
  void start_ranks(const RunningJob& job, const std::vector<Island::Member>& ranks);
  /// A rank is over.
  void end_rank(std::uint32_t slot, Time now);
  /// Ranks of an attempt vanish; what ends after `ended` has not ended.
  void stop(AttemptId attempt, Time now, Time ended);

  /// A rank begins the steps of a collective, now or later.
  InsideAnswer begin(std::uint32_t slot, std::uint16_t communicator, const CollectiveTrial::Begin& begin, std::uint64_t stream,
                     const CollectivePlan& plan, EventContext& context);
  /// Whether the group of a rank's communicator is all here. Then it has to hear of the end of a
  /// collective whose steps the rank runs.
  bool has_group(std::uint32_t slot, std::uint16_t communicator) const;
  void end(std::uint32_t slot) { slots_[slot].island->end(); }
  /// A rank sends. If false, the network has to take it.
  bool start(std::uint32_t slot, const Transfer& transfer, EventContext& context);
  void on_due(const InsideDue& due, EventContext& context);
  /// What ranks wait for, until the host posts it.
  RankTimers& timers() { return timers_; }
  /// Slots whose ranks were told of anything since it was last asked, some of them several times.
  std::vector<std::uint32_t> take_told() { return std::exchange(told_, {}); }

  /// Whether bytes are under way.
  bool is_moving() const {
    return std::ranges::any_of(islands_, [](const auto& island) { return island->is_moving(); });
  }
  /// Since when nothing has been under way, as of now.
  Time busy_until(Time now) const;
  /// Transfers that never leave their sources if nothing else happens.
  std::vector<UnfinishedTransfer> unfinished() const;
  /// Until `now`. Requires: all that happens before has happened.
  InsideRecords records(Time now) const;

 private:
  struct OfSlot {
    Island* island = nullptr;
    /// By communicator: of the rank; null where it is not all here.
    std::vector<const Island::Group*> groups;
  };
  using Islands = std::vector<std::unique_ptr<Island>>;

  void add_island(const RunningJob& job, const std::vector<Island::Member>& members);
  void let_go_ahead(const RunningJob& job, Island& island);
  Islands::iterator close(Islands::iterator island, Time now, Time ended);

  InsideWiring& wiring_;
  const Island::Runners& runners_;
  bool may_go_ahead_;
  std::vector<OfSlot> slots_;
  RankTimers timers_;
  std::vector<std::uint32_t> told_;
  Islands islands_;  ///< by number ascending
  std::uint64_t islands_count_ = 0;
  InsideRecords records_;  ///< of islands that are gone
};

}  // namespace weft
