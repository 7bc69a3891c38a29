// SPDX-License-Identifier: Apache-2.0
// Mask ratio: what causal attention takes by times of attention without a mask. Tables without one
// were once taken for causal, which made causal attention twice as long as it is.
#include "host/op_times/mask_ratio.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "host/op_times/analytical_times.hpp"
#include "host/op_times/regressor_search.hpp"
#include "host/op_times/regressor_times.hpp"
#include "host/op_times/tabled_times.hpp"
#include "tests/host/op_times/planted_samples.hpp"

namespace weft::mask_ratio_test {
namespace {

constexpr ElementType half{"FP16", 16};
/// Blocks of 128 tokens with those before them, of 16,384: (1 + 2 + .. + 128) / 128^2.
constexpr double below_diagonal = 129.0 / 256;

Operator attention(std::uint64_t batch, std::uint64_t heads, std::uint64_t length, bool is_causal, std::uint64_t width = 64) {
  return {"attention", FusedAttention{batch, heads, heads, length, length, width, width, is_causal}, half};
}

SampledTable table(const std::string& name, const std::string& text) {
  return read_sampled_table(SourceText(name, text), parse_sampled_name(name).value());
}

double factor(const MaskRatio& masks, const Operator& op, OperatorPass pass = OperatorPass::forward) {
  return masks.other(op, pass).value().factor;
}

TEST(MaskRatio, TheChipIsInTheTablesName) {
  EXPECT_EQ(MaskRatio("NVIDIAA100-SXM4-80GB").gpu().preset, "a100_sxm_80gb");
  EXPECT_EQ(MaskRatio("NVIDIAGH200120GB").gpu().preset, "gh200");
  EXPECT_EQ(MaskRatio("NVIDIAH200").gpu().preset, "h200");
  EXPECT_EQ(MaskRatio("AMDInstinctMI300X").gpu().preset, "mi300x");
  EXPECT_EQ(MaskRatio("chip").gpu().preset, "a100_sxm_80gb");
}

// 16,384 tokens are 128 blocks of 128 queries, and the i-th of them meets i of 128 blocks of keys:
// 129/256 of all. Ends of blocks and overheads are a hundredth of such a kernel.
TEST(MaskRatio, HalfOfTheBlocksAreBelowTheDiagonal) {
  for (const char* name : {"A100", "GH200", "B200"}) {
    const MaskRatio masks{name};
    EXPECT_NEAR(factor(masks, attention(2, 32, 16384, true)), below_diagonal, 0.01) << name;
    EXPECT_NEAR(factor(masks, attention(2, 32, 16384, true), OperatorPass::backward), below_diagonal, 0.02) << name;
  }
}

// A block of queries and one of keys: nothing is above the diagonal.
TEST(MaskRatio, AShortHeadIsAsLongWithAMask) { EXPECT_NEAR(factor(MaskRatio("A100"), attention(1, 1, 128, true)), 1, 1e-9); }

// 16 heads of 8 blocks are a single wave of 132 multiprocessors: its longest block goes through all
// keys, mask or no mask.
TEST(MaskRatio, AMaskNeverTakesLonger) {
  EXPECT_NEAR(factor(MaskRatio("H100"), attention(1, 16, 1024, true, 128)), 1, 1e-12);
  EXPECT_NEAR(factor(MaskRatio("H100"), attention(1, 16, 1024, false, 128)), 1, 1e-12);
}

TEST(MaskRatio, TheReverseIsTheReciprocal) {
  const MaskRatio masks{"A100"};
  EXPECT_NEAR(factor(masks, attention(4, 16, 4096, true)) * factor(masks, attention(4, 16, 4096, false)), 1, 1e-12);
  EXPECT_EQ(masks.other(attention(4, 16, 4096, true), OperatorPass::forward)->kernel.kernel.kind, KernelKind::attention);
  EXPECT_EQ(masks.other(attention(4, 16, 4096, false), OperatorPass::forward)->kernel.kernel.kind, KernelKind::causal_attention);
}

TEST(MaskRatio, OnlySampledAttentionHasOne) {
  const MaskRatio masks{"A100"};
  EXPECT_FALSE(masks.other({"qkv", Matmul{16, 16, 16, 1}, half}, OperatorPass::forward));
  EXPECT_FALSE(masks.other({"attention", FusedAttention{4, 16, 8, 4096, 4096, 128, 128, true}, half}, OperatorPass::forward));
  EXPECT_FALSE(masks.other(attention(4, 16, 4096, true), OperatorPass::backward_weight));
  Operator small = attention(4, 16, 4096, true);
  small.type = {"FP4_E2M1", 4};
  EXPECT_FALSE(masks.other(small, OperatorPass::forward));
}

// 32 x 128 blocks on 108 multiprocessors: 37.93 waves' worth, in whole waves 38. With a mask there
// are 129/256 of the steps, and half of the longest block sticks out at the end: 0.5 of 38 waves.
// By 1,000 us without a mask it is then 1,000 (37.93 x 129/256 + 0.5) / 38 us = 516 us, but for
// overheads.
TEST(TabledMasks, CausalAttentionIsHalfOfWhatItsTableHas) {
  const TabledTimes times(
      {{table("A100_flash_atten_fp16.csv", "mp,b,h,l,dim,F_dur(us),B_dur(us)\n1,1,32,16384,2048,1000,3000\n")}, {}, "A100"});
  EXPECT_EQ(times.time_of(attention(1, 32, 16384, false), OperatorPass::forward), Duration::us(1000));
  const auto causal = times.time_of(attention(1, 32, 16384, true), OperatorPass::forward);
  ASSERT_TRUE(causal);
  EXPECT_NEAR(causal->in_us(), 1000 * (32 * 128.0 / 108 * below_diagonal + 0.5) / 38, 10);
  const auto backward = times.time_of(attention(1, 32, 16384, true), OperatorPass::backward);
  ASSERT_TRUE(backward);
  EXPECT_NEAR(backward->in_us(), 3000 * below_diagonal, 100);
}

// Where both were sampled each answers for itself; where only causal attention was, it answers for
// all pairs.
TEST(TabledMasks, WhatWasSampledComesFirst) {
  const std::string head = "mp,b,h,l,dim,F_dur(us),B_dur(us)\n";
  const SampledTable causal = table("A100_causal_flash_atten_fp16.csv", head + "1,1,32,16384,2048,600,1800\n");
  const TabledTimes both({{causal, table("A100_flash_atten_fp16.csv", head + "1,1,32,16384,2048,1000,3000\n")}, {}, "A100"});
  EXPECT_EQ(both.time_of(attention(1, 32, 16384, true), OperatorPass::forward), Duration::us(600));
  EXPECT_EQ(both.time_of(attention(1, 32, 16384, false), OperatorPass::forward), Duration::us(1000));
  const TabledTimes one({{causal}, {}, "A100"});
  const auto all_pairs = one.time_of(attention(1, 32, 16384, false), OperatorPass::forward);
  ASSERT_TRUE(all_pairs);
  EXPECT_NEAR(all_pairs->in_us(), 600 * 38 / (32 * 128.0 / 108 * below_diagonal + 0.5), 20);
}

// A regressor of planted times, 20 us and 100 TFLOP/s of all pairs, answers for causal pairs by the
// same ratio, and says so.
TEST(RegressorMasks, AnswerByTheRatioWithANote) {
  std::string rows = "mp,b,h,l,dim,F_dur(us),B_dur(us)\n";
  for (const int b : {1, 2, 4, 8}) {
    for (const int h : {8, 16, 32}) {
      for (const int l : {1024, 2048, 4096, 8192}) {
        const double us = 20 + 4.0 * b * h * l * l * 128 / 100e6;
        rows += fmt::format("1,{},{},{},{},{},{}\n", b, h, l, 128 * h, us, 3 * us);
      }
    }
  }
  SampledFolder samples{{table("A100_flash_atten_fp16.csv", rows)}, {}, "A100"};
  const RegressorTimes times(fit_regressors(samples, small_search()), OutsideRange::decline);
  const auto full = times.time_of(attention(4, 16, 4096, false, 128), OperatorPass::forward);
  ASSERT_TRUE(full);
  EXPECT_TRUE(times.notes().empty());
  const auto causal = times.time_of(attention(4, 16, 4096, true, 128), OperatorPass::forward);
  ASSERT_TRUE(causal);
  const double ratio = factor(MaskRatio("A100"), attention(4, 16, 4096, true, 128));
  EXPECT_NEAR(causal->in_us(), ratio * full->in_us(), 1e-4);
  ASSERT_EQ(times.notes().size(), 1U);
  EXPECT_NE(times.notes()[0].find("another mask"), std::string::npos) << times.notes()[0];
}

// The tables of A100: of the fastest row 237 TFLOP/s by all pairs, above what half of them could
// be read from. Causal attention by look-up is nowhere faster than the peak of 312 TFLOP/s, and
// faster than the 118 TFLOP/s that the table would be by causal pairs.
TEST(RealMasks, CausalAttentionOfA100) {
  const std::string path =
      std::string(WEFT_SOURCE_DIR) +
      "/../shared/data/kernels/estimate_train_time/Perlmutter/operator/NVIDIAA100-SXM4-80GB_flash_atten_fp16.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const SampledFolder samples = read_samples({path});
  const TabledTimes times(samples);
  double fastest = 0;
  double fastest_causal = 0;
  for (const SampledRow& row : samples.tables.front().rows) {
    const ColumnValues values{samples.tables.front().columns, row.sizes};
    const KernelId kernel = kernel_of_function("flash_atten", samples.tables.front().columns);
    const std::vector<double> sizes = kernel_sizes("flash_atten", kernel, half, values);
    const auto size = [&](std::size_t i) { return static_cast<std::uint64_t>(sizes[i]); };
    for (const bool is_causal : {false, true}) {
      const Operator op = attention(size(0), size(1), size(2), is_causal, size(3));
      const auto time = times.time_of(op, OperatorPass::forward);
      ASSERT_TRUE(time);
      double& best = is_causal ? fastest_causal : fastest;
      best = std::max(best, product_operations(op.shape, OperatorPass::forward) / time->in_s());
    }
  }
  EXPECT_NEAR(fastest, 237e12, 1e12);
  EXPECT_GT(fastest_causal, 118e12 * 1.5);
  EXPECT_LT(fastest_causal, 312e12);
}

}  // namespace
}  // namespace weft::mask_ratio_test
