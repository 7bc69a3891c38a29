// SPDX-License-Identifier: Apache-2.0
// Completion queue: which flows finish next, when finish times move often and few flows are near
// their end.
//
// Where it sits: flow_model keeps one; every change of a rate moves a finish time here.
//
// Model: flows that finish before the horizon are near and wait in a heap; the others are far and
// in no order. Heap keys are lower bounds: a finish that moves later is left where it is and
// corrected when it surfaces, only one that moves earlier is pushed again. When the heap runs empty
// the horizon is set anew so that an eighth of the far flows are near, but no more than a cache
// holds or one in 64. It lies after all flows that finish at its last instant, so a tie is never
// cut in two. Flows that never finish (Time::max()) stay far.
//
// Invariant: next() and take_due() depend on the finish times set, not on the order in which they
// were set.
// Threads: one.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/containers/cache.hpp"
#include "core/values/units.hpp"
#include "network/max_min/flow_link_graph.hpp"

namespace weft {

class CompletionQueue {
 public:
  /// The flow finishes at `finish` now; it may be new, or known with another finish. Time::max() =
  /// never.
  void set(FlowSlot flow, Time finish);
  /// Asks the memory for what set() will need.
  void fetch(FlowSlot flow) const {
    if (flow.index() < items_.size()) cache::fetch(&items_[flow.index()], sizeof(Item));
  }
  void remove(FlowSlot flow);
  /// The memory that flows took. Requires: there are none.
  void give_back();
  Time finish(FlowSlot flow) const { return items_[flow.index()].finish; }

  /// Earliest finish; Time::max() if none ever does.
  Time next();
  /// Removes every flow that finishes at next() and appends them to `due`, ascending by slot.
  void take_due(std::vector<FlowSlot>& due);

 private:
  enum class Place : std::uint8_t { none, near, far };
  /// Where a flow is: near, with the key of the heap entry that counts, or far, at a position in
  /// far_.
  class Whereabouts {
   public:
    Whereabouts() = default;
    static Whereabouts near(Time key) { return Whereabouts(key.in_ticks()); }
    static Whereabouts far(std::size_t position) { return Whereabouts(-1 - static_cast<std::int64_t>(position)); }
    Place place() const { return packed_ == nowhere ? Place::none : packed_ >= 0 ? Place::near : Place::far; }
    /// Whether it is near, with this key.
    bool is_near(Time key) const { return packed_ == key.in_ticks(); }
    Time key() const { return Time::at_ticks(packed_); }
    std::size_t position() const { return static_cast<std::size_t>(-1 - packed_); }

   private:
    static constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::min();
    explicit Whereabouts(std::int64_t packed) : packed_(packed) {}
    std::int64_t packed_ = nowhere;
  };
  struct Item {
    Time finish = Time::max();
    Whereabouts where;
  };
  static_assert(sizeof(Item) == 16, "there may be tens of millions");
  struct Entry {
    Time key;
    FlowSlot flow;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  void push_near(FlowSlot flow);
  void push_far(FlowSlot flow);
  void leave_far(FlowSlot flow);
  void pop_entry();
  /// Makes the top of the heap an entry that counts, with its true finish. False if the heap ran
  /// empty.
  bool clean_top();
  /// Moves the horizon so that flows become near. False if no flow ever finishes.
  bool refill();

  Time horizon_;  ///< flows that finish before it are near
  std::vector<Item> items_;
  std::vector<Entry> heap_;
  std::vector<FlowSlot> far_;
  std::vector<std::int64_t> finishes_;
};

}  // namespace weft
