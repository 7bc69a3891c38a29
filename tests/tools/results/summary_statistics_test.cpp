// SPDX-License-Identifier: Apache-2.0
#include "tools/results/summary_statistics.hpp"

#include <gtest/gtest.h>

namespace weft::summary_statistics_test {
namespace {

Time at(std::int64_t seconds) { return Time::zero() + Duration::s(seconds); }

// Means over those that ended: (2 + 4) / 2 s of waiting, (12 + 24) / 2 s to completion.
TEST(SummaryStatistics, MeansAreOfJobsThatEnded) {
  SummaryStatistics statistics;
  JobRow row;
  row.end = at(12);
  row.wait = Duration::s(2);
  row.completion = Duration::s(12);
  statistics.add_job(row);
  row.wait = Duration::s(4);
  row.completion = Duration::s(24);
  statistics.add_job(row);
  JobRow unfinished;
  unfinished.wait = Duration::s(1000);
  statistics.add_job(unfinished);
  RunSummary summary;
  statistics.fill(summary);
  EXPECT_EQ(statistics.jobs_done(), 2U);
  EXPECT_DOUBLE_EQ(summary.mean_wait_s, 3);
  EXPECT_DOUBLE_EQ(summary.mean_jct_s, 18);
}

// A row that stands for three transfers counts three times: (3 x 1 + 1 x 5) / 4 = 2 s, slowdowns
// (3 x 1 + 1 x 2.5) / 4, and 3 x 10 + 20 bytes.
TEST(SummaryStatistics, CountsRowsByTheirMultiplicity) {
  SummaryStatistics statistics;
  FlowRow row;
  row.size = Bytes::of(10);
  row.completion = Duration::s(1);
  row.slowdown = 1;
  row.multiplicity = 3;
  statistics.add_flow(row);
  row.size = Bytes::of(20);
  row.completion = Duration::s(5);
  row.slowdown = 2.5;
  row.multiplicity = 1;
  statistics.add_flow(row);
  RunSummary summary;
  statistics.fill(summary);
  EXPECT_EQ(summary.flows_finished, 4U);
  EXPECT_EQ(summary.flows_simulated, 2U);
  EXPECT_DOUBLE_EQ(summary.mean_fct_s, 2);
  EXPECT_DOUBLE_EQ(summary.mean_slowdown, 5.5 / 4);
  EXPECT_DOUBLE_EQ(summary.payload_bytes, 50);
}

TEST(SummaryStatistics, TellsOfTiersInPacketModeOnly) {
  SummaryStatistics statistics;
  LinkRow row;
  row.tier = "host->leaf";
  row.mean_utilization = 0.5;
  row.link = "slow";
  row.paused = Duration::us(2);
  statistics.add_link(row);
  row.link = "busy";
  row.mean_utilization = 0.75;
  row.paused = Duration::us(3);
  row.drops = 4;
  statistics.add_link(row);
  row.tier = "host";
  row.is_inside_host = true;
  row.mean_utilization = 0.1;
  statistics.add_link(row);
  RunSummary flow;
  statistics.fill(flow);
  EXPECT_EQ(flow.busiest_link, "busy");
  EXPECT_TRUE(flow.tiers.empty());
  RunSummary packet;
  packet.packets.emplace();
  statistics.fill(packet);
  ASSERT_EQ(packet.tiers.size(), 1U) << "links inside a host are no tier";
  EXPECT_EQ(packet.tiers[0].links, 2U);
  EXPECT_EQ(packet.tiers[0].paused, Duration::us(5));
  EXPECT_EQ(packet.tiers[0].paused_link_max, Duration::us(3));
  EXPECT_EQ(packet.tiers[0].drops, 4U);
}

TEST(SummaryStatistics, ForgetARunThatBeginsAnew) {
  SummaryStatistics statistics;
  IterationRow row;
  row.end = at(100);
  statistics.add_iteration(row);
  statistics.begin();
  row.end = at(1);
  statistics.add_iteration(row);
  RunSummary summary;
  statistics.fill(summary);
  EXPECT_EQ(summary.iterations, 1U);
  EXPECT_DOUBLE_EQ(summary.mean_iteration_s, 1);
  EXPECT_EQ(statistics.iterations_done(), 1U);
}

}  // namespace
}  // namespace weft::summary_statistics_test
