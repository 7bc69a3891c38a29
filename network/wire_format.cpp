// SPDX-License-Identifier: Apache-2.0
#include "network/wire_format.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

using Scope = WireHeader::Scope;

constexpr WireHeader preamble = {"preamble and start delimiter", Bytes::of(8), Scope::outside_mtu, "IEEE 802.3 clause 3.2.1-3.2.2"};
constexpr WireHeader interpacket_gap = {"interpacket gap", Bytes::of(12), Scope::outside_mtu,
                                        "IEEE 802.3 clause 4.4.2: 96 bit times"};
constexpr WireHeader ethernet = {"Ethernet header", Bytes::of(14), Scope::outside_mtu, "IEEE 802.3 clause 3.1: addresses and type"};
constexpr WireHeader frame_check = {"frame check sequence", Bytes::of(4), Scope::outside_mtu, "IEEE 802.3 clause 3.2.9"};
constexpr WireHeader ipv4 = {"IPv4 header", Bytes::of(20), Scope::outside_mtu, "RFC 791, no options"};
constexpr WireHeader ipv6 = {"IPv6 header", Bytes::of(40), Scope::outside_mtu, "RFC 8200, no extensions"};
constexpr WireHeader udp = {"UDP header", Bytes::of(8), Scope::outside_mtu, "RFC 768; RoCEv2 uses port 4791"};
constexpr WireHeader bth = {"base transport header", Bytes::of(12), Scope::outside_mtu,
                            "InfiniBand Architecture volume 1, section 9.2"};
constexpr WireHeader icrc = {"invariant CRC", Bytes::of(4), Scope::outside_mtu, "InfiniBand Architecture volume 1, section 7.8.1"};
constexpr WireHeader reth = {"RDMA extended transport header", Bytes::of(16), Scope::per_message,
                             "InfiniBand Architecture volume 1, section 9.3.3: first packet of an RDMA write"};

constexpr std::array roce_v2_ipv4 = {preamble, interpacket_gap, ethernet, frame_check, ipv4, udp, bth, icrc, reth};
constexpr std::array roce_v2_ipv6 = {preamble, interpacket_gap, ethernet, frame_check, ipv6, udp, bth, icrc, reth};
constexpr std::array infini_band = {
    WireHeader{"local route header", Bytes::of(8), Scope::outside_mtu, "InfiniBand Architecture volume 1, section 7.7"}, bth, icrc,
    WireHeader{"variant CRC", Bytes::of(2), Scope::outside_mtu, "InfiniBand Architecture volume 1, section 7.8.2"}, reth};
constexpr std::array hpcc_headers = {
    WireHeader{"all headers", Bytes::of(48), Scope::outside_mtu, "the HPCC ns-3 simulator: 48 B per packet of 1,000 B payload"}};

constexpr std::array<ProtocolStack, 5> stacks = {{
    {"rocev2_ipv4", "RoCEv2 over IPv4 and Ethernet; the MTU is the path MTU, and holds payload", roce_v2_ipv4},
    {"rocev2_ipv6", "RoCEv2 over IPv6 and Ethernet; the MTU is the path MTU, and holds payload", roce_v2_ipv6},
    {"infiniband", "native InfiniBand; the MTU holds payload", infini_band},
    {"hpcc", "48 B of headers per packet, as the HPCC simulator counts; the MTU holds payload", hpcc_headers},
    {"none", "payload only", {}},
}};

Bytes sum_of(const ProtocolStack& stack, Scope scope) {
  Bytes sum;
  for (const WireHeader& header : stack.headers) {
    if (header.scope == scope) sum += header.size;
  }
  return sum;
}

}  // namespace

std::span<const ProtocolStack> protocol_stacks() { return stacks; }

const ProtocolStack& protocol_stack(std::string_view name) {
  const auto found = std::find_if(stacks.begin(), stacks.end(), [&](const ProtocolStack& stack) { return stack.name == name; });
  WEFT_CHECK(found != stacks.end(), fmt::format("protocol stack \"{}\" exists", name));
  return *found;
}

WireFormat::WireFormat(const ProtocolStack& stack, Bytes mtu, Bytes extra_header) {
  overhead_per_message_ = sum_of(stack, Scope::per_message);
  overhead_per_packet_ = sum_of(stack, Scope::outside_mtu) + extra_header;
  content_per_packet_ = mtu;
  if (content_per_packet_ <= overhead_per_message_) {
    fail("mtu-too-small", fmt::format("an MTU of {} leaves no room for payload under protocol {}", to_text(mtu), stack.name),
         {"flow.mtu", 0, 0, 1, ""},
         fmt::format("the first header of a message takes {} of it; 1024B and 4096B are usual", to_text(overhead_per_message_)));
  }
}

std::int64_t WireFormat::packets(Bytes payload) const {
  WEFT_CHECK(payload >= Bytes::zero(), "a message has zero or more bytes");
  if (payload == Bytes::zero()) return 0;
  const Bytes content = payload + overhead_per_message_;
  return content.count() / content_per_packet_.count() + (content.count() % content_per_packet_.count() == 0 ? 0 : 1);
}

PacketTrain WireFormat::train(Bytes payload) const {
  PacketTrain train;
  train.packets = std::max<std::int64_t>(1, packets(payload));
  train.full = full_packet();
  const Bytes all = payload + overhead_per_message_ + overhead_per_packet_ * train.packets;
  train.last = std::max(Bytes::of(1), all - train.full * (train.packets - 1));
  return train;
}

Bytes WireFormat::wire_bytes(Bytes payload) const {
  if (payload == Bytes::zero()) return payload;
  return payload + overhead_per_message_ + overhead_per_packet_ * packets(payload);
}

}  // namespace weft
