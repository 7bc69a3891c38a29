// SPDX-License-Identifier: Apache-2.0
// Reduced plans: which ways go first, and what a rank keeps.
#include "workloads/plans/reduced_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>

#include "core/text/diagnostics.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft::reduced_plan_test {

namespace {

const SourcePlace place = SourcePlace::named("test");

struct Case {
  TransformerModel model;
  ParallelPlan plan;
};

/// Mixtral 8x22B: TP 4, CP 2, PP 4, EP 8 on 64 GPUs.
Case mixtral(std::vector<std::string> settings = {}) {
  settings.insert(settings.begin(), {"tensor_parallel=4", "context_parallel=2", "zero_stage=1", "recompute.kind=UNIFORM"});
  const TransformerModel model = *load_model("mixtral_8x22b", place).transformer();
  return {model, load_plan({.name = "mixtral_8x22b_primus", .overrides = std::move(settings), .gpus = 64}, model, place)};
}

ReducedPlan reduced_to(const Case& of, std::uint64_t gpus) {
  return std::get<ReducedPlan>(reduced_plan(of.model, of.plan, {.gpus = gpus}));
}

bool has(const ReducedPlan& reduced, const std::string& reduction) {
  return std::ranges::find(reduced.reductions, reduction) != reduced.reductions.end();
}

}  // namespace

// 16 GPUs: TP x CP = 8 and EP = 8 both divide them, so that only the pipeline goes.
TEST(ReducedPlan, TakesThePipelineFirst) {
  const ReducedPlan reduced = reduced_to(mixtral(), 16);
  EXPECT_EQ(reduced.reductions, (std::vector<std::string>{"pipeline_parallel 4 -> 1"}));
  EXPECT_EQ(reduced.plan.ranks(), 16U);
  EXPECT_EQ(reduced.plan.data, 2U);
  EXPECT_EQ(reduced.plan.microbatches(), 1U);
  EXPECT_EQ(reduced.model.layers, 1U);
  EXPECT_EQ(reduced.model.experts->count, 8U);
  // What is measured is a layer that is not computed again.
  EXPECT_EQ(reduced.plan.recompute.kind, RecomputeKind::keep);
}

// 4 GPUs: experts over 4 ranks are not enough less, since TP x CP = 8 is still too much; so are
// experts over one. Then TP 2 x CP 2 = 4.
TEST(ReducedPlan, ThenExpertsThenTensors) {
  const ReducedPlan reduced = reduced_to(mixtral(), 4);
  EXPECT_TRUE(has(reduced, "expert_parallel 8 -> 1"));
  EXPECT_TRUE(has(reduced, "tensor_parallel 4 -> 2"));
  EXPECT_FALSE(has(reduced, "context_parallel 2 -> 1"));
  EXPECT_EQ(reduced.plan.ranks(), 4U);
  // An expert of each rank, as before.
  EXPECT_EQ(reduced.model.experts->count, 1U);
  EXPECT_EQ(reduced.model.experts->top_k, 1U);
}

// Without tensor and context parallelism experts go as far as needed: 8 over 2 ranks would be
// fewer ranks with more experts each; the two experts of a rank stay instead.
TEST(ReducedPlan, KeepsTheExpertsOfARank) {
  const Case of = mixtral({"tensor_parallel=1", "context_parallel=1", "expert_parallel=4"});
  const ReducedPlan reduced = reduced_to(of, 2);
  EXPECT_EQ(reduced.plan.expert, 2U);
  EXPECT_EQ(reduced.model.experts->count, 4U);
  EXPECT_EQ(reduced.model.experts->top_k, 2U);
}

// One GPU has the tokens that a rank had: 8192 / 2 of a sequence.
TEST(ReducedPlan, KeepsTheTokensOfARank) {
  const Case of = mixtral();
  const ReducedPlan reduced = reduced_to(of, 1);
  EXPECT_EQ(reduced.plan.tokens(), of.plan.tokens());
  EXPECT_EQ(reduced.plan.sequence, 4096U);
  EXPECT_FALSE(reduced.plan.sequence_parallel);
  EXPECT_EQ(reduced.plan.ranks(), 1U);
}

TEST(ReducedPlan, HasLayersOfBothKinds) {
  const TransformerModel model = *load_model("deepseek_v3", place).transformer();
  const ParallelPlan plan = load_plan({.name = "deepseek_v3_report", .overrides = {}, .gpus = 2048}, model, place);
  const auto reduced = std::get<ReducedPlan>(reduced_plan(model, plan, {.gpus = 8, .dense_layers = 1, .expert_layers = 2}));
  EXPECT_EQ(reduced.model.dense_layers(), 1U);
  EXPECT_EQ(reduced.model.layers, 3U);
  EXPECT_EQ(reduced.model.experts->count / reduced.plan.expert, model.experts->count / plan.expert);
}

}  // namespace weft::reduced_plan_test
