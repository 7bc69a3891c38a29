// SPDX-License-Identifier: Apache-2.0
// Operator: one computation of a training step as a library for GPUs sees it - what it computes,
// for which shapes, in which type.
//
// Where it sits: a model under a parallel plan is a list of these per layer and rank. Whoever knows
// a machine says how long each takes (host/op_times); here nobody does.
//
// Model: shapes are those of the forward pass on one rank, after it got its share. A backward pass
// is the same operator with another OperatorPass:
//   Matmul  forward          Y[m x n] = X[m x k] W[k x n]          2 m n k operations
//           backward_input   dX[m x k] = dY[m x n] W^T             the same number
//           backward_weight  dW[k x n] = X^T dY                    the same number
//   others  backward: all gradients in one pass
// backward of a Matmul is backward_input and backward_weight, one after the other.
// Threads: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "core/values/units.hpp"
#include "workloads/dag/element_type.hpp"

namespace weft {

enum class OperatorPass : std::uint8_t { forward, backward_input, backward_weight, backward };

/// `groups` products of equal shape: 1 for a linear layer, batch x heads for scores of attention
/// that is not fused.
struct Matmul {
  std::uint64_t rows = 0;     ///< m: tokens
  std::uint64_t columns = 0;  ///< n: features of the output
  std::uint64_t inner = 0;    ///< k: features of the input
  std::uint64_t groups = 1;

  friend bool operator==(const Matmul&, const Matmul&) = default;
};

/// Experts of one rank in one kernel: products that differ in rows only.
struct GroupedMatmul {
  std::uint64_t rows = 0;       ///< of all groups together
  std::uint64_t rows_most = 0;  ///< of the largest group
  std::uint64_t columns = 0;
  std::uint64_t inner = 0;
  std::uint64_t groups = 1;

  friend bool operator==(const GroupedMatmul&, const GroupedMatmul&) = default;
};

/// softmax(Q K^T) V in one kernel, as FlashAttention has it.
struct FusedAttention {
  std::uint64_t batch = 0;  ///< sequences
  std::uint64_t query_heads = 0;
  std::uint64_t key_value_heads = 0;  ///< divides query_heads
  std::uint64_t query_length = 0;
  std::uint64_t key_length = 0;
  std::uint64_t key_width = 0;    ///< of one head, of queries and keys
  std::uint64_t value_width = 0;  ///< of one head
  bool is_causal = true;          ///< half of all pairs count

  friend bool operator==(const FusedAttention&, const FusedAttention&) = default;
};

enum class RowOperator : std::uint8_t {
  layer_norm,
  rms_norm,
  softmax,
  masked_softmax,    ///< of causal scores, scaled
  activation,        ///< width in, width out: GELU, ReLU, SiLU
  gated_activation,  ///< two inputs of `width`, one output: SwiGLU
  residual_add,
  dropout,
  rotary,         ///< rotates queries and keys; width is of both
  cross_entropy,  ///< width: words of this rank
  router,         ///< softmax and top-k; width: experts
  permute,        ///< rows go elsewhere: tokens to experts and back
  batch_norm,     ///< statistics over all rows
  pooling         ///< the largest of four inputs each; rows are of the output
};
constexpr RowOperator row_operator_last = RowOperator::pooling;

/// Reads and writes rows once or a few times; bound by memory.
struct RowWise {
  RowOperator what = RowOperator::layer_norm;
  std::uint64_t rows = 0;
  std::uint64_t width = 0;

  friend bool operator==(const RowWise&, const RowWise&) = default;
};

/// Looks up `rows` rows of a table. With `pooled` above 1 each is the sum of so many. Backward is
/// the table's whole gradient, or an update of the rows that were looked up and of no other, as
/// recommenders have it.
struct EmbeddingLookup {
  std::uint64_t rows = 0;
  std::uint64_t width = 0;
  std::uint64_t table_rows = 0;
  std::uint64_t pooled = 1;
  bool is_updated_in_place = false;

  friend bool operator==(const EmbeddingLookup&, const EmbeddingLookup&) = default;
};

struct Convolution {
  std::uint64_t batch = 0;
  std::uint64_t input_channels = 0;
  std::uint64_t output_channels = 0;
  std::uint64_t output_height = 0;
  std::uint64_t output_width = 0;
  std::uint64_t kernel = 1;  ///< square
  std::uint64_t stride = 1;

  friend bool operator==(const Convolution&, const Convolution&) = default;
};

/// Adam: reads gradient, master weight and two moments, writes master weight, moments and weight.
struct OptimizerStep {
  std::uint64_t parameters = 0;  ///< that this rank updates

  friend bool operator==(const OptimizerStep&, const OptimizerStep&) = default;
};

using OperatorShape = std::variant<Matmul, GroupedMatmul, FusedAttention, RowWise, EmbeddingLookup, Convolution, OptimizerStep>;

struct Operator {
  std::string_view name;  ///< in the model: "qkv", "mlp_up"; tables of measured times go by it, too
  OperatorShape shape;
  ElementType type;  ///< of its inputs, in which it is computed

  friend bool operator==(const Operator&, const Operator&) = default;
};

/// Floating-point operations of products, the larger part of training; 0 for operators bound by
/// memory.
double product_operations(const OperatorShape& shape, OperatorPass pass);

/// "matmul 16384 x 6144 x 4096", for messages and tables.
std::string to_text(const OperatorShape& shape);
std::string_view to_text(RowOperator what);
std::string_view to_text(OperatorPass pass);

}  // namespace weft
