// SPDX-License-Identifier: Apache-2.0
// Pass costs and regions: small passes by hand.
#include "workloads/plans/pass_cost.hpp"

#include <gtest/gtest.h>

#include "workloads/plans/pass_regions.hpp"

namespace weft::pass_cost_test {
namespace {

/// Rows tell how many microseconds an operator takes.
Duration by_rows(const Operator& op, OperatorPass) {
  return Duration::us(static_cast<std::int64_t>(std::get<RowWise>(op.shape).rows));
}

/// A byte takes a microsecond.
AxisClock by_bytes() {
  return {[](PlanAxis, CollectiveType, Bytes input) { return Duration::us(input.count()); },
          [](PlanAxis, Bytes bytes) { return Duration::us(bytes.count()); }};
}

TrainingStep compute(std::uint64_t us, std::vector<std::uint32_t> after) {
  const Operator op{"work", RowWise{.what = RowOperator::residual_add, .rows = us, .width = 1}, {}};
  return {"work", ComputeStep{{{op, OperatorPass::forward}}}, std::move(after)};
}

TrainingStep collective(PlanAxis axis, std::int64_t us, std::vector<std::uint32_t> after) {
  return {"sum", AxisCollective{.axis = axis, .type = CollectiveType::all_reduce, .input = Bytes::of(us)}, std::move(after)};
}

TrainingStep shift(std::int64_t us, std::vector<std::uint32_t> after) {
  return {"shift", ShiftStep{.axis = PlanAxis::context, .bytes = Bytes::of(us)}, std::move(after)};
}

PassCost cost(const TrainingPass& pass, double load = 1.0) { return cost_of(pass, by_rows, by_bytes(), load); }
const AxisTime& axis(const PassCost& cost, PlanAxis axis) { return cost.axes[static_cast<std::size_t>(axis)]; }

// 5 us of work, 7 us of sum, 2 us of work: nothing beside anything.
TEST(PassCost, OneAfterTheOther) {
  const PassCost all = cost({compute(5, {}), collective(PlanAxis::tensor, 7, {0}), compute(2, {1})});
  EXPECT_EQ(all.time, Duration::us(14));
  EXPECT_EQ(all.compute, Duration::us(7));
  EXPECT_EQ(axis(all, PlanAxis::tensor).busy, Duration::us(7));
  EXPECT_EQ(axis(all, PlanAxis::tensor).exposed, Duration::us(7));
}

// A sum of 7 us beside 5 us of work sticks out by 2 us; a second one of the same axis waits for the
// first, one of another axis does not.
TEST(PassCost, WorkHidesWhatIsBesideIt) {
  const PassCost one = cost({collective(PlanAxis::tensor, 7, {}), compute(5, {})});
  EXPECT_EQ(one.time, Duration::us(7));
  EXPECT_EQ(axis(one, PlanAxis::tensor).exposed, Duration::us(2));
  const PassCost same = cost({collective(PlanAxis::tensor, 7, {}), collective(PlanAxis::tensor, 7, {}), compute(5, {})});
  EXPECT_EQ(same.time, Duration::us(14));
  EXPECT_EQ(axis(same, PlanAxis::tensor).exposed, Duration::us(9));
  const PassCost other = cost({collective(PlanAxis::tensor, 7, {}), collective(PlanAxis::expert, 7, {}), compute(5, {})});
  EXPECT_EQ(other.time, Duration::us(7));
  EXPECT_EQ(axis(other, PlanAxis::tensor).exposed, Duration::us(2));
  EXPECT_EQ(axis(other, PlanAxis::expert).exposed, Duration::us(2));
}

// All shifts of an axis go to the next rank, one message after the other, beside collectives.
TEST(PassCost, ShiftsWaitForEachOther) {
  EXPECT_EQ(cost({shift(7, {}), shift(7, {})}).time, Duration::us(14));
  EXPECT_EQ(cost({shift(7, {}), collective(PlanAxis::context, 7, {})}).time, Duration::us(7));
}

TEST(PassCost, LoadsStretchWhatGoesToExperts) {
  TrainingStep exchange = collective(PlanAxis::expert, 10, {});
  std::get<AxisCollective>(exchange.what).goes_by_load = true;
  EXPECT_EQ(cost({exchange}, 2.5).time, Duration::us(25));
  EXPECT_EQ(cost({collective(PlanAxis::expert, 10, {})}, 2.5).time, Duration::us(10));
}

// Costs of steps add up to those of axes.
TEST(PassCost, StepsAddUp) {
  const TrainingPass pass = {compute(5, {}), collective(PlanAxis::tensor, 7, {0}), compute(4, {0}), shift(9, {2}),
                             compute(1, {1, 3})};
  const PassCost all = cost(pass);
  const std::vector<StepCost> steps = step_costs(pass, by_rows, by_bytes());
  ASSERT_EQ(steps.size(), pass.size());
  EXPECT_EQ(steps[0].busy, Duration::zero());
  EXPECT_EQ(steps[1].busy, axis(all, PlanAxis::tensor).busy);
  EXPECT_EQ(steps[1].exposed, axis(all, PlanAxis::tensor).exposed);
  EXPECT_EQ(steps[1].exposed, Duration::us(3));  // 4 us of work beside 7
  EXPECT_EQ(steps[3].exposed, Duration::us(9));
}

InsideAxes inside(std::initializer_list<PlanAxis> axes) {
  InsideAxes all;
  all.clock = by_bytes();
  for (const PlanAxis one : axes) all.is_inside[static_cast<std::size_t>(one)] = true;
  return all;
}

// Everything stays inside: one region. The sum of replicas leaves: a region of its own.
TEST(PassRegions, BordersAreWhereAllWaitsForOne) {
  const TrainingPass pass = {compute(5, {}), collective(PlanAxis::tensor, 7, {0}), compute(2, {1}),
                             collective(PlanAxis::expert, 3, {2}), compute(4, {3})};
  EXPECT_EQ(regions_of(pass, inside({PlanAxis::tensor, PlanAxis::expert})), (std::vector<PassRegion>{{0, 5, true}}));
  EXPECT_EQ(regions_of(pass, inside({PlanAxis::tensor})), (std::vector<PassRegion>{{0, 3, true}, {3, 4, false}, {4, 5, true}}));
  EXPECT_EQ(regions_of(pass, inside({})).size(), 5U);
}

// A sum beside work: both are one region, which leaves the host if the sum does.
TEST(PassRegions, WhatRunsBesideEachOtherStaysTogether) {
  const TrainingPass pass = {compute(5, {}), collective(PlanAxis::tensor, 7, {0}), compute(6, {0}), compute(1, {1, 2})};
  EXPECT_EQ(regions_of(pass, inside({PlanAxis::tensor})), (std::vector<PassRegion>{{0, 4, true}}));
  const std::vector<PassRegion> leaving = regions_of(pass, inside({}));
  ASSERT_EQ(leaving.size(), 2U);
  EXPECT_EQ(leaving[0], (PassRegion{0, 1, true}));
  EXPECT_EQ(leaving[1], (PassRegion{1, 4, false}));
}

// Regions one after the other take as long as the pass.
TEST(PassRegions, TimesOfRegionsAddUp) {
  const TrainingPass pass = {compute(5, {}),     collective(PlanAxis::tensor, 7, {0}), compute(6, {0}),
                             compute(1, {1, 2}), collective(PlanAxis::expert, 3, {3}), compute(4, {4})};
  Duration sum;
  for (const PassRegion& region : regions_of(pass, inside({}))) {
    TrainingPass part;
    for (std::size_t i = region.first; i < region.end; ++i) {
      TrainingStep step = pass[i];
      std::erase_if(step.after, [&](std::uint32_t before) { return before < region.first; });
      for (std::uint32_t& before : step.after) before -= static_cast<std::uint32_t>(region.first);
      part.push_back(std::move(step));
    }
    sum += cost(part).time;
  }
  EXPECT_EQ(sum, cost(pass).time);
}

}  // namespace
}  // namespace weft::pass_cost_test
