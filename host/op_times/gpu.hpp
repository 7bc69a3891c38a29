// SPDX-License-Identifier: Apache-2.0
// GPU: what the analytical model of operator times knows of one.
//
// Where it sits: `preset` among the parameters below names a GPU of gpu_presets.hpp; each number
// that is given beside it stands, so that a GPU of one's own is a preset with other numbers.
//
// Model: rate of products in a type = peak x clock / peak clock x matmul_efficiency. Peaks are
// dense (no structured sparsity) and hold at peak_clock. The clock is sustained_clock, what is left
// under the power limit while matrix units are busy; in training training_share of that. FP32 is
// not slowed: vector units run at peak_clock, at vector_efficiency of the peak. Where `clock` is
// given, neither is faster. Bytes move at memory_bandwidth x memory_efficiency, at l2_bandwidth
// where the L2 cache holds them.
// The efficiencies, overheads and latencies are fitted; their origins say to what.
// Thread safety: values and constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/text/params.hpp"
#include "core/values/units.hpp"
#include "workloads/dag/element_type.hpp"

namespace weft {

/// Types that matrix units know; both kinds of FP8 are one.
enum class MatrixType : std::uint8_t { fp32, tf32, fp16, bf16, fp8, fp4, int8 };
constexpr std::size_t matrix_type_count = 7;

/// The matrix type that products of an element type need; none for types without products here
/// (FP64, INT64, BOOL ...).
std::optional<MatrixType> matrix_type_of(ElementType type);

/// Decides which tiles and which attention kernel libraries have. In the order of the choices of
/// `generation`.
enum class GpuGeneration : std::uint8_t { volta, ampere, hopper, blackwell, cdna };

struct Gpu {
  std::string preset;
  GpuGeneration generation = GpuGeneration::hopper;
  std::uint32_t multiprocessors = 0;  ///< SMs, or compute units of AMD
  double peak_clock_hz = 0;
  double sustained_clock_hz = 0;
  std::optional<double> clock_hz;  ///< to which it is locked
  /// Operations per second, a multiplication and an addition counting as two; none where the GPU
  /// lacks the type.
  std::array<std::optional<double>, matrix_type_count> peaks;
  std::uint32_t exponentials = 0;  ///< of special function units, per multiprocessor and clock
  Bytes memory;
  Bandwidth memory_bandwidth;
  Bytes l2;
  Bytes memory_side_cache;  ///< between L2 and memory; 0 where there is none
  Bandwidth l2_bandwidth;
  Bytes shared_memory;  ///< of a multiprocessor

  double matmul_efficiency = 0;
  double training_share = 1;  ///< of sustained_clock
  double unaligned_efficiency = 1;
  double vector_efficiency = 0;
  double memory_efficiency = 0;
  double result_traffic = 1;  ///< bytes that move for each byte of a product's results
  Duration tile_latency;      ///< per tile: first loads arrive, results leave
  Duration kernel_overhead;   ///< per kernel

  std::optional<double> peak(MatrixType type) const { return peaks[static_cast<std::size_t>(type)]; }
  /// Operations per second of products while the main loop of a tile runs; none without the type.
  std::optional<double> product_rate(MatrixType type) const;
  /// Of matrix units under their power limit.
  double matrix_clock_hz() const;
  /// Instructions per clock and multiprocessor on vector units.
  double vector_lanes() const;
  double memory_bytes_per_s() const;  ///< that a kernel reaches
  double l2_bytes_per_s() const;
  /// Bytes that tiles of one wave may find on the chip again.
  double reuse_bytes() const;
};

/// Parameters of a GPU, module "gpu".
ParamTable gpu_params();

/// The GPU that a set of gpu_params() describes. Throws InputError [bad-gpu] at `place` where
/// sustained_clock is above peak_clock.
Gpu read_gpu(const ParamSet& params, const SourcePlace& place);

/// A preset as it is. Throws InputError [bad-value] at `place` with a suggestion.
Gpu gpu_named(const std::string& preset, const SourcePlace& place);

}  // namespace weft
