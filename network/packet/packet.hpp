// SPDX-License-Identifier: Apache-2.0
// Packet: what travels in packet mode, 12 bytes in a port message.
//
// Where it sits: network cards (host/) make and take packets, switches
// (network/packet/packet_switch) pass them on. A packet names its queue pair; where that leads is
// in QueuePairs.
// Threads: values.
#pragma once

#include <cstdint>

#include "core/values/fingerprint.hpp"
#include "core/values/units.hpp"

namespace weft {

enum class PacketKind : std::uint8_t {
  data,  ///< from the queue pair's source to its destination
  ack,   ///< the other way, like the next two: everything before `sequence` has arrived
  nack,  ///< `sequence` is missing
  cnp,   ///< congestion notification (DCQCN)
  pfc,   ///< priority flow control, between neighbours: see PfcFrame
};

/// Priorities on the wire, as those of transfers.
inline constexpr std::uint32_t packet_classes_max = 8;

/// Three words, so that a copy is read as it was written; the third is read and written by the
/// functions below.
struct Packet {
  std::uint32_t queue_pair = 0;
  std::uint32_t sequence = 0;  ///< number of the packet in its queue pair, modulo 2^32
  /// From the lowest: size 16, hop 6, collects telemetry 1, asks for an answer 1, kind 3, priority
  /// 3, congestion experienced 1, ends message or echoes a mark 1.
  std::uint32_t bits = 0;

  Packet() = default;
  Packet(PacketKind kind, std::uint32_t queue_pair_id, std::uint32_t number, std::uint32_t wire_size, std::uint32_t traffic_class)
      : queue_pair(queue_pair_id),
        sequence(number),
        bits(wire_size | static_cast<std::uint32_t>(kind) << kind_shift | traffic_class << priority_shift) {}

  /// Headers, preamble and gap included.
  std::uint32_t wire_bytes() const { return bits & 0xffffU; }
  /// Which of its route's ports it leaves by next.
  std::uint32_t hop() const { return bits >> hop_shift & 0x3fU; }
  PacketKind kind() const { return static_cast<PacketKind>(bits >> kind_shift & 7U); }
  std::uint32_t priority() const { return bits >> priority_shift & 7U; }
  bool congestion_experienced() const { return (bits & congestion_bit) != 0; }  ///< ECN
  bool ends_message() const { return (bits & end_bit) != 0; }
  bool collects_telemetry() const { return (bits & telemetry_bit) != 0; }
  bool asks_for_answer() const { return (bits & answer_bit) != 0; }  ///< AckReq of RoCE
  /// Of acknowledgements: what they acknowledge came marked.
  bool echoes_mark() const { return (bits & end_bit) != 0; }

  void next_hop() { bits += 1U << hop_shift; }
  void mark() { bits |= congestion_bit; }
  void set_ends_message() { bits |= end_bit; }
  void collect_telemetry() { bits |= telemetry_bit; }
  void ask_for_answer() { bits |= answer_bit; }
  void echo_mark() { bits |= end_bit; }

 private:
  static constexpr int hop_shift = 16;
  static constexpr std::uint32_t telemetry_bit = 1U << 22;
  static constexpr std::uint32_t answer_bit = 1U << 23;
  static constexpr int kind_shift = 24;
  static constexpr int priority_shift = 27;
  static constexpr std::uint32_t congestion_bit = 1U << 30;
  static constexpr std::uint32_t end_bit = 1U << 31;
};
static_assert(sizeof(Packet) == 12);

/// A packet's arrival at its end, as the fingerprint of who takes it has it.
inline void add_arrival(Fingerprint& chain, const Packet& packet, Time now) {
  chain.add(static_cast<std::uint64_t>(now.in_ticks()) ^ std::uint64_t{packet.sequence} << 40 ^ packet.queue_pair);
  chain.add(packet.bits);
}

/// A pause or resume of one priority; takes the place of `sequence` in a Packet of kind pfc. On the
/// wire: 64 bytes, preamble and gap (IEEE 802.1Qbb-2011, clause 36; IEEE 802.3-2018, clause 31).
inline constexpr std::uint16_t pfc_frame_wire_bytes = 84;
inline constexpr std::uint32_t pfc_pause = 1;
/// Until resumed: stands for a pause that is refreshed in time.
inline constexpr std::uint32_t pfc_pause_for_good = 2;
inline constexpr std::uint32_t pfc_resume = 0;

}  // namespace weft
