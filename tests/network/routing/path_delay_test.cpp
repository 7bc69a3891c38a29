// SPDX-License-Identifier: Apache-2.0
#include "network/routing/path_delay.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/text/diagnostics.hpp"
#include "topologies/topology.hpp"

namespace weft::path_delay_test {
namespace {

/// host - 400G - switch - 100G - switch - 200G - host, with 1, 2 and 3 us of fibre.
struct Line {
  Line() {
    TopologyBuilder builder("line");
    const NodeId a = builder.add_endpoint(builder.add_host(), NodeKind::host);
    const NodeId near = builder.add_switch(1);
    const NodeId far = builder.add_switch(1);
    const NodeId b = builder.add_endpoint(builder.add_host(), NodeKind::host);
    builder.add_cable(a, near, Bandwidth::gbps(400), Duration::us(1));
    builder.add_cable(near, far, Bandwidth::gbps(100), Duration::us(2));
    builder.add_cable(far, b, Bandwidth::gbps(200), Duration::us(3));
    topology = std::move(builder).build(nullptr, SourcePlace::named("test"));
    for (NodeId at = a; at != b; at = topology->link(path.back()).destination) {
      for (const LinkId link : topology->out_links(at)) {
        if (path.empty() || topology->reverse(link) != path.back()) {
          path.push_back(link);
          break;
        }
      }
    }
  }
  PathDelay delay(Forwarding forwarding) const {
    const LinkDelays delays(*topology, Duration::ns(500), forwarding);
    PathDelay sum;
    for (const LinkId link : path) sum += delays.of(link);
    return sum;
  }

  std::shared_ptr<const Topology> topology;
  std::vector<LinkId> path;
};

PacketTrain train(std::int64_t packets, std::int64_t full, std::int64_t last) {
  return {packets, Bytes::of(full), Bytes::of(last)};
}

// 1 + 2 + 3 us and two switches of 0.5 us.
TEST(PathDelay, CutThroughTakesWhatIsFixed) {
  const PathDelay delay = Line().delay(Forwarding::cut_through);
  EXPECT_EQ(delay.of(train(10, 4150, 100)), Duration::us(7));
  EXPECT_EQ(delay.of_empty(train(1, 4150, 82)), Duration::us(7));
}

// Ten packets of 4,000 B leave by the 100G cable in 10 x 320 ns. A pipeline of 400G (80 ns a
// packet), 100G (320 ns) and 200G (160 ns) takes 80 + 10 x 320 + 160 ns: 240 ns more.
TEST(PathDelay, PacketsCrossEveryCableButTheSlowestOnceMore) {
  const PathDelay delay = Line().delay(Forwarding::store_and_forward);
  EXPECT_EQ(delay.of(train(10, 4000, 4000)), Duration::us(7) + Duration::ns(240));
  // What ends with a small packet waits for the full one before it.
  EXPECT_EQ(delay.of(train(10, 4000, 100)), Duration::us(7) + Duration::ns(240));
}

// 1,000 B: 20 + 80 + 40 ns over the three cables, of which the message's own time to leave, at the
// slowest, is 80.
TEST(PathDelay, ASinglePacketIsNoFullOne) {
  EXPECT_EQ(Line().delay(Forwarding::store_and_forward).of(train(1, 4000, 1000)), Duration::us(7) + Duration::ns(60));
}

// 100 B of headers: 2 + 8 + 4 ns.
TEST(PathDelay, AMessageWithoutBytesIsOnePacket) {
  EXPECT_EQ(Line().delay(Forwarding::store_and_forward).of_empty(train(1, 4000, 100)), Duration::us(7) + Duration::ns(14));
}

// Held to 50 Gb/s, a message of one packet of 1,000 B leaves in 160 ns by that account; on the
// cables it takes 20 + 80 + 40 ns, less than that.
TEST(PathDelay, ARateLimitBelowTheCablesIsTheSlowest) {
  PathDelay delay = Line().delay(Forwarding::store_and_forward);
  delay.limit_to(200e9);
  EXPECT_EQ(delay.of(train(1, 4000, 1000)), Duration::us(7) + Duration::ns(60));
  delay.limit_to(50e9);
  EXPECT_EQ(delay.of(train(1, 4000, 1000)), Duration::us(7));
}

}  // namespace
}  // namespace weft::path_delay_test
