// SPDX-License-Identifier: Apache-2.0
#include "core/engine/event_queue.hpp"

#include "core/check.hpp"
#include "core/containers/release_memory.hpp"

namespace weft {

namespace {

// A queue with more places is made smaller when no more than one in so many is taken.
constexpr std::size_t places_kept = std::size_t{1} << 16;
constexpr std::size_t places_per_event = 8;

}  // namespace

EventQueue::EventQueue() : heap_(root_place, Record{0, 0}) {}

void EventQueue::push(const Event& event) {
  std::size_t slot = 0;
  if (free_slots_.empty()) {
    slot = slab_.size();
    WEFT_CHECK(slot <= slot_mask, "a queue holds at most 2^30 events");
    slab_.push_back(event);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    slab_[slot] = event;
  }
  const std::uint64_t order = static_cast<std::uint64_t>(event.key.event_class) << 32 | event.key.source.index();
  const Record record{event.key.time.in_ticks(), order << slot_bits | slot};
  heap_.push_back(record);
  sift_up(heap_.size() - 1, record);
}

Event EventQueue::pop() {
  WEFT_CHECK(!empty(), "pop() from a queue that holds an event");
  const std::size_t slot = slot_of(heap_[root_place]);
  __builtin_prefetch(&slab_[slot]);
  const Record last = heap_.back();
  heap_.pop_back();
  if (!empty()) {
    // Walk the hole down to a leaf along the smallest children, then lift the last record from
    // there: it came from the bottom and nearly always belongs there, which saves one comparison
    // per level.
    std::size_t hole = root_place;
    const std::size_t end = heap_.size();
    std::size_t child = first_child_of(hole);
    for (; child + arity <= end; child = first_child_of(hole)) {
      // A knock-out without branches on the outcomes, which nobody could predict.
      const std::size_t left = child + static_cast<std::size_t>(precedes(heap_[child + 1], heap_[child]));
      const std::size_t right = child + 2 + static_cast<std::size_t>(precedes(heap_[child + 3], heap_[child + 2]));
      const std::size_t best = left + (right - left) * static_cast<std::size_t>(precedes(heap_[right], heap_[left]));
      heap_[hole] = heap_[best];
      hole = best;
    }
    if (child < end) {
      std::size_t best = child;
      for (std::size_t other = child + 1; other < end; ++other) {
        if (precedes(heap_[other], heap_[best])) best = other;
      }
      heap_[hole] = heap_[best];
      hole = best;
    }
    sift_up(hole, last);
    __builtin_prefetch(&top());
  }
  free_slots_.push_back(static_cast<std::uint32_t>(slot));
  if (slab_.size() > places_kept && places_per_event * size() < slab_.size()) [[unlikely]] {
    const Event event = slab_[slot];
    give_back();
    return event;
  }
  return slab_[slot];
}

/// Events take the first places, in a slab and a heap that they fill.
void EventQueue::give_back() {
  std::vector<Record, CacheLineAllocator<Record>> heap(heap_.begin(), heap_.end());
  std::vector<Event, CacheLineAllocator<Event>> slab;
  slab.reserve(size());
  for (std::size_t place = root_place; place < heap.size(); ++place) {
    Record& record = heap[place];
    const std::size_t slot = slab.size();
    slab.push_back(slab_[slot_of(record)]);
    record.order_and_slot = (record.order_and_slot & ~slot_mask) | slot;
  }
  heap_.swap(heap);
  slab_.swap(slab);
  release_memory(free_slots_);
}

void EventQueue::sift_up(std::size_t place, Record record) {
  while (place > root_place) {
    const std::size_t parent = parent_of(place);
    if (!precedes(record, heap_[parent])) break;
    heap_[place] = heap_[parent];
    place = parent;
  }
  heap_[place] = record;
}

}  // namespace weft
