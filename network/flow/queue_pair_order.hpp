// SPDX-License-Identifier: Apache-2.0
// Queue pair order: messages of a queue pair move one after another, as in packet mode and as
// reliable connections do it (InfiniBand Architecture Specification, volume 1, section 9.7).
//
// Where it sits: flow_fabric and private_flows ask it before bytes of a transfer begin to move.
//
// Model: one message of a queue pair moves; those behind it wait in order of entering, and the next
// begins at the instant at which that one's bytes have left. So a queue pair never takes more than
// one share of a link. Of those that enter at one instant, goes_first() says which goes first, as
// in packet mode (host/transport/nic), whoever tells of it first: what happens at an instant has no
// order. Whoever owns the order numbers what moves, from 0 on and with numbers that come again, and
// says which queue pair a number is of.
// A queue pair behind which nothing waits takes 8 bytes and 4 to 8 of the table, and two accesses
// to that.
// Threads: belongs to one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/containers/fifo.hpp"
#include "core/containers/small_map.hpp"
#include "core/values/fingerprint.hpp"
#include "core/values/ids.hpp"
#include "network/network_model.hpp"

namespace weft {

/// Which queue pair a part of a transfer goes over: of an attempt, two ends, a connection and a
/// priority, and of those of the connection.
class QueuePairName {
 public:
  QueuePairName(const Transfer& transfer, std::uint32_t queue_pair)
      : ends_(std::uint64_t{transfer.source.index()} << 32 | transfer.destination.index()),
        rest_((std::uint64_t{transfer.connection} << transfer_priority_bits | transfer.priority) << 32 | queue_pair),
        attempt_(transfer.attempt),
        hash_(static_cast<std::uint32_t>(mix64(ends_ * 0x9e3779b97f4a7c15ULL ^ rest_ ^ std::uint64_t{attempt_.index()} << 16))) {}

  std::uint32_t hash() const { return hash_; }
  friend bool operator==(const QueuePairName&, const QueuePairName&) = default;

 private:
  std::uint64_t ends_;
  std::uint64_t rest_;
  AttemptId attempt_;
  std::uint32_t hash_;
};

/// Of two that enter a queue pair at one instant: by tag, which follows the workload.
inline bool goes_first(const Transfer& a, const Transfer& b) { return std::pair(a.tag, a.size) < std::pair(b.tag, b.size); }

/// `Waiting` is what tells the owner what waits.
template <class Waiting>
class QueuePairOrder {
 public:
  /// What of the queue pair moves; nothing: it is free. `name_of`: of the number of what moves.
  template <class NameOf>
  std::optional<std::uint32_t> moving(const QueuePairName& name, NameOf&& name_of) const {
    if (size_ == 0) return std::nullopt;
    const std::uint32_t hash = name.hash();
    for (std::uint32_t at = heads_[hash & (heads_.size() - 1)]; at != none; at = links_[at].next) {
      if (links_[at].hash == hash && name_of(at) == name) return at;
    }
    return std::nullopt;
  }
  /// It begins to move, and `line` waits behind it. Requires: the queue pair is free.
  void begin(const QueuePairName& name, std::uint32_t number, Fifo<Waiting> line = {}) {
    if (links_.size() <= number) links_.resize(number + std::size_t{1});
    if (heads_.size() < ++size_) grow();
    links_[number] = {none, name.hash()};
    put_in(number);
    if (!line.empty()) lines_[number] = std::move(line);
  }
  /// Behind what moves, but before those at the end of the line that it goes before.
  template <class GoesBefore>
  void wait(std::uint32_t moving, Waiting waiting, GoesBefore&& goes_before) {
    Fifo<Waiting>& line = lines_[moving];
    line.push(std::move(waiting));
    for (std::uint32_t i = line.size() - 1; i > 0 && goes_before(line[i], line[i - 1]); --i) std::swap(line[i], line[i - 1]);
  }
  /// Whatever it is that waits behind what moves, it goes.
  template <class Is>
  void leave_line(std::uint32_t moving, Is&& is) {
    Fifo<Waiting> line = take_line(moving);
    for (; !line.empty(); line.pop()) {
      if (!is(line.front())) lines_[moving].push(std::move(line.front()));
    }
  }
  /// Who waits behind what moves, in order.
  const Fifo<Waiting>& line_behind(std::uint32_t moving) const {
    static const Fifo<Waiting> nobody;
    const Fifo<Waiting>* const line = lines_.find(moving);
    return line == nullptr ? nobody : *line;
  }
  /// It no longer moves. Returns who waited behind it: begin() of the first has the rest.
  Fifo<Waiting> end(std::uint32_t number) {
    std::uint32_t* at = &heads_[links_[number].hash & (heads_.size() - 1)];
    while (*at != number) {
      WEFT_CHECK(*at != none, "what ends has begun");
      at = &links_[*at].next;
    }
    *at = links_[number].next;
    --size_;
    return take_line(number);
  }
  /// As end(), but it is to move again later: it comes first of those returned.
  Fifo<Waiting> hold_back(std::uint32_t number, Waiting held_back) {
    Fifo<Waiting> line;
    line.push(std::move(held_back));
    for (Fifo<Waiting> rest = end(number); !rest.empty(); rest.pop()) line.push(std::move(rest.front()));
    return line;
  }
  /// What moves has another number from now on.
  void renumber(const QueuePairName& name, std::uint32_t from, std::uint32_t to) {
    Fifo<Waiting> line = end(from);
    begin(name, to, std::move(line));
  }
  bool nobody_waits() const { return lines_.empty(); }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::size_t heads_min = 16;
  struct Link {
    std::uint32_t next = none;  ///< of those in one place of the table
    std::uint32_t hash = 0;
  };

  void put_in(std::uint32_t number) {
    std::uint32_t& head = heads_[links_[number].hash & (heads_.size() - 1)];
    links_[number].next = head;
    head = number;
  }
  Fifo<Waiting> take_line(std::uint32_t number) {
    Fifo<Waiting>* const line = lines_.find(number);
    if (line == nullptr) return {};
    Fifo<Waiting> taken = std::move(*line);
    lines_.erase(number);
    return taken;
  }
  void grow() {
    const std::vector<std::uint32_t> before =
        std::exchange(heads_, std::vector<std::uint32_t>(std::max(heads_min, std::bit_ceil(size_)), none));
    for (std::uint32_t at : before) {
      while (at != none) {
        const std::uint32_t number = std::exchange(at, links_[at].next);
        put_in(number);
      }
    }
  }

  std::vector<std::uint32_t> heads_;  ///< as many as a power of two; the first of each place
  std::vector<Link> links_;           ///< by number
  std::size_t size_ = 0;              ///< how many move
  SmallMap<Fifo<Waiting>> lines_;     ///< by number of what moves; none is empty
};

}  // namespace weft
