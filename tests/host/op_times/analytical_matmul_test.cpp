// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/analytical_matmul.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <string>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"

namespace weft::analytical_matmul_test {

Gpu gpu(const std::string& preset) { return gpu_named(preset, SourcePlace::named("test")); }

MatmulProblem half(double rows, double columns, double inner, double groups = 1) {
  return {.rows = rows, .columns = columns, .inner = inner, .groups = groups, .input_bytes = 2, .output_bytes = 2};
}

double operations(const MatmulProblem& problem) { return 2.0 * problem.rows * problem.columns * problem.inner * problem.groups; }

// Of a product of 16,384^3 the tiles are so many and so deep that waves, latencies and the kernel's
// overhead are a few percent: what is left is the rate.
TEST(AnalyticalMatmulTest, LargeProductsRunAtTheProductRate) {
  for (const std::string preset : {"v100_sxm2", "a100_sxm_80gb", "h100_sxm", "b200", "mi300x"}) {
    const Gpu one = gpu(preset);
    const MatmulProblem problem = half(16384, 16384, 16384);
    const double expected_s = operations(problem) / one.product_rate(MatrixType::fp16).value();
    const MatmulPlan plan = plan_matmul(one, MatrixType::fp16, problem);
    EXPECT_GT(plan.time_s, expected_s) << preset;
    EXPECT_LT(plan.time_s, expected_s * 1.06) << preset;
    EXPECT_GT(plan.compute_s, plan.memory_s) << preset;
  }
}

// Bekman, Machine Learning Engineering: the most that a search over shapes has found, in BF16.
TEST(AnalyticalMatmulTest, TheBestShapesReachWhatOthersHaveMeasured) {
  struct Achieved {
    std::string preset;
    double rate;
  };
  for (const Achieved& achieved :
       {Achieved{"h100_sxm", 795e12}, Achieved{"b200", 1745e12}, Achieved{"mi300x", 668e12}, Achieved{"mi355x", 1565e12}}) {
    double best = 0;
    for (double rows = 4096; rows <= 20480; rows += 1024) {
      for (double columns = 4096; columns <= 20480; columns += 1024) {
        const MatmulProblem problem = half(rows, columns, 16384);
        best = std::max(best, operations(problem) / plan_matmul(gpu(achieved.preset), MatrixType::bf16, problem).time_s);
      }
    }
    EXPECT_NEAR(best / achieved.rate, 1.0, 0.01) << achieved.preset;
  }
}

// One tile of one slice: the loads' latency, the results of a full wave, and the overhead.
TEST(AnalyticalMatmulTest, TheSmallestProductTakesTheOverhead) {
  const Gpu one = gpu("h100_sxm");
  const double time_s = plan_matmul(one, MatrixType::bf16, half(1, 1, 1)).time_s;
  EXPECT_GT(time_s, one.kernel_overhead.in_s() + one.tile_latency.in_s());
  EXPECT_LT(time_s, one.kernel_overhead.in_s() + one.tile_latency.in_s() + 1e-6);
}

// A row times a matrix reads the matrix once: 2 x 16,384 x 65,536 B over 3,352 GB/s x 0.92.
TEST(AnalyticalMatmulTest, AVectorTimesAMatrixIsBoundByMemory) {
  const Gpu one = gpu("h100_sxm");
  const MatmulPlan plan = plan_matmul(one, MatrixType::bf16, half(1, 65536, 16384));
  const double expected_s = 2.0 * 16384 * 65536 / (3352e9 * 0.92);
  EXPECT_NEAR(plan.memory_s, expected_s, 0.001 * expected_s);
  EXPECT_NEAR(plan.time_s, expected_s + 3e-6, 0.03 * expected_s);
}

// 108 tiles of 128 x 256 are one wave of A100's 108 multiprocessors. One row more is 109, and a
// second wave for the last one; the library evades a part of that with smaller tiles or splits.
TEST(AnalyticalMatmulTest, OneTileMoreThanAWaveIsAStep) {
  const Gpu one = gpu("a100_sxm_80gb");
  const MatmulPlan full = plan_matmul(one, MatrixType::fp16, half(128 * 108, 256, 8192));
  const MatmulPlan more = plan_matmul(one, MatrixType::fp16, half(128 * 108 + 1, 256, 8192));
  EXPECT_GT(more.time_s, 1.1 * full.time_s);
  EXPECT_LT(more.time_s, 2.0 * full.time_s);
}

// 128 x 128 results are four tiles at most: without splits all but four multiprocessors would idle.
TEST(AnalyticalMatmulTest, DeepProductsAreSplit) {
  const Gpu one = gpu("a100_sxm_80gb");
  const MatmulPlan plan = plan_matmul(one, MatrixType::fp16, half(128, 128, 65536));
  EXPECT_GT(plan.splits, 8U);
}

// 256 x 256 tiles of 16-bit operands need 64 KiB for two slices of 64 B; 16 KiB hold no more than
// 64 + 64 rows.
TEST(AnalyticalMatmulTest, TilesFitSharedMemory) {
  Gpu one = gpu("mi300x");
  one.shared_memory = Bytes::kib(16);
  const MatmulPlan plan = plan_matmul(one, MatrixType::fp16, half(8192, 8192, 8192));
  EXPECT_LE(plan.tile.rows + plan.tile.columns, 128U);
  one.shared_memory = Bytes::kib(1);
  EXPECT_GT(plan_matmul(one, MatrixType::fp16, half(8192, 8192, 8192)).time_s, 0.0);
}

TEST(AnalyticalMatmulTest, EqualGroupsAreABatch) {
  const Gpu one = gpu("h100_sxm");
  MatmulProblem grouped = half(1024, 4096, 2048, 16);
  const double batch_s = plan_matmul(one, MatrixType::bf16, grouped).time_s;
  grouped.rows_most = 1024;
  EXPECT_EQ(plan_matmul(one, MatrixType::bf16, grouped).time_s, batch_s);
}

// With all tokens at one of 16 experts the tiles are as many, but gradients of weights wait for
// the one expert whose k is 16 times the mean.
TEST(AnalyticalMatmulTest, TheLargestGroupHoldsUpGradientsOfWeights) {
  const Gpu one = gpu("h100_sxm");
  MatmulProblem weights = half(2048, 256, 512, 16);
  const double even_s = plan_matmul(one, MatrixType::bf16, weights).time_s;
  weights.inner_most = 16 * 512;
  EXPECT_GT(plan_matmul(one, MatrixType::bf16, weights).time_s, 1.2 * even_s);
}

// Elements of one byte at twice the rate: half the time.
TEST(AnalyticalMatmulTest, ATypeOfHalfTheSizeTakesHalfTheTime) {
  const Gpu one = gpu("h100_sxm");
  MatmulProblem problem = half(16384, 16384, 16384);
  const double half_s = plan_matmul(one, MatrixType::bf16, problem).time_s;
  problem.input_bytes = 1;
  EXPECT_NEAR(plan_matmul(one, MatrixType::fp8, problem).time_s, half_s / 2, 0.05 * half_s);
}

// A library that has a plan for a larger product may run the smaller one by it.
TEST(AnalyticalMatmulTest, LargerProductsTakeLonger) {
  RandomStream random(1, 2, 3);
  for (int i = 0; i < 2000; ++i) {
    const auto size = [&] { return static_cast<double>(1 + random.below(1ULL << random.below(15))); };
    const MatmulProblem small = half(size(), size(), size(), static_cast<double>(1 + random.below(4)));
    const Gpu one = gpu(i % 2 == 0 ? "a100_sxm_80gb" : "gh200");
    const double time_s = plan_matmul(one, MatrixType::fp16, small).time_s;
    MatmulProblem larger = small;
    const int side = i % 4;
    (side == 0 ? larger.rows : side == 1 ? larger.columns : side == 2 ? larger.inner : larger.groups) *= 2;
    EXPECT_GE(plan_matmul(one, MatrixType::fp16, larger).time_s, time_s * (1.0 - 1e-12))
        << small.rows << " x " << small.columns << " x " << small.inner << ", " << small.groups << " times, side " << side;
  }
}

}  // namespace weft::analytical_matmul_test
