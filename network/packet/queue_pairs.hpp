// SPDX-License-Identifier: Apache-2.0
// Queue pairs: what everyone on the way knows of them - their routes - and what their receivers
// know of their messages.
//
// Where it sits: the network card that opens a queue pair writes its route and, message by message,
// what it is to carry. Every node on the way reads the route, hop by hop, and the card at the end
// the messages, one by one (in RDMA this stands in packets' headers).
//
// Model: ids are made of the opening card, a row and a place, so that cards open queue pairs
// without asking each other; a row of a card holds `per_row` queue pairs, next to each other in
// memory. Messages stand in pages of a few, linked; their sender uses a page again when all
// messages in it were acknowledged, so that its receiver is done with it.
//
// Invariants
//   1. Routes never move, and but for `receiver` are written before the first packet that names
//      them is sent; so are messages before their first packet.
// Threads: open() of different cards may be called at the same time, so may append() and discard()
// for different queue pairs. A route may be read by whoever got a packet that names it, and a
// message by who got its first packet: a window's end lies between.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "network/network_model.hpp"
#include "network/packet/telemetry.hpp"

namespace weft {

/// What a queue pair carries for a transfer.
struct Message {
  Transfer transfer;
  std::uint32_t number = 0;  ///< of the transfer among those of its card
  std::uint32_t parts = 1;   ///< queue pairs that carry it
  Time entered;              ///< when the card got the transfer
  /// What both ends take between the GPU and the card, added when it is delivered.
  Duration inside_hosts;
};

struct MessagePage {
  static constexpr std::uint32_t messages_max = 6;
  std::array<Message, messages_max> messages;
  MessagePage* next = nullptr;
};

/// Reads the messages of a queue pair in order.
class MessageReader {
 public:
  MessageReader() = default;
  explicit MessageReader(const MessagePage* first) : page_(first) {}
  /// The next message. Requires: it was appended, and its first packet came in an earlier window.
  const Message& next() {
    if (place_ == MessagePage::messages_max) {
      page_ = page_->next;
      place_ = 0;
    }
    return page_->messages[place_++];
  }

 private:
  const MessagePage* page_ = nullptr;
  std::uint32_t place_ = 0;
};

class QueuePairs {
 public:
  static constexpr std::uint32_t hops_max = 13;
  /// Ports of the nodes that a packet leaves, in order, counted from 0 at each node; the first is
  /// the sending card's.
  using Ports = std::array<std::uint16_t, hops_max>;
  static constexpr std::uint32_t none = UINT32_MAX;
  /// In the place of the second port: switches choose for each packet by where it goes, which takes
  /// the next two places.
  static constexpr std::uint16_t by_destination = UINT16_MAX;
  static void set_destination(Ports& ports, NodeId endpoint) {
    ports = {ports[0]};
    ports[1] = by_destination;
    ports[2] = static_cast<std::uint16_t>(endpoint.index() & 0xffffU);
    ports[3] = static_cast<std::uint16_t>(endpoint.index() >> 16);
  }
  static NodeId destination(const Ports& ports) { return NodeId(ports[2] | std::uint32_t{ports[3]} << 16); }
  /// What only some ask for.
  struct Details {
    const MessagePage* messages = nullptr;  ///< the first
    TelemetryRing* telemetry = nullptr;     ///< of packets that collect it
  };
  struct alignas(64) Route {
    Ports there;                       ///< for data
    Ports back;                        ///< for what the destination answers
    std::uint32_t receiver = none;     ///< written and read by the destination's card only
    const Details* details = nullptr;  ///< whoever sends without cards may leave them out
  };
  static_assert(sizeof(Route) == 64);

  explicit QueuePairs(std::uint32_t cards);

  /// A new queue pair of the card: how many it opened before is its number. Returns its id.
  /// `continued`: the one whose packets it carries on by another route, which so has two ids or
  /// more.
  std::uint32_t open(std::uint32_t card, std::uint32_t number, const Route& route, std::uint32_t continued = none);
  /// Whose packets it carries on; `none` if it began by itself. Any thread may ask.
  std::uint32_t predecessor_of(std::uint32_t queue_pair) const;

  const Route& operator[](std::uint32_t queue_pair) const {
    const std::uint32_t block = queue_pair / per_row;
    return rows_[block >> card_bits_][block & card_mask_][queue_pair % per_row];
  }
  /// As which of its own the destination's card knows it; `none` until set.
  void set_receiver(std::uint32_t queue_pair, std::uint32_t receiver) {
    const std::uint32_t block = queue_pair / per_row;
    rows_[block >> card_bits_][block & card_mask_][queue_pair % per_row].receiver = receiver;
  }
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
  mutable std::mutex mutex_;   ///< of what follows
  std::map<std::uint32_t, std::uint32_t> continued_;
  std::deque<std::unique_ptr<Route*[]>> row_memory_;
  std::deque<std::unique_ptr<Route[]>> slabs_;
  std::size_t slab_left_ = 0;
};

}  // namespace weft
