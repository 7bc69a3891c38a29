// SPDX-License-Identifier: Apache-2.0
// Collective trial: one collective of ranks on one host over links that are theirs alone, carried
// out by itself.
//
// Where it sits: host/inside/island tries what nobody outside can disturb, instead of letting all
// events of a run go by it; what comes out can be replayed (host/inside/collective_replay), or goes
// on among the rest of the run from any instant on.
//
// Model: the ranks' own steps (host/ranks/rank_collectives) over an inside network
// (network/flow/inside_network), so that a trial gives the times of the run itself.
// Threads: belongs to one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "core/values/units.hpp"
#include "host/ranks/rank_collectives.hpp"
#include "network/flow/inside_network.hpp"

namespace weft {

class CollectiveTrial final : private InsideObserver {
 public:
  using Begin = CollectiveBegin;
  struct Timer {
    Time at;
    std::uint64_t number = 0;
    std::uint32_t position = 0;
    std::uint32_t step = 0;
    std::uint64_t stream = 0;
    friend bool operator>(const Timer& a, const Timer& b) { return a.at != b.at ? a.at > b.at : a.number > b.number; }
  };

  /// `ranks`: by position. The network is idle and has all their links.
  CollectiveTrial(const RunningJob& job, std::span<const RankId> ranks, InsideNetwork network, Duration reduction_time_per_mib);
  CollectiveTrial(const CollectiveTrial&) = delete;
  CollectiveTrial& operator=(const CollectiveTrial&) = delete;

  /// In order of time. All that happens before has happened then.
  void begin(const Begin& rank);
  /// All that happens until `to`, `to` included.
  void advance(Time to);
  /// When something happens next; Time::max() if nothing does.
  Time next();

  /// When a rank's last step was done; none while it has one.
  const std::optional<Time>& finished(std::uint32_t position) const { return finished_[position]; }
  /// Whether all ranks' are.
  bool is_over() const {
    return std::ranges::all_of(finished_, [](const auto& at) { return at.has_value(); });
  }
  /// Of transfers that have left their sources.
  const std::vector<FinishedTransfer>& transfers() const { return transfers_; }

  // For whoever goes on from here.
  RankCollectives& rank(std::uint32_t position) { return ranks_[position]; }
  InsideNetwork& network() { return network_; }
  /// Requires: a rank's endpoint.
  std::uint32_t position_of(NodeId endpoint) const;
  /// What ranks are busy taking over.
  std::vector<Timer> timers() const;

 private:
  class Port;

  void on_sent(const Transfer& transfer, Time now) override;
  void on_delivered(const Transfer& transfer, Time now) override;
  void on_transfer_finished(const FinishedTransfer& finished) override { transfers_.push_back(finished); }

  std::vector<RankCollectives> ranks_;
  std::vector<NodeId> endpoints_;  ///< by position
  InsideNetwork network_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::uint64_t timers_count_ = 0;
  std::vector<std::optional<Time>> finished_;
  std::vector<FinishedTransfer> transfers_;
};

}  // namespace weft
