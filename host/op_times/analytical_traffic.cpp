// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/analytical_traffic.hpp"

#include "core/check.hpp"

namespace weft {

namespace {

constexpr double wide_bytes = 4;  ///< FP32, in which frameworks compute what needs precision

/// What kernels move, per element of rows x width.
struct ElementTraffic {
  double own = 0;    ///< elements of the operator's type, read and written
  double wide = 0;   ///< elements of FP32
  double casts = 0;  ///< kernels from the type to FP32 or back; none where the type is FP32
  double marks = 0;  ///< bytes of masks
  double kernels = 1;
};

struct PassTraffic {
  ElementTraffic forward;
  ElementTraffic backward;
};

/// x for its moments, then x -> y; x, dy for their sums, then x, dy -> dx. Moments are of all rows,
/// so that no kernel keeps what it read.
constexpr PassTraffic batch_norm_traffic = {{.own = 3, .kernels = 2}, {.own = 5, .kernels = 2}};

/// Four inputs for an output, and which of them it was.
constexpr PassTraffic pooling_traffic = {{.own = 5, .marks = 1}, {.own = 5, .marks = 1}};

/// Apex, Transformer Engine, Megatron-Core: a kernel, which reads its inputs and writes its outputs
/// once, computing in FP32 inside.
PassTraffic fused_traffic(RowOperator what) {
  switch (what) {
    case RowOperator::layer_norm:
    case RowOperator::rms_norm:
      // x -> y; x, dy -> dx, and sums over rows for the weights' gradients by a second kernel.
      return {{.own = 2}, {.own = 3, .kernels = 2}};
    case RowOperator::softmax:
    case RowOperator::masked_softmax:
      return {{.own = 2}, {.own = 3}};  // y, dy -> dx
    case RowOperator::activation:
      return {{.own = 2}, {.own = 3}};  // x, dy -> dx
    case RowOperator::gated_activation:
      return {{.own = 3}, {.own = 5}};  // a, b -> y; a, b, dy -> da, db
    case RowOperator::residual_add:
      return {{.own = 3}, {.own = 3}};  // the gradients of both branches are added
    case RowOperator::dropout:
      return {{.own = 2, .marks = 1}, {.own = 2, .marks = 1}};
    case RowOperator::rotary:
      return {{.own = 2}, {.own = 2}};
    case RowOperator::cross_entropy:
      // Maximum and sum in one pass, then the gradient in place of the logits; backward scales it.
      return {{.own = 3}, {.own = 2}};
    case RowOperator::router:
      return {{.own = 2, .kernels = 2}, {.own = 3}};
    case RowOperator::permute:
      return {{.own = 2}, {.own = 2}};
    case RowOperator::batch_norm:
      return batch_norm_traffic;
    case RowOperator::pooling:
      return pooling_traffic;
  }
  return {};
}

/// Eager PyTorch: a kernel per expression; reductions read only.
PassTraffic eager_traffic(RowOperator what, bool is_long) {
  switch (what) {
    case RowOperator::layer_norm:
      // torch.nn.LayerNorm is a kernel that reads x for its moments, then for its result; backward
      // reads x and dy again for the weights' gradients.
      return {{.own = 3}, {.own = 5, .kernels = 2}};
    case RowOperator::rms_norm:
      // GPT-NeoX. Forward reads x for its norm (own 1), divides x by it into FP32 (own 1, wide 1),
      // multiplies with the weights (wide 2) and casts down; three kernels more are small. Backward
      // casts up; makes the weights' gradient (wide 3, its sum 1) and that of the product (wide 2);
      // of the division (wide 2 and a cast down, for the norm own 2, wide 8, its sum 1); of the
      // norm (own 2); and adds both (own 3).
      return {{.own = 2, .wide = 3, .casts = 1, .kernels = 7}, {.own = 7, .wide = 17, .casts = 2, .kernels = 16}};
    case RowOperator::softmax:
      // Rows above 1,024 elements are read three times for maximum, sum and result, and twice both
      // in backward.
      return is_long ? PassTraffic{{.own = 4}, {.own = 5}} : PassTraffic{{.own = 2}, {.own = 3}};
    case RowOperator::masked_softmax:
      // Scale, fill by a mask, softmax; backward the reverse.
      return is_long ? PassTraffic{{.own = 8, .marks = 1, .kernels = 3}, {.own = 9, .marks = 1, .kernels = 3}}
                     : PassTraffic{{.own = 6, .marks = 1, .kernels = 3}, {.own = 7, .marks = 1, .kernels = 3}};
    case RowOperator::activation:
      return {{.own = 2}, {.own = 3}};
    case RowOperator::gated_activation:
      // Activation, product; backward two products and the activation's.
      return {{.own = 5, .kernels = 2}, {.own = 9, .kernels = 3}};
    case RowOperator::residual_add:
      return {{.own = 3}, {.own = 3}};
    case RowOperator::dropout:
      return {{.own = 2, .marks = 1}, {.own = 2, .marks = 1}};
    case RowOperator::rotary:
      // Queries and keys each: negated half (1), concatenation (2), two products (4), sum (3).
      // Backward: two products (4), negation (1), two slices into zeros (4), three sums of
      // gradients (6).
      return {{.own = 10, .kernels = 10}, {.own = 15, .kernels = 20}};
    case RowOperator::cross_entropy:
      // Megatron-LM, of logits in FP32: maximum (1), difference (2), exponential (2), sum (1),
      // division (2), and small ones on a number per row; backward in place (2).
      return {{.wide = 8, .casts = 1, .kernels = 16}, {.wide = 2, .casts = 1, .kernels = 5}};
    case RowOperator::router:
      return {{.wide = 2, .casts = 2, .kernels = 5}, {.wide = 3, .casts = 2, .kernels = 5}};
    case RowOperator::permute:
      return {{.own = 2, .kernels = 3}, {.own = 2, .kernels = 3}};
    case RowOperator::batch_norm:
      return batch_norm_traffic;
    case RowOperator::pooling:
      return pooling_traffic;
  }
  return {};
}

/// PyTorch has kernels that keep a row of this many elements (PersistentSoftmax.cuh).
constexpr std::uint64_t persistent_row_max = 1024;

double number_of(std::uint64_t count) { return static_cast<double>(count); }

}  // namespace

MemoryTraffic traffic_of(const RowWise& shape, double element_bytes, OperatorPass pass, KernelFusion fusion) {
  const PassTraffic both =
      fusion == KernelFusion::fused ? fused_traffic(shape.what) : eager_traffic(shape.what, shape.width > persistent_row_max);
  const ElementTraffic& one = pass == OperatorPass::forward ? both.forward : both.backward;
  const double casts = element_bytes == wide_bytes ? 0.0 : one.casts;
  const double bytes = one.own * element_bytes + one.wide * wide_bytes + casts * (element_bytes + wide_bytes) + one.marks;
  return {.bytes = number_of(shape.rows) * number_of(shape.width) * bytes, .kernels = one.kernels + casts};
}

MemoryTraffic traffic_of(const EmbeddingLookup& shape, double element_bytes, OperatorPass pass) {
  const double row_bytes = number_of(shape.width) * element_bytes;
  const double looked_up = number_of(shape.rows) * number_of(shape.pooled);
  if (pass == OperatorPass::forward) return {.bytes = (looked_up + number_of(shape.rows)) * row_bytes, .kernels = 1};
  // Gradients are read, rows read and written, in one kernel (FBGEMM, HugeCTR).
  if (shape.is_updated_in_place) return {.bytes = (number_of(shape.rows) + 2.0 * looked_up) * row_bytes, .kernels = 1};
  // The table's gradient is cleared, then each gradient added to its row of it.
  return {.bytes = (number_of(shape.table_rows) + number_of(shape.rows) + 2.0 * looked_up) * row_bytes, .kernels = 2};
}

MemoryTraffic traffic_of(const OptimizerStep& shape, double element_bytes, double gradient_bytes, KernelFusion fusion) {
  // Master weight and two moments, read and written.
  constexpr double states = 3;
  const double state_bytes = 2.0 * states * wide_bytes;
  const bool has_copy = element_bytes != wide_bytes;
  if (fusion == KernelFusion::fused) {
    return {.bytes = number_of(shape.parameters) * (gradient_bytes + state_bytes + (has_copy ? element_bytes : 0.0)), .kernels = 1};
  }
  // A cast of the gradient, Adam in FP32, a cast of the weights (DeepSpeed and Megatron-LM without
  // fused copies).
  const double cast_bytes = element_bytes + wide_bytes;
  return {.bytes = number_of(shape.parameters) * (wide_bytes + state_bytes + (has_copy ? 2.0 * cast_bytes : 0.0)),
          .kernels = has_copy ? 3.0 : 1.0};
}

}  // namespace weft
