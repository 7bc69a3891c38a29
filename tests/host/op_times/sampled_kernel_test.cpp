// SPDX-License-Identifier: Apache-2.0
// Sampled kernels: sizes are those that estimate-train-time prints for Llemma 7B under mp 2 with
// b 4, h 32, l 4096, dim 4096 (llemma_7b_4_2_2_P.csv, column "parameter").
#include "host/op_times/sampled_kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "host/op_times/kernel_features.hpp"

namespace weft::sampled_kernel_test {
namespace {

const std::vector<std::string> kColumns = {"mp", "b", "h", "l", "dim", "encoders"};
const std::vector<double> kLlemma = {2, 4, 32, 4096, 4096, 9};

std::vector<double> sizes(std::string_view function) {
  return kernel_sizes(function, kernel_of_function(function, kColumns), {kColumns, kLlemma});
}

TEST(SampledKernel, SizesAreThoseOfLlemma) {
  using Sizes = std::vector<double>;
  EXPECT_EQ(sizes("linear1"), (Sizes{16384, 6144, 4096, 1}));
  EXPECT_EQ(sizes("linear2"), (Sizes{16384, 4096, 2048, 1}));
  EXPECT_EQ(sizes("linear3"), (Sizes{16384, 8192, 4096, 1}));
  EXPECT_EQ(sizes("linear4"), (Sizes{16384, 4096, 8192, 1}));
  EXPECT_EQ(sizes("linear_final"), (Sizes{16384, 25216, 4096, 1}));
  EXPECT_EQ(sizes("embedding"), (Sizes{16384, 4096, 25216}));
  EXPECT_EQ(sizes("flash_atten"), (Sizes{4, 16, 4096, 128}));
  EXPECT_EQ(sizes("RoPE"), (Sizes{4, 4096, 16, 128}));
  EXPECT_EQ(sizes("gelu"), (Sizes{16384, 8192}));
  EXPECT_EQ(sizes("RMSlayernorm"), (Sizes{16384, 4096}));
  EXPECT_EQ(sizes("res_add"), (Sizes{16384, 4096}));
  EXPECT_EQ(sizes("parallel_cross_entropy_128"), (Sizes{16384, 25216}));
  // Scores of 4 x 32 / 2 heads: 64 products of 4096 x 4096 x 128.
  EXPECT_EQ(sizes("baddbmm"), (Sizes{4096, 4096, 128, 64}));
  EXPECT_EQ(sizes("bmm"), (Sizes{4096, 128, 4096, 64}));
  EXPECT_EQ(sizes("softmax"), (Sizes{262144, 4096}));
}

// 12 x 4096^2 / 2 weights in each of 9 encoders, 25,216 x 4,096 of the first stage's embedding.
// The file has 908,869,632 parameters for a first stage of 8 encoders, 0.04 % more with biases and
// norms.
TEST(SampledKernel, OptimizersCountTheirStagesParameters) {
  EXPECT_EQ(sizes("middleStage_optimizer"), (std::vector<double>{9 * 100663296.0, 9}));
  std::vector<double> eight = kLlemma;
  eight[5] = 8;
  const double first =
      kernel_sizes("firstStage_optimizer", kernel_of_function("firstStage_optimizer", kColumns), {kColumns, eight})[0];
  EXPECT_EQ(first, 8 * 100663296.0 + 25216.0 * 4096.0);
  EXPECT_NEAR(first / 908869632.0, 1, 4e-4);
}

// Whatever a table has is its size if nobody knows the function, or a column is missing.
TEST(SampledKernel, UnknownFunctionsHaveTheirColumns) {
  EXPECT_EQ(kernel_of_function("swish", kColumns).kind, KernelKind::columns);
  EXPECT_EQ(kernel_of_function("linear1", std::vector<std::string>{"mp", "b", "l"}).kind, KernelKind::columns);
  EXPECT_EQ(sizes("swish"), kLlemma);
}

// A table's "shape" counts fp16 elements.
TEST(SampledKernel, CollectivesHaveBytes) {
  const std::vector<std::string> columns = {"shape", "nodes", "GPUsPerNode"};
  const KernelId kernel = kernel_of_function("allreduce", columns);
  EXPECT_EQ(kernel.kind, KernelKind::message);
  EXPECT_EQ(kernel_sizes("allreduce", kernel, {columns, std::vector<double>{33554432, 2, 4}}), std::vector<double>{67108864});
}

TEST(SampledKernel, OperatorsHaveTheSameSizes) {
  const auto matmul = kernel_of(Matmul{16384, 6144, 4096, 1});
  ASSERT_TRUE(matmul);
  EXPECT_EQ(matmul->sizes, sizes("linear1"));
  EXPECT_EQ(matmul->kernel, kernel_of_function("linear1", kColumns));
  const auto attention = kernel_of(FusedAttention{4, 16, 16, 4096, 4096, 128, 128, true});
  ASSERT_TRUE(attention);
  EXPECT_EQ(attention->sizes, sizes("flash_atten"));
  const auto norm = kernel_of(RowWise{RowOperator::rms_norm, 16384, 4096});
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->kernel, kernel_of_function("RMSlayernorm", kColumns));
  // Queries and keys of 16 heads of 128: 2 x 2048.
  const auto rotary = kernel_of(RowWise{RowOperator::rotary, 16384, 4096});
  const auto pooled = pooled_kernel(kernel_of_function("RoPE", kColumns), sizes("RoPE"));
  ASSERT_TRUE(rotary && pooled);
  EXPECT_EQ(rotary->kernel, pooled->kernel);
  EXPECT_EQ(rotary->sizes, pooled->sizes);
  // What no table tells of.
  EXPECT_FALSE(kernel_of(FusedAttention{4, 16, 8, 4096, 4096, 128, 128, true}));
  EXPECT_FALSE(kernel_of(FusedAttention{4, 16, 16, 4096, 4096, 128, 128, false}));
  EXPECT_FALSE(kernel_of(Convolution{1, 2, 3, 4, 5, 6, 1}));
}

// linear1 of Llemma: 2 x 16384 x 6144 x 4096 operations; (16384 x 4096 + 4096 x 6144 + 16384 x
// 6144) x 2 B; 128 x 48 tiles of 128 x 128, which fill 56 and 94 waves of 108 and 132
// multiprocessors but for 96/108 and 72/132.
TEST(SampledKernel, FeaturesOfAMatmul) {
  const KernelFeatures features = kernel_features(KernelKind::matmul, sizes("linear1"), 2);
  EXPECT_EQ(features.terms, (std::vector<double>{1, 824633720832.0, 385875968.0}));
  EXPECT_EQ(features.features.size(), feature_count(KernelKind::matmul, 4));
  EXPECT_NEAR(features.features[0], 14, 1e-6);  // 2^14 rows
  EXPECT_NEAR(features.features[6], std::log2(128 * 48), 1e-5);
  EXPECT_NEAR(features.features[10], 96.0 / 108, 1e-6);
  EXPECT_NEAR(features.features[12], 72.0 / 132, 1e-6);
  EXPECT_EQ(features.features[14], 1);  // whole tiles
}

}  // namespace
}  // namespace weft::sampled_kernel_test
