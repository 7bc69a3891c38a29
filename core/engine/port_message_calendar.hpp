// SPDX-License-Identifier: Apache-2.0
// PortMessage calendar: port messages that arrive later than in the next window, by when they are
// due.
//
// Where it sits: a BatchProcess keeps one for links that are longer than its windows; most port
// messages never see it.
//
// Model: a ring of buckets, each of one power of two of ticks, for about a thousand windows ahead;
// beyond, a binary heap. A bit per bucket tells which hold anything. Which port messages of a
// bucket come first does not matter: receivers sort.
//
// Invariants
//   1. Every port message put in is taken out once, by the first take_due() with an end beyond its
//      time.
//   2. Bucket b % bucket_count holds only port messages of bucket number b, with taken_ <= b <
//      taken_ + bucket_count.
// Threads: belongs to one logical process.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/values/units.hpp"

namespace weft {

template <class Item>
class PortMessageCalendar {
 public:
  /// `window`: the length of a window, > 0.
  explicit PortMessageCalendar(Duration window)
      : shift_(std::bit_width(static_cast<std::uint64_t>(window.in_ticks())) - 1), buckets_(bucket_count) {}

  /// Requires: no earlier than the end of the last take_due().
  void put(const Item& item);
  /// No port message is earlier; Time::max() if there are none.
  Time earliest() const;
  /// Hands every item before `end` to `take`.
  template <class Take>
  void take_due(Time end, Take take);

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t bucket_count = 1024;
  static constexpr std::size_t word_count = bucket_count / 64;

  struct Bucket {
    std::vector<Item> items;
    Time earliest = Time::max();
  };
  std::uint64_t bucket_of(Time time) const { return static_cast<std::uint64_t>(time.in_ticks()) >> shift_; }
  /// Number of the first bucket from `from` on that holds anything. Requires: there is one in the
  /// ring.
  std::uint64_t next_bucket(std::uint64_t from) const;
  static bool is_later(const Item& a, const Item& b) { return a.port_message.time > b.port_message.time; }

  int shift_;
  std::uint64_t taken_ = 0;  ///< buckets before this one are empty
  std::size_t size_ = 0;
  std::size_t in_ring_ = 0;
  std::vector<Bucket> buckets_;
  std::array<std::uint64_t, word_count> used_{};
  std::vector<Item> far_;  ///< a heap, the earliest in front
};

template <class Item>
void PortMessageCalendar<Item>::put(const Item& item) {
  const Time time = item.port_message.time;
  const std::uint64_t number = bucket_of(time);
  ++size_;
  if (number - taken_ >= bucket_count) {
    far_.push_back(item);
    std::push_heap(far_.begin(), far_.end(), is_later);
    return;
  }
  ++in_ring_;
  Bucket& bucket = buckets_[number % bucket_count];
  bucket.items.push_back(item);
  bucket.earliest = std::min(bucket.earliest, time);
  used_[number % bucket_count / 64] |= std::uint64_t{1} << number % 64;
}

template <class Item>
std::uint64_t PortMessageCalendar<Item>::next_bucket(std::uint64_t from) const {
  std::size_t place = from % bucket_count;
  for (std::uint64_t number = from;;) {
    const std::uint64_t ahead = used_[place / 64] >> place % 64;
    if (ahead != 0) return number + static_cast<std::uint64_t>(std::countr_zero(ahead));
    const std::size_t step = 64 - place % 64;
    number += step;
    place = (place + step) % bucket_count;
  }
}

template <class Item>
Time PortMessageCalendar<Item>::earliest() const {
  Time found = far_.empty() ? Time::max() : far_.front().port_message.time;
  if (in_ring_ > 0) found = std::min(found, buckets_[next_bucket(taken_) % bucket_count].earliest);
  return found;
}

template <class Item>
template <class Take>
void PortMessageCalendar<Item>::take_due(Time end, Take take) {
  const std::uint64_t last = bucket_of(end);
  while (in_ring_ > 0) {
    const std::uint64_t number = next_bucket(taken_);
    if (number > last) break;
    Bucket& bucket = buckets_[number % bucket_count];
    const std::size_t before = bucket.items.size();
    Time earliest_left = Time::max();
    // Only the bucket that `end` lies in can keep any.
    const auto keeps = [&](const Item& item) {
      if (item.port_message.time < end) return false;
      earliest_left = std::min(earliest_left, item.port_message.time);
      return true;
    };
    std::erase_if(bucket.items, [&](const Item& item) {
      if (keeps(item)) return false;
      take(item);
      return true;
    });
    bucket.earliest = earliest_left;
    in_ring_ -= before - bucket.items.size();
    size_ -= before - bucket.items.size();
    if (!bucket.items.empty()) break;
    used_[number % bucket_count / 64] &= ~(std::uint64_t{1} << number % 64);
  }
  taken_ = last;
  while (!far_.empty() && far_.front().port_message.time < end) {
    take(far_.front());
    std::pop_heap(far_.begin(), far_.end(), is_later);
    far_.pop_back();
    --size_;
  }
}

}  // namespace weft
