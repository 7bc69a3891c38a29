// SPDX-License-Identifier: Apache-2.0
// Wire format: how many bytes a message takes on the wire, headers and gaps included.
//
// Where it sits: flow_fabric turns a transfer's payload into wire bytes with it; parameters `mtu`
// and `protocol` of the flow table.
//
// Model (paper, section 7.3, "aligning packet overhead"): a message of S bytes is cut into packets
// of at most the MTU, which is the path MTU of InfiniBand and RoCE: what a packet holds of the
// message, 256 to 4,096 bytes where NICs follow the standard. Of the first packet the headers that
// stand once per message take their part:
//   packets    = ceil((S + once) / mtu)
//   wire bytes = S + once + packets x per_packet
// where per_packet is all that a packet costs beyond: headers, check sequences, preamble and gap.
// RoCEv2 over IPv4: 82 B, 2 % of 4,096 B. The paper's 50-60 B per packet is the same list without
// preamble, gap and frame check sequence: 58 B.
// An Ethernet of 1,500 B fits a path MTU of 1,024 B; jumbo frames of 9,000 B are for NICs and
// protocols that take them.
//
// Links inside a host carry payload only; what data loses of their rate, and packets of the
// network's beyond headers, says flow_settings.
// A message of zero bytes takes no wire bytes here; its latency is the fabric's.
// Threads: values and constants.
#pragma once

#include <span>
#include <string_view>

#include "core/values/units.hpp"

namespace weft {

/// One header, trailer or gap of a protocol stack.
struct WireHeader {
  enum class Scope : unsigned char {
    outside_mtu,  ///< of every packet, beyond the MTU
    per_message,  ///< once, within the first packet's MTU
  };
  std::string_view name;
  Bytes size;
  Scope scope = Scope::outside_mtu;
  std::string_view origin;  ///< the standard that says so
};

struct ProtocolStack {
  std::string_view name;
  std::string_view meaning;
  std::span<const WireHeader> headers;
};

/// Every stack there is: rocev2_ipv4, rocev2_ipv6, infiniband, hpcc, none.
std::span<const ProtocolStack> protocol_stacks();

/// The stack called `name`. Requires: it exists (WEFT_CHECK; the parameter table's choices are the
/// same list).
const ProtocolStack& protocol_stack(std::string_view name);

// / The packets of a message, in wire bytes: all are full but the last. An empty message is one
// packet; a packet has at least a byte.
struct PacketTrain {
  std::int64_t packets = 1;
  Bytes full;
  Bytes last;
};

class WireFormat {
 public:
  /// `extra_header`: of every packet, beyond the MTU and what the stack has. Throws InputError
  /// [mtu-too-small] if the MTU leaves no room for content.
  WireFormat(const ProtocolStack& stack, Bytes mtu, Bytes extra_header = {});

  /// Bytes on the wire of a message of `payload` >= 0 bytes.
  Bytes wire_bytes(Bytes payload) const;
  /// Packets that it takes. A stack without headers counts full packets of the MTU.
  std::int64_t packets(Bytes payload) const;

  /// What travels in packet mode.
  PacketTrain train(Bytes payload) const;

  Bytes full_packet() const { return content_per_packet_ + overhead_per_packet_; }
  Bytes content_per_packet() const { return content_per_packet_; }
  /// Of packets that are full: what a byte of content takes of the wire.
  double wire_per_content() const {
    return static_cast<double>(full_packet().count()) / static_cast<double>(content_per_packet_.count());
  }
  Bytes overhead_per_packet() const { return overhead_per_packet_; }
  Bytes overhead_per_message() const { return overhead_per_message_; }

 private:
  Bytes content_per_packet_;
  Bytes overhead_per_packet_;
  Bytes overhead_per_message_;
};

}  // namespace weft
