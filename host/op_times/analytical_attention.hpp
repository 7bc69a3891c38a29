// SPDX-License-Identifier: Apache-2.0
// Analytical attention: how long a fused attention kernel takes, as FlashAttention is built.
//
// Where it sits: AnalyticalTimes (analytical_times.hpp) asks it for FusedAttention.
//
// Model, forward: a block keeps Br queries of one head and goes through the keys, Bc at a time.
//   products   2 Br Bc (dk + dv) operations; widths are padded to a multiple of 32
//              (uneven: then each access checks its bounds)
//   softmax    Br Bc exponentials on special function units, and some vector instructions
//   step       max(products, softmax) + serial min(products, softmax): how much of the shorter
//              the kernel cannot hide is a constant of its version
//   loads      keys and values of a step from L2, beside it
//   blocks     ceil(Lq / Br) batch heads, in waves as tiles of products. Causal blocks have no
//              steps beyond their diagonal; they differ in length, and the last one to start
//              takes half of the longest on average
// Model, backward: a block keeps Bc keys and goes through the queries: five products, the
// exponentials again, and Br dk sums of 4 bytes added to dQ in L2 per step. A kernel before it
// makes row sums of dO * O and clears dQ, one after it casts dQ down.
// Source: Dao, FlashAttention-2, arXiv 2307.08691, sections 3.1 to 3.3; Shah et al.,
// FlashAttention-3, arXiv 2407.08608 (overlap of softmax and products); Zadouri et al.,
// FlashAttention-4, arXiv 2603.05451 (exponentials on vector units, too).
// Leaves out: splits of keys over blocks, which only decoding needs; dropout; sliding windows.
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "host/op_times/gpu.hpp"
#include "workloads/models/operator.hpp"

namespace weft {

/// In the order of the choices of analytical.attention.
enum class AttentionVersion : std::uint8_t { automatic, flash_attention_2, flash_attention_3, flash_attention_4 };

/// What a version of the kernel makes of a generation.
struct AttentionKernel {
  double forward_products = 1;   ///< share of the product rate that its products reach
  double backward_products = 1;  ///< likewise
  double wide_products = 1;      ///< of that, for heads above 128, of which fewer blocks fit
  double exponentials = 1;       ///< times those of special function units: others by polynomials
  double serial = 0;             ///< share of the shorter of products and softmax that is seen
  double uneven = 1;             ///< speed where heads are padded and each access checks its bounds
};
AttentionKernel attention_kernel(GpuGeneration generation, AttentionVersion version);

struct AttentionPlan {
  double blocks = 0;
  double steps = 0;    ///< of all blocks together
  double main_s = 0;   ///< of the main kernel, without its overhead
  double other_s = 0;  ///< of the kernels before and after it
  double time_s = 0;
};

/// Requires: the GPU has products of this type, and the pass is forward, or all of backward
/// (WEFT_CHECK).
AttentionPlan plan_attention(const Gpu& gpu, MatrixType type, double element_bytes, const FusedAttention& shape, OperatorPass pass,
                             const AttentionKernel& kernel);

}  // namespace weft
