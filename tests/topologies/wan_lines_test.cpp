// SPDX-License-Identifier: Apache-2.0
// Lines of multi_site: what is drawn, what is named, and what a hub joins.
#include "topologies/builders/wan_lines.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "topologies/reduced_topology.hpp"
#include "topologies/topology_summary.hpp"
#include "topology_help.hpp"

namespace weft::wan_lines_test {
namespace {

Bandwidth mbps(std::int64_t n) { return Bandwidth::bps(n * 1'000'000); }

WanSettings hub_of(std::uint32_t sites) {
  WanSettings settings;
  settings.sites = sites;
  settings.form = WanForm::hub;
  settings.rate = mbps(400);
  settings.rtt = Duration::ms(80);
  return settings;
}

TEST(WanLines, AHubsLineHasHalfOfTheRoundTrip) {
  WanSettings settings = hub_of(4);
  settings.rate_down = Bandwidth::gbps(1);
  settings.site_rate = "1=100Mbps, 2=200Mbps/300Mbps";
  settings.site_rtt = "3=10ms";
  settings.site_loss = "0=0.01/0.02";
  settings.site_jitter = "1=3ms";
  const auto lines = wan_lines(settings, "multi_site", {});
  ASSERT_EQ(lines.size(), 4U);
  // 80 ms between two sites: 40 ms between a site and the hub, 20 ms one way.
  EXPECT_EQ(lines[0].delay, Duration::ms(20));
  EXPECT_EQ(lines[3].delay, Duration::ms(5));
  EXPECT_EQ(lines[0].there, mbps(400));
  EXPECT_EQ(lines[0].back, Bandwidth::gbps(1));
  EXPECT_EQ(lines[1].back, mbps(100));
  EXPECT_EQ(lines[2].there, mbps(200));
  EXPECT_EQ(lines[2].back, mbps(300));
  EXPECT_EQ(lines[0].line_there.loss, 0.01);
  EXPECT_EQ(lines[0].line_back.loss, 0.02);
  EXPECT_EQ(lines[1].line_back.jitter, Duration::ms(3));
}

TEST(WanLines, APairMayBeNamedFromEitherEnd) {
  WanSettings settings = hub_of(3);
  settings.form = WanForm::mesh;
  settings.pair_rate = "2-0=100Mbps/300Mbps";
  const auto lines = wan_lines(settings, "multi_site", {});
  ASSERT_EQ(lines.size(), 3U);
  // Lines are 0-1, 0-2, 1-2. From 2 to 0 it is 100 Mb/s.
  EXPECT_EQ(lines[1].there, mbps(300));
  EXPECT_EQ(lines[1].back, mbps(100));
  EXPECT_EQ(lines[0].delay, Duration::ms(40));
}

TEST(WanLines, AreDrawnWithTheMeanAndSpreadAskedFor) {
  WanSettings settings = hub_of(1000);
  settings.rate_down = mbps(800);
  settings.rate_spread = 0.5;
  settings.rtt_spread = 0.5;
  settings.site_rate = "7=5Mbps";
  const auto lines = wan_lines(settings, "multi_site", {});
  double sum = 0;
  double squares = 0;
  double delays = 0;
  for (const WanLine& line : lines) {
    const double rate = static_cast<double>(line.there.in_bps()) / 400e6;
    sum += rate;
    squares += rate * rate;
    delays += line.delay.in_s() / 20e-3;
    // Both ways share the factor; rates are whole bits per second.
    if (&line == &lines[7]) continue;
    EXPECT_NEAR(static_cast<double>(line.back.in_bps()) / 800e6, rate, 1e-8);
  }
  EXPECT_EQ(lines[7].there, mbps(5));
  // The standard error of the mean is 0.5 / sqrt(1000) = 0.016: four of them.
  const double mean = sum / 1000;
  EXPECT_NEAR(mean, 1, 0.064);
  EXPECT_NEAR(delays / 1000, 1, 0.064);
  EXPECT_NEAR(std::sqrt(squares / 1000 - mean * mean), 0.5, 0.1);
  // The same seed draws the same, another one does not.
  EXPECT_EQ(wan_lines(settings, "multi_site", {})[0].there, lines[0].there);
  settings.seed = 2;
  EXPECT_NE(wan_lines(settings, "multi_site", {})[0].there, lines[0].there);
}

TEST(WanLines, AHubStandsInTheMiddle) {
  const auto topology = build_named("multi_site", {{"sites", "3"},
                                                   {"wan", "hub"},
                                                   {"fabric", "single_switch"},
                                                   {"fabric_params", "hosts=2"},
                                                   {"wan_rate", "200Mbps"},
                                                   {"wan_rate_down", "1Gbps"},
                                                   {"wan_loss", "0.001"},
                                                   {"hub_hosts", "2"},
                                                   {"hub_host_rate", "25Gbps"}});
  ASSERT_EQ(topology->host_count(), 8U);
  const NodeId hub = node_called(*topology, "internet");
  ASSERT_FALSE(hub.is_none());
  // Two hosts and three sites.
  ASSERT_EQ(topology->out_links(hub).size(), 5U);
  std::size_t lines = 0;
  for (const LinkId out : topology->out_links(hub)) {
    const LinkId in = topology->reverse(out);
    const bool is_line = topology->wide_area(out) != nullptr;
    EXPECT_EQ(topology->wide_area(in) != nullptr, is_line);
    EXPECT_EQ(topology->link(out).rate, is_line ? Bandwidth::gbps(1) : Bandwidth::gbps(25));
    EXPECT_EQ(topology->link(in).rate, is_line ? mbps(200) : Bandwidth::gbps(25));
    lines += is_line ? 1 : 0;
  }
  EXPECT_EQ(lines, 3U);
  // Hosts of the hub come last: the seventh and the eighth.
  EXPECT_EQ(topology->link(topology->out_links(topology->endpoints_of(HostId(7))[0])[0]).destination, hub);
}

TEST(WanLines, ManyDifferentLinesAreToldAsARange) {
  const auto topology = build_named("multi_site", {{"sites", "40"},
                                                   {"wan", "hub"},
                                                   {"fabric", "single_switch"},
                                                   {"fabric_params", "hosts=1"},
                                                   {"wan_rate_spread", "0.4"},
                                                   {"site_rate", "0=1Mbps 1=999Tbps"}});
  const std::string text = to_text(summarize(*topology));
  EXPECT_NE(text.find("cables     40 like site"), std::string::npos) << text;
  EXPECT_NE(text.find(": 1Mbps to 999Tbps, 12.5ms, wide area\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft::wan_lines_test
