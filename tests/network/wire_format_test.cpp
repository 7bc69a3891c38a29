// SPDX-License-Identifier: Apache-2.0
#include "network/wire_format.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "network/flow/flow_settings.hpp"

namespace weft::wire_format_test {
namespace {

WireFormat format(const char* stack, std::int64_t mtu) { return WireFormat(protocol_stack(stack), Bytes::of(mtu)); }

TEST(WireFormat, RoceV2CountsItsMtuAsPayload) {
  const WireFormat wire = format("rocev2_ipv4", 1456);
  // IP 20 + UDP 8 + BTH 12 + ICRC 4 = 44; preamble 8 + gap 12 + Ethernet 14 + FCS 4 = 38.
  EXPECT_EQ(wire.content_per_packet(), Bytes::of(1456));
  EXPECT_EQ(wire.overhead_per_packet(), Bytes::of(82));
  // 1,440 B of payload and the 16 B of RETH just fill one packet; one byte more takes two.
  EXPECT_EQ(wire.packets(Bytes::of(1440)), 1);
  EXPECT_EQ(wire.wire_bytes(Bytes::of(1440)), Bytes::of(1500 + 38));
  EXPECT_EQ(wire.packets(Bytes::of(1441)), 2);
  EXPECT_EQ(wire.wire_bytes(Bytes::of(1441)), Bytes::of(1441 + 16 + 2 * 82));
}

// Paper, section 7.3: 50 to 60 B per packet, about 1,460 B of payload in a 1,500 B packet, 4 % for
// full packets, more than 18 % at 256 B.
TEST(WireFormat, ThePapersOverheadIsTheListWithoutPreambleGapAndFrameCheck) {
  std::int64_t bytes = 0;
  for (const WireHeader& header : protocol_stack("rocev2_ipv4").headers) {
    const bool of_the_line =
        header.name.find("preamble") == 0 || header.name.find("interpacket") == 0 || header.name.find("frame check") == 0;
    if (header.scope != WireHeader::Scope::per_message && !of_the_line) bytes += header.size.count();
  }
  EXPECT_EQ(bytes, 58);
  EXPECT_NEAR(58.0 / 1500, 0.04, 0.005);
  EXPECT_GT(58.0 / (256 + 58), 0.18);
}

TEST(WireFormat, OtherStacks) {
  // IPv6 takes 20 B more in and of each packet.
  EXPECT_EQ(format("rocev2_ipv6", 1500).wire_bytes(Bytes::of(1)), Bytes::of(1 + 16 + 102));
  // InfiniBand: LRH 8 + BTH 12 + ICRC 4 + VCRC 2 per packet of 4,096 B payload, RETH in the first.
  EXPECT_EQ(format("infiniband", 4096).wire_bytes(Bytes::of(8192 - 16)), Bytes::of(8192 + 2 * 26));
  // HPCC: 1,000 B of payload and 48 B of headers.
  EXPECT_EQ(format("hpcc", 1000).wire_bytes(Bytes::of(10'000)), Bytes::of(10'480));
  EXPECT_EQ(format("none", 1500).wire_bytes(Bytes::of(12'345)), Bytes::of(12'345));
}

TEST(WireFormat, NothingToSendTakesNoBytes) {
  for (const ProtocolStack& stack : protocol_stacks()) {
    const WireFormat wire(stack, Bytes::of(1500));
    EXPECT_EQ(wire.wire_bytes(Bytes::zero()), Bytes::zero()) << stack.name;
    EXPECT_EQ(wire.packets(Bytes::zero()), 0) << stack.name;
  }
  EXPECT_THROW(format("none", 1500).wire_bytes(Bytes::of(-1)), CheckFailure);
}

TEST(WireFormat, AnMtuWithoutRoomForPayloadIsTheUsersMistake) {
  try {
    format("rocev2_ipv6", 16);
    FAIL() << "16 B of RETH leave nothing of 16 B";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics()[0].code, "mtu-too-small");
  }
}

TEST(FlowSettings, ChoicesAreTheStacksAndPoliciesThereAre) {
  std::string stacks, policies;
  for (const ProtocolStack& stack : protocol_stacks()) stacks += (stacks.empty() ? "" : "|") + std::string(stack.name);
  for (const auto& policy : allocation_policies()) policies += (policies.empty() ? "" : "|") + std::string(policy.info.name);
  for (const ParamSpec& spec : flow_params()) {
    if (spec.name == "protocol") {
      EXPECT_EQ(spec.choices, stacks);
    }
    if (spec.name == "allocation") {
      EXPECT_EQ(spec.choices, policies);
    }
  }
}

TEST(FlowSettings, DefaultsLeaveHostsAndFabricApart) {
  const FlowSettings settings(ParamSet("flow", flow_params()));
  EXPECT_GT(settings.host_to_fabric_min(), Duration::zero());
  EXPECT_GT(settings.fabric_to_host_min(), Duration::zero());
}

// The packets of a train add up to the message's wire bytes, and an empty message is one packet of
// headers, or of a byte where there are none.
TEST(WireFormat, ATrainIsTheMessageInPackets) {
  for (const ProtocolStack& stack : protocol_stacks()) {
    const WireFormat wire(stack, Bytes::of(1500));
    for (const std::int64_t payload : {1, 1439, 1440, 1441, 1500, 1501, 100'000}) {
      const PacketTrain train = wire.train(Bytes::of(payload));
      EXPECT_EQ(train.packets, wire.packets(Bytes::of(payload))) << stack.name << " " << payload;
      EXPECT_EQ(train.full * (train.packets - 1) + train.last, wire.wire_bytes(Bytes::of(payload))) << stack.name << " " << payload;
      EXPECT_LE(train.last, train.full);
    }
    const PacketTrain empty = wire.train(Bytes::zero());
    EXPECT_EQ(empty.packets, 1);
    EXPECT_EQ(empty.last, std::max(Bytes::of(1), wire.overhead_per_message() + wire.overhead_per_packet())) << stack.name;
  }
}

}  // namespace
}  // namespace weft::wire_format_test
