// SPDX-License-Identifier: Apache-2.0
// Workloads of training across sites: who sends what to whom, and what waits for what.
#include "workloads/decentralized/site_training.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/workloads/templates/template_testing.hpp"

namespace weft::site_training_test {
namespace {

using template_testing::errors_in;
using template_testing::problems;
using template_testing::Settings;

Workload make(Settings settings) { return template_testing::make("across_sites", settings); }

/// 800 bytes a node, exchanged as they are.
Settings small(Settings more) {
  Settings settings = {{"nodes", "8"}, {"inner_steps", "4"}, {"step_time", "1s"}, {"parameters", "400"}, {"compression", "1"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

struct Sums {
  std::int64_t bytes = 0;
  std::uint64_t sends = 0;
  double compute_s = 0;
};

/// Of all ranks together.
Sums sums_of(const Workload& workload) {
  Sums sums;
  for (const std::uint16_t role : workload.role_of) {
    const RoleDag& dag = workload.roles[role];
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      const Op op = dag.op(OpId(i));
      if (op.kind == OpKind::send) {
        sums.bytes += op.bytes.count();
        ++sums.sends;
      }
      if (op.kind == OpKind::compute && op.processor == Processor::gpu) sums.compute_s += op.duration.in_s();
    }
  }
  return sums;
}

// 8 nodes of V = 400 values of 2 B.
TEST(SiteTraining, WaysOfExchangingSendWhatTheyAreKnownFor) {
  constexpr std::int64_t v = 800;
  constexpr std::int64_t n = 8;
  const auto sums = [](const char* exchange) { return sums_of(make(small({{"exchange", exchange}}))); };
  // Up to the server and back.
  EXPECT_EQ(sums("star").bytes, 2 * n * v);
  EXPECT_EQ(sums("star").sends, 2U * n);
  // 2 (n - 1) steps of V / n.
  EXPECT_EQ(sums("ring").bytes, n * 2 * (n - 1) * (v / n));
  EXPECT_EQ(sums("ring").sends, std::uint64_t{n} * 2 * (n - 1));
  EXPECT_EQ(sums("butterfly").bytes, n * 2 * (n - 1) * (v / n));
  // Four pairs.
  EXPECT_EQ(sums("gossip").bytes, n * v);
  EXPECT_EQ(sums("gossip").sends, std::uint64_t{n});
  for (const char* exchange : {"star", "ring", "butterfly", "gossip"})
    EXPECT_DOUBLE_EQ(sums(exchange).compute_s, n * 4.0) << exchange;
}

TEST(SiteTraining, CompressionAndBitsMakeExchangesSmaller) {
  EXPECT_EQ(sums_of(make(small({{"bits", "8"}}))).bytes, 2 * 8 * 400);
  // 400 x 16 bit / 8 / 100 = 8 B.
  EXPECT_EQ(sums_of(make({{"nodes", "8"}, {"parameters", "400"}, {"compression", "100"}})).bytes, 2 * 8 * 8);
}

TEST(SiteTraining, RanksThatAreAlikePlayOneRole) {
  EXPECT_EQ(make(small({})).roles.size(), 2U);  // nodes and the server
  EXPECT_EQ(make(small({{"exchange", "ring"}})).roles.size(), 1U);
  EXPECT_EQ(make(small({{"method", "hierarchical"}, {"group", "4"}})).roles.size(), 3U);
  // Two stages and a server.
  EXPECT_EQ(make(small({{"method", "pipeline_groups"}})).roles.size(), 3U);
  EXPECT_EQ(make(small({{"speed_spread", "0.1"}})).roles.size(), 9U);
}

// In regions: every node up and down each round. Among regions: each server up and down every
// second one.
TEST(SiteTraining, RegionsExchangeMoreOftenThanAllDo) {
  const Settings settings = small(
      {{"method", "hierarchical"}, {"group", "4"}, {"regional_steps", "2"}, {"outer_steps", "3"}, {"regional_compression", "2"}});
  const Sums sums = sums_of(make(settings));
  const std::int64_t rounds = 3 * 2;
  EXPECT_EQ(sums.bytes, rounds * 8 * 2 * 400 + 3 * 2 * 2 * 800);
  EXPECT_DOUBLE_EQ(sums.compute_s, 8.0 * rounds * 4);
  // Rings of 4 in regions, then one of the two first nodes, and its result down chains of 4 in
  // pieces of a quarter: three times V each.
  Settings rings = settings;
  rings.push_back({"regional_exchange", "ring"});
  rings.push_back({"exchange", "ring"});
  EXPECT_EQ(sums_of(make(rings)).bytes, rounds * 8 * 2 * 3 * 100 + 3 * (2 * 2 * 1 * 400 + 2 * 3 * 800));
}

// Four steps of four fragments: one is exchanged after each.
TEST(SiteTraining, FragmentsAreStaggeredOverTheInnerSteps) {
  const Workload workload = make(small({{"fragments", "4"}, {"overlap_steps", "2"}, {"outer_steps", "2"}}));
  EXPECT_EQ(sums_of(workload).bytes, 2 * 2 * 8 * 800);
  EXPECT_EQ(sums_of(workload).sends, 2U * 2 * 8 * 4);
  const RoleDag& node = workload.roles[0];
  std::uint32_t computations = 0;
  for (std::uint32_t i = 0; i < node.size(); ++i) computations += node.kind(OpId(i)) == OpKind::compute ? 1 : 0;
  EXPECT_EQ(computations, 8U);
}

// Without overlap a node waits; with one it computes two more steps first.
TEST(SiteTraining, OverlapLetsStepsGoBeforeAnExchange) {
  const auto second_waits_for_exchange = [](const char* overlap) {
    const Workload workload = make(small({{"outer_steps", "2"}, {"overlap_steps", overlap}}));
    const RoleDag& node = workload.roles[0];
    std::vector<OpId> computations;
    OpId down = OpId::none();
    for (std::uint32_t i = 0; i < node.size(); ++i) {
      if (node.kind(OpId(i)) == OpKind::compute) computations.emplace_back(i);
      if (node.kind(OpId(i)) == OpKind::receive && down.is_none()) down = OpId(i);
    }
    std::vector<bool> waits;
    for (std::size_t i = 1; i < computations.size(); ++i) {
      bool found = false;
      for (const OpId next : node.successors(down)) found = found || next == computations[i];
      waits.push_back(found);
    }
    return waits;
  };
  EXPECT_EQ(second_waits_for_exchange("0"), std::vector<bool>{true});
  EXPECT_EQ(second_waits_for_exchange("2"), (std::vector<bool>{false, true}));
}

// A step of 3 layers has 3 x 3 - 1 passes, the last 5 of them backward.
TEST(SiteTraining, LayersAreExchangedOneByOne) {
  const Workload workload = make(small({{"layers", "3"}, {"outer_steps", "2"}, {"inner_steps", "1"}, {"step_time", "8s"}}));
  EXPECT_EQ(sums_of(workload).sends, 2U * 2 * 8 * 3);
  std::map<double, int> durations;
  const RoleDag& node = workload.roles[0];
  for (std::uint32_t i = 0; i < node.size(); ++i) {
    if (node.kind(OpId(i)) == OpKind::compute) ++durations[node.op(OpId(i)).duration.in_s()];
  }
  // Per round three forwards, two backwards of both gradients, and one of the first layer.
  EXPECT_EQ(durations, (std::map<double, int>{{1, 2 * (3 + 1)}, {2, 2 * 2}}));
}

// Stage by stage 2 microbatches a step go on, come back, and each of 4 groups exchanges.
TEST(SiteTraining, PipelinesHandOverMicrobatches) {
  const Settings settings = small({{"method", "pipeline_groups"}, {"micro_batches", "2"}, {"activation", "1kB"}});
  const Sums sums = sums_of(make(settings));
  EXPECT_EQ(sums.bytes, 4 * 4 * 2 * 2 * 1000 + 2 * 8 * 400);
  EXPECT_DOUBLE_EQ(sums.compute_s, 4 * 4.0);
  // All parameters of a group over one line are twice its half over each.
  Settings leaders = settings;
  leaders.push_back({"leader_exchanges", "true"});
  EXPECT_EQ(sums_of(make(leaders)).bytes, sums.bytes);
  // Messages and as many acknowledgements.
  Settings blocking = settings;
  blocking.push_back({"blocking_sends", "true"});
  EXPECT_EQ(sums_of(make(blocking)).bytes, sums.bytes);
  EXPECT_EQ(sums_of(make(blocking)).sends - sums.sends, 4U * 4 * 2 * 2);
}

TEST(SiteTraining, SlowerNodesDoLessWhereNobodyWaits) {
  const Settings settings = small({{"method", "asynchronous"}, {"outer_steps", "100"}, {"speed_spread", "0.5"}});
  const Workload rounds = make(settings);
  Settings dynamic = settings;
  dynamic.push_back({"dynamic_steps", "true"});
  dynamic.push_back({"inner_steps", "100"});
  const auto times = [](const Workload& workload) {
    std::vector<double> all;
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
      double sum = 0;
      const RoleDag& dag = workload.dag_of(RankId(rank));
      for (std::uint32_t i = 0; i < dag.size(); ++i) sum += dag.op(OpId(i)).duration.in_s();
      all.push_back(sum);
    }
    return all;
  };
  // Rounds, or steps of a round, are whole numbers.
  const std::vector<double> by_rounds = times(rounds);
  const std::vector<double> by_steps = times(make([&] {
    Settings once = dynamic;
    once.erase(once.begin() + 1);  // the smaller number of inner steps
    return once;
  }()));
  const auto spread = [](const std::vector<double>& all) {
    return *std::max_element(all.begin(), all.end()) / *std::min_element(all.begin(), all.end());
  };
  EXPECT_LT(spread(by_rounds), 1.05);
  EXPECT_LT(spread(by_steps), 1.05);
}

// Who is back fetches 800 B, and the others had waited for it.
TEST(SiteTraining, NodesLeaveAndComeBack) {
  const Workload workload = make(small({{"outer_steps", "200"}, {"leave_probability", "0.1"}}));
  std::uint64_t models = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t rounds = 0;
  for (const std::uint16_t role : workload.role_of) {
    const RoleDag& dag = workload.roles[role];
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      models += dag.kind(OpId(i)) == OpKind::receive && dag.name(OpId(i)).starts_with("model") ? 1 : 0;
      timeouts += dag.name(OpId(i)).starts_with("timeout") ? 1 : 0;
      rounds += dag.name(OpId(i)).starts_with("steps") ? 1 : 0;
    }
  }
  // 7 nodes may leave: of 199 rounds in 10 of 110, as they do not leave again in the round in which
  // they are back.
  const double expected = 7 * 199 / 11.0;
  EXPECT_NEAR(static_cast<double>(models), expected, 4 * std::sqrt(expected));
  EXPECT_NEAR(static_cast<double>(8 * 200 - rounds), static_cast<double>(models), 7);
  // Some round in which one leaves: 1 - (10 / 11)^7 of them.
  EXPECT_NEAR(static_cast<double>(timeouts), 199 * (1 - std::pow(10 / 11.0, 7)), 30);
  EXPECT_EQ(workload.assumptions.back(), fmt::format("departures of nodes: {}, in 200 rounds", 8 * 200 - rounds));
}

// Others wait in vain once a round, however many fragments there are: in round 1 all but the first
// node are gone.
TEST(SiteTraining, DeparturesAreNoticedOnceARound) {
  for (const Settings& more : {Settings{}, Settings{{"fragments", "4"}}, Settings{{"layers", "4"}}}) {
    Settings settings = small({{"outer_steps", "2"}, {"leave_probability", "1"}});
    settings.insert(settings.end(), more.begin(), more.end());
    const Workload workload = make(settings);
    int timeouts = 0;
    for (const RoleDag& dag : workload.roles) {
      for (std::uint32_t i = 0; i < dag.size(); ++i) timeouts += dag.name(OpId(i)).starts_with("timeout") ? 1 : 0;
    }
    EXPECT_EQ(timeouts, 1);
  }
}

// Who stayed gives the model once the averages of both layers have come: a ring of three takes four
// receives for each.
TEST(SiteTraining, ModelsAreGivenWithWhatExchangesCameTo) {
  const Workload workload = make(small({{"nodes", "3"},
                                        {"exchange", "ring"},
                                        {"inner_steps", "1"},
                                        {"layers", "2"},
                                        {"leave_probability", "0.5"},
                                        {"outer_steps", "20"}}));
  int given = 0;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const RoleDag& dag = workload.dag_of(RankId(rank));
    std::string last_receive;
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      const std::string name(dag.name(OpId(i)));
      if (name.starts_with("ring.receive")) last_receive = name;
      if (!name.starts_with("model") || dag.kind(OpId(i)) != OpKind::send || last_receive.empty()) continue;
      ++given;
      EXPECT_TRUE(template_testing::follows(dag, name, last_receive)) << name << " " << last_receive;
    }
  }
  EXPECT_GT(given, 0);
}

// Two regions of a node each: what came of fragment 0 of the fourth round, exchanged among regions
// after step 350, is waited for 5 x 4 steps later.
TEST(SiteTraining, ExchangesAmongRegionsAreWaitedForInTheirWindow) {
  const Workload workload = make({{"method", "hierarchical"},
                                  {"nodes", "2"},
                                  {"group", "1"},
                                  {"regional_exchange", "ring"},
                                  {"exchange", "ring"},
                                  {"inner_steps", "100"},
                                  {"step_time", "1s"},
                                  {"overlap_steps", "5"},
                                  {"regional_steps", "4"},
                                  {"fragments", "2"}});
  std::vector<double> ends;
  double at = 0;
  const RoleDag& leader = workload.roles[0];
  for (std::uint32_t i = 0; i < leader.size(); ++i) {
    if (leader.kind(OpId(i)) == OpKind::compute) ends.push_back(at += leader.op(OpId(i)).duration.in_s());
  }
  for (const double end : {305.0, 350.0, 355.0, 370.0, 400.0}) EXPECT_NE(std::ranges::find(ends, end), ends.end()) << end;
}

TEST(SiteTraining, EveryCombinationIsAWorkloadWhoseMessagesMatch) {
  int made = 0;
  for (const char* method : {"diloco", "hierarchical", "pipeline_groups", "pipeline", "asynchronous"}) {
    for (const char* exchange : {"star", "ring", "butterfly", "gossip"}) {
      for (const Settings& more :
           {Settings{}, Settings{{"fragments", "3"}, {"overlap_steps", "2"}}, Settings{{"leave_probability", "0.3"}},
            Settings{{"speed_spread", "0.5"}, {"seed", "7"}}, Settings{{"regional_exchange", "ring"}, {"overlap_steps", "4"}},
            Settings{{"regional_exchange", "butterfly"}, {"leave_probability", "0.2"}, {"away_steps", "2"}},
            Settings{{"blocking_sends", "true"}}, Settings{{"backward", "false"}, {"stages", "3"}, {"blocking_sends", "true"}},
            Settings{{"leader_exchanges", "true"}, {"leave_probability", "0.3"}}, Settings{{"layers", "5"}}}) {
        Settings settings = small({{"method", method}, {"exchange", exchange}, {"outer_steps", "5"}});
        if (std::string(method) == "pipeline")
          settings = {{"method", method}, {"nodes", "8"}, {"inner_steps", "3"}, {"activation", "1kB"}};
        if (std::string(method) == "hierarchical") settings.insert(settings.end(), {{"group", "4"}, {"regional_steps", "2"}});
        settings.insert(settings.end(), more.begin(), more.end());
        std::string errors = errors_in("across_sites", settings);
        if (!errors.empty()) {
          const bool is_unused = errors.find(" needs ") != std::string::npos;
          EXPECT_HAS(errors, is_unused ? "[unused-setting]" : "[bad-plan]");
          continue;
        }
        ++made;
        EXPECT_EQ(problems(make(settings)), std::vector<std::string>())
            << method << " " << exchange << " " << fmt::format("{}", made);
      }
    }
  }
  EXPECT_GT(made, 60);
}

// What a server sends waits for one average of what it has got: of n nodes n + n edges, not n x n,
// and the next round's wait for nothing.
TEST(SiteTraining, ServersHaveAsManyEdgesAsMessages) {
  const Workload workload = make(small({{"nodes", "100"}, {"outer_steps", "2"}}));
  ASSERT_EQ(workload.roles.size(), 2U);
  const RoleDag& server = workload.roles[1];
  EXPECT_EQ(server.size(), 2 * (100 + 1 + 100U));
  EXPECT_EQ(server.edge_count(), 2 * (100 + 100U));
}

// A butterfly's n - 1 parts and as many averages go out and come in, each with an edge: to what is
// sent from the last step or the average, and from what has come to the average or the end. In
// later rounds parts wait for the exchange before, too.
TEST(SiteTraining, ButterfliesHaveAsManyEdgesAsMessages) {
  const auto edges = [](const char* nodes) {
    return make(small({{"nodes", nodes}, {"exchange", "butterfly"}, {"outer_steps", "3"}})).roles[0].edge_count();
  };
  EXPECT_EQ(edges("201") - edges("101"), (4 + 5 + 5) * 100U);
}

TEST(SiteTraining, SaysWhatIsWrong) {
  const auto errors = [](Settings settings) { return errors_in("across_sites", small(settings)); };
  EXPECT_HAS(errors({{"method", "hierarchical"}, {"group", "3"}}), "nodes = 8 are no regions of group = 3 [bad-plan]");
  EXPECT_HAS(errors({{"method", "hierarchical"}, {"group", "9"}}), "nodes = 8 are no regions of group = 9 [bad-plan]");
  EXPECT_HAS(errors({{"method", "pipeline_groups"}, {"stages", "5"}}), "nodes = 8 make no two groups of stages = 5 [bad-plan]");
  EXPECT_HAS(errors_in("across_sites", {{"method", "pipeline"}, {"nodes", "8"}, {"stages", "9"}}),
             "stages = 9 are more than nodes = 8 [bad-plan]");
  EXPECT_HAS(errors({{"method", "asynchronous"}, {"exchange", "ring"}}), "[bad-plan]");
  EXPECT_HAS(errors({{"fragments", "5"}}), "fragments = 5 are more than inner_steps = 4 [bad-plan]");
  EXPECT_HAS(errors({{"overlap_steps", "5"}}), "overlap_steps = 5 are more than inner_steps = 4 [bad-plan]");
  EXPECT_HAS(errors({{"layers", "2"}, {"fragments", "2"}}), "[bad-plan]");
  EXPECT_HAS(errors({{"stages", "3"}}), "stages needs method=pipeline_groups or pipeline [unused-setting]");
  EXPECT_HAS(errors({{"dynamic_steps", "true"}}), "dynamic_steps needs method=asynchronous [unused-setting]");
  const std::string both = errors({{"stages", "3"}, {"dynamic_steps", "true"}});
  EXPECT_HAS(both, "stages needs ");
  EXPECT_HAS(both, "dynamic_steps needs ");
  // Nodes alike are written once, however many rounds a server has to serve them.
  EXPECT_HAS(errors({{"nodes", "65000"}, {"outer_steps", "100000"}}), "[too-large]");
  EXPECT_HAS(errors({{"nodes", "65000"}, {"outer_steps", "1000"}, {"exchange", "gossip"}}), "[too-large]");
  EXPECT_HAS(errors({{"nodes", "65000"}, {"outer_steps", "100000"}, {"leave_probability", "0.01"}}),
             "it is drawn more than 2^28 times");
  EXPECT_HAS(errors({{"away_steps", "3"}}), "away_steps needs leave_probability above 0 [unused-setting]");
  EXPECT_HAS(errors({{"method", "hierarchical"}, {"group", "4"}, {"regional_compression", "0.5"}}), "[out-of-range]");
  EXPECT_HAS(
      errors({{"nodes", "65000"}, {"method", "hierarchical"}, {"group", "1"}, {"speed_spread", "0.1"}, {"outer_steps", "1"}}),
      "more than 65535 ranks differ");
  EXPECT_HAS(errors({{"inner_steps", "0"}}), "[out-of-range]");
  EXPECT_HAS(errors({{"nodes", "0"}}), "[out-of-range]");
  EXPECT_HAS(errors({{"outer_steps", "1000000"}, {"exchange", "ring"}}), "[too-large]");
  EXPECT_HAS(errors({{"step_time", "31536000s"}}), "[too-large]");
  EXPECT_HAS(errors({{"parameters", "1e15"}, {"bits", "64"}}), "[too-large]");
}

}  // namespace
}  // namespace weft::site_training_test
