// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/analytical_attention.hpp"

#include <gtest/gtest.h>
#include <string>

#include "core/text/diagnostics.hpp"
#include "workloads/models/operator.hpp"

namespace weft::analytical_attention_test {

Gpu gpu(const std::string& preset) { return gpu_named(preset, SourcePlace::named("test")); }

FusedAttention heads_of(std::uint64_t width, std::uint64_t length, bool is_causal) {
  return {.batch = 2,
          .query_heads = 32,
          .key_value_heads = 32,
          .query_length = length,
          .key_length = length,
          .key_width = width,
          .value_width = width,
          .is_causal = is_causal};
}

AttentionPlan plan(const std::string& preset, const FusedAttention& shape, OperatorPass pass = OperatorPass::forward,
                   AttentionVersion version = AttentionVersion::automatic) {
  const Gpu one = gpu(preset);
  return plan_attention(one, MatrixType::bf16, 2, shape, pass, attention_kernel(one.generation, version));
}

double rate(const AttentionPlan& one, const FusedAttention& shape, OperatorPass pass = OperatorPass::forward) {
  return product_operations(shape, pass) / one.time_s;
}

// Shah et al., FlashAttention-3: up to 740 TFLOP/s forward in FP16 on H100 SXM.
TEST(AnalyticalAttentionTest, Version3ReachesWhatItsPaperStates) {
  const FusedAttention shape = heads_of(256, 16384, false);
  EXPECT_NEAR(rate(plan("h100_sxm", shape), shape), 740e12, 0.04 * 740e12);
}

// Zadouri et al., FlashAttention-4: up to 1,613 TFLOP/s forward in BF16 on B200.
TEST(AnalyticalAttentionTest, Version4ReachesWhatItsPaperStates) {
  const FusedAttention shape = heads_of(128, 16384, false);
  EXPECT_NEAR(rate(plan("b200", shape), shape), 1613e12, 0.04 * 1613e12);
}

// Dao, FlashAttention-2: up to 230 TFLOP/s on A100; Perlmutter's, to which constants are fitted,
// are slower on average.
TEST(AnalyticalAttentionTest, Version2OnA100) {
  const FusedAttention shape = heads_of(128, 16384, false);
  EXPECT_NEAR(rate(plan("a100_sxm_80gb", shape), shape), 230e12, 0.15 * 230e12);
}

// Blocks of 128 queries see 1, 2, .. 128 of 128 blocks of keys: 129 / 256 of all steps.
TEST(AnalyticalAttentionTest, CausalAttentionSkipsWhatIsAboveTheDiagonal) {
  const FusedAttention all = heads_of(64, 16384, false);
  const FusedAttention causal = heads_of(64, 16384, true);
  EXPECT_EQ(plan("h100_sxm", all).steps, 64.0 * 128 * 128);
  EXPECT_EQ(plan("h100_sxm", causal).steps, 64 * 129.0 / 2 * 128);
  EXPECT_NEAR(plan("h100_sxm", causal).time_s / plan("h100_sxm", all).time_s, 129.0 / 256, 0.02);
}

// The last 1,024 of 4,096 positions ask: 8 blocks of 128 queries see 25, 26, .. 32 blocks of keys.
TEST(AnalyticalAttentionTest, QueriesAtTheEndSeeAllKeysBeforeThem) {
  FusedAttention shape = heads_of(64, 4096, true);
  shape.query_length = 1024;
  EXPECT_EQ(plan("h100_sxm", shape).steps, 64.0 * (25 + 26 + 27 + 28 + 29 + 30 + 31 + 32));
  // Backward, 32 blocks of keys: the first 24 are seen by all 8 blocks of queries, the others by
  // 8, 7, .. 1, which is 36.
  EXPECT_EQ(plan("h100_sxm", shape, OperatorPass::backward).steps, 64 * (24 * 8 + 36.0));
  // Queries before all keys have nothing to do, but for a step that finds it out at the end.
  shape.query_length = 4096;
  shape.key_length = 1024;
  EXPECT_EQ(plan("h100_sxm", shape).steps, 64 * 36.0);
}

// Dao, section 2.3.2: five products for two. Version 2 reaches less of its rate in backward, and
// two kernels come on top.
TEST(AnalyticalAttentionTest, BackwardIsLongerThanItsProducts) {
  for (const std::string preset : {"a100_sxm_80gb", "h100_sxm"}) {
    const FusedAttention shape = heads_of(128, 4096, true);
    const double forward_s = plan(preset, shape).time_s;
    const AttentionPlan backward = plan(preset, shape, OperatorPass::backward);
    EXPECT_GT(backward.time_s, 2.5 * forward_s) << preset;
    EXPECT_LT(backward.time_s, 5.0 * forward_s) << preset;
    EXPECT_GT(backward.other_s, 0.0) << preset;
  }
}

// 64 heads x 17 blocks are 1,088 blocks: of A100's 108 multiprocessors some do 11. 64 x 16 = 1,024
// take 10.
TEST(AnalyticalAttentionTest, BlocksComeInWaves) {
  const double sixteen_s = plan("a100_sxm_80gb", heads_of(128, 16 * 128, false)).main_s;
  const double seventeen_s = plan("a100_sxm_80gb", heads_of(128, 17 * 128, false)).main_s;
  EXPECT_NEAR(seventeen_s / sixteen_s, 11.0 * 17 / (10.0 * 16), 0.02);
}

// Heads of 80 are computed as heads of 96, with checked bounds.
TEST(AnalyticalAttentionTest, PaddedHeadsAreSlower) {
  const double padded_s = plan("a100_sxm_80gb", heads_of(80, 4096, false)).time_s;
  const double whole_s = plan("a100_sxm_80gb", heads_of(96, 4096, false)).time_s;
  EXPECT_NEAR(padded_s / whole_s, 1 / 0.89, 0.02);
}

TEST(AnalyticalAttentionTest, HeadsThatShareKeysReadFewerButReduceGradients) {
  FusedAttention shape = heads_of(128, 4096, true);
  const AttentionPlan own = plan("h100_sxm", shape, OperatorPass::backward);
  shape.key_value_heads = 4;
  const AttentionPlan shared = plan("h100_sxm", shape, OperatorPass::backward);
  EXPECT_GT(shared.other_s, own.other_s);
}

TEST(AnalyticalAttentionTest, GenerationsHaveTheirVersion) {
  const FusedAttention shape = heads_of(128, 8192, true);
  const auto forward = [&](const std::string& preset, AttentionVersion version) {
    return plan(preset, shape, OperatorPass::forward, version).time_s;
  };
  EXPECT_EQ(forward("h100_sxm", AttentionVersion::automatic), forward("h100_sxm", AttentionVersion::flash_attention_3));
  EXPECT_LT(forward("h100_sxm", AttentionVersion::flash_attention_3), forward("h100_sxm", AttentionVersion::flash_attention_2));
  EXPECT_EQ(forward("gb200", AttentionVersion::automatic), forward("gb200", AttentionVersion::flash_attention_4));
  EXPECT_EQ(forward("mi300x", AttentionVersion::automatic), forward("mi300x", AttentionVersion::flash_attention_2));
}

// Blackwell Ultra has twice the exponentials, which narrow heads wait for.
TEST(AnalyticalAttentionTest, ExponentialsBoundNarrowHeads) {
  const FusedAttention narrow = heads_of(64, 16384, false);
  EXPECT_LT(plan("gb300", narrow).time_s, 0.85 * plan("gb200", narrow).time_s);
}

}  // namespace weft::analytical_attention_test
