// SPDX-License-Identifier: Apache-2.0
// Runs go by the routes of a user's own: the links that they load say so, in both modes and however
// ranks are folded.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "scenario_run.hpp"

#include "workloads/dag/dag.hpp"

namespace weft::static_routes_test {
namespace {

// Three switches in a ring, with four hosts each; what goes from a switch to the hosts of the next
// takes the way by the third.
class StaticRouteRuns : public testing::Test {
 protected:
  StaticRouteRuns() {
    std::string topology;
    std::string links;
    std::string routes;
    for (int host = 0; host < 12; ++host) {
      const std::string name = "h" + std::to_string(host);
      topology += "host { port: \"" + name + "\" }\n";
      links += cable(name, "s" + std::to_string(host / 4));
      routes += fmt::format("route {{ at: \"s{}\" to: \"{}\" via: \"s{}\" }}\n", (host / 4 + 2) % 3, name, (host / 4 + 1) % 3);
    }
    for (const char* name : {"s0", "s1", "s2"}) topology += std::string("switch { name: \"") + name + "\" }\n";
    flags_.topology = folder_.write("ring.textproto", topology + links + cable("s0", "s1") + cable("s1", "s2") + cable("s2", "s0"));
    flags_.settings = {"flow.routing=static", "flow.routes=" + folder_.write("routes.textproto", routes)};
  }

  static std::string cable(const std::string& a, const std::string& b) {
    return "link { a: \"" + a + "\" b: \"" + b + "\" rate: \"100Gbps\" fibre: \"2m\" }\n";
  }
  static std::uint64_t bytes(const ScenarioRun& run, const std::string& link) {
    for (const auto& row : run.links) {
      if (row.at("link") == link) return std::stoull(row.at("bytes"));
    }
    return 0;
  }

  ScratchFolder folder_;
  RunFlags flags_;
};

TEST_F(StaticRouteRuns, LoadTheLinksThatTheyName) {
  flags_.flows = folder_.write("flow.txt", "2\n0 4 3 100 1000000 0\n5 1 3 100 2000000 0\n") + ":hpcc";
  for (const char* mode : {"flow", "packet"}) {
    flags_.mode = mode;
    const ScenarioRun run = run_scenario(flags_, ScenarioRunOptions{});
    EXPECT_GT(bytes(run, "s0->s2"), 1'000'000U) << mode;
    EXPECT_GE(bytes(run, "s2->s1"), bytes(run, "s0->s2")) << mode;
    EXPECT_GT(bytes(run, "s1->s0"), 2'000'000U) << mode;
    EXPECT_EQ(bytes(run, "s0->s1"), 0U) << mode;
  }
}

// Twelve ranks send 1 MB to each other. Those from s0 to s1, those from s0 to s2, and those from s1
// to s2, 16 messages each, share one link. Ranks at the same place of each switch are alike.
TEST_F(StaticRouteRuns, FoldToTheSameResult) {
  flags_.workload =
      folder_.write("work.textproto", "ranks: 12 role { op { name: \"a2a\" collective { type: ALL_TO_ALL size: \"12MB\" } } }");
  const std::vector<std::string> settings = flags_.settings;
  ScenarioRun runs[2];
  for (int folded = 0; folded < 2; ++folded) {
    flags_.settings = settings;
    flags_.settings.push_back(folded == 1 ? "host.fold_ranks=on" : "host.fold_ranks=off");
    runs[folded] = run_scenario(flags_, ScenarioRunOptions{});
    EXPECT_EQ(bytes(runs[folded], "s0->s1"), 0U);
    EXPECT_GT(bytes(runs[folded], "s0->s2"), 48'000'000U);
  }
  EXPECT_EQ(runs[0].summary.ranks_simulated, 0U);
  EXPECT_EQ(runs[1].summary.ranks_simulated, 4U);
  EXPECT_NEAR(runs[1].summary.makespan.in_ns(), runs[0].summary.makespan.in_ns(), 1);
  for (const char* link : {"s0->s2", "s1->s0", "s2->s1"}) {
    EXPECT_EQ(bytes(runs[0], link), bytes(runs[1], link)) << link;
  }
}

}  // namespace
}  // namespace weft::static_routes_test
