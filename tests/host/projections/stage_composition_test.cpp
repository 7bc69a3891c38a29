// SPDX-License-Identifier: Apache-2.0
// Stage composition: by hand for stages that are alike, layer splits, and volumes. The published
// example is in component_times_test.cpp.
#include "host/projections/stage_composition.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace weft::stage_composition_test {
namespace {

PipelineStages alike(std::uint32_t stages, double forward_us, double backward_us) {
  return {std::vector<StageTimes>(stages, {.forward_us = forward_us, .backward_us = backward_us, .update = {}}), 0};
}

std::vector<std::uint64_t> split(LayerSplit how, std::uint64_t layers, std::uint32_t stages) {
  return std::get<std::vector<std::uint64_t>>(split_layers(how, layers, stages));
}

// F = 1, B = 2, P = 4, M = 8. Every schedule without idle time beside warm-up and cool-down takes
// (8 + 4 - 1) (1 + 2) = 33. As published 1F1B takes 4 + 7 max(1, 2) + 4 x 2 = 26, less than the
// 8 x 3 = 24 of work and the 3 x 3 of filling and draining.
TEST(StageComposition, OneForwardOneBackwardAsPublishedIsTooShort) {
  const StepEstimates steps = estimate_steps(alike(4, 1, 2), 8);
  EXPECT_DOUBLE_EQ(steps.one_f_one_b_published_us, 26);
  EXPECT_DOUBLE_EQ(steps.one_f_one_b_us, 33);
  EXPECT_DOUBLE_EQ(steps.one_f_one_b_exact_us, 33);
  EXPECT_DOUBLE_EQ(steps.afab_us, 33);
  EXPECT_DOUBLE_EQ(steps.afab_exact_us, 33);
}

// One stage: M (F + B), whatever the schedule.
TEST(StageComposition, OneStageHasNoBubble) {
  const StepEstimates steps = estimate_steps(alike(1, 1, 2), 5);
  EXPECT_DOUBLE_EQ(steps.afab_us, 15);
  EXPECT_DOUBLE_EQ(steps.afab_exact_us, 15);
  EXPECT_DOUBLE_EQ(steps.one_f_one_b_us, 15);
  EXPECT_DOUBLE_EQ(steps.one_f_one_b_exact_us, 15);
  EXPECT_DOUBLE_EQ(bubble_fraction(1, 5), 0);
}

// Transfer 0.5, F = 1, B = 2 on two stages, M = 1: there and back 1 + 0.5 + 1 + 2 + 0.5 + 2 = 7.
// Composed, the first stage has F' = 1.5 and the last B' = 2.5: 2 (1.5 + 2.5) = 8.
TEST(StageComposition, TransfersAreInForwardOfTheFirstAndBackwardOfTheLast) {
  PipelineStages pipeline = alike(2, 1, 2);
  pipeline.transfer_us = 0.5;
  const StepEstimates steps = estimate_steps(pipeline, 1);
  EXPECT_DOUBLE_EQ(steps.afab_us, 8);
  EXPECT_DOUBLE_EQ(steps.afab_exact_us, 7);
  EXPECT_DOUBLE_EQ(steps.one_f_one_b_us, 7);
  EXPECT_DOUBLE_EQ(steps.one_f_one_b_exact_us, 7);
}

// The last stage ends its passes 2 earlier than the first, so that its longer update is hidden: the
// step ends with the first stage's at 6 + 1; the composed form adds the longest, 2.5.
TEST(StageComposition, EveryStageUpdatesWhenItIsDone) {
  PipelineStages pipeline = alike(2, 1, 2);
  pipeline.stages[0].update = {.all_reduce_us = 0.25, .optimizer_us = 0.5, .all_gather_us = 0.25};
  pipeline.stages[1].update = {.all_reduce_us = 1.0, .optimizer_us = 1.0, .all_gather_us = 0.5};
  const StepEstimates steps = estimate_steps(pipeline, 1);
  EXPECT_DOUBLE_EQ(steps.afab_exact_us, 7);
  EXPECT_DOUBLE_EQ(steps.afab_us, 2.0 * 3 + 2.5);
}

// Everything is 1, and what has two numbers 1 forward and 2 backward. A layer: 2 operators and 2
// all-reduces make 4; backward 4 + 2 and 4 of the forward pass: 10.
TEST(StageComposition, FirstMiddleAndLastStage) {
  ComponentTimes times;
  times.embedding = times.final_norm = times.output = times.loss = {1, 2};
  times.encoder = {{1, 2}, {1, 2}};
  times.tensor_all_reduce_us = 1;
  times.middle_update.optimizer_us = 1;
  EXPECT_DOUBLE_EQ(encoder_of(times).forward_us, 4);
  EXPECT_DOUBLE_EQ(encoder_of(times).backward_us, 10);
  const PipelineStages pipeline = compose_stages(times, {2, 3, 1});
  ASSERT_EQ(pipeline.stages.size(), 3U);
  EXPECT_DOUBLE_EQ(pipeline.stages[0].forward_us, 1 + 1 + 2 * 4);  // embedding and its all-reduce
  EXPECT_DOUBLE_EQ(pipeline.stages[0].backward_us, 2 + 2 * 10);
  EXPECT_DOUBLE_EQ(pipeline.stages[1].forward_us, 3 * 4);
  EXPECT_DOUBLE_EQ(pipeline.stages[1].backward_us, 3 * 10);
  EXPECT_DOUBLE_EQ(pipeline.stages[1].update.sum_us(), 1);
  EXPECT_DOUBLE_EQ(pipeline.stages[2].forward_us, 3 + 4);  // norm, output, loss
  EXPECT_DOUBLE_EQ(pipeline.stages[2].backward_us, 6 + 10);
  EXPECT_DOUBLE_EQ(pipeline.stages[2].update.sum_us(), 0);
  const PipelineStages single = compose_stages(times, {6});
  EXPECT_DOUBLE_EQ(single.stages[0].forward_us, 2 + 6 * 4 + 3);
}

// 62 layers on 4 stages: evenly 16, 16, 15, 15; ceil and floor have 16 + 3 x 15 = 61. The program
// counts (62 + 5) / 4 = 16.75: 17 - 2, 16, 16, 16 - 3 = 60. 32 layers: (32 + 5) / 4 = 9.25.
TEST(StageComposition, PublishedSplitsLoseLayers) {
  EXPECT_EQ(split(LayerSplit::evenly, 62, 4), (std::vector<std::uint64_t>{16, 16, 15, 15}));
  EXPECT_EQ(split(LayerSplit::ceil_floor, 62, 4), (std::vector<std::uint64_t>{16, 15, 15, 15}));
  EXPECT_EQ(split(LayerSplit::of_program, 62, 4), (std::vector<std::uint64_t>{15, 16, 16, 13}));
  EXPECT_EQ(split(LayerSplit::of_program, 32, 4), (std::vector<std::uint64_t>{8, 9, 9, 6}));
  EXPECT_EQ(split(LayerSplit::of_program, 32, 1), (std::vector<std::uint64_t>{32}));
  for (std::uint32_t stages = 1; stages <= 8; ++stages) {
    const std::vector<std::uint64_t> even = split(LayerSplit::evenly, 61, stages);
    EXPECT_EQ(std::accumulate(even.begin(), even.end(), std::uint64_t{0}), 61U);
  }
  EXPECT_TRUE(std::holds_alternative<std::string>(split_layers(LayerSplit::of_program, 2, 4)));
  EXPECT_TRUE(std::holds_alternative<std::string>(split_layers(LayerSplit::evenly, 0, 4)));
  EXPECT_TRUE(std::holds_alternative<std::string>(split_layers(LayerSplit::evenly, 4, 0)));
}

TEST(StageComposition, BubbleOfStagesThatAreAlike) {
  EXPECT_DOUBLE_EQ(bubble_fraction(4, 8), 3.0 / 11.0);
  // 33 of which 24 are work.
  EXPECT_DOUBLE_EQ(bubble_fraction(4, 8), 1.0 - 24.0 / estimate_steps(alike(4, 1, 2), 8).afab_exact_us);
}

// A billion tokens in steps of a million are 1,000 steps; of 9 s each they take 2.5 hours.
TEST(StageComposition, HoursOfATokenBudget) { EXPECT_DOUBLE_EQ(hours_of_training(1e9, 1e6, 9e6), 2.5); }

// A ring of 4 sends 2 x 3 parts of 1000 / 4; as published a quarter of that. Gathering sends 3.
TEST(StageComposition, Volumes) {
  EXPECT_DOUBLE_EQ(data_all_reduce_volume(1000, 4, Arithmetic::physical), 1500);
  EXPECT_DOUBLE_EQ(data_all_reduce_volume(1000, 4, Arithmetic::as_published), 375);
  EXPECT_DOUBLE_EQ(data_all_gather_volume(1000, 4), 750);
  EXPECT_DOUBLE_EQ(data_all_reduce_volume(1000, 1, Arithmetic::physical), 0);
  // 4 all-reduces of 100 elements of 2 bytes among 2: 2 x 1 / 2 x 800; as published 2 x 800.
  EXPECT_DOUBLE_EQ(tensor_volume_bytes(4, 100, 2, Arithmetic::physical), 800);
  EXPECT_DOUBLE_EQ(tensor_volume_bytes(4, 100, 2, Arithmetic::as_published), 1600);
}

}  // namespace
}  // namespace weft::stage_composition_test
