// SPDX-License-Identifier: Apache-2.0
// Transfers inside a host take the same time by themselves as in the fabric of the whole cluster.
#include "network/flow/inside_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "core/values/random.hpp"
#include "tests/network/flow/scripted_transfers.hpp"
#include "tests/network/test_topologies.hpp"

namespace weft::inside_network_test {
namespace {

using namespace scripted_transfers;

class Told final : public InsideObserver {
 public:
  void on_sent(const Transfer& transfer, Time now) override { sent[transfer.tag] = now; }
  void on_delivered(const Transfer& transfer, Time now) override { delivered[transfer.tag] = now; }
  void on_transfer_finished(const FinishedTransfer& f) override { finished.push_back(f); }
  std::map<std::uint64_t, Time> sent;
  std::map<std::uint64_t, Time> delivered;
  std::vector<FinishedTransfer> finished;
};

std::shared_ptr<const PrivateLinks> private_links(const Topology& topology, const FlowSettings& settings, HostId host) {
  const LinkDelays delays(topology, settings.switching_delay, settings.forwarding);
  const auto endpoints = topology.endpoints_of(host);
  return PrivateLinks::among(topology, delays, {endpoints.begin(), endpoints.end()});
}

InsideNetwork network_of(const std::shared_ptr<const PrivateLinks>& links, const FlowSettings& settings) {
  const std::span<const double> capacities = links->capacities_bps();
  return {links, settings, policy_called("max_min", {capacities.begin(), capacities.end()})};
}

/// What a transfer comes to, but for the number that the fabric gives it.
std::vector<std::tuple<std::uint64_t, Time, Time, Duration, bool>> figures(const std::vector<FinishedTransfer>& finished) {
  std::vector<std::tuple<std::uint64_t, Time, Time, Duration, bool>> all;
  for (const FinishedTransfer& one : finished) all.emplace_back(one.transfer.tag, one.start, one.end, one.ideal, one.inside_host);
  std::ranges::sort(all);
  return all;
}

/// Transfers among the GPUs of the second host, many of which meet; of all sizes, of none as well.
std::vector<Planned> drawn(const Topology& topology, RandomStream& random) {
  const std::span<const NodeId> ends = topology.endpoints_of(HostId(1));
  std::vector<Planned> script;
  Time start;
  for (std::uint64_t tag = 0; tag < 120; ++tag) {
    if (random.below(3) > 0) start += Duration::ns(static_cast<std::int64_t>(random.below(3000)));
    const std::uint64_t from = random.below(ends.size());
    const std::uint64_t to = (from + 1 + random.below(ends.size() - 1)) % ends.size();
    const bool is_control = random.below(8) == 0;
    const auto bytes = is_control || random.below(8) == 0 ? 0 : static_cast<std::int64_t>(1 + random.below(2'000'000));
    script.push_back({start, transfer(ends[from], ends[to], bytes, tag, is_control ? control_connection : 0,
                                      static_cast<std::uint8_t>(random.below(2)))});
  }
  return script;
}

// Expectation: the fabric with all of the cluster's links gives the same times to the tick, the
// same ideal ones and the same bytes of links.
TEST(InsideNetwork, MovesTransfersAsTheFabricDoes) {
  RandomStream random(33, 0, 0);
  for (const char* const inside : {"nvswitch", "full_mesh"}) {
    for (const char* const priorities : {"strict", "none"}) {
      const auto topology = built("rail_optimized", {{"hosts", "2"}, {"inside", inside}});
      const FlowSettings settings = settings_with({{"priorities", priorities}});
      const auto links = private_links(*topology, settings, HostId(1));
      ASSERT_NE(links, nullptr);
      for (int round = 0; round < 10; ++round) {
        const std::vector<Planned> script = drawn(*topology, random);
        const Outcome expected = run(*topology, settings, script);
        InsideNetwork network = network_of(links, settings);
        Told told;
        for (const Planned& planned : script) {
          network.advance(planned.start, told);
          network.start(planned.transfer, planned.start);
        }
        const Time end = expected.report.end_time;
        network.advance(end, told);
        EXPECT_TRUE(network.is_idle());
        EXPECT_EQ(told.sent, expected.sent);
        EXPECT_EQ(told.delivered, expected.delivered);
        EXPECT_EQ(figures(told.finished), figures(expected.finished));
        std::vector<Bytes> bytes(topology->link_count());
        for (std::size_t i = 0; i < links->links().size(); ++i) bytes[links->links()[i].index()] = network.link_bytes(end)[i];
        for (std::size_t i = 0; i < bytes.size(); ++i)
          EXPECT_EQ(bytes[i], expected.links[i].bytes) << topology->link_name(LinkId(i));
      }
    }
  }
}

// Two hosts of one kind are alike. Half of the pairs of a DGX-1 have no cable, and their ways over
// PCIe are those of the NICs as well.
TEST(PrivateLinks, AreThoseThatNobodyElseTakes) {
  const FlowSettings settings = settings_with({});
  const auto switched = built("rail_optimized", {{"hosts", "2"}});
  const auto first = private_links(*switched, settings, HostId(0));
  const auto second = private_links(*switched, settings, HostId(1));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->links().size(), 16U) << "to the NVSwitch and from it, of eight GPUs";
  EXPECT_TRUE(first->is_like(*second));
  EXPECT_NE(first->links()[0], second->links()[0]);
  const auto mesh = built("rail_optimized", {{"hosts", "2"}, {"inside", "full_mesh"}});
  EXPECT_EQ(private_links(*mesh, settings, HostId(0))->links().size(), 56U) << "8 x 7";
  EXPECT_FALSE(first->is_like(*private_links(*mesh, settings, HostId(0))));
  for (const char* const inside : {"hybrid_cube_mesh", "pcie"}) {
    const auto shared = built("rail_optimized", {{"hosts", "2"}, {"inside", inside}});
    EXPECT_EQ(private_links(*shared, settings, HostId(0)), nullptr) << inside;
  }
}

// Two NVSwitches with two GPUs each: what goes from one to the other is of all four.
TEST(PrivateLinks, AreNotBetweenTwoNvSwitches) {
  TopologyBuilder builder("trunk");
  const HostId host = builder.add_host();
  std::vector<NodeId> gpus;
  for (int i = 0; i < 4; ++i) gpus.push_back(builder.add_endpoint(host, NodeKind::gpu));
  const NodeId left = builder.add_inside(host, NodeKind::nvswitch);
  const NodeId right = builder.add_inside(host, NodeKind::nvswitch);
  for (int i = 0; i < 4; ++i) builder.add_cable(gpus[i], i < 2 ? left : right, Bandwidth::gbps(100), Duration::zero());
  builder.add_cable(left, right, Bandwidth::gbps(100), Duration::zero());
  const auto topology = std::move(builder).build(nullptr, {"test", 0, 0, 1, ""});
  const FlowSettings settings = settings_with({});
  const LinkDelays delays(*topology, settings.switching_delay, settings.forwarding);
  EXPECT_EQ(PrivateLinks::among(*topology, delays, {gpus[0], gpus[2]}), nullptr);
  EXPECT_NE(PrivateLinks::among(*topology, delays, {gpus[0], gpus[1]}), nullptr);
}

TEST(InsideNetwork, TellsOfWhatIsUnderWay) {
  const auto topology = built("rail_optimized", {{"hosts", "1"}});
  const FlowSettings settings = settings_with({});
  const auto links = private_links(*topology, settings, HostId(0));
  InsideNetwork network = network_of(links, settings);
  EXPECT_TRUE(network.is_idle());
  const auto ends = topology->endpoints();
  network.start(transfer(ends[0], ends[1], 1'000'000, 5), Time::zero());
  EXPECT_EQ(network.next(), Time::zero() + settings.nvlink_latency);
  Told told;
  network.advance(network.next(), told);
  ASSERT_EQ(network.unfinished().size(), 1U);
  EXPECT_EQ(network.unfinished()[0].transfer.tag, 5U);
  EXPECT_TRUE(told.sent.empty());
}

}  // namespace
}  // namespace weft::inside_network_test
