// SPDX-License-Identifier: Apache-2.0
#include "network/packet/queue_pairs.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

constexpr std::size_t slab_routes = 4096;
constexpr unsigned row_bits_max = 18;  // a million queue pairs per card

}  // namespace

QueuePairs::QueuePairs(std::uint32_t cards)
    : cards_(cards), card_bits_(static_cast<unsigned>(std::bit_width(cards - 1))), card_mask_((1U << card_bits_) - 1) {
  WEFT_CHECK(cards > 0 && card_bits_ < 28, "the number of network cards leaves room for their queue pairs in 32 bits");
  rows_.resize(std::size_t{1} << std::min(30 - card_bits_, row_bits_max), nullptr);
}

std::uint32_t QueuePairs::open(std::uint32_t card, std::uint32_t number, const Route& route, std::uint32_t continued) {
  const std::uint32_t row = number / per_row;
  if (row >= rows_.size()) {
    fail("too-many-queue-pairs", fmt::format("the cards of a host would need more than {} queue pairs", rows_.size() * per_row),
         SourcePlace::named("flow.queue_pairs"),
         "a message takes flow.queue_pairs of them for each peer and connection: take fewer");
  }
  if (number % per_row == 0) {
    const std::lock_guard lock(mutex_);
    if (rows_[row] == nullptr) {
      row_memory_.push_back(std::make_unique<Route*[]>(cards_));
      rows_[row] = row_memory_.back().get();
    }
    if (slab_left_ == 0) {
      slabs_.push_back(std::make_unique<Route[]>(slab_routes));
      slab_left_ = slab_routes;
    }
    rows_[row][card] = slabs_.back().get() + (slab_routes - slab_left_);
    slab_left_ -= per_row;
  }
  rows_[row][card][number % per_row] = route;
  const std::uint32_t id = ((row << card_bits_ | card) * per_row) + number % per_row;
  if (continued != none) {
    const std::lock_guard lock(mutex_);
    continued_.emplace(id, continued);
  }
  return id;
}

std::uint32_t QueuePairs::predecessor_of(std::uint32_t queue_pair) const {
  const std::lock_guard lock(mutex_);
  const auto found = continued_.find(queue_pair);
  return found == continued_.end() ? none : found->second;
}

}  // namespace weft
