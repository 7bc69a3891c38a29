// SPDX-License-Identifier: Apache-2.0
// Completion queue: which flows finish next, when finish times move often and few flows are near
// their end.
//
// Where it sits: flow_model keeps one; every change of a rate moves a finish time here.
//
// Model: flows that finish before the horizon are near and wait in a heap; the others are far and
// in no order. Heap keys are lower bounds: a finish that moves later is left where it is and
// corrected when it surfaces, only one that moves earlier is pushed again. When no flow is near
// any more the horizon is set anew so that an eighth of the far flows are near, but no more than a
// cache holds or one in 64. It lies after all flows that finish at its last instant, so a tie is
// never cut in two; flows of that instant, perhaps all, wait in a list instead of the heap. Flows
// that never finish (Time::max()) stay far. Beside the finish stands what its user notes of a flow,
// so that both are in one cache line.
//
// Invariant: next() and take_due() depend on the finish times set, not on the order in which they
// were set.
// Threads: one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/containers/cache.hpp"
#include "core/containers/min_heap.hpp"
#include "core/containers/release_memory.hpp"
#include "core/values/units.hpp"
#include "network/max_min/flow_link_graph.hpp"

namespace weft {

template <class Notes>
class CompletionQueue {
 public:
  /// Of a flow; made when it is first asked for, and kept until give_back().
  Notes& notes(FlowSlot flow) { return item_of(flow).notes; }
  /// Requires: it was asked for before.
  const Notes& notes(FlowSlot flow) const { return items_[flow.index()].notes; }
  /// Flows that there are notes of are below this.
  std::size_t slot_count() const { return items_.size(); }

  /// The flow finishes at `finish` now; it may be new, or known with another finish. Time::max() =
  /// never.
  void set(FlowSlot flow, Time finish);
  /// Asks the memory for what set() and notes() will need. Requires: there are notes of it.
  void fetch(FlowSlot flow) const { cache::fetch(items_.data() + flow.index(), sizeof(Item)); }
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
  /// Where a flow is: near, with the key of the entry that counts, or far, at a position in far_.
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
  struct alignas(cache::line_bytes) Item {
    Time finish = Time::max();
    Whereabouts where;
    Notes notes;
  };
  struct Entry {
    Time key;
    FlowSlot flow;
    __extension__ using Order = unsigned __int128;
    Order order() const { return static_cast<Order>(key.in_ticks()) << 64 | flow.index(); }
  };

  /// But for the notes.
  static void forget(Item& item) {
    item.finish = Time::max();
    item.where = Whereabouts();
  }
  /// It may be new.
  Item& item_of(FlowSlot flow) {
    if (items_.size() <= flow.index()) items_.resize(flow.index() + 1);
    return items_[flow.index()];
  }
  /// The flow waits for its finish, near or far.
  void wait(FlowSlot flow);
  void push_near(FlowSlot flow);
  void push_far(FlowSlot flow);
  void leave_far(FlowSlot flow);
  /// Whether the flow waits for this time, and finishes then. One whose finish moved earlier and
  /// back, or whose slot was taken again, may be so twice, in the heap and in last_; it is
  /// forgotten when it is taken the first time.
  bool is_due(FlowSlot flow, Time key) const {
    return items_[flow.index()].where.is_near(key) && items_[flow.index()].finish == key;
  }
  /// A flow that is not due at the key that it came up with waits for its true finish, if it waited
  /// for that key.
  void wait_again(FlowSlot flow, Time key);
  /// Makes the top of the heap an entry that counts, with its true finish, or the last of last_ if
  /// the heap runs empty. False if both do.
  bool clean_top();
  /// Moves the horizon so that flows become near. False if no flow ever finishes.
  bool refill();

  // After a refill one flow in 8 is near, of many flows so few that the heap stays in the cache,
  // but no fewer than one in 64: a refill looks at all.
  static constexpr std::size_t near_share_max = 8;
  static constexpr std::size_t near_share_min = 64;
  static constexpr std::size_t near_flows_cached = 4096;
  static constexpr std::size_t near_flows_min = 64;  // a refill is not worth less
  static constexpr std::size_t far_ahead = 16;       // flows fetched before a refill looks at them
  // Of memory for what is far, in last_, and once was: kept, even if it holds little.
  static constexpr std::size_t far_kept = std::size_t{1} << 20;

  Time horizon_;  ///< flows that finish before it are near
  std::vector<Item> items_;
  MinHeap<Entry> heap_;
  /// Near as well; at the refill they finished in the last instant before the horizon.
  std::vector<FlowSlot> last_;
  Time last_at_;  ///< that instant
  std::vector<FlowSlot> far_;
  std::vector<std::int64_t> finishes_;
};

template <class Notes>
void CompletionQueue<Notes>::set(FlowSlot flow, Time finish) {
  Item& item = item_of(flow);
  item.finish = finish;
  switch (item.where.place()) {
    case Place::none:
      wait(flow);
      return;
    case Place::near:
      if (finish < item.where.key()) push_near(flow);
      return;
    case Place::far:
      if (finish < horizon_) {
        leave_far(flow);
        push_near(flow);
      }
      return;
  }
}

template <class Notes>
void CompletionQueue<Notes>::remove(FlowSlot flow) {
  Item& item = items_[flow.index()];
  if (item.where.place() == Place::far) leave_far(flow);
  // The entry of a near flow stays behind: its key is not the item's any more.
  forget(item);
}

template <class Notes>
void CompletionQueue<Notes>::give_back() {
  release_memory(items_);
  heap_.give_back();
  release_memory(last_);
  release_memory(far_);
  release_memory(finishes_);
}

template <class Notes>
void CompletionQueue<Notes>::wait(FlowSlot flow) {
  if (items_[flow.index()].finish < horizon_) {
    push_near(flow);
  } else {
    push_far(flow);
  }
}

template <class Notes>
void CompletionQueue<Notes>::push_near(FlowSlot flow) {
  Item& item = items_[flow.index()];
  item.where = Whereabouts::near(item.finish);
  heap_.push({item.finish, flow});
}

template <class Notes>
void CompletionQueue<Notes>::push_far(FlowSlot flow) {
  items_[flow.index()].where = Whereabouts::far(far_.size());
  far_.push_back(flow);
}

template <class Notes>
void CompletionQueue<Notes>::leave_far(FlowSlot flow) {
  const std::size_t position = items_[flow.index()].where.position();
  far_[position] = far_.back();
  items_[far_[position].index()].where = Whereabouts::far(position);
  far_.pop_back();
}

template <class Notes>
void CompletionQueue<Notes>::wait_again(FlowSlot flow, Time key) {
  if (items_[flow.index()].where.is_near(key)) wait(flow);
}

template <class Notes>
bool CompletionQueue<Notes>::clean_top() {
  while (!heap_.empty()) {
    const Entry top = heap_.front();
    if (is_due(top.flow, top.key)) return true;
    heap_.pop();
    wait_again(top.flow, top.key);
  }
  // What waits again from here finishes beyond the horizon, and leaves the heap empty.
  while (!last_.empty() && !is_due(last_.back(), last_at_)) {
    const FlowSlot flow = last_.back();
    last_.pop_back();
    wait_again(flow, last_at_);
  }
  return !last_.empty();
}

template <class Notes>
bool CompletionQueue<Notes>::refill() {
  finishes_.clear();
  // While all finish together, perhaps millions, one finish is enough.
  std::size_t flows = 0;
  const auto fetch_far = [&](std::size_t i) { fetch(far_[i]); };
  cache::visit_ahead(far_.size(), far_ahead, fetch_far, [&](std::size_t i) {
    const Time finish = items_[far_[i].index()].finish;
    if (finish == Time::max()) return;
    ++flows;
    if (finishes_.size() == 1 && finishes_.front() == finish.in_ticks()) return;
    if (finishes_.size() == 1) finishes_.resize(flows - 1, std::int64_t{finishes_.front()});
    finishes_.push_back(finish.in_ticks());
  });
  if (flows == 0) return false;
  if (finishes_.size() == 1) {
    last_at_ = Time::at_ticks(finishes_.front());
  } else {
    const std::size_t near_max = std::max(near_flows_cached, flows / near_share_min);
    const std::size_t near = std::min(flows, std::clamp(flows / near_share_max, near_flows_min, near_max)) - 1;
    const auto nth = finishes_.begin() + static_cast<std::ptrdiff_t>(near);
    std::nth_element(finishes_.begin(), nth, finishes_.end());
    last_at_ = Time::at_ticks(*nth);
  }
  horizon_ = last_at_ + Duration::ticks(1);
  if (finishes_.size() > far_kept) release_memory(finishes_);
  for (std::size_t i = 0; i < far_.size();) {
    if (i + far_ahead < far_.size()) fetch(far_[i + far_ahead]);
    const FlowSlot flow = far_[i];
    Item& item = items_[flow.index()];
    if (item.finish >= horizon_) {
      ++i;
      continue;
    }
    leave_far(flow);
    if (item.finish < last_at_) {
      push_near(flow);
    } else {
      item.where = Whereabouts::near(last_at_);
      last_.push_back(flow);
    }
  }
  if (far_.capacity() > far_kept && far_.size() < far_.capacity() / 8) far_.shrink_to_fit();
  return true;
}

template <class Notes>
Time CompletionQueue<Notes>::next() {
  while (!clean_top()) {
    if (!refill()) return Time::max();
  }
  return heap_.empty() ? last_at_ : heap_.front().key;
}

template <class Notes>
void CompletionQueue<Notes>::take_due(std::vector<FlowSlot>& due) {
  const Time now = next();
  if (now == Time::max()) return;
  const std::size_t first = due.size();
  // All that finish now are near: the horizon lies beyond.
  while (clean_top() && !heap_.empty() && heap_.front().key == now) {
    due.push_back(heap_.front().flow);
    heap_.pop();
    forget(items_[due.back().index()]);
  }
  if (now == last_at_ && heap_.empty()) {
    due.reserve(due.size() + last_.size());
    for (const FlowSlot flow : last_) {
      if (is_due(flow, now)) {
        due.push_back(flow);
        forget(items_[flow.index()]);
      } else {
        wait_again(flow, now);
      }
    }
    last_.clear();
    if (last_.capacity() > far_kept) release_memory(last_);
  }
  std::sort(due.begin() + static_cast<std::ptrdiff_t>(first), due.end());
}

}  // namespace weft
