// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/operator.hpp"

#include <initializer_list>

#include <fmt/format.h>

namespace weft {

namespace {

double product(std::initializer_list<std::uint64_t> factors) {
  double result = 1.0;
  for (const std::uint64_t factor : factors) result *= static_cast<double>(factor);
  return result;
}

/// Forward's operations, by shape.
struct ForwardOperations {
  double operator()(const Matmul& shape) const { return 2.0 * product({shape.rows, shape.columns, shape.inner, shape.groups}); }
  double operator()(const GroupedMatmul& shape) const { return 2.0 * product({shape.rows, shape.columns, shape.inner}); }
  double operator()(const FusedAttention& shape) const {
    const double pairs = product({shape.batch, shape.query_heads, shape.query_length, shape.key_length});
    return 2.0 * pairs * static_cast<double>(shape.key_width + shape.value_width) * (shape.is_causal ? 0.5 : 1.0);
  }
  double operator()(const RowWise&) const { return 0.0; }
  double operator()(const EmbeddingLookup&) const { return 0.0; }
  double operator()(const Convolution& shape) const {
    return 2.0 * product({shape.batch, shape.output_height, shape.output_width, shape.output_channels, shape.input_channels,
                          shape.kernel, shape.kernel});
  }
  double operator()(const OptimizerStep&) const { return 0.0; }
};

struct ShapeText {
  std::string operator()(const Matmul& shape) const {
    const std::string one = fmt::format("matmul {} x {} x {}", shape.rows, shape.columns, shape.inner);
    return shape.groups == 1 ? one : fmt::format("{}, {} times", one, shape.groups);
  }
  std::string operator()(const GroupedMatmul& shape) const {
    return fmt::format("grouped matmul {} x {} x {} in {} groups of {} rows at most", shape.rows, shape.columns, shape.inner,
                       shape.groups, shape.rows_most);
  }
  std::string operator()(const FusedAttention& shape) const {
    return fmt::format("{}attention of {} x {} queries with {} keys, {} heads of {} and {} for keys and values",
                       shape.is_causal ? "causal " : "", shape.batch, shape.query_length, shape.key_length, shape.query_heads,
                       shape.key_width, shape.key_value_heads);
  }
  std::string operator()(const RowWise& shape) const {
    return fmt::format("{} {} x {}", to_text(shape.what), shape.rows, shape.width);
  }
  std::string operator()(const EmbeddingLookup& shape) const {
    return fmt::format("embedding {} x {} of {} rows", shape.rows, shape.width, shape.table_rows);
  }
  std::string operator()(const Convolution& shape) const {
    return fmt::format("convolution {} x {} x {} x {}, kernel {}, from {} channels", shape.batch, shape.output_channels,
                       shape.output_height, shape.output_width, shape.kernel, shape.input_channels);
  }
  std::string operator()(const OptimizerStep& shape) const { return fmt::format("optimizer {}", shape.parameters); }
};

/// Backward of fused attention: scores again, then gradients of values, scores, queries and keys -
/// five products for forward's two (Dao, FlashAttention-2, arXiv 2307.08691, section 2.3.2).
constexpr double attention_backward_products = 2.5;

}  // namespace

double product_operations(const OperatorShape& shape, OperatorPass pass) {
  const double forward = std::visit(ForwardOperations(), shape);
  if (pass == OperatorPass::forward) return forward;
  if (std::holds_alternative<FusedAttention>(shape)) {
    // All gradients leave in one pass; there is none of weights.
    return pass == OperatorPass::backward_weight ? 0.0 : attention_backward_products * forward;
  }
  return pass == OperatorPass::backward ? 2.0 * forward : forward;
}

std::string to_text(const OperatorShape& shape) { return std::visit(ShapeText(), shape); }

std::string_view to_text(RowOperator what) {
  switch (what) {
    case RowOperator::layer_norm:
      return "layer norm";
    case RowOperator::rms_norm:
      return "RMS norm";
    case RowOperator::softmax:
      return "softmax";
    case RowOperator::masked_softmax:
      return "masked softmax";
    case RowOperator::activation:
      return "activation";
    case RowOperator::gated_activation:
      return "gated activation";
    case RowOperator::residual_add:
      return "residual add";
    case RowOperator::dropout:
      return "dropout";
    case RowOperator::rotary:
      return "rotary";
    case RowOperator::cross_entropy:
      return "cross entropy";
    case RowOperator::router:
      return "router";
    case RowOperator::permute:
      return "permute";
    case RowOperator::batch_norm:
      return "batch norm";
    case RowOperator::pooling:
      return "pooling";
  }
  return "?";
}

std::string_view to_text(OperatorPass pass) {
  switch (pass) {
    case OperatorPass::forward:
      return "forward";
    case OperatorPass::backward_input:
      return "backward of the input";
    case OperatorPass::backward_weight:
      return "backward of the weights";
    case OperatorPass::backward:
      return "backward";
  }
  return "?";
}

}  // namespace weft
