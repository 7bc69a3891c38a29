// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/gpu.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "core/text/plain_number.hpp"
#include "host/op_times/gpu_presets.hpp"

namespace weft {

namespace {

constexpr std::string_view no_value = "none";

struct NamedFactor {
  std::string_view unit;
  double factor;
};
constexpr std::array clock_units = {NamedFactor{"GHz", 1e9}, NamedFactor{"MHz", 1e6}};
constexpr std::array operation_units = {NamedFactor{"PFLOPS", 1e15}, NamedFactor{"TFLOPS", 1e12}, NamedFactor{"POPS", 1e15},
                                        NamedFactor{"TOPS", 1e12}};

/// The number before the unit, times the unit's factor; none if the text is not a positive number
/// with one of the units.
std::optional<double> with_unit(std::string_view text, std::span<const NamedFactor> units) {
  for (const auto& [unit, factor] : units) {
    if (!text.ends_with(unit)) continue;
    const auto number = plain_number<double>(text.substr(0, text.size() - unit.size()));
    if (number && *number > 0.0 && *number < 1e9) return *number * factor;
    return std::nullopt;
  }
  return std::nullopt;
}

double read_clock_hz(const std::string& text, const std::string& param) {
  if (const auto clock_hz = with_unit(text, clock_units)) return *clock_hz;
  fail("bad-value", fmt::format("{}: {} is not a clock", param, in_quotes(text)), SourcePlace::named(param),
       "a number with its unit, MHz or GHz: \"1410MHz\"");
}

std::optional<double> read_clock_or_none(const std::string& text, const std::string& param) {
  if (text == no_value) return std::nullopt;
  return read_clock_hz(text, param);
}

std::optional<double> read_peak(const std::string& text, const std::string& param) {
  if (text == no_value) return std::nullopt;
  if (const auto peak = with_unit(text, operation_units)) return peak;
  fail("bad-value", fmt::format("{}: {} is not a rate of operations", param, in_quotes(text)), SourcePlace::named(param),
       "a number with its unit, TFLOPS, PFLOPS, TOPS or POPS: \"312TFLOPS\"; or none");
}

/// Every GPU has vector units.
std::optional<double> read_vector_peak(const std::string& text, const std::string& param) {
  if (text == no_value) {
    fail("bad-value", fmt::format("{}: every GPU has FP32", param), SourcePlace::named(param),
         "a number with its unit, TFLOPS or PFLOPS: \"19.5TFLOPS\"");
  }
  return read_peak(text, param);
}

constexpr std::string_view preset_origin = "the preset h100_sxm";

template <MatrixType Type>
constexpr ParamSpec peak_row(std::string_view name, std::string_view value, std::string_view meaning) {
  return param_read<read_peak, &Gpu::peaks, Type>(
      {.name = name, .default_text = value, .meaning = meaning, .origin = preset_origin});
}

template <auto Member>
constexpr ParamSpec share_row(std::string_view name, std::string_view value, std::string_view meaning) {
  return param<Member>(
      {.name = name, .default_text = value, .minimum = "0.01", .maximum = "1", .meaning = meaning, .origin = preset_origin});
}

constexpr std::array gpu_rows = {
    param<&Gpu::preset>(
        {.name = "preset",
         .default_text = "h100_sxm",
         .choices = "v100_sxm2|v100_pcie|a100_sxm_80gb|a100_sxm_40gb|a100_pcie_80gb|a100_pcie_40gb|h100_sxm|h200|gh200|b200|gb200|"
                    "gb300|mi300x|mi355x",
         .meaning = "GPU whose numbers stand for the parameters that are not given; `weft modules gpu` lists them.",
         .origin = "most large models whose training was published since 2023"}),
    param<&Gpu::generation>({.name = "generation",
                             .default_text = "hopper",
                             .choices = "volta|ampere|hopper|blackwell|cdna",
                             .meaning = "Which tiles of products and which attention kernel the GPU's libraries have.",
                             .origin = preset_origin}),
    param<&Gpu::multiprocessors>({.name = "multiprocessors",
                                  .default_text = "132",
                                  .minimum = "1",
                                  .maximum = "4096",
                                  .meaning = "Streaming multiprocessors, or compute units of AMD.",
                                  .origin = preset_origin}),
    param_read<read_clock_hz, &Gpu::peak_clock_hz>({.name = "peak_clock",
                                                    .default_text = "1830MHz",
                                                    .meaning = "Clock at which the peaks of products hold.",
                                                    .origin = preset_origin}),
    param_read<read_clock_hz, &Gpu::sustained_clock_hz>(
        {.name = "sustained_clock",
         .default_text = "1530MHz",
         .meaning = "Clock that is left under the power limit while matrix units are busy; peak_clock at most.",
         .origin = preset_origin}),
    param_read<read_clock_or_none, &Gpu::clock_hz>({.name = "clock",
                                                    .default_text = "none",
                                                    .meaning = "Clock to which the GPU is locked; none if its power limit decides.",
                                                    .origin = "GPUs as they are delivered"}),
    param_read<read_vector_peak, &Gpu::peaks, MatrixType::fp32>({.name = "fp32",
                                                                 .default_text = "66.9TFLOPS",
                                                                 .meaning = "Peak of products in FP32, and of vector units.",
                                                                 .origin = preset_origin}),
    peak_row<MatrixType::tf32>("tf32", "494.7TFLOPS", "Peak of products in TF32, dense; none if there are none."),
    peak_row<MatrixType::fp16>("fp16", "989.4TFLOPS", "Peak of products in FP16, dense; none if there are none."),
    peak_row<MatrixType::bf16>("bf16", "989.4TFLOPS", "Peak of products in BF16, dense; none if there are none."),
    peak_row<MatrixType::fp8>("fp8", "1978.9TFLOPS", "Peak of products in FP8, dense; none if there are none."),
    peak_row<MatrixType::fp4>("fp4", "none", "Peak of products in FP4, dense; none if there are none."),
    peak_row<MatrixType::int8>("int8", "1978.9TOPS", "Peak of products in INT8, dense; none if there are none."),
    param<&Gpu::exponentials>({.name = "exponentials",
                               .default_text = "16",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "Exponentials per clock and multiprocessor.",
                               .origin = preset_origin}),
    param<&Gpu::memory>({.name = "memory",
                         .default_text = "81559MiB",
                         .minimum = "1MB",
                         .maximum = "100TB",
                         .meaning = "Size of the memory.",
                         .origin = preset_origin}),
    param<&Gpu::memory_bandwidth>({.name = "memory_bandwidth",
                                   .default_text = "26816Gbps",
                                   .minimum = "1Gbps",
                                   .maximum = "10000Tbps",
                                   .meaning = "Rate of the memory.",
                                   .origin = preset_origin}),
    param<&Gpu::l2>({.name = "l2",
                     .default_text = "50MB",
                     .minimum = "1kB",
                     .maximum = "100GB",
                     .meaning = "Size of all L2 caches together.",
                     .origin = preset_origin}),
    param<&Gpu::memory_side_cache>({.name = "memory_side_cache",
                                    .default_text = "0B",
                                    .minimum = "0B",
                                    .maximum = "100GB",
                                    .meaning = "Size of a cache between L2 and memory; 0B if there is none.",
                                    .origin = preset_origin}),
    param<&Gpu::l2_bandwidth>({.name = "l2_bandwidth",
                               .default_text = "74957Gbps",
                               .minimum = "1Gbps",
                               .maximum = "100000Tbps",
                               .meaning = "Rate at which multiprocessors together read from L2.",
                               .origin = preset_origin}),
    param<&Gpu::shared_memory>({.name = "shared_memory",
                                .default_text = "228KiB",
                                .minimum = "1KiB",
                                .maximum = "1GiB",
                                .meaning = "Shared memory of a multiprocessor; tiles that do not fit are not taken.",
                                .origin = preset_origin}),
    share_row<&Gpu::matmul_efficiency>("matmul_efficiency", "0.98",
                                       "Share of the peak at the sustained clock that the main loop of a tile reaches."),
    share_row<&Gpu::training_share>("training_share", "0.82",
                                    "Share of sustained_clock that is left in training, where kernels follow each other without "
                                    "pause on all GPUs of a host (analytical.load)."),
    share_row<&Gpu::unaligned_efficiency>(
        "unaligned_efficiency", "0.3",
        "Share of that which is left to matrix units where rows do not begin at multiples of 16 bytes."),
    share_row<&Gpu::vector_efficiency>("vector_efficiency", "0.755", "The same for FP32 on vector units, which run at peak_clock."),
    share_row<&Gpu::memory_efficiency>("memory_efficiency", "0.92",
                                       "Share of memory_bandwidth that a kernel reaches that streams."),
    param<&Gpu::result_traffic>({.name = "result_traffic",
                                 .default_text = "1.29",
                                 .minimum = "1",
                                 .maximum = "4",
                                 .meaning = "Bytes that the memory moves for each byte of a product's results.",
                                 .origin = preset_origin}),
    param<&Gpu::tile_latency>(
        {.name = "tile_latency",
         .default_text = "0ns",
         .minimum = "0ns",
         .maximum = "1ms",
         .meaning = "What a tile takes beside its main loop and its results: its first loads arrive, sums are handed over.",
         .origin = preset_origin}),
    param<&Gpu::kernel_overhead>({.name = "kernel_overhead",
                                  .default_text = "3us",
                                  .minimum = "0ns",
                                  .maximum = "1ms",
                                  .meaning = "What a kernel takes beside its work, from its start to its end on the GPU.",
                                  .origin = preset_origin}),
};

}  // namespace

std::optional<MatrixType> matrix_type_of(ElementType type) {
  constexpr std::array<std::pair<std::string_view, MatrixType>, 8> names = {{{"FP32", MatrixType::fp32},
                                                                             {"TF32", MatrixType::tf32},
                                                                             {"FP16", MatrixType::fp16},
                                                                             {"BF16", MatrixType::bf16},
                                                                             {"FP8_E4M3", MatrixType::fp8},
                                                                             {"FP8_E5M2", MatrixType::fp8},
                                                                             {"FP4", MatrixType::fp4},
                                                                             {"INT8", MatrixType::int8}}};
  for (const auto& [name, matrix_type] : names) {
    if (name == type.name) return matrix_type;
  }
  return std::nullopt;
}

std::optional<double> Gpu::product_rate(MatrixType type) const {
  const std::optional<double> most = peak(type);
  if (!most) return std::nullopt;
  if (type != MatrixType::fp32) return *most * (matrix_clock_hz() / peak_clock_hz) * matmul_efficiency;
  const double running_hz = clock_hz ? std::min(peak_clock_hz, *clock_hz) : peak_clock_hz;
  return *most * (running_hz / peak_clock_hz) * vector_efficiency;
}

double Gpu::matrix_clock_hz() const { return clock_hz ? std::min(sustained_clock_hz, *clock_hz) : sustained_clock_hz; }

double Gpu::vector_lanes() const {
  // A lane multiplies and adds in one clock. Every preset and every GPU has FP32.
  return peak(MatrixType::fp32).value_or(0.0) / (2.0 * multiprocessors * peak_clock_hz);
}

double Gpu::memory_bytes_per_s() const {
  return static_cast<double>(memory_bandwidth.in_bps()) / Bytes::of(1).in_bits() * memory_efficiency;
}

double Gpu::l2_bytes_per_s() const { return static_cast<double>(l2_bandwidth.in_bps()) / Bytes::of(1).in_bits(); }

double Gpu::reuse_bytes() const { return static_cast<double>(std::max(l2, memory_side_cache).count()); }

ParamTable gpu_params() { return gpu_rows; }

Gpu read_gpu(const ParamSet& given, const SourcePlace& place) {
  Gpu gpu = filled<Gpu>(with_named_gpu(given, place));
  if (gpu.sustained_clock_hz > gpu.peak_clock_hz) {
    fail("bad-gpu",
         fmt::format("gpu.sustained_clock is {} MHz, above gpu.peak_clock, {} MHz", gpu.sustained_clock_hz / 1e6,
                     gpu.peak_clock_hz / 1e6),
         place, "peaks hold at peak_clock, and no clock is higher; give both, or a lower one");
  }
  return gpu;
}

Gpu gpu_named(const std::string& preset, const SourcePlace& place) {
  ParamSet given("gpu", gpu_params());
  given.set("preset", preset, place);
  return read_gpu(given, place);
}

}  // namespace weft
