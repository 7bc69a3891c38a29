// Packet routes: which ports the packets of a queue pair leave by, node by node, both ways.
//
// Where it sits: the network card that opens a queue pair writes its route; every node on the way reads it, hop by hop.
//
// Model: ids are made of the opening card, a row and a place, so that cards open queue pairs without asking each other; a row of a card
// holds `per_row` queue pairs, next to each other in memory.
//
// Invariants
//   1. Routes never move, and are written before the first packet that names them is sent.
// Threads: open() of different cards may be called at the same time. A route may be read by whoever got a packet that names it: a window's end
// lies between.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace weft {

class PacketRoutes {
 public:
  static constexpr std::uint32_t hops_max = 16;
  /// Ports of the nodes that a packet leaves, in order, counted from 0 at each node; the first is the sending card's.
  using Ports = std::array<std::uint16_t, hops_max>;
  struct alignas(64) Route {
    Ports there;  ///< for data
    Ports back;   ///< for what the destination answers
  };
  static_assert(sizeof(Route) == 64);

  explicit PacketRoutes(std::uint32_t cards);

  /// A new queue pair of the card: how many it opened before is its number. Returns its id.
  std::uint32_t open(std::uint32_t card, std::uint32_t number, const Route& route);

  const Route& operator[](std::uint32_t queue_pair) const {
    const std::uint32_t block = queue_pair / per_row;
    return rows_[block >> card_bits_][block & card_mask_][queue_pair % per_row];
  }
  void prefetch(std::uint32_t queue_pair) const { __builtin_prefetch(&(*this)[queue_pair]); }
  /// Which card opened it.
  std::uint32_t card_of(std::uint32_t queue_pair) const { return queue_pair / per_row & card_mask_; }
  /// As which of its queue pairs.
  std::uint32_t number_of(std::uint32_t queue_pair) const {
    return (queue_pair / per_row >> card_bits_) * per_row + queue_pair % per_row;
  }

 private:
  static constexpr std::uint32_t per_row = 4;

  std::uint32_t cards_;
  unsigned card_bits_;
  std::uint32_t card_mask_;
  std::vector<Route**> rows_;  ///< by row and card; null where a card has not come so far
  std::mutex mutex_;           ///< of what follows
  std::deque<std::unique_ptr<Route*[]>> row_memory_;
  std::deque<std::unique_ptr<Route[]>> slabs_;
  std::size_t slab_left_ = 0;
};

}  // namespace weft
