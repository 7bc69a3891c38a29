// SPDX-License-Identifier: Apache-2.0
#include "network/routing/unloaded_paths.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "tests/network/test_topologies.hpp"
#include "topologies/topology.hpp"

namespace weft::unloaded_paths_test {
namespace {

/// host - 400G - switch - 100G - switch - 200G - host, with 1, 2 and 3 us of fibre.
struct Line {
  Line() {
    TopologyBuilder builder("line");
    a = builder.add_endpoint(builder.add_host(), NodeKind::host);
    const NodeId near = builder.add_switch(1);
    const NodeId far = builder.add_switch(1);
    b = builder.add_endpoint(builder.add_host(), NodeKind::host);
    builder.add_cable(a, near, Bandwidth::gbps(400), Duration::us(1));
    builder.add_cable(near, far, Bandwidth::gbps(100), Duration::us(2));
    builder.add_cable(far, b, Bandwidth::gbps(200), Duration::us(3));
    topology = std::move(builder).build(nullptr, SourcePlace::named("test"));
  }

  std::shared_ptr<const Topology> topology;
  NodeId a;
  NodeId b;
};

FlowSettings settings(const std::vector<std::pair<std::string, std::string>>& values = {}) {
  ParamSet params("flow", flow_params());
  for (const auto& [name, value] : values) params.set(name, value, SourcePlace::named("test"));
  return FlowSettings(params);
}

// 1,000,016 B in 245 packets with 82 B each around them: 1,020,106 B, 81.60848 us at 100 Gb/s.
// Besides 1 us of the work queue entry, 6 us of fibre, two switches of 0.5 us, a packet of 4,178 B
// once more at 400 and 200 Gb/s, 250.68 ns, and 0.5 us at the receiver.
TEST(UnloadedPaths, AMessageTakesWhatFollowsFromItsLinks) {
  const Line line;
  for (const char* routing : {"ecmp", "spray", "adaptive"}) {
    const FlowSettings flow = settings({{"routing", routing}});
    UnloadedPaths paths(*line.topology, flow);
    const UnloadedPath path = paths.path(line.a, line.b, 0);
    EXPECT_DOUBLE_EQ(path.rate_bps(), 100e9) << routing;
    EXPECT_EQ(line.topology->link(path.slowest()).rate, Bandwidth::gbps(100)) << routing;
    EXPECT_NEAR(path.leave_time(Bytes::of(1'000'000)).in_ns(), 81'608.48, 0.02) << routing;
    EXPECT_NEAR(path.message_time(Bytes::of(1'000'000)).in_ns(), 81'608.48 + 1000 + 6000 + 1000 + 250.68 + 500, 0.05) << routing;
  }
}

// An empty message is a packet of 98 B, which crosses 400, 100 and 200 Gb/s in 13.72 ns.
TEST(UnloadedPaths, AnEmptyMessageTakesLatencyAlone) {
  const Line line;
  const FlowSettings flow = settings();
  UnloadedPaths paths(*line.topology, flow);
  const UnloadedPath path = paths.path(line.b, line.a, 0);
  EXPECT_EQ(path.leave_time(Bytes::zero()), Duration::zero());
  EXPECT_NEAR(path.message_time(Bytes::zero()).in_ns(), 1000 + 6000 + 1000 + 13.72 + 500, 0.05);
}

// Four queue pairs of at most 10 Gb/s each share the message.
TEST(UnloadedPaths, QueuePairsShareAMessage) {
  const Line line;
  const FlowSettings flow = settings({{"queue_pairs", "4"}, {"queue_pair_rate_max", "10Gbps"}});
  UnloadedPaths paths(*line.topology, flow);
  EXPECT_DOUBLE_EQ(paths.path(line.a, line.b, 0).rate_bps(), 40e9);
  EXPECT_TRUE(paths.path(line.a, line.b, 0).slowest().is_none());
}

// Hosts of 400 Gb/s whose leafs have 400 Gb/s to one spine and 100 to the other: sprayed evenly,
// the half of 200 Gb/s is what the 100 carry; by capacity they carry a fifth.
TEST(UnloadedPaths, SprayedMessagesGoByPathWeights) {
  const auto topology = network(2, 4, {{0, 2, 400}, {1, 3, 400}, {2, 4, 400}, {3, 4, 400}, {2, 5, 100}, {3, 5, 100}});
  const auto rate_bps = [&](const char* weights) {
    const FlowSettings flow = settings({{"routing", "spray"}, {"path_weights", weights}});
    return UnloadedPaths(*topology, flow).path(NodeId(0), NodeId(1), 0).rate_bps();
  };
  EXPECT_NEAR(rate_bps("equal"), 200e9, 1);
  EXPECT_NEAR(rate_bps("capacity"), 400e9, 1);
}

// Two queue pairs at what a window of 4 MiB lets through in 40 ms: 838.9 Mb/s, and headers.
TEST(UnloadedPaths, TcpSetsTheRateBetweenSites) {
  TopologyBuilder builder("sites");
  const NodeId a = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId b = builder.add_endpoint(builder.add_host(), NodeKind::host);
  builder.set_wide_area(builder.add_cable(a, b, Bandwidth::gbps(100), Duration::ms(20)), {}, {});
  const auto topology = std::move(builder).build(nullptr, SourcePlace::named("test"));
  FlowSettings flow = settings({{"queue_pairs", "2"}});
  flow.wide_area.congestion_control = WideAreaControl::cubic;
  UnloadedPaths paths(*topology, flow);
  EXPECT_NEAR(paths.path(a, b, 0).rate_bps() / 1e6, 2 * 838.8608 * (4178.0 / 4096), 1e-3);
  EXPECT_TRUE(paths.path(a, b, 0).slowest().is_none());
}

}  // namespace
}  // namespace weft::unloaded_paths_test
