// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/analytical_traffic.hpp"

#include <gtest/gtest.h>

namespace weft::analytical_traffic_test {

constexpr double half_bytes = 2;

double bytes(RowOperator what, OperatorPass pass, KernelFusion fusion, std::uint64_t width = 4096, double element = half_bytes) {
  const RowWise shape{.what = what, .rows = 10, .width = width};
  return traffic_of(shape, element, pass, fusion).bytes / (10.0 * static_cast<double>(width));
}

TEST(AnalyticalTrafficTest, FusedKernelsMoveInputsAndOutputsOnce) {
  EXPECT_EQ(bytes(RowOperator::rms_norm, OperatorPass::forward, KernelFusion::fused), 2 * 2);
  EXPECT_EQ(bytes(RowOperator::rms_norm, OperatorPass::backward, KernelFusion::fused), 3 * 2);
  EXPECT_EQ(bytes(RowOperator::gated_activation, OperatorPass::forward, KernelFusion::fused), 3 * 2);
  EXPECT_EQ(bytes(RowOperator::gated_activation, OperatorPass::backward, KernelFusion::fused), 5 * 2);
  EXPECT_EQ(bytes(RowOperator::residual_add, OperatorPass::forward, KernelFusion::fused), 3 * 2);
  EXPECT_EQ(bytes(RowOperator::dropout, OperatorPass::forward, KernelFusion::fused), 2 * 2 + 1);
}

// GPT-NeoX: norm 2 B, division 2 + 4, weights 4 + 4, cast 4 + 2.
TEST(AnalyticalTrafficTest, EagerNormsMoveWhatTheirExpressionsDo) {
  EXPECT_EQ(bytes(RowOperator::rms_norm, OperatorPass::forward, KernelFusion::eager), 2 + 6 + 8 + 6);
  // In FP32 nothing is cast: 4 + 8 + 8.
  EXPECT_EQ(bytes(RowOperator::rms_norm, OperatorPass::forward, KernelFusion::eager, 4096, 4), 20);
}

TEST(AnalyticalTrafficTest, LongRowsOfSoftmaxAreReadAgain) {
  EXPECT_EQ(bytes(RowOperator::softmax, OperatorPass::forward, KernelFusion::eager, 1024), 2 * 2);
  EXPECT_EQ(bytes(RowOperator::softmax, OperatorPass::forward, KernelFusion::eager, 1025), 4 * 2);
}

TEST(AnalyticalTrafficTest, EagerIsNeverLessThanFused) {
  for (int i = 0; i <= static_cast<int>(row_operator_last); ++i) {
    const RowWise shape{.what = static_cast<RowOperator>(i), .rows = 100, .width = 2048};
    for (const OperatorPass pass : {OperatorPass::forward, OperatorPass::backward}) {
      const MemoryTraffic fused = traffic_of(shape, half_bytes, pass, KernelFusion::fused);
      const MemoryTraffic eager = traffic_of(shape, half_bytes, pass, KernelFusion::eager);
      EXPECT_GT(fused.bytes, 0.0) << to_text(shape.what);
      EXPECT_GE(eager.bytes, fused.bytes) << to_text(shape.what);
      EXPECT_GE(eager.kernels, fused.kernels) << to_text(shape.what);
    }
  }
}

// 100 lookups of rows of 64 B read and write them; the gradient clears a table of 1,000 rows, reads
// 100 and adds each to a row of it.
TEST(AnalyticalTrafficTest, LookupsTouchTheRowsThatTheyAskFor) {
  const EmbeddingLookup shape{.rows = 100, .width = 32, .table_rows = 1000};
  EXPECT_EQ(traffic_of(shape, half_bytes, OperatorPass::forward).bytes, 200 * 64);
  EXPECT_EQ(traffic_of(shape, half_bytes, OperatorPass::backward).bytes, (1000 + 100 + 200) * 64);
  // Each of 100 outputs is the sum of 20 rows.
  const EmbeddingLookup pooled{.rows = 100, .width = 32, .table_rows = 1000, .pooled = 20};
  EXPECT_EQ(traffic_of(pooled, half_bytes, OperatorPass::forward).bytes, (2000 + 100) * 64);
  // Updated in place: 100 gradients are read, 2,000 rows read and written, and no other.
  EmbeddingLookup in_place = pooled;
  in_place.is_updated_in_place = true;
  EXPECT_EQ(traffic_of(in_place, half_bytes, OperatorPass::forward).bytes, (2000 + 100) * 64);
  EXPECT_EQ(traffic_of(in_place, half_bytes, OperatorPass::backward).bytes, (100 + 2 * 2000) * 64);
}

// Moments of all rows are there before the first result, so inputs are read twice.
TEST(AnalyticalTrafficTest, BatchNormsReadTwice) {
  EXPECT_EQ(bytes(RowOperator::batch_norm, OperatorPass::forward, KernelFusion::fused), (2 + 1) * 2);
  EXPECT_EQ(bytes(RowOperator::batch_norm, OperatorPass::backward, KernelFusion::fused), (2 * 2 + 1) * 2);
}

// Per output: four inputs of 2 B, a result, a byte for which it was; gradients go back to all four.
TEST(AnalyticalTrafficTest, PoolingReadsFourInputs) {
  EXPECT_EQ(bytes(RowOperator::pooling, OperatorPass::forward, KernelFusion::fused), 4 * 2 + 2 + 1);
  EXPECT_EQ(bytes(RowOperator::pooling, OperatorPass::backward, KernelFusion::fused), 2 + 1 + 4 * 2);
}

// Reads gradient, weight, two moments of 4 B; writes weight, two moments, and a copy of 2 B.
TEST(AnalyticalTrafficTest, AdamMovesItsStates) {
  const OptimizerStep shape{1000};
  EXPECT_EQ(traffic_of(shape, 2, 4, KernelFusion::fused).bytes, 1000 * (4 * 4 + 3 * 4 + 2));
  EXPECT_EQ(traffic_of(shape, 2, 2, KernelFusion::fused).bytes, 1000 * (2 + 3 * 4 + 3 * 4 + 2));
  EXPECT_EQ(traffic_of(shape, 4, 4, KernelFusion::fused).bytes, 1000 * (4 * 4 + 3 * 4));  // no copy
  // Casts of gradient and weight as kernels of their own: 6 B each.
  EXPECT_EQ(traffic_of(shape, 2, 2, KernelFusion::eager).bytes, 1000 * (6 + 4 * 4 + 3 * 4 + 6));
}

}  // namespace weft::analytical_traffic_test
