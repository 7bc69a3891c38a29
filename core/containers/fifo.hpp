// SPDX-License-Identifier: Apache-2.0
// Fifo: first in, first out, in a ring that grows. Empty ones take 24 bytes and no memory of their
// own, so that there may be many.
//
// Where it sits: queues of switches and network cards. std::deque takes half a kilobyte each, empty
// ones too.
// Threads: belongs to one.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace weft {

template <class T>
class Fifo {
 public:
  Fifo() = default;
  Fifo(Fifo&& other) noexcept { swap(other); }
  Fifo(const Fifo& other) {
    for (std::uint32_t i = 0; i < other.size(); ++i) push(other[i]);
  }
  Fifo& operator=(Fifo other) noexcept {
    swap(other);
    return *this;
  }
  ~Fifo() = default;

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  /// Requires: not empty.
  const T& front() const { return items_[first_]; }
  T& front() { return items_[first_]; }
  T& back() { return (*this)[size_ - 1]; }
  /// The i-th from the front. Requires: i < size().
  const T& operator[](std::uint32_t i) const { return items_[(first_ + i) & (capacity_ - 1)]; }
  T& operator[](std::uint32_t i) { return items_[(first_ + i) & (capacity_ - 1)]; }
  /// Place for one more, to be filled in at once.
  T& push() {
    if (size_ == capacity_) grow();
    return items_[(first_ + size_++) & (capacity_ - 1)];
  }
  void push(T item) { push() = std::move(item); }
  /// Requires: not empty.
  void pop() {
    first_ = (first_ + 1) & (capacity_ - 1);
    --size_;
  }

  void swap(Fifo& other) noexcept {
    std::swap(items_, other.items_);
    std::swap(capacity_, other.capacity_);
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
  }

 private:
  void grow() {
    const std::uint32_t capacity = capacity_ == 0 ? 8 : 2 * capacity_;
    auto more = std::make_unique<T[]>(capacity);
    for (std::uint32_t i = 0; i < size_; ++i) more[i] = std::move(items_[(first_ + i) & (capacity_ - 1)]);
    items_ = std::move(more);
    capacity_ = capacity;
    first_ = 0;
  }

  std::unique_ptr<T[]> items_;
  std::uint32_t capacity_ = 0;  ///< a power of two
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace weft
