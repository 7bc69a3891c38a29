// SPDX-License-Identifier: Apache-2.0
// Packet node settings: the memory, classes and timing of every switch and network card.
//
// Where it sits: PacketNetwork builds its nodes from them (host/transport/packet_network);
// host/transport/packet_network_checks tells the user which of them cannot work.
//
// Model: the memory B of a switch has three parts.
//   headroom   per port and lossless priority: what can arrive after a pause was asked for, by
//              cable and rate (network/packet/shared_buffer)
//   reserved   per port and priority
//   pool       the rest, shared under a dynamic threshold
// Cables longer than packet.pfc_reach have neither headroom nor pauses: packets that arrive by them
// are lossy. Priorities are those of the run's transfers, and one above them for acknowledgements
// unless these go with the data.
// Threads: immutable once assign_classes() was called.
#pragma once

#include <cstdint>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "host/transport/nic.hpp"
#include "host/transport/packet_model.hpp"
#include "network/packet/packet_switch.hpp"

namespace weft {

/// What is known of a run's transfers before it begins.
struct PacketTraffic {
  std::uint32_t priorities = 1;  ///< one more than the highest
  /// All transfers are known before the run: they are the cards' initial events, and hosts get
  /// notices only.
  bool is_known = false;
};

class PacketNodeSettings {
 public:
  /// Throws InputError [mtu-too-large].
  PacketNodeSettings(const PacketModel& model, std::uint64_t seed);

  /// Gives every priority of the run its class. Reports [unknown-priority].
  void assign_classes(const PacketTraffic& traffic, Diagnostics& diagnostics);

  const std::vector<PacketClass>& classes() const { return classes_; }
  Bytes largest_packet() const { return largest_packet_; }

  /// Settings of a switch, but for its choice of ports and its sources of routes.
  PacketSwitchSettings of_switch(std::uint32_t node, bool keeps_pauses) const;
  /// Settings of all cards that have no defect.
  NicSettings of_cards(bool keeps_pauses, bool expects_failures) const;

  Bytes buffer_of(std::uint32_t node) const;
  /// Where marks of a priority begin and end, for a port of 100 Gb/s.
  EcnCurve curve_of(std::uint32_t node, std::uint32_t priority) const;
  /// The same curve for a port of another rate.
  EcnCurve curve_at(EcnCurve curve, Bandwidth rate) const;
  /// The time from a packet's last bit leaving the port until the other end has it.
  Duration delay(const PacketTopology::Port& port) const;
  /// Per lossless priority: the bytes that can arrive by a port after a pause was asked for.
  Bytes headroom_needed(std::uint32_t node, const PacketTopology::Port& port) const;
  std::int64_t headroom(std::uint32_t node, const PacketTopology::Port& port) const;
  /// Whether the cable that ends at the port is short enough for pauses.
  bool has_pfc(const PacketTopology::Port& port) const;
  /// The rate at which a node sends over a link that works.
  Bandwidth full_rate(std::uint32_t node, LinkId link) const;

 private:
  std::vector<PacketClass> classes_of(std::uint32_t node) const;

  const PacketModel& model_;
  std::uint64_t seed_;
  Bytes largest_packet_;
  std::vector<PacketClass> classes_;
  std::uint32_t answer_priority_ = 0;
};

}  // namespace weft
