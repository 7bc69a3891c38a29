// SPDX-License-Identifier: Apache-2.0
// Level repair: levels by hand, and what only long or odd sequences of changes meet.
#include "network/max_min/level_repair.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/values/random.hpp"
#include "network/max_min/max_min_solver.hpp"
#include "tests/network/max_min/max_min_oracle.hpp"

namespace weft::level_repair_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

MaxMinSolver::Options repairs_only() {
  MaxMinSolver::Options options;
  options.threads = 1;
  options.repaired_part_max = kInfinity;
  return options;
}

std::vector<LinkId> links(std::initializer_list<std::uint32_t> numbers) {
  std::vector<LinkId> made;
  for (const std::uint32_t number : numbers) made.emplace_back(number);
  return made;
}

TEST(LevelRepair, FindsTheLevelsOfAParkingLot) {
  // Links of 3, 10 and 10: the long flow a gets 1 on the first (three flows), which leaves 9 of the
  // second and of the third to one flow each.
  FlowLinkGraph graph({3, 10, 10});
  LevelState state(graph);
  LevelRepair repair;
  std::vector<FlowSlot> flows;
  std::vector<FlowSlot> touched;
  const std::vector<std::vector<LinkId>> paths = {links({0, 1, 2}), links({0}), links({0}), links({1}), links({2})};
  for (const auto& path : paths) {
    flows.push_back(graph.add({path}));
    state.on_added(flows.back());
  }
  const std::vector<LinkId> all = links({0, 1, 2});
  ASSERT_TRUE(repair.run(state, all, 1000, touched));
  EXPECT_EQ(state.level(LinkId(0)), 1);
  EXPECT_EQ(state.level(LinkId(1)), 9);
  EXPECT_EQ(state.level(LinkId(2)), 9);
  EXPECT_EQ(state.rate(flows[0]), 1);
  EXPECT_EQ(state.rate(flows[4]), 9);
  EXPECT_EQ(touched.size(), 5U);

  // Without the second flow the first link gives 1.5 to each of two; the rest of the others falls
  // to 8.5.
  for (const FlowSlot flow : touched) state.untouch(flow);
  touched.clear();
  state.on_removed(flows[1]);
  graph.remove(flows[1]);
  ASSERT_TRUE(repair.run(state, std::span(all).first(1), 1000, touched));
  EXPECT_EQ(state.rate(flows[0]), 1.5);
  EXPECT_EQ(state.rate(flows[2]), 1.5);
  EXPECT_EQ(state.rate(flows[3]), 8.5);
  EXPECT_EQ(touched.size(), 4U);
}

TEST(LevelRepair, TouchesNothingThatAChangeDoesNotReach) {
  // A second flow on link 1, which the first does not fill because link 0 limits it to 1 of 10,
  // takes what is left: nobody else moves.
  FlowLinkGraph graph({1, 10});
  LevelState state(graph);
  LevelRepair repair;
  std::vector<FlowSlot> touched;
  const std::vector<LinkId> both = links({0, 1});
  const std::vector<LinkId> second = links({1});
  const FlowSlot narrow = graph.add({both});
  state.on_added(narrow);
  ASSERT_TRUE(repair.run(state, both, 1000, touched));
  EXPECT_EQ(state.level(LinkId(1)), kInfinity);
  state.untouch(narrow);
  touched.clear();
  const FlowSlot wide = graph.add({second});
  state.on_added(wide);
  ASSERT_TRUE(repair.run(state, second, 1000, touched));
  EXPECT_EQ(touched, std::vector<FlowSlot>{wide});
  EXPECT_EQ(state.rate(wide), 9);
  EXPECT_EQ(state.rate(narrow), 1);
}

TEST(LevelRepair, GivesUpWhenToldTo) {
  FlowLinkGraph graph({1, 1});
  LevelState state(graph);
  LevelRepair repair;
  std::vector<FlowSlot> touched;
  const std::vector<LinkId> both = links({0, 1});
  for (int i = 0; i < 10; ++i) state.on_added(graph.add({both}));
  EXPECT_FALSE(repair.run(state, both, 1, touched));
  const std::vector<double> levels = {0.1, LevelState::infinite};
  state.take_over(both, levels);
  EXPECT_EQ(state.rate(touched.at(0)), 0.1);
  EXPECT_TRUE(repair.run(state, both, 1000, touched)) << "levels taken over are in order";
  EXPECT_EQ(state.level(LinkId(0)), 0.1);
}

TEST(LevelRepair, LooksAtNoFlowThatMeetsNoOther) {
  // Two flows of 4 on links of 10: nobody is in anybody's way. The second flow's cap is above what
  // its links can carry.
  MaxMinSolver solver({10, 4, 4, 10}, repairs_only());
  const std::vector<LinkId> left = links({0, 1});
  const std::vector<LinkId> right = links({2, 3, 0});
  const FlowSlot one = solver.add_flow({left});
  const FlowSlot two = solver.add_flow({right, 1.0, 5.0});
  EXPECT_EQ(solver.update().size(), 2U);
  EXPECT_EQ(solver.rate(one), 4);
  EXPECT_EQ(solver.rate(two), 4);
  solver.remove_flow(one);
  EXPECT_TRUE(solver.update().empty());
  EXPECT_EQ(solver.counters().flows_visited, 0U);
  EXPECT_EQ(solver.counters().links_set, 0U);
  // A link that carries less than ever binds by its level; one that carries more than ever lets its
  // flow up to the cap.
  solver.set_capacity(LinkId(3), 3);
  solver.update();
  EXPECT_EQ(solver.rate(two), 3);
  solver.set_capacity(LinkId(3), 20);
  solver.set_capacity(LinkId(2), 7);
  solver.update();
  EXPECT_EQ(solver.rate(two), 5);
}

TEST(LevelRepair, CapacitiesAboveAllThatWereReachFlowsThatShareOrCrossALinkTwice) {
  // Link 0 carries `twice` two times and `other` once. At capacity 3 each gets 1; link 1 never
  // binds.
  MaxMinSolver solver({3, 2}, repairs_only());
  const std::vector<LinkId> two_times = links({0, 1, 0});
  const std::vector<LinkId> once = links({0});
  const FlowSlot twice = solver.add_flow({two_times});
  const FlowSlot other = solver.add_flow({once});
  solver.update();
  EXPECT_EQ(solver.rate(twice), 1);
  EXPECT_EQ(solver.rate(other), 1);
  // Now 12: link 1 limits `twice` to 2, which takes 4 of link 0 and leaves 8, more than link 0 ever
  // had.
  solver.set_capacity(LinkId(0), 12);
  EXPECT_EQ(solver.update().size(), 2U);
  EXPECT_EQ(solver.rate(twice), 2);
  EXPECT_EQ(solver.rate(other), 8);
  // And 12 on link 1 as well: link 0 gives 4 to each of its three.
  solver.set_capacity(LinkId(1), 12);
  EXPECT_EQ(solver.update().size(), 2U);
  EXPECT_EQ(solver.rate(twice), 4);
  EXPECT_EQ(solver.rate(other), 4);
}

TEST(LevelRepair, LooksAtNoFlowWhereOneTakesThePlaceOfAnother) {
  // Three flows share a link; one ends in the instant in which another starts there, as step
  // follows step in a collective.
  MaxMinSolver solver({9, 12}, repairs_only());
  const std::vector<LinkId> first = links({0});
  const std::vector<LinkId> both = links({0, 1});
  const FlowSlot ends = solver.add_flow({both});
  solver.add_flow({first});
  solver.add_flow({both});
  solver.update();
  const std::uint64_t visited = solver.counters().flows_visited;
  solver.remove_flow(ends);
  const FlowSlot starts = solver.add_flow({both});
  const std::span<const FlowSlot> changed = solver.update();
  ASSERT_EQ(changed.size(), 1U) << "the new one alone";
  EXPECT_EQ(changed.front(), starts);
  EXPECT_EQ(solver.rate(starts), 3);
  EXPECT_EQ(solver.counters().flows_visited, visited);
}

// The sum that tells whether a link is in order is kept up by adding to it, some hundred times at
// most. One flow leaves and another comes, again and again, on links of very different capacities.
TEST(LevelRepair, DoesNotDriftOverThousandsOfBatches) {
  std::vector<double> capacities;
  for (int l = 0; l < 12; ++l) capacities.push_back(l % 3 == 0 ? 1e3 : l % 3 == 1 ? 1e9 : 4e11);
  MaxMinSolver solver(capacities, repairs_only());
  RandomStream random(12, 0, 1);
  std::vector<FlowSlot> flows;
  const auto add = [&] {
    std::vector<LinkId> path;
    for (int hop = 0; hop < 3; ++hop) path.emplace_back(static_cast<std::uint32_t>(4 * hop + static_cast<int>(random.below(4))));
    flows.push_back(solver.add_flow({path, 0.1 * static_cast<double>(1 + random.below(30)), kInfinity}));
  };
  for (int i = 0; i < 60; ++i) add();
  for (int batch = 0; batch < 6000; ++batch) {
    solver.update();
    if (batch % 500 == 499) {
      const std::vector<ExactNumber> exact = fill_progressively<ExactNumber>(solver.graph());
      for (const FlowSlot flow : flows) {
        ASSERT_LT(relative_error(solver.rate(flow), exact[flow.index()].convert_to<double>()), 1e-9) << batch;
      }
    }
    const std::size_t which = random.below(flows.size());
    solver.remove_flow(flows[which]);
    flows[which] = flows.back();
    flows.pop_back();
    add();
  }
  EXPECT_EQ(solver.counters().full_solves, solver.counters().repairs_given_up);
  EXPECT_GT(solver.counters().repairs, 5900U);
}

TEST(LevelRepair, LinksLoseTheirLastFlowAndChangeInOneBatch) {
  MaxMinSolver solver({10, 20}, repairs_only());
  const std::vector<LinkId> first = links({0});
  const std::vector<LinkId> both = links({0, 1});
  const FlowSlot one = solver.add_flow({first});
  const FlowSlot other = solver.add_flow({first});
  solver.update();
  EXPECT_EQ(solver.layer(0).level(LinkId(0)), 5);
  solver.set_capacity(LinkId(0), 4);
  solver.remove_flow(one);
  solver.remove_flow(other);
  solver.update();
  EXPECT_EQ(solver.layer(0).level(LinkId(0)), kInfinity) << "a link without flows limits nobody";
  // Here and gone within a batch, its slot taken by another.
  const FlowSlot brief = solver.add_flow({both});
  solver.remove_flow(brief);
  const FlowSlot attempts = solver.add_flow({both});
  ASSERT_EQ(attempts, brief);
  EXPECT_EQ(solver.update().size(), 1U);
  EXPECT_EQ(solver.rate(attempts), 4);
  // A link that nobody uses may change as it likes.
  solver.remove_flow(attempts);
  solver.update();
  solver.set_capacity(LinkId(1), 1);
  EXPECT_TRUE(solver.update().empty());
  const FlowSlot again = solver.add_flow({both});
  solver.update();
  EXPECT_EQ(solver.rate(again), 1);
}

// Where all weights and loads are 1 nothing is multiplied. A flow with another load, on a link that
// nobody else is on, makes all others amounts: every rate is the same to the last bit.
TEST(LevelRepair, OnesCountAsAmountsDo) {
  constexpr std::uint32_t links = 24;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    RandomStream random(9, seed, 4);
    std::vector<double> capacities;
    for (std::uint32_t link = 0; link < links; ++link)
      capacities.push_back(seed % 4 == 0 && random.below(6) == 0 ? 0 : 1e9 * (1.0 + static_cast<double>(random.below(1000)) / 7));
    capacities.push_back(1e9);
    MaxMinSolver ones(capacities, repairs_only());
    MaxMinSolver amounts(capacities, repairs_only());
    const std::vector<double> half = {0.5};
    const std::vector<LinkId> aside = {LinkId(links)};
    const FlowSlot apart = amounts.add_flow({.links = aside, .loads = half});
    ones.add_flow({.links = aside});  // so that both give the same slots
    ASSERT_EQ(apart, FlowSlot(0));
    std::vector<FlowSlot> flows;
    for (int step = 0; step < 300; ++step) {
      if (flows.size() > 60 || (!flows.empty() && random.below(3) == 0)) {
        std::swap(flows[random.below(flows.size())], flows.back());
        ones.remove_flow(flows.back());
        amounts.remove_flow(flows.back());
        flows.pop_back();
      } else {
        std::vector<LinkId> path;
        for (std::uint64_t hops = 1 + random.below(8); hops > 0; --hops)
          path.emplace_back(static_cast<std::uint32_t>(random.below(links)));
        const double cap = random.below(4) == 0 ? 1e8 * static_cast<double>(1 + random.below(50)) : kInfinity;
        flows.push_back(ones.add_flow({.links = path, .cap = cap}));
        ASSERT_EQ(amounts.add_flow({.links = path, .cap = cap}), flows.back());
      }
      if (random.below(4) == 0) continue;
      ones.update();
      amounts.update();
      for (const FlowSlot flow : flows) ASSERT_EQ(ones.rate(flow), amounts.rate(flow)) << "seed " << seed << ", step " << step;
      ASSERT_EQ(ones.counters().flows_visited, amounts.counters().flows_visited);
    }
    EXPECT_TRUE(ones.layer(0).graph().weights_are_one());
    EXPECT_FALSE(amounts.layer(0).graph().weights_are_one());
  }
}

}  // namespace
}  // namespace weft::level_repair_test
