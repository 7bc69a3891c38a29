// SPDX-License-Identifier: Apache-2.0
// Sampled kernels: sizes are those that estimate-train-time prints for Llemma 7B under mp 2 with
// b 4, h 32, l 4096, dim 4096 (llemma_7b_4_2_2_P.csv, column "parameter").
#include "host/op_times/sampled_kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "host/op_times/kernel_features.hpp"

namespace weft::sampled_kernel_test {
namespace {

constexpr ElementType half{"FP16", 16};
const std::vector<std::string> all_columns = {"mp", "b", "h", "l", "dim", "encoders"};
const std::vector<double> llemma = {2, 4, 32, 4096, 4096, 9};

std::vector<double> sizes(std::string_view function) {
  return kernel_sizes(function, kernel_of_function(function, all_columns), half, {all_columns, llemma});
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

// Line "optimizer" of the file, for stages of 8, 9 and 6 of the 32 encoders: 12 x 4096^2 / 2
// weights and 9 x 4096 / 2 + 4 x 4096 in biases and norms are 100,698,112 of each encoder; 25,216 x
// 4,096 of the embedding, as many of the output layer and 2 x 4096 of the norm before it. Biases
// were once left out here, and the benchmark of the analytical model counted them by its own rule.
TEST(SampledKernel, OptimizersCountTheirStagesParameters) {
  const auto parameters = [](std::string_view stage, double encoders, double ranks) {
    std::vector<double> row = llemma;
    row[0] = ranks;
    row[5] = encoders;
    return kernel_sizes(stage, kernel_of_function(stage, all_columns), half, {all_columns, row}).front();
  };
  EXPECT_EQ(parameters("firstStage_optimizer", 8, 2), 908869632.0);
  EXPECT_EQ(parameters("middleStage_optimizer", 9, 2), 906283008.0);
  EXPECT_EQ(parameters("lastStage_optimizer", 6, 2), 707481600.0);
  EXPECT_EQ(sizes("middleStage_optimizer"), (std::vector<double>{906283008.0, 9}));
  // Its table "optimizer" is of one rank and both ends: 814,858,240 parameters, 2 layers of 4,096.
  const double table = 50304.0 * 4096;
  EXPECT_EQ(parameters("lastStage_optimizer", 2, 1) + table, 814858240.0);
}

// What only the kernel sampler writes.
TEST(SampledKernel, FunctionsOfTheSamplerHaveOperators) {
  const auto of_row = [](std::string_view function, std::vector<std::string> columns, std::vector<double> row) {
    const KernelId kernel = kernel_of_function(function, columns);
    return OperatorKernel{kernel, kernel_sizes(function, kernel, half, {columns, row})};
  };
  const auto expect_operator = [](const OperatorKernel& sampled, const OperatorShape& shape) {
    const auto asked = kernel_of(shape);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->kernel, sampled.kernel);
    EXPECT_EQ(asked->sizes, sampled.sizes);
  };
  expect_operator(of_row("swiglu", {"mp", "b", "l", "ffn"}, {2, 4, 4096, 11008}),
                  RowWise{RowOperator::gated_activation, 16384, 5504});
  expect_operator(of_row("cross_entropy", {"b", "l", "vocab"}, {4, 4096, 128256}),
                  RowWise{RowOperator::cross_entropy, 16384, 128256});
  expect_operator(of_row("causal_flash_atten", {"mp", "b", "h", "l", "dim"}, {2, 4, 32, 4096, 4096}),
                  FusedAttention{4, 16, 16, 4096, 4096, 128, 128, true});
  // The largest of 8 groups has twice the mean of 4,096 / 8 rows.
  expect_operator(of_row("grouped_gemm", {"rows", "skew", "columns", "inner", "groups"}, {4096, 2, 1408, 2048, 8}),
                  GroupedMatmul{.rows = 4096, .rows_most = 1024, .columns = 1408, .inner = 2048, .groups = 8});
  // Operators do not know how many experts a router chooses: its table pools.
  const OperatorKernel router = of_row("moe_router", {"b", "l", "experts", "topk"}, {4, 4096, 64, 6});
  EXPECT_EQ(router.sizes, (std::vector<double>{16384, 64, 6}));
  const auto pooled = pooled_kernel(router.kernel, router.sizes);
  ASSERT_TRUE(pooled);
  expect_operator({pooled->kernel, pooled->sizes}, RowWise{RowOperator::router, 16384, 64});
  // Products one after the other are no operator's kernel.
  EXPECT_EQ(of_row("expert_gemm", {"rows", "skew", "columns", "inner", "groups"}, {4096, 2, 1408, 2048, 8}).kernel.kind,
            KernelKind::columns);
}

// On A100 30 B move per element of logits, at the rate of the memory: near eight reads and writes
// of 4 B, and twice those of 2.
TEST(SampledKernel, LossesAreInFp32WhateverTheTableSays) {
  EXPECT_EQ(operator_type(kernel_of_function("parallel_cross_entropy_128", all_columns), half).name, "FP32");
  EXPECT_EQ(operator_type(kernel_of_function("gelu", all_columns), half), half);
}

// Whatever a table has is its size if nobody knows the function, or a column is missing.
TEST(SampledKernel, UnknownFunctionsHaveTheirColumns) {
  EXPECT_EQ(kernel_of_function("swish", all_columns).kind, KernelKind::columns);
  EXPECT_EQ(kernel_of_function("linear1", std::vector<std::string>{"mp", "b", "l"}).kind, KernelKind::columns);
  EXPECT_EQ(sizes("swish"), llemma);
}

// A table's "shape" counts elements of its type.
TEST(SampledKernel, CollectivesHaveBytes) {
  const std::vector<std::string> columns = {"shape", "nodes", "GPUsPerNode"};
  const KernelId kernel = kernel_of_function("allreduce", columns);
  EXPECT_EQ(kernel.kind, KernelKind::message);
  const std::vector<double> row = {33554432, 2, 4};
  EXPECT_EQ(kernel_sizes("allreduce", kernel, half, {columns, row}), std::vector<double>{67108864});
  EXPECT_EQ(kernel_sizes("allreduce", kernel, {"FP32", 32}, {columns, row}), std::vector<double>{134217728});
}

TEST(SampledKernel, OperatorsHaveTheSameSizes) {
  const auto matmul = kernel_of(Matmul{16384, 6144, 4096, 1});
  ASSERT_TRUE(matmul);
  EXPECT_EQ(matmul->sizes, sizes("linear1"));
  EXPECT_EQ(matmul->kernel, kernel_of_function("linear1", all_columns));
  const auto attention = kernel_of(FusedAttention{4, 16, 16, 4096, 4096, 128, 128, false});
  ASSERT_TRUE(attention);
  EXPECT_EQ(attention->sizes, sizes("flash_atten"));
  EXPECT_EQ(attention->kernel, kernel_of_function("flash_atten", all_columns));
  EXPECT_NE(kernel_of(FusedAttention{4, 16, 16, 4096, 4096, 128, 128, true})->kernel, attention->kernel);
  const auto norm = kernel_of(RowWise{RowOperator::rms_norm, 16384, 4096});
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->kernel, kernel_of_function("RMSlayernorm", all_columns));
  // Queries and keys of 16 heads of 128: 2 x 2048.
  const auto rotary = kernel_of(RowWise{RowOperator::rotary, 16384, 4096});
  const auto pooled = pooled_kernel(kernel_of_function("RoPE", all_columns), sizes("RoPE"));
  ASSERT_TRUE(rotary && pooled);
  EXPECT_EQ(rotary->kernel, pooled->kernel);
  EXPECT_EQ(rotary->sizes, pooled->sizes);
  // What no table tells of.
  EXPECT_FALSE(kernel_of(FusedAttention{4, 16, 8, 4096, 4096, 128, 128, true}));
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

// 32,768 rows of 32,768 elements of 2 B end at an offset of 2^31 - 2 and are launched once; one row
// more is cut in two, and so is half of it in 4 B.
TEST(SampledKernel, FeaturesOfRowsKnowIntoHowManyLaunchesTheyAreCut) {
  const auto launches = [](double rows, double bytes_each) {
    return std::exp2(kernel_features(KernelKind::row_wise, std::vector<double>{rows, 32768}, bytes_each).features[3]);
  };
  EXPECT_NEAR(launches(32768, 2), 1, 1e-6);
  EXPECT_NEAR(launches(32769, 2), 2, 1e-6);
  EXPECT_NEAR(launches(16385, 4), 2, 1e-6);
  EXPECT_NEAR(launches(65537, 2), 4, 1e-6);
}

// An operator's kernel is the operator's again; of a pooled kernel the pool is.
TEST(SampledKernel, KernelsHaveTheirOperators) {
  for (const char* function : {"linear1", "bmm", "flash_atten", "softmax", "gelu", "RoPE", "embedding", "lastStage_optimizer",
                               "parallel_cross_entropy_128"}) {
    const KernelId kernel = kernel_of_function(function, all_columns);
    const auto shape = operator_of(kernel, sizes(function));
    ASSERT_TRUE(shape) << function;
    const auto found = kernel_of(*shape);
    ASSERT_TRUE(found) << function;
    const auto pooled = pooled_kernel(kernel, sizes(function));
    EXPECT_EQ(found->kernel, pooled ? pooled->kernel : kernel) << function;
    EXPECT_EQ(found->sizes, pooled ? pooled->sizes : sizes(function)) << function;
  }
  EXPECT_FALSE(operator_of(kernel_of_function("fillmask", all_columns), sizes("fillmask")));
  EXPECT_FALSE(operator_of(kernel_of_function("swish", all_columns), llemma));
}

// Every kind has terms above 0 and finite features, as many whatever the sizes are.
TEST(SampledKernel, FeaturesOfEveryKind) {
  for (int i = 0; i < static_cast<int>(KernelKind::columns); ++i) {
    const auto kind = static_cast<KernelKind>(i);
    for (const double size : {1.0, 3.0, 4096.0}) {
      const std::vector<double> all(size_names(kind).size(), size);
      const KernelFeatures features = kernel_features(kind, all, 2);
      EXPECT_EQ(features.features.size(), feature_count(kind, all.size())) << to_text(kind);
      for (const double term : features.terms) EXPECT_GT(term, 0) << to_text(kind);
      for (const float feature : features.features) EXPECT_TRUE(std::isfinite(feature)) << to_text(kind);
    }
  }
}

}  // namespace
}  // namespace weft::sampled_kernel_test
