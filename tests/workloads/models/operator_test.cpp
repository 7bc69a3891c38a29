// SPDX-License-Identifier: Apache-2.0
// Floating-point operations of operators, by hand.
#include "workloads/models/operator.hpp"

#include <gtest/gtest.h>

namespace weft::operator_test {

TEST(Operator, MatmulCountsTwoPerMultiplyAdd) {
  const Matmul shape{.rows = 3, .columns = 5, .inner = 7, .groups = 2};
  EXPECT_EQ(product_operations(shape, OperatorPass::forward), 2 * 3 * 5 * 7 * 2);
  EXPECT_EQ(product_operations(shape, OperatorPass::backward_weight), 2 * 3 * 5 * 7 * 2);
  EXPECT_EQ(product_operations(shape, OperatorPass::backward), 4 * 3 * 5 * 7 * 2);
}

TEST(Operator, ExpertsCountTheRowsOfAllGroups) {
  const GroupedMatmul shape{.rows = 12, .rows_most = 9, .columns = 5, .inner = 7, .groups = 4};
  EXPECT_EQ(product_operations(shape, OperatorPass::forward), 2 * 12 * 5 * 7);
}

TEST(Operator, CausalAttentionCountsHalfOfThePairs) {
  FusedAttention shape{.batch = 2,
                       .query_heads = 4,
                       .key_value_heads = 2,
                       .query_length = 8,
                       .key_length = 8,
                       .key_width = 3,
                       .value_width = 5,
                       .is_causal = false};
  // Scores take 2 * 3 and values 2 * 5 operations for each of 2 * 4 * 8 * 8 pairs.
  const double all = 2 * 4 * 8 * 8 * (2 * 3 + 2 * 5);
  EXPECT_EQ(product_operations(shape, OperatorPass::forward), all);
  shape.is_causal = true;
  EXPECT_EQ(product_operations(shape, OperatorPass::forward), all / 2);
  EXPECT_EQ(product_operations(shape, OperatorPass::backward), 2.5 * all / 2);
  EXPECT_EQ(product_operations(shape, OperatorPass::backward_weight), 0);
}

TEST(Operator, ConvolutionIsAProductPerPixel) {
  const Convolution shape{
      .batch = 2, .input_channels = 3, .output_channels = 4, .output_height = 5, .output_width = 6, .kernel = 3};
  EXPECT_EQ(product_operations(shape, OperatorPass::forward), 2 * (2 * 5 * 6) * 4 * (3 * 3 * 3));
}

TEST(Operator, SaysItsShape) {
  EXPECT_EQ(to_text(OperatorShape(Matmul{.rows = 3, .columns = 5, .inner = 7})), "matmul 3 x 5 x 7");
  EXPECT_EQ(to_text(OperatorShape(RowWise{.what = RowOperator::rms_norm, .rows = 3, .width = 5})), "RMS norm 3 x 5");
}

}  // namespace weft::operator_test
