// SPDX-License-Identifier: Apache-2.0
// Plan space: all combinations that break no rule, each once, and nothing that the user set
// otherwise.
#include "host/projections/plan_space.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <tuple>

#include "core/text/diagnostics.hpp"
#include "tests/host/projections/small_training.hpp"

namespace weft::plan_space_test {
namespace {

const SourcePlace place = SourcePlace::named("test");

using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                       std::uint64_t, std::uint32_t, RecomputeKind>;

Key key_of(const ParallelPlan& plan) {
  return {plan.tensor, plan.context,       plan.pipeline,   plan.chunks,     plan.data,
          plan.expert, plan.expert_tensor, plan.microbatch, plan.zero_stage, plan.recompute.kind};
}

}  // namespace

/// Four GPUs, four layers and 32 sequences: t c p d = 4, chunks where there is a pipeline, and
/// every microbatch that divides the replica's sequences; interleaving needs a multiple of the
/// stages.
TEST(PlanSpace, HasEveryCombinationOnce) {
  const TransformerModel model = small_training::model(4);
  PlanSpace space;
  space.settings = {"global_batch=32"};
  space.gpus = 4;
  const PlanCandidates found = plans_in(space, model, place);
  std::set<Key> keys;
  for (const ParallelPlan& plan : found.plans) {
    EXPECT_EQ(plan.ranks(), 4U);
    EXPECT_TRUE(broken_rules(plan, model).empty());
    EXPECT_TRUE(keys.insert(key_of(plan)).second);
  }
  std::set<Key> expected;
  for (const std::uint32_t t : {1U, 2U, 4U}) {
    for (const std::uint32_t c : {1U, 2U, 4U}) {
      for (const std::uint32_t p : {1U, 2U, 4U}) {
        if (4 % (t * c * p) != 0) continue;
        const std::uint32_t d = 4 / (t * c * p);
        for (std::uint32_t v = 1; v <= 4 / p; ++v) {
          if ((4 / p) % v != 0 || (p == 1 && v > 1)) continue;
          for (const std::uint64_t b : {1U, 2U, 4U, 8U}) {
            if (32 % (b * d) != 0) continue;
            for (const RecomputeKind kind : {RecomputeKind::keep, RecomputeKind::uniform}) {
              expected.insert({t, c, p, v, d, 1, 1, b, 1, kind});
              if (p == 1) expected.insert({t, c, p, v, d, 1, 1, b, 3, kind});
            }
          }
        }
      }
    }
  }
  for (const Key& key : keys) EXPECT_TRUE(expected.contains(key)) << std::get<0>(key) << std::get<1>(key) << std::get<2>(key);
  EXPECT_EQ(keys.size() + found.refused, expected.size());
  EXPECT_GT(keys.size(), found.refused);
}

TEST(PlanSpace, WhatTheUserSetStays) {
  const TransformerModel model = small_training::model(4);
  PlanSpace space;
  space.settings = {"global_batch=16", "tensor_parallel=2", "zero_stage=2", "recompute.kind=BLOCK", "recompute.layers=1"};
  space.gpus = 8;
  const PlanCandidates found = plans_in(space, model, place);
  ASSERT_FALSE(found.plans.empty());
  for (const ParallelPlan& plan : found.plans) {
    EXPECT_EQ(plan.tensor, 2U);
    EXPECT_EQ(plan.zero_stage, 2U);
    EXPECT_EQ(plan.recompute.kind, RecomputeKind::block);
  }
}

TEST(PlanSpace, TensorParallelismStaysInAHost) {
  const TransformerModel model = small_training::model(4);
  PlanSpace space;
  space.settings = {"global_batch=16"};
  space.gpus = 16;
  space.gpus_per_host = 4;
  const PlanCandidates found = plans_in(space, model, place);
  EXPECT_EQ(std::ranges::max(found.plans, {}, &ParallelPlan::tensor).tensor, 4U);
}

/// Eight experts: over 1, 2, 4 or 8 ranks, whole or divided as tensors are.
TEST(PlanSpace, ExpertsHaveAxesOfTheirOwn) {
  TransformerModel model = small_training::model(4);
  model.experts = ExpertBlock{.count = 8, .top_k = 2, .width = 128, .first_dense_layers = 1, .load_shares = {}};
  PlanSpace space;
  space.settings = {"global_batch=16", "tensor_parallel=2",   "context_parallel=1", "pipeline_parallel=1",
                    "microbatch=1",    "recompute.kind=KEEP", "zero_stage=1"};
  space.gpus = 8;
  std::set<std::pair<std::uint32_t, std::uint32_t>> both;
  const PlanCandidates found = plans_in(space, model, place);
  for (const ParallelPlan& plan : found.plans) both.insert({plan.expert, plan.expert_tensor});
  EXPECT_EQ(both, (std::set<std::pair<std::uint32_t, std::uint32_t>>{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {4, 1}, {4, 2}, {8, 1}}));
}

/// A base that keeps the scores of attention and computes groups of two layers again: the kinds of
/// recomputation are tried with nothing of its layers, and the selective one as well.
TEST(PlanSpace, RecomputationOfABaseIsVariedWhole) {
  const TransformerModel model = small_training::model(4);
  const std::string base = testing::TempDir() + "plan_space_base.textproto";
  std::ofstream(base) << "global_batch: 16 fused_attention: false recompute { kind: UNIFORM layers: 2 }";
  PlanSpace space;
  space.base = base;
  space.gpus = 1;
  std::multiset<std::pair<RecomputeKind, std::uint64_t>> kinds;
  for (const ParallelPlan& plan : plans_in(space, model, place).plans) {
    if (plan.microbatch == 1 && plan.zero_stage == 1) kinds.insert({plan.recompute.kind, plan.recompute.layers});
  }
  const std::multiset<std::pair<RecomputeKind, std::uint64_t>> expected = {
      {RecomputeKind::keep, 1}, {RecomputeKind::selective, 1}, {RecomputeKind::uniform, 1}};
  EXPECT_EQ(kinds, expected);
}

std::string refusal(const std::vector<std::string>& settings) {
  PlanSpace space;
  space.settings = settings;
  space.gpus = 16;
  try {
    plans_in(space, small_training::model(4), place);
  } catch (const InputError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

/// Eight heads, four layers, 16 GPUs.
TEST(PlanSpace, SizesThatNoPlanCanHaveAreNamed) {
  EXPECT_EQ(refusal({"tensor_parallel=3"}), "tensor_parallel = 3 does not divide heads = 8");
  EXPECT_EQ(refusal({"pipeline_parallel=3"}), "pipeline_parallel = 3 does not divide 16 GPUs");
  EXPECT_EQ(refusal({"tensor_parallel=8", "context_parallel=4"}), "tensor_parallel x context_parallel is more than 16 GPUs");
  EXPECT_EQ(refusal({"tensor_parallel=2", "context_parallel=9223372036854775808"}),
            "tensor_parallel x context_parallel is more than 16 GPUs");
  EXPECT_EQ(refusal({"pipeline_parallel=8"}), "pipeline_parallel = 8 is more than 4 layers");
  EXPECT_EQ(refusal({"data_parallel=5"}), "data_parallel = 5 does not divide 16 GPUs");
}

TEST(PlanSpace, AMistakeInASettingIsNoRefusedPlan) {
  PlanSpace space;
  space.settings = {"global_batch=16", "tensor_paralel=2"};
  EXPECT_THROW(plans_in(space, small_training::model(4), place), InputError);
}

}  // namespace weft::plan_space_test
