// SPDX-License-Identifier: Apache-2.0
// Samples of tiers add up to what links carried, are few, and change no result.
#include "tools/simulation/tier_sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "tests/tools/weft/weft_process.hpp"
#include "tools/results/memory_sink.hpp"
#include "tools/simulation/run.hpp"

namespace weft::tier_sampler_test {
namespace {

struct Sampled {
  MemorySink sink;
  std::string fingerprint;
};

class TierSamples : public testing::TestWithParam<std::string> {
 protected:
  TierSamples() {
    // Four iterations with pauses in between: transfers come in bursts, and an
    // all-reduce whose ring is alone on its links goes ahead of the clock.
    folder_.write("cluster.textproto", "mode: " + GetParam() +
                                           "\n topology { builder: \"rail_optimized\" set { name: \"hosts\" value: \"4\" } }\n"
                                           "job { name: \"a\" iterations: 4 workload { file: \"ops.textproto\" } }\n"
                                           "set { name: \"collective.all_reduce\" value: \"ring\" }\n");
    folder_.write("ops.textproto",
                  "ranks: 4 role { name: \"all\" op { name: \"wait\" compute { duration: \"2ms\" } }\n"
                  "op { name: \"sum\" deps: \"wait\" collective { type: ALL_REDUCE size: \"4MB\" } } }\n");
  }

  std::unique_ptr<Sampled> run_sampled(bool samples, std::uint32_t threads = 1, std::optional<Time> until = {}) const {
    auto sampled = std::make_unique<Sampled>();
    RunFlags flags;
    flags.scenario_file = (folder_ / "cluster.textproto").string();
    RunOptions options;
    options.samples_tiers = samples;
    options.threads = threads;
    options.until = until;
    sampled->fingerprint = run(load_scenario(flags), sampled->sink, options).summary.fingerprint;
    return sampled;
  }

  TestFolder folder_;
};

TEST_P(TierSamples, AddUpToWhatLinksCarried) {
  const auto sampled = run_sampled(true);
  std::map<std::string, Bytes> by_tier;
  std::map<std::string, std::uint64_t> links;
  for (const LinkRow& link : sampled->sink.links) {
    if (link.is_inside_host) continue;
    by_tier[std::string(link.tier)] += link.bytes;
    ++links[std::string(link.tier)];
  }
  ASSERT_GT(by_tier.size(), 1U);
  std::map<std::string, Bytes> of_samples;
  for (const TierSampleRow& row : sampled->sink.tier_samples) {
    of_samples[std::string(row.tier)] += row.bytes;
    EXPECT_EQ(row.links, links.at(std::string(row.tier)));
    EXPECT_LE(row.mean_utilization, row.max_utilization);
    // A packet counts as a whole where it begins.
    EXPECT_LE(row.max_utilization, 1.05);
    EXPECT_EQ(row.busiest.empty(), row.bytes == Bytes::zero());
  }
  EXPECT_EQ(of_samples, by_tier);
}

TEST_P(TierSamples, AreOfOneLengthWithoutGaps) {
  const auto sampled = run_sampled(true);
  const auto& rows = sampled->sink.tier_samples;
  std::set<Time> begins;
  for (const TierSampleRow& row : rows) begins.insert(row.begin);
  EXPECT_LE(begins.size(), TierSampler::intervals_most);
  // 10 us doubled until 240 of them hold the run of 8 ms and some: 40 us, of which 200 and some.
  EXPECT_GT(begins.size(), TierSampler::intervals_most / 3);
  const Duration interval = rows.front().end - rows.front().begin;
  Time at = Time::zero();
  for (const Time begin : begins) {
    EXPECT_EQ(begin, at);
    at += interval;
  }
  EXPECT_LE(rows.back().end, at);
  EXPECT_GT(rows.back().end, rows.back().begin);
}

TEST_P(TierSamples, ShowWhenNothingMoved) {
  const auto sampled = run_sampled(true);
  // Two milliseconds of computation come before each all-reduce.
  for (const TierSampleRow& row : sampled->sink.tier_samples) {
    EXPECT_TRUE(row.bytes == Bytes::zero() || row.end > Time::zero() + Duration::ms(2));
  }
}

TEST_P(TierSamples, ChangeNoResultAndDependOnNoThreads) {
  const auto without = run_sampled(false);
  const auto with = run_sampled(true);
  const auto on_two = run_sampled(true, 2);
  EXPECT_EQ(without->fingerprint, with->fingerprint);
  EXPECT_TRUE(without->sink.tier_samples.empty());
  ASSERT_EQ(with->sink.tier_samples.size(), on_two->sink.tier_samples.size());
  for (std::size_t i = 0; i < with->sink.tier_samples.size(); ++i) {
    const TierSampleRow& a = with->sink.tier_samples[i];
    const TierSampleRow& b = on_two->sink.tier_samples[i];
    EXPECT_EQ(std::tie(a.begin, a.end, a.tier, a.bytes, a.max_utilization, a.busiest, a.queue),
              std::tie(b.begin, b.end, b.tier, b.bytes, b.max_utilization, b.busiest, b.queue));
  }
}

TEST_P(TierSamples, EndWhereARunIsStopped) {
  const Time until = Time::zero() + Duration::us(4321);
  const auto sampled = run_sampled(true, 1, until);
  EXPECT_EQ(sampled->sink.tier_samples.back().end, until);
}

INSTANTIATE_TEST_SUITE_P(Modes, TierSamples, testing::Values("FLOW", "PACKET"), [](const auto& of) { return of.param; });

}  // namespace
}  // namespace weft::tier_sampler_test
