// SPDX-License-Identifier: Apache-2.0
// Properties of all pipeline schedules, and rules that they name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/check.hpp"
#include "tests/long_runs.hpp"
#include "tests/workloads/schedules/schedule_testing.hpp"
#include "workloads/schedules/zero_bubble_optimal.hpp"

namespace weft::pipeline_schedules_test {
namespace {

PipelineSizes small_sizes(std::uint32_t stages, std::uint32_t microbatches, std::uint32_t chunks = 1) {
  return {stages, microbatches, chunks, Duration::us(3), Duration::us(3), Duration::us(2), Duration::ns(500)};
}

/// When a kind of pass of a microbatch at a position of the model runs, found by looking at all.
struct Found {
  std::uint32_t device = 0;
  Time start;
  Time end;
};
/// By kind, position and microbatch.
using Passes = std::map<std::tuple<char, std::uint32_t, std::uint32_t>, Found>;

std::uint32_t position(const PipelineSizes& sizes, ChunkPlacement placement, std::uint32_t device, std::uint32_t chunk) {
  if (placement == ChunkPlacement::loop) return chunk * sizes.stages + device;
  return chunk == 0 ? device : 2 * sizes.stages - 1 - device;
}

/// BW counts as a B that ends with it and a W of no length.
Passes all_passes(const PipelineSizes& sizes, const PipelineSchedule& schedule) {
  Passes passes;
  for (std::uint32_t device = 0; device < schedule.timeline.devices.size(); ++device) {
    for (const TimedPass& timed : schedule.timeline.devices[device].passes) {
      const std::uint32_t where = position(sizes, schedule.order.placement, device, timed.pass.chunk);
      const auto add = [&](char kind, Time start) {
        EXPECT_TRUE(passes.emplace(std::tuple(kind, where, timed.pass.microbatch), Found{device, start, timed.end}).second);
      };
      if (timed.pass.kind == PassKind::forward) add('F', timed.start);
      if (timed.pass.kind == PassKind::backward_input || timed.pass.kind == PassKind::backward) add('B', timed.start);
      if (timed.pass.kind == PassKind::backward_weight) add('W', timed.start);
      if (timed.pass.kind == PassKind::backward) add('W', timed.end);
    }
  }
  return passes;
}

void expect_dependencies(const PipelineSizes& sizes, const Passes& passes) {
  const std::uint32_t last = sizes.stages * sizes.chunks - 1;
  ASSERT_EQ(passes.size(), std::size_t{3} * (last + 1) * sizes.microbatches);
  for (std::uint32_t where = 0; where <= last; ++where) {
    for (std::uint32_t i = 0; i < sizes.microbatches; ++i) {
      const Found forward = passes.at({'F', where, i});
      const Found backward = passes.at({'B', where, i});
      const auto arrival = [&](const Found& from) { return from.device == forward.device ? from.end : from.end + sizes.transfer; };
      if (where > 0) {
        EXPECT_GE(forward.start, arrival(passes.at({'F', where - 1, i})));
      }
      if (where < last) {
        EXPECT_GE(backward.start, arrival(passes.at({'B', where + 1, i})));
      }
      EXPECT_GE(backward.start, forward.end);
      EXPECT_GE(passes.at({'W', where, i}).start, backward.end);
    }
  }
}

void expect_one_at_a_time(const PipelineSizes& sizes, const PipelineTimeline& timeline) {
  for (const DeviceTimeline& device : timeline.devices) {
    Duration busy;
    for (std::size_t i = 0; i < device.passes.size(); ++i) {
      if (i > 0) {
        EXPECT_GE(device.passes[i].start, device.passes[i - 1].end);
      }
      busy += device.passes[i].end - device.passes[i].start;
    }
    EXPECT_EQ(busy, (sizes.forward + sizes.backward_input + sizes.backward_weight) * sizes.microbatches);
  }
}

/// Counts, at every start of an F, who is held then.
double naive_peak(const PipelineSizes& sizes, const Passes& passes) {
  double most = 0.0;
  for (const auto& [key, at] : passes) {
    if (std::get<0>(key) != 'F') continue;
    double held = 0.0;
    for (const auto& [other, forward] : passes) {
      const auto& [kind, where, microbatch] = other;
      if (kind != 'F' || forward.device != at.device || forward.start > at.start) continue;
      if (passes.at({'B', where, microbatch}).end > at.start) {
        held += 1.0;
      } else if (passes.at({'W', where, microbatch}).end > at.start) {
        held += sizes.weight_memory;
      }
    }
    most = std::max(most, held / sizes.chunks);
  }
  return most;
}

/// One device's work behind the way to it; one microbatch's way there and back.
Duration lower_bound(const PipelineSizes& sizes) {
  const Duration work = (sizes.forward + sizes.backward_input + sizes.backward_weight) * sizes.microbatches;
  const Duration way = (sizes.forward + sizes.backward_input) * sizes.stages + sizes.transfer * (2 * sizes.stages - 2);
  return std::max(work, way);
}

TEST(PipelineSchedules, PropertiesHoldForRandomSizes) {
  std::mt19937 random(7);
  const auto draw = [&random](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random() % (high - low + 1));
  };
  std::map<std::string, int> made;
  const bool is_short = short_sanitized_runs();
  for (int round = 0; round < (is_short ? 10 : 30); ++round) {
    PipelineSizes sizes{draw(1, is_short ? 4 : 7),  draw(1, is_short ? 8 : 16), 1,
                        Duration::ns(draw(1, 900)), Duration::ns(draw(1, 900)), Duration::ns(draw(1, 900)),
                        Duration::ns(draw(0, 200)), draw(0, 4) * 0.25};
    if (round % 3 == 0) sizes.microbatches = sizes.stages * draw(1, 3);
    for (const auto& module : pipeline_schedules()) {
      const std::string name(module.info.name);
      if (name == "zb_optimal") continue;
      sizes.chunks = name == "interleaved_1f1b" ? draw(2, 4) : module.make.chunks;
      const PipelineScheduleResult result = schedule_or_rule(name, sizes);
      if (std::holds_alternative<BrokenScheduleRule>(result)) continue;
      const PipelineSchedule& schedule = std::get<PipelineSchedule>(result);
      SCOPED_TRACE(name + " stages " + std::to_string(sizes.stages) + " microbatches " + std::to_string(sizes.microbatches));
      ++made[name];
      const Passes passes = all_passes(sizes, schedule);
      expect_dependencies(sizes, passes);
      expect_one_at_a_time(sizes, schedule.timeline);
      EXPECT_GE(schedule.timeline.step_time, lower_bound(sizes));
      EXPECT_LE(schedule.timeline.span_max, schedule.timeline.step_time);
      EXPECT_NEAR(schedule.timeline.activations_max, naive_peak(sizes, passes), 1e-9);
      EXPECT_EQ(schedule.order.devices, std::get<PipelineSchedule>(schedule_or_rule(name, sizes)).order.devices);
    }
  }
  EXPECT_EQ(made.size(), pipeline_schedules().size() - 1);
}

TEST(PipelineSchedules, MemoryLimitsHold) {
  for (const std::uint32_t limit : {1U, 2U, 4U, 5U, 7U, 9U}) {
    const ScheduleParams memory = {{"memory", std::to_string(limit)}};
    EXPECT_LE(schedule_called("zb_auto", small_sizes(4, 9), memory).timeline.activations_max, limit);
    if (limit >= 4) {
      EXPECT_LE(schedule_called("zb_h2", small_sizes(4, 9), memory).timeline.activations_max, limit);
    }
  }
}

TEST(PipelineSchedules, ShortPipelinesByHand) {
  // Two stages, one microbatch: F 3, transfer 0.5, F 3, BW 5, transfer 0.5, BW 5.
  EXPECT_EQ(schedule_called("1f1b", small_sizes(2, 1)).timeline.step_time, Duration::us(17));
  // GPipe holds all, and takes (m + p - 1) (F + B + W) where transfers take no time.
  PipelineSizes sizes = small_sizes(4, 6);
  sizes.transfer = Duration::zero();
  EXPECT_EQ(schedule_called("gpipe", sizes).timeline.step_time, Duration::us((6 + 3) * 8));
  EXPECT_EQ(schedule_called("gpipe", sizes).timeline.activations_max, 6.0);
}

TEST(PipelineSchedules, AnOddDurationIsSharedOutToTheTick) {
  PipelineSizes sizes = small_sizes(2, 4, 3);
  sizes.forward = Duration::ticks(1000);
  EXPECT_EQ(pass_duration(sizes, PassKind::forward, 0), Duration::ticks(333));
  EXPECT_EQ(pass_duration(sizes, PassKind::forward, 2), Duration::ticks(334));
}

TEST(PipelineSchedules, BrokenRulesAreNamed) {
  EXPECT_EQ(rule_broken_by("1f1b", small_sizes(4, 8, 2)), "1f1b has 1 chunk per device, not 2");
  EXPECT_EQ(rule_broken_by("zbv", small_sizes(4, 8)), "zbv has 2 chunks per device, not 1");
  EXPECT_EQ(rule_broken_by("zbv", small_sizes(4, 6, 2)), "zbv needs 7 microbatches at least, 2 * stages - 1, not 6");
  EXPECT_EQ(rule_broken_by("v_min", small_sizes(1, 6, 2)), "v_min needs 2 stages at least, not 1");
  EXPECT_EQ(rule_broken_by("interleaved_1f1b", small_sizes(4, 6, 2)),
            "interleaved_1f1b needs a multiple of the 4 stages as microbatches, not 6");
  EXPECT_EQ(rule_broken_by("zb_h2", small_sizes(4, 6), {{"memory", "3"}}),
            "zb_h2 needs a memory limit of 4 microbatches, one per stage, not 3");
}

TEST(PipelineSchedules, PassesThatWaitForEachOtherAreABug) {
  // The second device wants the gradient of a microbatch before its forward pass.
  PipelineOrder order{ChunkPlacement::loop, {{{PassKind::forward, 0, 0}}, {{PassKind::backward, 0, 0}, {PassKind::forward, 0, 0}}}};
  EXPECT_THROW(execute(small_sizes(2, 1), order), CheckFailure);
}

TEST(PipelineSchedules, TheIntegerProgramIsNeverWorseThanTheSearch) {
  std::mt19937 random(3);
  bool is_better_once = false;
  for (int round = 0; round < 12; ++round) {
    const PipelineSizes sizes{2 + static_cast<std::uint32_t>(random() % 2),
                              2 + static_cast<std::uint32_t>(random() % 4),
                              1,
                              Duration::us(1 + random() % 5),
                              Duration::us(1 + random() % 5),
                              Duration::us(1 + random() % 5),
                              Duration::ns(random() % 500),
                              round % 2 == 0 ? 1.0 : 0.5};
    const std::string limit = std::to_string(2 + random() % 3);
    const std::string objective = round % 3 == 0 ? "step_time" : "device_span";
    const auto which = objective == "step_time" ? ScheduleObjective::step_time : ScheduleObjective::device_span;
    const Duration searched =
        objective_value(schedule_called("zb_auto", sizes, {{"memory", limit}, {"objective", objective}}).timeline, which);
    const PipelineSchedule optimal =
        schedule_called("zb_optimal", sizes, {{"memory", limit}, {"objective", objective}, {"time_limit", "5s"}});
    EXPECT_LE(objective_value(optimal.timeline, which), searched);
    EXPECT_GE(objective_value(optimal.timeline, which), zero_bubble_lower_bound(sizes, which));
    EXPECT_LE(optimal.timeline.activations_max, std::stod(limit) + 1e-9);
    EXPECT_EQ(optimal.notes.size(), 1U);
    expect_dependencies(sizes, all_passes(sizes, optimal));
    is_better_once = is_better_once || objective_value(optimal.timeline, which) < searched;
  }
  EXPECT_TRUE(is_better_once);
}

TEST(PipelineSchedules, TheIntegerProgramFindsTheShortestOfThree) {
  // Found above the limit of the search's family: 67.6 us instead of 80.8 us.
  const PipelineSizes sizes{4, 6, 1, Duration::us(3), Duration::us(3), Duration::us(1), Duration::ns(300)};
  const PipelineSchedule optimal = schedule_called("zb_optimal", sizes, {{"memory", "3"}, {"time_limit", "60s"}});
  EXPECT_EQ(optimal.timeline.span_max, Duration::ns(67'600));
}

}  // namespace
}  // namespace weft::pipeline_schedules_test
