// SPDX-License-Identifier: Apache-2.0
// Across group: the ranks of a group, as far as collectives between hosts go that are carried out
// at the fabric.
//
// Where it sits: host/across/across_traffic has one for each group of which collectives are under
// way, and moves its transfers: as some of the fabric's, or apart from all others.
//
// Model: the ranks' own steps (host/ranks/rank_collectives). What comes to pass at ranks is ahead
// of the network's clock by what the network takes at least to tell a host anything
// (FlowSettings::fabric_to_host_min): all that can happen at a rank until then is known. At a rank
// that has not begun a collective, messages of it wait.
// A copy goes on from where the original was.
// Threads: belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "host/across/across_places.hpp"
#include "host/ranks/rank_collectives.hpp"
#include "network/flow/flow_settings.hpp"

namespace weft {

class AcrossGroup {
 public:
  /// A rank's last step of a collective is done.
  struct Ended {
    std::uint32_t position = 0;
    OpId op;
    Time at;
  };
  struct Entering {
    Time at;
    std::uint64_t number = 0;
    std::uint32_t position = 0;  ///< of the source
    Transfer transfer;
    friend bool operator>(const Entering& a, const Entering& b) { return a.at != b.at ? a.at > b.at : a.number > b.number; }
  };

  /// Keeps references, and the ranks, of which no two are on one host.
  AcrossGroup(const RunningJob& job, std::span<const RankId> ranks, const FlowSettings& settings, Duration reduction_time_per_mib);

  /// `stream`: collective_stream(). Returns whether all ranks have begun it now.
  bool begin(const CollectiveBegin& begin, std::uint64_t stream, const CollectivePlan& plan);
  /// What comes to pass at ranks as of an instant of the network.
  void happen(Time now);
  /// What enters the network at that instant. Requires: no earlier one was left out.
  void take_entering(Time now, std::vector<Entering>& entering);
  /// A transfer has left; `sent` and `delivered` are when its ends hear of it.
  void on_left(const Transfer& transfer, Time sent, Time delivered);
  /// The instant of the network at which it has something to do; Time::max(): none.
  Time next() const;

  bool has_ended_any() const { return !ended_.empty(); }
  std::vector<Ended> take_ended();
  /// Whether it has nothing left to do.
  bool is_over() const { return collectives_.empty(); }
  /// The plan of the collective that all ranks are in, none has ended, and beside which there is no
  /// other; null if there is none.
  const CollectivePlan* plan_in_step() const {
    const bool is_in_step =
        collectives_.size() == 1 && collectives_.front().begun == ranks_.size() && collectives_.front().ended == 0;
    return is_in_step ? collectives_.front().plan : nullptr;
  }
  std::span<const RankId> ranks() const { return ranks_; }
  const AcrossPlaces& places() const { return *places_; }
  /// Connections of a rank that waited for slots, in collectives that are over since it was asked
  /// last.
  std::vector<SlotHoldup> take_slot_holdups(std::uint32_t position) { return steps_[position].take_slot_holdups(); }

 private:
  class Port;
  struct RankEvent {
    enum class Kind : std::uint8_t { sent, delivered, taken_over };
    Time at;
    std::uint64_t number = 0;
    std::uint32_t position = 0;
    std::uint32_t step = 0;  ///< of taken_over
    Kind kind = Kind::sent;
    Transfer transfer;  ///< of taken_over, the tag is the stream
    friend bool operator>(const RankEvent& a, const RankEvent& b) { return a.at != b.at ? a.at > b.at : a.number > b.number; }
  };
  struct UnderWay {
    std::uint64_t stream = 0;
    const CollectivePlan* plan = nullptr;
    std::vector<bool> has_begun;  ///< by position
    std::vector<OpId> ops;        ///< by position, of those
    std::uint32_t begun = 0;
    std::uint32_t ended = 0;
    std::vector<RankEvent> early;  ///< for those that have not, in order of time
  };

  UnderWay& collective(std::uint64_t stream);
  void push(RankEvent event);
  const RunningJob& job_;
  std::span<const RankId> ranks_;
  Duration entry_latency_;
  Duration ahead_;
  std::vector<RankCollectives> steps_;  ///< by position
  std::shared_ptr<const AcrossPlaces> places_;
  std::vector<UnderWay> collectives_;  ///< few
  std::priority_queue<RankEvent, std::vector<RankEvent>, std::greater<>> rank_events_;
  std::priority_queue<Entering, std::vector<Entering>, std::greater<>> entering_;
  std::uint64_t numbers_ = 0;
  std::vector<Ended> ended_;
};

}  // namespace weft
