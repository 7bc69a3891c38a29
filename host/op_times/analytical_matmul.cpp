// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/analytical_matmul.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/check.hpp"

namespace weft {

namespace {

/// Tiles of cuBLAS and CUTLASS kernels for 16-bit types; libraries have their transposes, too.
constexpr std::array matmul_tiles = {
    MatmulTile{256, 128}, MatmulTile{128, 256}, MatmulTile{128, 128}, MatmulTile{256, 64}, MatmulTile{64, 256},
    MatmulTile{128, 64},  MatmulTile{64, 128},  MatmulTile{64, 64},   MatmulTile{128, 32}, MatmulTile{32, 128},
};
/// Two multiprocessors of Blackwell share such a tile's operands, and hipBLASLt has it for a
/// compute unit of CDNA.
constexpr MatmulTile square_tile = {256, 256};
constexpr std::array<std::uint32_t, 9> split_counts = {1, 2, 3, 4, 6, 8, 12, 16, 32};

/// k is cut into slices of so many elements; a split has eight slices at least (CUTLASS).
constexpr double slice_elements = 32;
constexpr double split_slices_min = 8;
/// A slice is at most so many bytes wide, and two are in shared memory while tiles run.
constexpr double slice_bytes = 64;
/// The largest tile of which two fit a multiprocessor: 64 KiB of sums each, of 256 KiB of
/// registers.
constexpr double shared_tile_elements = 128.0 * 128.0;
/// Of the cache: the other half holds what streams through.
constexpr double reuse_share = 0.5;
constexpr double partial_sum_bytes = 4;

/// Share of a tile's operands, of the larger and the smaller side, that it reads from L2 itself:
/// thread block clusters of Hopper (2 x 1) and Blackwell (2 x 2) read for each other (CUTLASS).
struct OwnReads {
  double larger = 1;
  double smaller = 1;
};
OwnReads own_reads(GpuGeneration generation) {
  switch (generation) {
    case GpuGeneration::hopper:
      return {.larger = 0.5, .smaller = 1};
    case GpuGeneration::blackwell:
      return {.larger = 0.5, .smaller = 0.5};
    case GpuGeneration::volta:
    case GpuGeneration::ampere:
    case GpuGeneration::cdna:
      break;
  }
  return {};
}

double tile_count(double whole, double part) { return std::ceil(whole / part); }

/// What does not depend on the tile.
struct Machine {
  const Gpu& gpu;
  double multiprocessors;
  double product_rate;  ///< of one multiprocessor
  double l2_rate;       ///< likewise
  OwnReads reads;
};

/// Bytes of A and B that come from memory, for waves of a rectangle of tiles.
double operand_bytes(const Machine& machine, const MatmulProblem& problem, const MatmulTile& tile) {
  const double tile_rows = tile.rows;
  const double tile_columns = tile.columns;
  const double row_tiles = std::max(1.0, tile_count(problem.rows, tile_rows));
  const double column_tiles = std::max(1.0, tile_count(problem.columns, tile_columns));
  const double wide = std::floor(std::sqrt(machine.multiprocessors * tile_rows / tile_columns));
  double wave_columns = std::clamp(wide, 1.0, column_tiles);
  const double wave_rows = std::clamp(std::floor(machine.multiprocessors / wave_columns), 1.0, row_tiles);
  wave_columns = std::clamp(std::floor(machine.multiprocessors / wave_rows), 1.0, column_tiles);

  const double left = problem.rows * problem.inner * problem.input_bytes * problem.left_share;
  const double right = problem.inner * problem.columns * problem.input_bytes;
  const double kept = machine.gpu.reuse_bytes() * reuse_share;
  const double left_reads = left <= kept ? 1.0 : tile_count(column_tiles, wave_columns);
  const double right_reads = right <= kept ? 1.0 : tile_count(row_tiles, wave_rows);
  // Waves go down a column of rectangles, or along a row of them: one operand's part stays.
  const bool right_stays = wave_columns * tile_columns * problem.inner * problem.input_bytes <= kept;
  const bool left_stays = wave_rows * tile_rows * problem.inner * problem.input_bytes * problem.left_share <= kept;
  const double down = left * left_reads + right * (right_stays ? 1.0 : right_reads);
  const double along = left * (left_stays ? 1.0 : left_reads) + right * right_reads;
  return std::min(down, along) * problem.groups;
}

double tiles_of(const MatmulProblem& problem, const MatmulTile& tile) {
  const double column_tiles = tile_count(problem.columns, tile.columns);
  if (problem.rows_most <= problem.rows || problem.groups <= 1.0)
    return tile_count(problem.rows, tile.rows) * column_tiles * problem.groups;
  const double others = (problem.rows * problem.groups - problem.rows_most) / (problem.groups - 1.0);
  return (tile_count(problem.rows_most, tile.rows) + tile_count(std::max(0.0, others), tile.rows) * (problem.groups - 1.0)) *
         column_tiles;
}

/// The main loop of one tile over `inner` elements.
double main_loop_s(const Machine& machine, const MatmulProblem& problem, const MatmulTile& tile, double inner) {
  const double depth = tile_count(inner, slice_elements) * slice_elements;
  const double larger = std::max(tile.rows, tile.columns);
  const double smaller = std::min(tile.rows, tile.columns);
  const double products = 2.0 * larger * smaller * depth / machine.product_rate;
  const double loads =
      (larger * machine.reads.larger + smaller * machine.reads.smaller) * depth * problem.input_bytes / machine.l2_rate;
  return std::max(products, loads);
}

MatmulPlan plan_with(const Machine& machine, const MatmulProblem& problem, const MatmulTile& tile, std::uint32_t splits) {
  const Gpu& gpu = machine.gpu;
  MatmulPlan plan{.tile = tile, .splits = splits};
  plan.waves = tile_count(tiles_of(problem, tile) * splits, machine.multiprocessors);
  const double tile_s = main_loop_s(machine, problem, tile, problem.inner / splits);
  const double longest_s = main_loop_s(machine, problem, tile, std::max(problem.inner, problem.inner_most) / splits);
  // All multiprocessors write their results at once.
  const double result_bytes = splits > 1 ? partial_sum_bytes : problem.output_bytes * gpu.result_traffic;
  const double tile_elements = static_cast<double>(tile.rows) * tile.columns;
  const double write_s = tile_elements * result_bytes * machine.multiprocessors / gpu.memory_bytes_per_s();
  // Of two tiles that share a multiprocessor one runs while the other waits.
  const double latencies = tile_elements <= shared_tile_elements ? tile_count(plan.waves, 2.0) : plan.waves;
  plan.compute_s = std::max(plan.waves * tile_s, longest_s) + latencies * (gpu.tile_latency.in_s() + write_s);

  const double results = problem.rows * problem.columns * problem.groups;
  plan.memory_s =
      (operand_bytes(machine, problem, tile) + results * problem.output_bytes * gpu.result_traffic) / gpu.memory_bytes_per_s();
  plan.time_s = gpu.kernel_overhead.in_s() + std::max(plan.compute_s, plan.memory_s);
  if (splits > 1) {
    const double sums = results * splits * partial_sum_bytes;
    const double rate = sums <= gpu.reuse_bytes() * reuse_share ? gpu.l2_bytes_per_s() : gpu.memory_bytes_per_s();
    plan.time_s += 2.0 * sums / rate + gpu.kernel_overhead.in_s();
  }
  return plan;
}

}  // namespace

MatmulPlan plan_matmul(const Gpu& gpu, MatrixType type, const MatmulProblem& problem) {
  const std::optional<double> rate = gpu.product_rate(type);
  WEFT_CHECK(rate.has_value(), "the GPU has products of this type");
  const double multiprocessors = gpu.multiprocessors;
  // Vector units load elements one by one: NeuSight's FP32 products are as fast either way.
  const double share = problem.is_aligned || type == MatrixType::fp32 ? 1.0 : gpu.unaligned_efficiency;
  const Machine machine{gpu, multiprocessors, *rate * share / multiprocessors, gpu.l2_bytes_per_s() / multiprocessors,
                        own_reads(gpu.generation)};

  MatmulPlan best;
  const auto consider = [&](const MatmulTile& tile) {
    if (2.0 * slice_bytes * (tile.rows + tile.columns) > static_cast<double>(gpu.shared_memory.count())) return;
    for (const std::uint32_t splits : split_counts) {
      if (splits > 1 && problem.inner < splits * split_slices_min * slice_elements) break;
      const MatmulPlan plan = plan_with(machine, problem, tile, splits);
      if (best.tile == MatmulTile{} || plan.time_s < best.time_s) best = plan;
    }
  };
  if (gpu.generation == GpuGeneration::blackwell || gpu.generation == GpuGeneration::cdna) consider(square_tile);
  for (const MatmulTile& tile : matmul_tiles) consider(tile);
  // A GPU of one's own may have less shared memory than any tile needs.
  if (best.tile == MatmulTile{}) best = plan_with(machine, problem, matmul_tiles.back(), 1);
  return best;
}

}  // namespace weft
