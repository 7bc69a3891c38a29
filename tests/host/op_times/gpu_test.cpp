// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/gpu.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "host/op_times/gpu_presets.hpp"

namespace weft::gpu_test {

const SourcePlace place = SourcePlace::named("--gpu");

Gpu with(const std::vector<std::pair<std::string, std::string>>& values) {
  ParamSet params("gpu", gpu_params());
  for (const auto& [name, value] : values) params.set(name, value, place);
  return read_gpu(params, place);
}

std::string error_of(const std::vector<std::pair<std::string, std::string>>& values) {
  try {
    with(values);
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    return fmt::format("{} [{}] {}", first.message, first.code, first.help);
  }
  return "";
}

TEST(GpuTest, EveryPresetGivesEveryNumberWithItsOrigin) {
  for (const ModuleInfo& preset : gpu_presets()) {
    std::set<std::string_view> given;
    for (const NamedValue& value : preset.values) {
      EXPECT_FALSE(value.origin.empty()) << preset.name << "." << value.name;
      EXPECT_TRUE(given.insert(value.name).second) << preset.name << " has two of " << value.name;
    }
    for (const ParamSpec& row : gpu_params()) {
      if (row.name == "preset" || row.name == "clock") continue;
      EXPECT_TRUE(given.contains(row.name)) << preset.name << " lacks " << row.name;
      given.erase(row.name);
    }
    EXPECT_TRUE(given.empty()) << preset.name << " gives " << *given.begin() << ", which is no parameter";
  }
}

TEST(GpuTest, TheChoicesAreThePresets) {
  std::string names;
  for (const ModuleInfo& preset : gpu_presets()) names += fmt::format("{}{}", names.empty() ? "" : "|", preset.name);
  EXPECT_EQ(names, gpu_params().front().choices);
}

TEST(GpuTest, TheDefaultsAreThoseOfTheDefaultPreset) {
  const ModuleInfo& preset = *std::ranges::find(gpu_presets(), gpu_params().front().default_text, &ModuleInfo::name);
  for (const NamedValue& value : preset.values) {
    const ParamSpec& row = *std::ranges::find(gpu_params(), value.name, &ParamSpec::name);
    EXPECT_EQ(row.default_text, value.value) << value.name;
  }
}

// A tensor core of V100 does 64 multiplications and additions per clock, of A100 256, of H100 512,
// of B200 1,024, four or (V100) eight to a multiprocessor; a compute unit of CDNA 3 does 1,024, of
// CDNA 4 2,048. So the peak follows from the clock.
TEST(GpuTest, PeaksFollowFromUnitsAndClock) {
  struct Expected {
    std::string preset;
    double operations;  ///< per clock and multiprocessor
  };
  for (const Expected& expected : std::vector<Expected>{{"v100_sxm2", 2.0 * 8 * 64},
                                                        {"v100_pcie", 2.0 * 8 * 64},
                                                        {"a100_sxm_80gb", 2.0 * 4 * 256},
                                                        {"h100_sxm", 2.0 * 4 * 512},
                                                        {"h200", 2.0 * 4 * 512},
                                                        {"gh200", 2.0 * 4 * 512},
                                                        {"b200", 2.0 * 4 * 1024},
                                                        {"gb200", 2.0 * 4 * 1024},
                                                        {"gb300", 2.0 * 4 * 1024},
                                                        {"mi300x", 2.0 * 1024},
                                                        {"mi355x", 2.0 * 2048}}) {
    const Gpu gpu = gpu_named(expected.preset, place);
    const double peak = expected.operations * gpu.multiprocessors * gpu.peak_clock_hz;
    EXPECT_NEAR(peak, gpu.peak(MatrixType::fp16).value(), 0.011 * peak) << expected.preset;
  }
}

TEST(GpuTest, HalvesOfATypeAreTwiceAsFast) {
  for (const ModuleInfo& preset : gpu_presets()) {
    const Gpu gpu = gpu_named(std::string(preset.name), place);
    const double half = gpu.peak(MatrixType::fp16).value();
    EXPECT_NEAR(gpu.peak(MatrixType::tf32).value_or(half / 2) * 2, half, 0.01 * half) << preset.name;
    EXPECT_NEAR(gpu.peak(MatrixType::fp8).value_or(2 * half), 2 * half, 0.01 * half) << preset.name;
    EXPECT_LT(*gpu.peak(MatrixType::fp32), half) << preset.name;
  }
}

TEST(GpuTest, WhatIsGivenStandsBesideThePreset) {
  const Gpu gpu = with({{"memory", "64GB"}, {"preset", "a100_sxm_80gb"}, {"sustained_clock", "1.2GHz"}});
  EXPECT_EQ(gpu.multiprocessors, 108U);
  EXPECT_EQ(gpu.memory, Bytes::of(64'000'000'000));
  // 312 TFLOP/s x 1200 / 1410 x 0.98
  EXPECT_NEAR(gpu.product_rate(MatrixType::bf16).value(), 312e12 * (1200.0 / 1410) * 0.98, 1e6);
}

TEST(GpuTest, ALockedClockHoldsForMatrixAndVectorUnits) {
  const Gpu gpu = with({{"preset", "a100_sxm_80gb"}, {"clock", "705MHz"}});  // half of 1410
  EXPECT_NEAR(gpu.product_rate(MatrixType::bf16).value(), 0.5 * 312e12 * 0.98, 1e6);
  EXPECT_NEAR(gpu.product_rate(MatrixType::fp32).value(), 0.5 * 19.5e12 * 0.92, 1e6);
  // One above what the power limit leaves changes nothing for matrix units.
  const Gpu fast = with({{"preset", "a100_sxm_80gb"}, {"clock", "1400MHz"}});
  EXPECT_EQ(fast.product_rate(MatrixType::bf16), gpu_named("a100_sxm_80gb", place).product_rate(MatrixType::bf16));
}

TEST(GpuTest, ALaneIsAMultiplicationAndAnAdditionPerClock) {
  EXPECT_NEAR(gpu_named("a100_sxm_80gb", place).vector_lanes(), 64, 0.1);
  EXPECT_NEAR(gpu_named("mi300x", place).vector_lanes(), 128, 0.1);
}

TEST(GpuTest, TypesThatAGpuLacksHaveNoRate) {
  EXPECT_FALSE(gpu_named("a100_sxm_80gb", place).product_rate(MatrixType::fp8));
  EXPECT_FALSE(gpu_named("v100_sxm2", place).product_rate(MatrixType::bf16));
  EXPECT_TRUE(gpu_named("gb300", place).product_rate(MatrixType::fp4));
  EXPECT_EQ(matrix_type_of(*element_type_named("FP8_E5M2")), MatrixType::fp8);
  EXPECT_FALSE(matrix_type_of(*element_type_named("INT64")));
}

TEST(GpuTest, MistakesAreNamed) {
  EXPECT_EQ(error_of({{"preset", "h100_smx"}}),
            "gpu.preset: \"h100_smx\" is not one of the choices [bad-value] did you mean \"h100_sxm\"?");
  EXPECT_EQ(error_of({{"memory_bandwith", "1Gbps"}}),
            "gpu has no parameter \"memory_bandwith\" [unknown-param] did you mean \"memory_bandwidth\"?");
  EXPECT_EQ(error_of({{"peak_clock", "1410"}}),
            "gpu.peak_clock: \"1410\" is not a clock [bad-value] a number with its unit, MHz or GHz: \"1410MHz\"");
  EXPECT_EQ(error_of({{"fp16", "312"}}),
            "gpu.fp16: \"312\" is not a rate of operations [bad-value] a number with its unit, TFLOPS, PFLOPS, TOPS or POPS: "
            "\"312TFLOPS\"; or none");
  EXPECT_EQ(error_of({{"fp32", "none"}}),
            "gpu.fp32: every GPU has FP32 [bad-value] a number with its unit, TFLOPS or PFLOPS: \"19.5TFLOPS\"");
  EXPECT_EQ(error_of({{"sustained_clock", "2GHz"}}),
            "gpu.sustained_clock is 2000 MHz, above gpu.peak_clock, 1830 MHz [bad-gpu] peaks hold at peak_clock, and no clock is "
            "higher; give both, or a lower one");
  EXPECT_EQ(error_of({{"memory_efficiency", "1.5"}}),
            "gpu.memory_efficiency = 1.5 is above the maximum [out-of-range] allowed: 0.01 .. 1");
}

}  // namespace weft::gpu_test
