// SPDX-License-Identifier: Apache-2.0
// Min heap: a priority queue of small records that finds the smaller of two children without a
// branch, which nobody could foresee.
//
// Where it sits: queues inside hot loops (network/max_min/level_repair,
// network/flow/completion_queue); events have one of their own (core/engine/event_queue).
//
// Model: an implicit binary heap. Entry::order() is an integer; smaller ones come first. Entries of
// the same order come out in any order.
// Threads: belongs to one.
#pragma once

#include <cstddef>
#include <vector>

#include "core/containers/release_memory.hpp"

namespace weft {

template <class Entry>
class MinHeap {
 public:
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  /// The first in order. Requires: not empty.
  const Entry& front() const { return entries_.front(); }
  /// All of them, in any order.
  const std::vector<Entry>& entries() const { return entries_; }

  void push(Entry entry) {
    entries_.push_back(entry);
    rise(entries_.size() - 1, entry);
  }
  /// Requires: not empty.
  void pop() {
    const Entry last = entries_.back();
    entries_.pop_back();
    const std::size_t end = entries_.size();
    if (end == 0) return;
    // The hole walks down to a leaf; what was last belongs there or little above.
    std::size_t hole = 0;
    std::size_t child = 1;
    for (; child + 1 < end; child = 2 * hole + 1) {
      child += static_cast<std::size_t>(entries_[child + 1].order() < entries_[child].order());
      entries_[hole] = entries_[child];
      hole = child;
    }
    if (child < end) {
      entries_[hole] = entries_[child];
      hole = child;
    }
    rise(hole, last);
  }
  void clear() { entries_.clear(); }
  void give_back() { release_memory(entries_); }

 private:
  void rise(std::size_t place, const Entry& entry) {
    while (place > 0) {
      const std::size_t parent = (place - 1) / 2;
      if (!(entry.order() < entries_[parent].order())) break;
      entries_[place] = entries_[parent];
      place = parent;
    }
    entries_[place] = entry;
  }

  std::vector<Entry> entries_;
};

}  // namespace weft
