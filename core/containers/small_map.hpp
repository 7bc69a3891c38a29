// SPDX-License-Identifier: Apache-2.0
// Small map: values by 32-bit numbers, mostly few of many possible. An empty one takes 16 bytes and
// no memory of its own, so that there may be many.
//
// Where it sits: what is under way of long programs (host/ranks/rank_collectives).
// Model: open addressing with linear probing; what follows an erased entry moves up.
// Threads: belongs to one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

namespace weft {

template <class T>
class SmallMap {
 public:
  SmallMap() = default;
  SmallMap(SmallMap&& other) noexcept { swap(other); }
  SmallMap(const SmallMap& other)
      : entries_(other.capacity_ == 0 ? nullptr : std::make_unique<Entry[]>(other.capacity_)),
        capacity_(other.capacity_),
        size_(other.size_) {
    std::copy_n(other.entries_.get(), capacity_, entries_.get());
  }
  SmallMap& operator=(SmallMap other) noexcept {
    swap(other);
    return *this;
  }
  ~SmallMap() = default;

  void swap(SmallMap& other) noexcept {
    std::swap(entries_, other.entries_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
  }

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  /// Null if there is none. Valid until the next change of the map.
  T* find(std::uint32_t key) { return const_cast<T*>(std::as_const(*this).find(key)); }
  const T* find(std::uint32_t key) const {
    if (capacity_ == 0) return nullptr;
    const Entry& entry = entries_[place_of(key)];
    return entry.is_used ? &entry.value : nullptr;
  }
  /// A new one is T{}. Valid until the next change of the map.
  T& operator[](std::uint32_t key) {
    if (2 * (size_ + 1) > capacity_) grow();
    Entry& entry = entries_[place_of(key)];
    if (!entry.is_used) {
      entry = {key, true, T{}};
      ++size_;
    }
    return entry.value;
  }
  void erase(std::uint32_t key) {
    if (capacity_ == 0) return;
    std::uint32_t hole = place_of(key);
    if (!entries_[hole].is_used) return;
    --size_;
    for (std::uint32_t at = next(hole); entries_[at].is_used; at = next(at)) {
      // It may fill the hole unless it would come before its own first place.
      const std::uint32_t first = first_place_of(entries_[at].key);
      if (((at - first) & (capacity_ - 1)) < ((at - hole) & (capacity_ - 1))) continue;
      entries_[hole] = std::move(entries_[at]);
      hole = at;
    }
    entries_[hole] = {};
  }
  /// Keeps its memory.
  void clear() {
    for (std::uint32_t i = 0; i < capacity_ && size_ > 0; ++i) entries_[i] = {};
    size_ = 0;
  }

 private:
  struct Entry {
    std::uint32_t key = 0;
    bool is_used = false;
    T value{};
  };

  std::uint32_t next(std::uint32_t place) const { return (place + 1) & (capacity_ - 1); }
  std::uint32_t first_place_of(std::uint32_t key) const {
    constexpr std::uint32_t golden = 0x9e3779b9;  // 2^32 / golden ratio: spreads small numbers
    return (key * golden) >> (32 - std::countr_zero(capacity_));
  }
  /// Of its entry, or of the unused one that it would take.
  std::uint32_t place_of(std::uint32_t key) const {
    std::uint32_t place = first_place_of(key);
    while (entries_[place].is_used && entries_[place].key != key) place = next(place);
    return place;
  }
  void grow() {
    const std::uint32_t before = capacity_;
    capacity_ = before == 0 ? 4 : 2 * before;
    const std::unique_ptr<Entry[]> old = std::exchange(entries_, std::make_unique<Entry[]>(capacity_));
    for (std::uint32_t i = 0; i < before; ++i) {
      if (old[i].is_used) entries_[place_of(old[i].key)] = std::move(old[i]);
    }
  }

  std::unique_ptr<Entry[]> entries_;
  std::uint32_t capacity_ = 0;  ///< a power of two, at least twice the size
  std::uint32_t size_ = 0;
};

}  // namespace weft
