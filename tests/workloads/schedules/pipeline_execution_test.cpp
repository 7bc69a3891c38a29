// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/pipeline_execution.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft::pipeline_execution_test {

namespace {

/// Two devices, two microbatches, 1F1B.
PipelineOrder two_by_two() {
  PipelineOrder order;
  order.devices = {{{PassKind::forward, 0, 0}, {PassKind::forward, 1, 0}, {PassKind::backward, 0, 0}, {PassKind::backward, 1, 0}},
                   {{PassKind::forward, 0, 0}, {PassKind::backward, 0, 0}, {PassKind::forward, 1, 0}, {PassKind::backward, 1, 0}}};
  return order;
}

const std::vector<PositionTimes> uneven = {{.forward = Duration::us(2),
                                            .backward = Duration::us(4),
                                            .forward_transfer = Duration::us(1),
                                            .backward_transfer = Duration::us(1)},
                                           {.forward = Duration::us(3),
                                            .backward = Duration::us(5),
                                            .forward_transfer = Duration::us(1),
                                            .backward_transfer = Duration::us(1)}};

constexpr PipelineSizes sizes = {.stages = 2, .microbatches = 2};

}  // namespace

TEST(PipelineExecution, PositionsHavePassesOfTheirOwn) {
  const PipelineTimeline timeline = execute(sizes, two_by_two(), uneven);
  // Last device: F 3 to 6, B 6 to 11, F 11 to 14, B 14 to 19.
  // First: F to 4, B 12 to 16, B from 19 + 1.
  EXPECT_EQ(timeline.devices[1].passes[3].end, Time::zero() + Duration::us(19));
  EXPECT_EQ(timeline.devices[0].passes[2].start, Time::zero() + Duration::us(11 + 1));
  EXPECT_EQ(timeline.step_time, Duration::us(19 + 1 + 4));
}

TEST(PipelineExecution, ADeviceMayWaitUntilWhatItSendsHasLeft) {
  const PipelineTimeline timeline = execute(sizes, two_by_two(), uneven, DuringTransfer::wait);
  // First: F 0 to 2, F 3 to 5.
  // Last: F 3 to 6, B 6 to 11, which leaves until 12; F 12 to 15, B 15 to 20, leaves until 21.
  EXPECT_EQ(timeline.devices[0].passes[1].start, Time::zero() + Duration::us(2 + 1));
  EXPECT_EQ(timeline.devices[1].passes[2].start, Time::zero() + Duration::us(11 + 1));
  EXPECT_EQ(timeline.step_time, Duration::us(20 + 1 + 4));
}

/// Positions that are all alike are those of the sizes, whatever the schedule.
TEST(PipelineExecution, EqualPositionsAreThePipelineOfItsSizes) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    PipelineSizes some;
    some.stages = 2 + static_cast<std::uint32_t>(random() % 5);
    some.microbatches = some.stages * (1 + static_cast<std::uint32_t>(random() % 4));
    const auto time = [&] { return Duration::us(1 + static_cast<std::int64_t>(random() % 50)) * 4; };
    some.forward = time();
    some.backward_input = time();
    some.backward_weight = time();
    some.transfer = Duration::us(static_cast<std::int64_t>(random() % 9));
    const auto& schedules = pipeline_schedules();
    const Module<PipelineScheduleMaker>& module = schedules[random() % schedules.size()];
    if (module.info.name == "zb_optimal") continue;
    some.chunks = module.make.chunks;
    const PipelineScheduleResult made = module.make.make(some, ParamSet(std::string(module.info.name), module.info.params));
    const auto* schedule = std::get_if<PipelineSchedule>(&made);
    if (schedule == nullptr) continue;
    PositionTimes one;
    one.forward = scaled(some.forward, 1, some.chunks);
    one.backward_input = scaled(some.backward_input, 1, some.chunks);
    one.backward_weight = scaled(some.backward_weight, 1, some.chunks);
    one.backward = one.backward_input + one.backward_weight;
    one.forward_transfer = some.transfer;
    one.backward_transfer = some.transfer;
    const std::vector<PositionTimes> positions(std::size_t{some.stages} * some.chunks, one);
    EXPECT_EQ(execute(some, schedule->order, positions).step_time, schedule->timeline.step_time) << module.info.name;
  }
}

}  // namespace weft::pipeline_execution_test
