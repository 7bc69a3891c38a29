// SPDX-License-Identifier: Apache-2.0
// Queue ledger: whose data packets waited in a switch's queues, and for whose.
//
// Where it sits: a packet switch keeps one if it is asked to (PacketSwitchSettings::keeps_ledger);
// host/transport/packet_results collects them.
//
// Model: a packet that waits from its arrival until its first bit leaves waits for what leaves by
// the port meanwhile: bytes by owner / rate, and what is left of the wait (the packet that was on
// the wire already) in the same shares. If the other end paused its priority in between, what those
// bytes do not explain is the pause's. So the parts add up to PacketPortCounters::waiting of the
// packets that have left.
// A pause that the switch itself asks for is put down to the port at which most of the account's
// bytes wait then.
// Threads: as its switch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/containers/fifo.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/queue_pairs.hpp"

namespace weft {

class QueueLedger {
 public:
  /// Keeps a reference.
  QueueLedger(const QueuePairs& queue_pairs, std::size_t ports, std::size_t priorities);

  void on_joined(std::uint32_t port, const Packet& packet, bool is_paused, Time now);
  void on_left_queue(std::uint32_t port, const Packet& packet, double rate_bps, Time now);
  void on_sent(std::uint32_t port, const Packet& packet);
  void on_paused(std::uint32_t port, std::uint32_t priority) { ++queue(port, priority).pauses; }
  /// The switch asks for a pause of what comes by `from`, as it waits at `to`.
  void on_asked(std::uint32_t from, std::uint32_t to) { ++asked_[{from, to}]; }

  struct Waits {
    double for_others_s = 0;
    double for_pauses_s = 0;
  };
  /// By (who waited, for whom) of a port; pauses are the waiting job's own.
  const std::map<std::pair<AttemptId, AttemptId>, Waits>& waits(std::uint32_t port) const { return ports_[port].waits; }
  /// How often, by (port in, port out).
  const std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>& asked() const { return asked_; }

 private:
  struct Waiting {
    Time since;
    AttemptId owner;
    std::uint64_t pauses = 0;
    bool was_paused = false;
    AttemptId on_wire;                ///< whose packet left last
    std::vector<std::uint64_t> sent;  ///< by owner, before it
  };
  struct Queue {
    Fifo<Waiting> waiting;
    std::uint64_t pauses = 0;  ///< that began
  };
  struct Port {
    std::vector<AttemptId> owners;
    std::vector<std::uint64_t> sent;  ///< bytes, likewise
    AttemptId last = AttemptId::none();
    std::map<std::pair<AttemptId, AttemptId>, Waits> waits;
  };

  Queue& queue(std::uint32_t port, std::uint32_t priority) { return queues_[port * priorities_ + priority]; }
  AttemptId owner_of(std::uint32_t queue_pair);

  const QueuePairs& queue_pairs_;
  std::size_t priorities_;
  std::vector<Port> ports_;
  std::vector<Queue> queues_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> asked_;
  std::map<std::uint32_t, AttemptId> owners_;  ///< by queue pair
};

}  // namespace weft
