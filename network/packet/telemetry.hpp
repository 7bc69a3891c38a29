// SPDX-License-Identifier: Apache-2.0
// In-band telemetry: what switches write about the ports that a packet leaves them by, for the
// congestion control of its sender.
//
// Where it sits: network cards whose congestion control asks for it
// (host/transport/congestion_control) keep a TelemetryRing for each queue pair and set the packets'
// flag; network/packet/packet_switch writes; the card reads when the packet is acknowledged.
//
// Model: a packet of number n writes to slot n modulo the ring's size, a record per switch. On the
// wire the records would take some bytes of every packet; here they take none.
//
// Invariant: at any time one node has a packet, and so its slot. A slot is used again only when its
// packet was acknowledged, as a window is no larger than a ring; packets that are sent again do not
// write, so that whoever is late has no slot.
// Threads: a slot belongs to the node that has its packet; a window's end lies between two of them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/values/units.hpp"

namespace weft {

/// Of the port that a packet has just left by.
struct HopTelemetry {
  Time at;                       ///< when its first bit left
  std::uint64_t sent_bytes = 0;  ///< by the port ever, this packet included
  Bandwidth rate;                ///< of the port
  std::int64_t queue_bytes = 0;  ///< what waits behind it
};

class TelemetryRing {
 public:
  /// For windows of up to `packets`, over routes by so many switches.
  TelemetryRing(std::uint64_t packets, std::uint32_t switches)
      : mask_(static_cast<std::uint32_t>(std::bit_ceil(packets) - 1)),
        switches_(switches),
        records_((std::size_t{mask_} + 1) * switches) {}

  /// The packet's records, the first switch's first.
  std::span<HopTelemetry> of(std::uint32_t sequence) {
    return {records_.data() + std::size_t{sequence & mask_} * switches_, switches_};
  }

 private:
  std::uint32_t mask_;
  std::uint32_t switches_;
  std::vector<HopTelemetry> records_;
};

}  // namespace weft
