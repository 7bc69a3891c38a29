// SPDX-License-Identifier: Apache-2.0
// Types of tensors and operators.
#include "workloads/plans/precision.hpp"

#include <gtest/gtest.h>

namespace weft::precision_test {

namespace {

int bytes_per_parameter(PrecisionKind kind) {
  const Precision precision = precision_of(kind);
  constexpr int bits = 8;
  constexpr int fp32_bits = 32;
  return (precision.parameters.bits + precision.gradients.bits + (precision.has_master_copy ? fp32_bits : 0) +
          2 * precision.moments.bits) /
         bits;
}

}  // namespace

TEST(Precision, HasBytesPerParameter) {
  EXPECT_EQ(bytes_per_parameter(PrecisionKind::all_fp32), 16);
  EXPECT_EQ(bytes_per_parameter(PrecisionKind::all_bf16), 8);
  EXPECT_EQ(bytes_per_parameter(PrecisionKind::amp_fp16), 16);
  EXPECT_EQ(bytes_per_parameter(PrecisionKind::megatron_fp16), 16);
  EXPECT_EQ(bytes_per_parameter(PrecisionKind::megatron_bf16), 18);
}

TEST(Precision, KeepsParametersAndGradientsOfTorchAmpInSinglePrecision) {
  const Precision amp = precision_of(PrecisionKind::amp_bf16);
  EXPECT_EQ(amp.parameters.name, "FP32");
  EXPECT_EQ(amp.reduced_gradients.name, "FP32");
  EXPECT_EQ(amp.cast_copy_bytes(), 2);
  const Precision megatron = precision_of(PrecisionKind::megatron_bf16);
  EXPECT_EQ(megatron.parameters.name, "BF16");
  EXPECT_EQ(megatron.reduced_gradients.name, "FP32");
  EXPECT_EQ(megatron.cast_copy_bytes(), 0);
}

TEST(Precision, CastsOperatorsUnderTorchAmp) {
  const Precision amp = precision_of(PrecisionKind::amp_fp16);
  EXPECT_EQ(amp.type_of(OperatorRole::linear).name, "FP16");
  EXPECT_EQ(amp.type_of(OperatorRole::product).name, "FP16");
  EXPECT_EQ(amp.type_of(OperatorRole::full).name, "FP32");
  EXPECT_EQ(amp.type_of(OperatorRole::loss).name, "FP32");
  EXPECT_EQ(amp.type_of(OperatorRole::residual).name, "FP32");
  EXPECT_EQ(amp.type_of(OperatorRole::pass_through).name, "FP16");
  EXPECT_EQ(amp.type_of(OperatorRole::lookup).name, "FP32");
}

TEST(Precision, TakesLinearLayersAloneToSmallTypes) {
  const Precision fp8 = precision_of(PrecisionKind::megatron_fp8);
  EXPECT_EQ(fp8.type_of(OperatorRole::linear).name, "FP8_E4M3");
  EXPECT_EQ(fp8.type_of(OperatorRole::product).name, "BF16");
  EXPECT_EQ(fp8.activations().name, "BF16");
  EXPECT_EQ(precision_of(PrecisionKind::megatron_fp4).type_of(OperatorRole::linear).name, "FP4");
}

}  // namespace weft::precision_test
