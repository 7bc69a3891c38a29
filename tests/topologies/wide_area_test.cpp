// SPDX-License-Identifier: Apache-2.0
// Lines between sites: other rates each way, loss and jitter, from the file to the summary.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/text/diagnostics.hpp"
#include "topologies/reduced_topology.hpp"
#include "topologies/topology_summary.hpp"
#include "topologies/topology_writer.hpp"
#include "topology_help.hpp"

namespace weft::wide_area_test {
namespace {

Bandwidth mbps(std::int64_t n) { return Bandwidth::bps(n * 1'000'000); }

constexpr std::string_view two_sites = R"(name: "line"
host { port: "a" }
host { port: "b" }
switch { name: "ra" }
switch { name: "rb" }
link { a: "a" b: "ra" rate: "10Gbps" delay: "1us" }
link { a: "b" b: "rb" rate: "10Gbps" delay: "1us" }
)";

std::shared_ptr<const Topology> read_with(const std::string& link) {
  return read_topology(SourceText("lines", std::string(two_sites) + "link { a: \"ra\" b: \"rb\" delay: \"5ms\" " + link + " }\n"),
                       "weft");
}

LinkId link_called(const Topology& topology, std::string_view name) {
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    if (topology.link_name(LinkId(i)) == name) return LinkId(i);
  }
  return LinkId::none();
}

TEST(WideArea, EachWayHasItsRateLossAndJitter) {
  const auto topology =
      read_with(R"(rate: "200Mbps" rate_back: "1Gbps" wide_area { loss: 0.001 jitter: "2ms" } wide_area_back { loss: 0.01 })");
  const LinkId there = link_called(*topology, "ra->rb");
  const LinkId back = topology->reverse(there);
  EXPECT_EQ(topology->link(there).rate, mbps(200));
  EXPECT_EQ(topology->link(back).rate, Bandwidth::gbps(1));
  EXPECT_TRUE(topology->has_wide_area());
  ASSERT_NE(topology->wide_area(there), nullptr);
  EXPECT_EQ(*topology->wide_area(there), (WideAreaLine{0.001, Duration::ms(2)}));
  ASSERT_NE(topology->wide_area(back), nullptr);
  EXPECT_EQ(*topology->wide_area(back), (WideAreaLine{0.01, Duration::zero()}));
  for (std::uint32_t i = 0; i < topology->link_count(); ++i) {
    EXPECT_EQ(topology->wide_area(LinkId(i)) != nullptr, LinkId(i) == there || LinkId(i) == back) << i;
  }
}

TEST(WideArea, MostTopologiesHaveNone) {
  const auto plain = read_with(R"(rate: "1Gbps")");
  EXPECT_FALSE(plain->has_wide_area());
  EXPECT_EQ(plain->wide_area(LinkId(0)), nullptr);
  // A line may lose nothing and have no jitter, and is one all the same.
  const auto line = read_with(R"(rate: "1Gbps" wide_area { })");
  EXPECT_EQ(*line->wide_area(link_called(*line, "rb->ra")), WideAreaLine{});
}

TEST(WideArea, IsWrittenAndReadAgain) {
  for (const char* link : {R"(rate: "200Mbps" rate_back: "1Gbps" cables: 3)", R"(rate: "1Gbps" wide_area { })",
                           R"(rate: "1Gbps" rate_back: "3bps" wide_area { loss: 0.0123456789 jitter: "1.5us" })",
                           R"(rate: "1Gbps" wide_area { loss: 0.5 } wide_area_back { jitter: "1ms" })"}) {
    const auto topology = read_with(link);
    const std::string text = write_topology(*topology, "weft", {});
    const auto again = read_topology(SourceText("written", text), "weft");
    ASSERT_EQ(again->link_count(), topology->link_count());
    for (std::uint32_t i = 0; i < topology->link_count(); ++i) {
      EXPECT_EQ(again->link(LinkId(i)).rate, topology->link(LinkId(i)).rate) << text;
      const WideAreaLine* const line = topology->wide_area(LinkId(i));
      ASSERT_EQ(again->wide_area(LinkId(i)) != nullptr, line != nullptr) << text;
      if (line == nullptr) continue;
      EXPECT_EQ(*again->wide_area(LinkId(i)), *line) << text;
    }
    EXPECT_EQ(write_topology(*again, "weft", {}), text);
  }
}

std::string code_of(const std::string& link) {
  try {
    read_with(link);
  } catch (const InputError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

TEST(WideArea, WhatIsNoLineIsRefused) {
  EXPECT_EQ(code_of(R"(rate: "1Gbps" wide_area { loss: 1 })"), "out-of-range");
  EXPECT_EQ(code_of(R"(rate: "1Gbps" wide_area { loss: -0.1 })"), "out-of-range");
  EXPECT_EQ(code_of(R"(rate: "1Gbps" wide_area { loss: nan })"), "out-of-range");
  EXPECT_EQ(code_of(R"(rate: "1Gbps" wide_area { jitter: "-1ms" })"), "bad-value");
  EXPECT_EQ(code_of(R"(rate: "1Gbps" wide_area { jitter: "2h" })"), "out-of-range");
  EXPECT_EQ(code_of(R"(rate: "1Gbps" wide_area_back { loss: 0.1 })"), "missing-field");
  EXPECT_EQ(code_of(R"(rate: "1Gbps" rate_back: "0Gbps")"), "zero-bandwidth");
  EXPECT_EQ(code_of(R"(rate_back: "1Gbps")"), "missing-field");
}

TEST(WideArea, FormatsOfOneRateRefuseTwo) {
  const auto topology = read_with(R"(rate: "200Mbps" rate_back: "1Gbps")");
  for (const char* format : {"hpcc", "simai"}) {
    try {
      write_topology(*topology, format, {});
      ADD_FAILURE() << format;
    } catch (const InputError& error) {
      EXPECT_EQ(error.diagnostics().front().code, "not-expressible");
    }
  }
  EXPECT_NE(write_topology(*topology, "dot", {}).find("200Mbps, back 1Gbps"), std::string::npos);
  const auto lossy = read_with(R"(rate: "1Gbps" wide_area { loss: 0.1 })");
  EXPECT_EQ(std::ranges::count(lost_in_format(*lossy, "hpcc"), "loss and jitter of lines between sites are not in the format"), 1);
}

TEST(WideArea, IsKeptWhereCablesAreSlowOrGone) {
  const auto topology = read_with(R"(rate: "200Mbps" rate_back: "1Gbps" wide_area { loss: 0.1 } wide_area_back { loss: 0.2 })");
  const LinkId there = link_called(*topology, "ra->rb");
  const std::array half = {CableShare{there, 0.5}};
  const auto slow = with_less(*topology, half);
  EXPECT_EQ(slow->link(there).rate, mbps(100));
  EXPECT_EQ(slow->link(slow->reverse(there)).rate, mbps(500));
  EXPECT_EQ(slow->wide_area(there)->loss, 0.1);
  EXPECT_EQ(slow->wide_area(slow->reverse(there))->loss, 0.2);
}

TEST(WideArea, TheSummaryTellsLinesByName) {
  const auto topology = read_with(
      R"(rate: "200Mbps" rate_back: "1Gbps" wide_area { loss: 0.001 jitter: "2ms" } wide_area_back { loss: 0.01 jitter: "2ms" })");
  const std::string text = to_text(summarize(*topology));
  EXPECT_NE(text.find("  cables     1 x ra - rb: 200Mbps (back 1Gbps), 5ms, wide area, loss 0.1 % (back 1 %), jitter 2ms\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace weft::wide_area_test
