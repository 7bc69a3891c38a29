// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/analytical_times.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "core/values/random.hpp"
#include "host/op_times/gpu_presets.hpp"

namespace weft::analytical_times_test {

/// Settings "param=value" on top of kernels that are measured one at a time.
AnalyticalTimes times(const std::string& preset, const std::vector<std::pair<std::string, std::string>>& settings = {}) {
  ParamSet params("analytical", analytical_params());
  params.set("load", "kernels", SourcePlace::named("test"));
  for (const auto& [name, value] : settings) params.set(name, value, SourcePlace::named("test"));
  return {gpu_named(preset, SourcePlace::named("test")), filled<AnalyticalSettings>(params)};
}

ElementType type(std::string_view name) { return element_type_named(name).value(); }

Operator matmul(std::uint64_t rows, std::uint64_t columns, std::uint64_t inner, std::string_view type_name = "BF16") {
  return {"linear", Matmul{.rows = rows, .columns = columns, .inner = inner}, type(type_name)};
}

double seconds(const AnalyticalTimes& source, const Operator& op, OperatorPass pass = OperatorPass::forward) {
  return source.time_of(op, pass).value().in_s();
}

TEST(AnalyticalTimesTest, SaysWhereTimesComeFrom) { EXPECT_EQ(times("gh200").origin(), "analytical: gh200"); }

TEST(AnalyticalTimesTest, TypesThatAGpuLacksHaveNoTime) {
  const AnalyticalTimes a100 = times("a100_sxm_80gb");
  const Operator op = matmul(64, 64, 64, "FP8_E4M3");
  EXPECT_FALSE(a100.time_of(op, OperatorPass::forward));
  EXPECT_EQ(a100.missing(op, OperatorPass::forward), "a100_sxm_80gb has no FP8_E4M3");
  EXPECT_EQ(a100.missing(matmul(64, 64, 64, "INT64"), OperatorPass::forward), "the analytical model has no INT64");
  EXPECT_FALSE(a100.missing(matmul(64, 64, 64), OperatorPass::forward));
  const Operator norm{"norm", RowWise{.what = RowOperator::rms_norm, .rows = 8, .width = 8}, type("BF16")};
  EXPECT_EQ(a100.missing(norm, OperatorPass::backward_weight), "RMS norm 8 x 8 has no backward of the weights");
  EXPECT_EQ(a100.missing({"adam", OptimizerStep{8}, type("BF16")}, OperatorPass::backward), "optimizer 8 has no backward");
}

// dX is m x k x n and dW k x n x m: products of the same size as forward's, in other shapes.
TEST(AnalyticalTimesTest, BackwardIsBothGradients) {
  const AnalyticalTimes source = times("a100_sxm_80gb");
  const Operator op = matmul(4096, 12288, 2048);
  EXPECT_EQ(*source.time_of(op, OperatorPass::backward),
            *source.time_of(op, OperatorPass::backward_input) + *source.time_of(op, OperatorPass::backward_weight));
  EXPECT_EQ(source.time_of(op, OperatorPass::backward_input), source.time_of(matmul(4096, 2048, 12288), OperatorPass::forward));
  EXPECT_EQ(source.time_of(op, OperatorPass::backward_weight), source.time_of(matmul(2048, 12288, 4096), OperatorPass::forward));
}

// A large product is bound by its main loops, whose rate is in proportion to the clock: in training
// A100 has 0.88 of it. What memory bounds takes as long.
TEST(AnalyticalTimesTest, TrainingKeepsTheClockDown) {
  const AnalyticalTimes kernels = times("a100_sxm_80gb");
  const AnalyticalTimes training = times("a100_sxm_80gb", {{"load", "training"}});
  EXPECT_DOUBLE_EQ(training.gpu().sustained_clock_hz, 0.88 * kernels.gpu().sustained_clock_hz);
  EXPECT_NEAR(seconds(training, matmul(8192, 8192, 65536)) / seconds(kernels, matmul(8192, 8192, 65536)), 1 / 0.88, 0.003);
  const Operator op{"add", RowWise{.what = RowOperator::residual_add, .rows = 1 << 16, .width = 1 << 12}, type("BF16")};
  EXPECT_EQ(seconds(training, op), seconds(kernels, op));
}

// 50,257 columns of 2 B begin at odd multiples of 2 B: forward writes such rows, both gradients
// read them. Of rows alone any number will do.
TEST(AnalyticalTimesTest, ProductsWithUnalignedRowsAreSlow) {
  const AnalyticalTimes source = times("a100_sxm_80gb");
  for (const OperatorPass pass : {OperatorPass::forward, OperatorPass::backward_input, OperatorPass::backward_weight}) {
    const double aligned = seconds(source, matmul(8192, 50264, 8192), pass);
    EXPECT_NEAR(seconds(source, matmul(8192, 50257, 8192), pass) / aligned, 1 / 0.3, 0.1);
    EXPECT_NEAR(seconds(source, matmul(8192, 8192, 50257), pass) / seconds(source, matmul(8192, 8192, 50264), pass), 1 / 0.3, 0.1);
  }
  // Vector units do not mind.
  EXPECT_NEAR(seconds(source, matmul(8192, 50257, 8192, "FP32")) / seconds(source, matmul(8192, 50264, 8192, "FP32")), 1, 0.001);
  EXPECT_NEAR(seconds(source, matmul(50257, 8192, 8192)) / seconds(source, matmul(50264, 8192, 8192)), 1, 0.001);
}

// Eager: 8 + 2 numbers of 4 B and, in FP32, no casts, in 19 kernels more; fused: 3 + 2.
TEST(AnalyticalTimesTest, LossesHaveKernelsOfTheirOwn) {
  const Operator loss{"loss", RowWise{.what = RowOperator::cross_entropy, .rows = 1 << 14, .width = 1 << 15}, type("FP32")};
  const Operator norm{"norm", RowWise{.what = RowOperator::rms_norm, .rows = 1 << 14, .width = 1 << 12}, type("BF16")};
  const auto both = [&](const AnalyticalTimes& source) {
    return seconds(source, loss) + seconds(source, loss, OperatorPass::backward);
  };
  const AnalyticalTimes fused = times("h100_sxm");
  const AnalyticalTimes eager_loss = times("h100_sxm", {{"loss", "eager"}});
  EXPECT_NEAR(both(eager_loss) / both(fused), 10.0 / 5, 0.02);
  EXPECT_EQ(seconds(eager_loss, norm), seconds(fused, norm));
  EXPECT_EQ(both(times("h100_sxm", {{"kernels", "eager"}, {"loss", "fused"}})), both(fused));
  EXPECT_EQ(both(times("h100_sxm", {{"kernels", "eager"}})), both(eager_loss));
}

// 3 x 2 B of 2^28 elements over 2,039 GB/s x 0.85, and the kernel's overhead.
TEST(AnalyticalTimesTest, RowsMoveAtTheMemorysRate) {
  const Operator op{"add", RowWise{.what = RowOperator::residual_add, .rows = 1 << 16, .width = 1 << 12}, type("BF16")};
  const double expected_s = 6.0 * (1 << 28) / (2039e9 * 0.85) + 3e-6;
  EXPECT_NEAR(seconds(times("a100_sxm_80gb"), op), expected_s, 1e-9);
}

TEST(AnalyticalTimesTest, EagerKernelsAreASetting) {
  const AnalyticalTimes eager = times("h100_sxm", {{"kernels", "eager"}});
  const Operator op{"norm", RowWise{.what = RowOperator::rms_norm, .rows = 1 << 14, .width = 1 << 12}, type("BF16")};
  // 22 B for 4 per element, and more kernels.
  EXPECT_NEAR(seconds(eager, op) / seconds(times("h100_sxm"), op), 22.0 / 4, 0.4);
}

// A 1 x 1 kernel of stride 1 is a product of places x outputs x inputs.
TEST(AnalyticalTimesTest, AConvolutionIsAProduct) {
  const AnalyticalTimes source = times("a100_sxm_80gb");
  const Operator small{
      "conv", Convolution{.batch = 32, .input_channels = 256, .output_channels = 512, .output_height = 64, .output_width = 64},
      type("FP16")};
  EXPECT_EQ(source.time_of(small, OperatorPass::forward),
            source.time_of(matmul(32 * 64 * 64, 512, 256, "FP16"), OperatorPass::forward));
  // 3 x 3 has nine times the depth, from the same input.
  Operator large = small;
  std::get<Convolution>(large.shape).kernel = 3;
  EXPECT_LT(seconds(source, large), seconds(source, matmul(32 * 64 * 64, 512, 256 * 9, "FP16")) * 1.0001);
}

// Gradients of weights are 8 tiles of 128 x 128 per expert, 256 in all: with 4,096 of 8,192 tokens
// at one expert, its tiles are 16 times as deep as the mean.
TEST(AnalyticalTimesTest, OneBusyExpertIsSlowerThanManyEvenOnes) {
  const AnalyticalTimes source = times("h100_sxm");
  const auto experts = [&](std::uint64_t most) {
    return Operator{"experts", GroupedMatmul{.rows = 8192, .rows_most = most, .columns = 256, .inner = 512, .groups = 32},
                    type("BF16")};
  };
  EXPECT_GE(seconds(source, experts(4096)), seconds(source, experts(256)));
  EXPECT_GT(seconds(source, experts(4096), OperatorPass::backward_weight),
            seconds(source, experts(256), OperatorPass::backward_weight));
}

/// Any operator, as odd as it may be.
class Drawn {
 public:
  explicit Drawn(std::uint32_t entity) : random_(7, entity, 1) {}

  Operator draw() {
    static constexpr std::array<std::string_view, 8> types = {"FP32",     "TF32",     "FP16", "BF16",
                                                              "FP8_E4M3", "FP8_E5M2", "FP4",  "INT8"};
    return {"drawn", shape(), type(types[random_.below(types.size())])};
  }

 private:
  std::uint64_t size(std::uint64_t bits) { return 1 + random_.below(1ULL << random_.below(bits)); }
  OperatorShape shape() {
    switch (random_.below(7)) {
      case 0:
        return Matmul{.rows = size(18), .columns = size(18), .inner = size(18), .groups = size(8)};
      case 1: {
        const std::uint64_t rows = size(18);
        const std::uint64_t groups = size(8);
        const std::uint64_t mean = (rows + groups - 1) / groups;
        return GroupedMatmul{.rows = rows,
                             .rows_most = mean + random_.below(rows - mean + 1),
                             .columns = size(15),
                             .inner = size(15),
                             .groups = groups};
      }
      case 2: {
        const std::uint64_t queries = size(17);
        const std::uint64_t shared = size(5);
        return FusedAttention{.batch = size(6),
                              .query_heads = shared * size(5),
                              .key_value_heads = shared,
                              .query_length = queries,
                              .key_length = queries + random_.below(3) * random_.below(10000),
                              .key_width = size(9),
                              .value_width = size(9),
                              .is_causal = random_.below(2) == 0};
      }
      case 3:
        return RowWise{.what = static_cast<RowOperator>(random_.below(12)), .rows = size(22), .width = size(18)};
      case 4:
        return EmbeddingLookup{.rows = size(20), .width = size(14), .table_rows = size(26), .pooled = size(6)};
      case 5:
        return Convolution{.batch = size(8),
                           .input_channels = size(12),
                           .output_channels = size(12),
                           .output_height = size(9),
                           .output_width = size(9),
                           .kernel = 1 + 2 * random_.below(4),
                           .stride = 1 + random_.below(2)};
      default:
        return OptimizerStep{size(36)};
    }
  }

  RandomStream random_;
};

/// Bytes that every implementation moves: inputs and outputs of a product, once.
double bytes_min(const OperatorShape& shape, double element) {
  if (const auto* one = std::get_if<Matmul>(&shape)) {
    const auto rows = static_cast<double>(one->rows);
    const auto columns = static_cast<double>(one->columns);
    const auto inner = static_cast<double>(one->inner);
    return (rows * columns + columns * inner + rows * inner) * element * static_cast<double>(one->groups);
  }
  if (const auto* one = std::get_if<RowWise>(&shape))
    return static_cast<double>(one->rows) * static_cast<double>(one->width) * element * 2;
  if (const auto* one = std::get_if<OptimizerStep>(&shape)) return static_cast<double>(one->parameters) * 28;
  return 0;
}

TEST(AnalyticalTimesTest, NoTimeIsBelowTheRoofline) {
  std::deque<AnalyticalTimes> sources;
  for (const ModuleInfo& preset : gpu_presets())
    sources.emplace_back(gpu_named(std::string(preset.name), SourcePlace::named("test")),
                         default_settings<AnalyticalSettings>(analytical_params()));
  Drawn drawn(1);
  int known = 0;
  for (int i = 0; i < 20000; ++i) {
    const Operator op = drawn.draw();
    const AnalyticalTimes& source = sources[static_cast<std::size_t>(i) % sources.size()];
    for (const OperatorPass pass :
         {OperatorPass::forward, OperatorPass::backward_input, OperatorPass::backward_weight, OperatorPass::backward}) {
      const auto time = source.time_of(op, pass);
      EXPECT_EQ(time.has_value(), !source.missing(op, pass).has_value()) << to_text(op.shape);
      if (!time) continue;
      ++known;
      EXPECT_EQ(source.time_of(op, pass), time) << to_text(op.shape);
      const double peak = source.gpu().peak(*matrix_type_of(op.type)).value();
      const double bandwidth = static_cast<double>(source.gpu().memory_bandwidth.in_bps()) / 8;
      const double bound_s =
          std::max(product_operations(op.shape, pass) / peak, bytes_min(op.shape, op.type.bits / 8.0) / bandwidth);
      EXPECT_GE(time->in_s(), bound_s * (1 - 1e-9))
          << to_text(op.shape) << ", " << to_text(pass) << ", " << op.type.name << ", " << source.origin();
      EXPECT_GE(*time, source.gpu().kernel_overhead) << to_text(op.shape);
    }
  }
  EXPECT_GT(known, 40000);
}

// A rank may have no tokens for its experts.
TEST(AnalyticalTimesTest, NoWorkTakesItsKernelsOnly) {
  const AnalyticalTimes source = times("h100_sxm");
  const Operator none{"experts", GroupedMatmul{.rows = 0, .rows_most = 0, .columns = 64, .inner = 64, .groups = 4}, type("BF16")};
  for (const OperatorPass pass : {OperatorPass::forward, OperatorPass::backward}) EXPECT_LT(seconds(source, none, pass), 1e-5);
  const Operator rows{"norm", RowWise{.what = RowOperator::rms_norm, .rows = 0, .width = 64}, type("BF16")};
  EXPECT_EQ(seconds(source, rows), 3e-6);
}

// 2^60 parameters take 4 months at 3 TB/s, 2^63 take years: no operator does.
TEST(AnalyticalTimesTest, WhatTakesAYearIsNoOperator) {
  const AnalyticalTimes source = times("h100_sxm");
  EXPECT_TRUE(source.time_of({"adam", OptimizerStep{1ULL << 60}, type("BF16")}, OperatorPass::forward));
  EXPECT_FALSE(source.time_of({"adam", OptimizerStep{1ULL << 63}, type("BF16")}, OperatorPass::forward));
}

}  // namespace weft::analytical_times_test
