// SPDX-License-Identifier: Apache-2.0
// Event queue: hands out events in key order.
//
// Where it sits: every EventProcess owns one; packet switches, which sort a window's arrivals at
// once, own none.
//
// Model: a 4-ary implicit heap of 16-byte records over a slab of event bodies. A record is the
// event's time, then its class and source packed with the slot of its body, so that ordering two
// events rarely touches a body: only events of one instant, class and source are told apart by the
// sequence number in the slab. The four children of a record share a cache line.
//
// Invariants
//   1. pop() returns the smallest key of all events held (EventKey's total order); the order of
//      push() is irrelevant.
//   2. A slot belongs to exactly one record or to the free list. Memory is 84 bytes for
//      each of the most events held; a queue of more than 2^16 is made smaller when fewer than one
//      place in eight is taken.
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "core/engine/event.hpp"

namespace weft {

/// Standard allocator that starts arrays on a cache line.
template <class T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  CacheLineAllocator() = default;
  template <class U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), alignment)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, alignment); }
  friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) { return true; }
};

class EventQueue {
 public:
  EventQueue();

  bool empty() const { return heap_.size() == root_place; }
  std::size_t size() const { return heap_.size() - root_place; }
  /// Events that there is memory for, at least.
  std::size_t places() const { return slab_.size(); }
  /// Time of the next event; Time::max() if there is none.
  Time top_time() const { return empty() ? Time::max() : Time::at_ticks(heap_[root_place].time_ticks); }
  /// The next event. Requires: !empty().
  const Event& top() const { return slab_[slot_of(heap_[root_place])]; }

  void push(const Event& event);
  /// Removes and returns the next event. Requires: !empty().
  Event pop();

 private:
  struct Record {
    std::int64_t time_ticks;
    std::uint64_t order_and_slot;  ///< class (2 bits), source (32 bits), slot (30 bits)
  };
  static_assert(sizeof(Record) == 16);

  /// The root's place in heap_, so that children start on a multiple of four.
  static constexpr std::size_t root_place = 3;
  static constexpr std::size_t arity = 4;
  static constexpr int slot_bits = 30;
  static constexpr std::uint64_t slot_mask = (std::uint64_t{1} << slot_bits) - 1;

  static std::size_t parent_of(std::size_t place) { return (place - root_place - 1) / arity + root_place; }
  static std::size_t first_child_of(std::size_t place) { return (place - root_place) * arity + 1 + root_place; }
  static std::size_t slot_of(const Record& record) { return record.order_and_slot & slot_mask; }

  /// Everything that orders two records but the sequence number.
  __extension__ using Order = unsigned __int128;
  static Order order_of(const Record& record) {
    return static_cast<Order>(static_cast<std::uint64_t>(record.time_ticks)) << 64 | (record.order_and_slot & ~slot_mask);
  }
  bool precedes(const Record& a, const Record& b) const {
    const Order order_a = order_of(a);
    const Order order_b = order_of(b);
    if (order_a == order_b) [[unlikely]]
      return slab_[slot_of(a)].key.sequence < slab_[slot_of(b)].key.sequence;
    return order_a < order_b;
  }
  void sift_up(std::size_t place, Record record);
  void give_back();

  std::vector<Record, CacheLineAllocator<Record>> heap_;
  std::vector<Event, CacheLineAllocator<Event>> slab_;
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace weft
