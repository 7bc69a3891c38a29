// SPDX-License-Identifier: Apache-2.0
// Analytical matmul: how long a library's kernel takes for a product, from tiles and waves.
//
// Where it sits: AnalyticalTimes (analytical_times.hpp) turns operators into these problems.
//
// Model: C[m x n] = A[m x k] B[k x n], `groups` times, in tiles of Tm x Tn, k in s splits:
//   tiles        ceil(m/Tm) ceil(n/Tn) groups s, of which a multiprocessor does
//                q = ceil(tiles / multiprocessors): the last wave is as long as a full one
//   tile         max(2 Tm Tn k/s / product rate of a multiprocessor,
//                    (Tm + Tn) k/s bytes / its share of L2's rate)
//   latency      tile_latency per tile, and its results at the memory's rate, since all tiles of
//                a wave write theirs at once; of two tiles that share a multiprocessor one's is
//                hidden
//   memory       (A u + B v + C result_traffic) bytes / rate of the memory. A wave is a
//                rectangle of tiles; A is read again for each column of rectangles (u), B for each
//                row (v), and one of them once where its part of a rectangle stays in half of the
//                cache
//   alignment    where rows in memory do not begin at multiples of 16 bytes, main loops on matrix
//                units have unaligned_efficiency of their rate
//   splits       s m n groups partial sums of 4 bytes, written and read, by one more kernel
//   time         kernel_overhead + max(q tile + latency, memory) [+ splits]
// The library takes the tile and the number of splits that are fastest, of a short list.
// Sources: NVIDIA, Matrix Multiplication Background User's Guide (tiles, waves and their
// quantisation); Williams et al., Roofline, CACM 2009.
// Leaves out: power that depends on the operands' values.
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "host/op_times/gpu.hpp"

namespace weft {

/// Real numbers, since shapes are products of sizes; whole ones all the same.
struct MatmulProblem {
  double rows = 0;     ///< m, of a group; the mean where groups differ
  double columns = 0;  ///< n
  double inner = 0;    ///< k; the mean where groups differ
  double groups = 1;
  double rows_most = 0;     ///< of the largest group; 0: all are alike
  double inner_most = 0;    ///< likewise
  double input_bytes = 0;   ///< of an element of A and B
  double output_bytes = 0;  ///< of an element of C
  double left_share = 1;    ///< of A's elements that lie in memory: convolutions repeat theirs
  bool is_aligned = true;   ///< rows in memory begin at multiples of 16 bytes
};

struct MatmulTile {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;

  friend bool operator==(const MatmulTile&, const MatmulTile&) = default;
};

struct MatmulPlan {
  MatmulTile tile;
  std::uint32_t splits = 1;
  double waves = 0;      ///< q: tiles of the busiest multiprocessor
  double compute_s = 0;  ///< of all waves
  double memory_s = 0;
  double time_s = 0;  ///< of the kernel, or both
};

/// The fastest plan. Requires: the GPU has products of this type (WEFT_CHECK).
MatmulPlan plan_matmul(const Gpu& gpu, MatrixType type, const MatmulProblem& problem);

}  // namespace weft
