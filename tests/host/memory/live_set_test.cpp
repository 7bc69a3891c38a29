// SPDX-License-Identifier: Apache-2.0
// Live sets: against the executed schedules, and against closed forms.
#include "host/memory/live_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <variant>

#include "core/text/diagnostics.hpp"
#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft::live_set_test {

namespace {

PipelineSchedule schedule_named(const std::string& name, const PipelineSizes& sizes) {
  const auto& module = find_module(pipeline_schedules(), name, SourcePlace::named("test"));
  return std::get<PipelineSchedule>(module.make.make(sizes, ParamSet(name, module.info.params)));
}

PipelineSizes sizes_of(std::uint32_t stages, std::uint32_t microbatches, std::uint32_t chunks) {
  return {.stages = stages,
          .microbatches = microbatches,
          .chunks = chunks,
          .forward = Duration::us(10 * chunks),
          .backward_input = Duration::us(12 * chunks),
          .backward_weight = Duration::us(7 * chunks),
          .transfer = Duration::us(1)};
}

ParallelPlan plan_of(const std::string& schedule, const PipelineSizes& sizes) {
  ParallelPlan plan;
  plan.pipeline = sizes.stages;
  plan.chunks = sizes.chunks;
  plan.schedule = schedule;
  plan.global_batch = sizes.microbatches;
  return plan;
}

const std::vector<ChunkActivations> one_byte_each(16, {.kept = Bytes::of(1), .for_weights = Bytes::of(1), .working = {}});

std::int64_t held_by(std::span<const PipelinePass> passes, std::uint32_t chunks) {
  return live_peak(passes, std::span(one_byte_each).first(chunks)).bytes.count();
}

}  // namespace

// What execute() counts while passes run at their times is what the order alone says.
TEST(LiveSet, IsThatOfTheExecutedSchedule) {
  for (const auto& [name, chunks] :
       {std::pair{"gpipe", 1U}, std::pair{"1f1b", 1U}, std::pair{"interleaved_1f1b", 3U}, std::pair{"zb_h1", 1U},
        std::pair{"zb_h2", 1U}, std::pair{"zbv", 2U}, std::pair{"v_half", 2U}}) {
    const PipelineSizes sizes = sizes_of(6, 18, chunks);
    const PipelineSchedule schedule = schedule_named(name, sizes);
    for (std::uint32_t device = 0; device < sizes.stages; ++device) {
      const double held = static_cast<double>(held_by(schedule.order.devices[device], chunks)) / chunks;
      EXPECT_NEAR(held, schedule.timeline.devices[device].activations_max, 1e-9) << name << " stage " << device;
    }
  }
}

TEST(LiveSet, FollowsTheClosedForms) {
  constexpr std::uint32_t p = 8;
  constexpr std::uint32_t m = 24;
  constexpr std::uint32_t v = 3;
  const PipelineSizes plain = sizes_of(p, m, 1);
  const PipelineSizes chunked = sizes_of(p, m, v);
  for (std::uint32_t i = 0; i < p; ++i) {
    EXPECT_EQ(held_by(*passes_without_times(plan_of("1f1b", plain), i), 1), p - i);
    EXPECT_EQ(held_by(*passes_without_times(plan_of("gpipe", plain), i), 1), m);
    EXPECT_EQ(held_by(*passes_without_times(plan_of("interleaved_1f1b", chunked), i), v), 2 * (p - 1 - i) + (v - 1) * p + 1);
  }
}

// Property: leaving out most microbatches changes no peak, however uneven the chunks are.
TEST(LiveSet, NeedsOnlyTheFirstMicrobatches) {
  std::mt19937 random(7);
  const auto draw = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t chunks = draw(1, 5);
    const std::uint32_t stages = draw(2, 12);
    const std::uint32_t microbatches = chunks > 1 ? stages * draw(1, 12) : draw(1, 60);
    const PipelineSizes sizes = sizes_of(stages, microbatches, chunks);
    const std::string name = chunks > 1 ? "interleaved_1f1b" : "1f1b";
    std::vector<ChunkActivations> uneven;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      uneven.push_back(
          {.kept = Bytes::of(draw(0, 100)), .for_weights = Bytes::of(draw(0, 100)), .working = Bytes::of(draw(0, 300))});
    }
    const PipelineSchedule schedule = schedule_named(name, sizes);
    const ParallelPlan plan = plan_of(name, sizes);
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      const auto few = passes_without_times(plan, stage);
      ASSERT_TRUE(few.has_value());
      EXPECT_EQ(live_peak(*few, uneven).bytes, live_peak(schedule.order.devices[stage], uneven).bytes)
          << name << " stage " << stage << " of " << stages << ", " << microbatches << " microbatches, " << chunks << " chunks";
    }
  }
}

TEST(LiveSet, AsksForTheOrderWhereTimesDecide) {
  EXPECT_FALSE(passes_without_times(plan_of("zb_h1", sizes_of(4, 8, 1)), 0).has_value());
}

// F0 F1 B0 W0 B1 W1: after B0 there are one microbatch of 10 bytes and 4 bytes for weights, and B1
// needs 3 more.
TEST(LiveSet, KeepsWhatWeightsWaitFor) {
  const std::vector<ChunkActivations> sizes = {{.kept = Bytes::of(10), .for_weights = Bytes::of(4), .working = Bytes::of(3)}};
  const std::vector<PipelinePass> passes = {{PassKind::forward, 0, 0},         {PassKind::backward_input, 0, 0},
                                            {PassKind::forward, 1, 0},         {PassKind::backward_input, 1, 0},
                                            {PassKind::backward_weight, 0, 0}, {PassKind::backward_weight, 1, 0}};
  const LivePeak peak = live_peak(passes, sizes);
  EXPECT_EQ(peak.bytes, Bytes::of(10 + 4 + 3));
  EXPECT_EQ(peak.chunks, (std::vector<LiveChunk>{{.kept = 1, .for_weights = 1}}));
  EXPECT_EQ(peak.working_chunk, 0U);
}

}  // namespace weft::live_set_test
