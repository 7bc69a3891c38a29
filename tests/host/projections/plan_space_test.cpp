// SPDX-License-Identifier: Apache-2.0
// Plan space: all combinations that break no rule, each once, and nothing that the user set
// otherwise.
#include "host/projections/plan_space.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(PlanSpace, AMistakeInASettingIsNoRefusedPlan) {
  PlanSpace space;
  space.settings = {"global_batch=16", "tensor_paralel=2"};
  EXPECT_THROW(plans_in(space, small_training::model(4), place), InputError);
}

}  // namespace weft::plan_space_test
