// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/quantum_filling.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "core/values/random.hpp"
#include "network/max_min/allocation_policy.hpp"
#include "network/max_min/max_min_solver.hpp"

namespace weft::quantum_filling_test {
namespace {

TEST(QuantumFilling, FillsByWholeQuanta) {
  // 10 shared by weights 1 and 2 with quantum 1: rounds give (1, 2), (2, 4), (3, 6); then the first
  // still gains one to 4, exactly 10 in all.
  QuantumFilling policy({10}, 1);
  const std::vector<LinkId> path = {LinkId(0)};
  const FlowSlot a = policy.add_flow({path, 1});
  const FlowSlot b = policy.add_flow({path, 2});
  EXPECT_EQ(policy.update().size(), 2U);
  EXPECT_DOUBLE_EQ(policy.rate(a), 4);
  EXPECT_DOUBLE_EQ(policy.rate(b), 6);
  EXPECT_TRUE(policy.update().empty());
}

TEST(QuantumFilling, AFlowForWhichNoQuantumFitsStandsStill) {
  QuantumFilling policy({0.5}, 1);
  const std::vector<LinkId> path = {LinkId(0)};
  const FlowSlot a = policy.add_flow({path});
  policy.update();
  EXPECT_EQ(policy.rate(a), 0);
}

TEST(QuantumFilling, FillsTheHighestClassFirst) {
  // Quanta of 1 on a link of 10: the higher class stops at its cap of 7, and of the 3 left two
  // others get 1 each and the first of them another.
  QuantumFilling policy({10}, 1);
  const std::vector<LinkId> path = {LinkId(0)};
  const FlowSlot low = policy.add_flow({path});
  const FlowSlot low_too = policy.add_flow({path});
  const FlowSlot high = policy.add_flow({path, 1, 7, {}, 2});
  policy.update();
  EXPECT_EQ(policy.rate(high), 7);
  EXPECT_EQ(policy.rate(low), 2);
  EXPECT_EQ(policy.rate(low_too), 1);
}

// With a small quantum it comes to the exact rates, of which it is the discrete version.
TEST(QuantumFilling, ApproachesTheExactRates) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    RandomStream random(5, seed, 1);
    std::vector<double> capacities;
    for (int l = 0; l < 6; ++l) capacities.push_back(static_cast<double>(10 + random.below(20)));
    constexpr double kQuantum = 1e-3;
    QuantumFilling filling(capacities, kQuantum);
    MaxMinSolver exact(capacities, {});
    std::vector<FlowSlot> flows;
    for (int f = 0; f < 10; ++f) {
      std::vector<LinkId> path;
      for (std::uint32_t l = 0; l < 6; ++l) {
        if (random.below(3) == 0) path.emplace_back(l);
      }
      if (path.empty()) path.emplace_back(0);
      FlowDemand demand{path};
      if (seed % 2 == 0) demand.priority = static_cast<std::uint8_t>(random.below(3));
      flows.push_back(filling.add_flow(demand));
      ASSERT_EQ(exact.add_flow(demand), flows.back());
    }
    filling.update();
    exact.update();
    for (const FlowSlot flow : flows) EXPECT_NEAR(filling.rate(flow), exact.rate(flow), 30 * kQuantum);
  }
}

// Tests and benchmarks make solvers without a table: the options have the defaults of the
// parameters.
TEST(AllocationPolicy, OptionsOfTheSolverAreThoseOfTheTable) {
  const auto& module = find_module(allocation_policies(), "max_min", SourcePlace::named("test"));
  const ParamSet params("max_min", module.info.params);
  const MaxMinSolver::Options options;
  EXPECT_TRUE(members_that_differ(options, params).empty());
  EXPECT_TRUE(members_that_differ<MaxMinLayer::Options>(options, params).empty());
}

TEST(QuantumFilling, AndMaxMinAreChosenByName) {
  const SourcePlace place{"--set", 0, 0, 1, ""};
  for (const char* name : {"max_min", "quantum_filling"}) {
    const auto& module = find_module(allocation_policies(), name, place);
    ParamSet params(name, module.info.params);
    const std::unique_ptr<AllocationPolicy> policy = module.make({10e9}, params);
    const std::vector<LinkId> path = {LinkId(0)};
    const FlowSlot a = policy->add_flow({path});
    policy->add_flow({path});
    policy->update();
    EXPECT_DOUBLE_EQ(policy->rate(a), 5e9) << name;
  }
  EXPECT_THROW(find_module(allocation_policies(), "maxmin", place), InputError);
}

}  // namespace
}  // namespace weft::quantum_filling_test
