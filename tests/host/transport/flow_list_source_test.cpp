// SPDX-License-Identifier: Apache-2.0
// Flow lists start in order of time, and lists that do not fit the topology are refused with the
// line.
#include "host/transport/flow_list_source.hpp"

#include <gtest/gtest.h>

#include "core/engine/engine.hpp"
#include "core/text/diagnostics.hpp"

namespace weft::flow_list_source_test {
namespace {

/// Answers every transfer after 10 us and notes when it was started.
class EchoNetwork final : public Entity {
 public:
  void handle(const Event& event, EventContext& context) override {
    const auto transfer = event.payload_as<Transfer>();
    started.emplace_back(transfer.tag, context.now());
    context.send(event.key.source, Duration::us(10), transfer_sent, transfer);
    context.send(event.key.source, Duration::us(11), transfer_delivered, transfer);
  }
  std::vector<std::pair<std::uint64_t, Time>> started;
};

class EchoPort final : public NetworkPort {
 public:
  void start(const Transfer& transfer, EventContext& context) const override {
    context.send(network, Duration::us(1), transfer_start, transfer);
  }
  EntityId network;
};

FlowList three_flows() {
  FlowList flows;
  flows.flows = {{0, 1, 0, 0, Bytes::of(10), Duration::us(50), 2},
                 {1, 0, 0, 0, Bytes::of(20), Duration::us(5), 3},
                 {0, 1, 0, 0, Bytes::of(30), Duration::us(5), 4}};
  return flows;
}

TEST(FlowListSource, StartsFlowsByTimeAndThenByPlaceInTheFile) {
  const FlowList flows = three_flows();
  EchoPort port;
  EngineBuilder builder;
  auto source = std::make_unique<FlowListSource>(flows, port);
  const Time first = source->first_start();
  EXPECT_EQ(first, Time::zero() + Duration::us(5));
  const EntityId id = builder.add_entity(std::move(source), "flows");
  port.network = builder.add_entity(std::make_unique<EchoNetwork>(), "network");
  builder.connect_both(id, port.network, Duration::us(1));
  builder.post_initial(id, first, EventClass::timer, FlowListSource::start_next);
  const EntityId network = port.network;
  Engine engine = std::move(builder).build({});
  engine.run({});
  const auto& started = engine.entity_as<EchoNetwork>(network).started;
  // One microsecond on the way to the network.
  ASSERT_EQ(started.size(), 3u);
  EXPECT_EQ(started[0], std::make_pair(std::uint64_t{1}, Time::zero() + Duration::us(6)));
  EXPECT_EQ(started[1], std::make_pair(std::uint64_t{2}, Time::zero() + Duration::us(6)));
  EXPECT_EQ(started[2], std::make_pair(std::uint64_t{0}, Time::zero() + Duration::us(51)));
  EXPECT_EQ(engine.entity_as<FlowListSource>(id).delivered(), 3u);
}

TEST(FlowListSource, RefusesFlowsThatTheTopologyCannotCarry) {
  TopologyBuilder builder("pair");
  const NodeId a = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId b = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId hub = builder.add_switch(0);
  builder.add_cable(a, hub, Bandwidth::gbps(100), Duration::us(1));
  builder.add_cable(b, hub, Bandwidth::gbps(100), Duration::us(1));
  const auto topology = std::move(builder).build(nullptr, {});
  FlowList flows = three_flows();
  flows.flows[0].destination = hub.index();
  flows.flows[1].source = 17;
  flows.flows[2].destination = 0;
  Diagnostics diagnostics;
  check_flow_list(flows, *topology, "flow.txt", diagnostics);
  ASSERT_EQ(diagnostics.error_count(), 3u);
  EXPECT_EQ(diagnostics.all()[0].to_text(),
            "flow.txt:2: error: node 2 is a switch, flows begin and end at hosts [unknown-endpoint]\n"
            "  help: the topology has 3 nodes, 2 of them endpoints\n");
  EXPECT_EQ(diagnostics.all()[1].code, "unknown-endpoint");
  EXPECT_EQ(diagnostics.all()[1].place.line, 3);
  EXPECT_EQ(diagnostics.all()[2].code, "self-flow");
}

}  // namespace
}  // namespace weft::flow_list_source_test
