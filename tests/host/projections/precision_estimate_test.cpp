// SPDX-License-Identifier: Apache-2.0
// Precision estimate: equations 1 to 4 as published and as physics has it, by hand.
#include "host/projections/precision_estimate.hpp"

#include <gtest/gtest.h>

#include "tests/host/projections/small_training.hpp"

namespace weft::precision_estimate_test {
namespace {

/// A nanosecond per bit of the operator's type.
Duration by_bits(const Operator& op, OperatorPass /*pass*/) { return Duration::ns(op.type.bits); }

const Bandwidth kGigabyte = Bandwidth::gbps(8);

// Under torch.amp a layer's operators are, forward: 2 norms and 2 sums of residuals in FP32, qkv,
// rotary, attention, projection, up, activation and down in FP16: 4 x 32 + 7 x 16 = 240 ns.
// Backward: norms and sums again, 4 products with two gradients each, 3 others: 128 + 11 x 16 =
// 304 ns. The embedding's two passes are in FP32, 64 ns.
constexpr double kLayerNs = 240 + 304;

// 62 layers, 8 microbatches, 4 stages. The first stage takes longest: 15 layers of 544 ns and 64.
// Gradients: 32,768 parameters of the embedding's half in FP32, 15 layers with 24,576 sliced ones
// in FP16 and 256 of norms in FP32.
TEST(PrecisionEstimate, AsPublished) {
  const TransformerModel model = small_training::model(62);
  const ParallelPlan plan = small_training::plan(model, {});
  const PrecisionEstimate estimate = precision_estimate(model, plan, by_bits, kGigabyte, Arithmetic::as_published);
  const double computation_us = 8 * (15 * kLayerNs + 64) / 1e3;
  EXPECT_NEAR(estimate.computation.in_us(), computation_us, 1e-4);
  EXPECT_NEAR(estimate.pipeline.in_us(), 3 * computation_us, 1e-4);
  EXPECT_NEAR(estimate.data.in_us(), (32768 * 4 + 15 * (24576 * 2 + 256 * 4)) / 1e3, 1e-4);
  EXPECT_NEAR(estimate.tensor.in_us(), (32768 * 4 + 15 * 24576 * 2) / 1e3, 1e-4);
  EXPECT_EQ(estimate.other, Duration::zero());
  EXPECT_EQ(estimate.total(), estimate.computation + estimate.data + estimate.tensor + estimate.pipeline);
}

// 16 layers are in the first stage. Among 2 ranks an all-reduce sends each byte once. Gradients are
// in FP32, as torch.amp has them. Per microbatch 128 x 64 activations of 2 bytes are added up twice
// forward and twice backward in each layer, once for the embedding.
TEST(PrecisionEstimate, AsPhysicsHasIt) {
  const TransformerModel model = small_training::model(62);
  const ParallelPlan plan = small_training::plan(model, {});
  const PrecisionEstimate estimate = precision_estimate(model, plan, by_bits, kGigabyte, Arithmetic::physical);
  const double computation_us = 8 * (16 * kLayerNs + 64) / 1e3;
  constexpr double message_bytes = 128 * 64 * 2;
  const double tensor_us = 8 * (16 * 4 + 1) * message_bytes / 1e3;
  EXPECT_NEAR(estimate.computation.in_us(), computation_us, 1e-4);
  EXPECT_NEAR(estimate.data.in_us(), (32768 + 16 * (24576 + 256)) * 4 / 1e3, 1e-4);
  EXPECT_NEAR(estimate.tensor.in_us(), tensor_us, 1e-4);
  EXPECT_NEAR(estimate.pipeline.in_us(), (computation_us + tensor_us) * 3.0 / 8.0 + 2 * 3 * message_bytes / 1e3, 1e-4);
}

// Eq. 4 for one microbatch and nothing between tensor ranks: three further stages, and messages
// there and back, which it leaves out. With 8 microbatches it is 8 times too much.
TEST(PrecisionEstimate, EquationFourHoldsForOneMicrobatch) {
  const TransformerModel model = small_training::model(60);
  constexpr double messages_us = 2 * 3 * 128 * 64 * 2 / 1e3;
  for (const int microbatches : {1, 8}) {
    const ParallelPlan plan = small_training::plan(model, {"tensor_parallel=1", fmt::format("global_batch={}", 2 * microbatches)});
    const PrecisionEstimate published = precision_estimate(model, plan, by_bits, kGigabyte, Arithmetic::as_published);
    const PrecisionEstimate physical = precision_estimate(model, plan, by_bits, kGigabyte, Arithmetic::physical);
    EXPECT_EQ(published.computation, physical.computation);
    EXPECT_NEAR(published.pipeline.in_us(), (physical.pipeline.in_us() - messages_us) * microbatches, 1e-3);
  }
}

// Gradients of replicas of 4: as published their size, else 2 x 3 / 4 of it. ZeRO 1 scatters 3 / 4
// and gathers 3 quarters of parameters, here both in FP32: the same.
TEST(PrecisionEstimate, ReplicasSendMoreThanTheirGradients) {
  const TransformerModel model = small_training::model(4);
  const auto data_us = [&](const char* zero, Arithmetic arithmetic) {
    const ParallelPlan plan = small_training::plan(
        model, {"tensor_parallel=1", "pipeline_parallel=1", "data_parallel=4", "precision.kind=ALL_FP32", zero});
    return precision_estimate(model, plan, by_bits, kGigabyte, arithmetic).data.in_us();
  };
  constexpr double gradients_us = (2 * 65536 + 128 + 4 * (49152 + 256)) * 4 / 1e3;
  EXPECT_NEAR(data_us("zero_stage=0", Arithmetic::as_published), gradients_us, 1e-4);
  EXPECT_NEAR(data_us("zero_stage=0", Arithmetic::physical), 1.5 * gradients_us, 1e-4);
  EXPECT_NEAR(data_us("zero_stage=1", Arithmetic::physical), 1.5 * gradients_us, 1e-4);
}

// A layer's 26 operators take 32 ns each in FP32, 16 in FP16.
TEST(PrecisionEstimate, PredictorsThatAreBlindToPrecision) {
  const TransformerModel model = small_training::model(64);
  const auto computation_us = [&](const ParallelPlan& plan) {
    return precision_estimate(model, plan, by_bits, kGigabyte, Arithmetic::physical).computation.in_us();
  };
  const ParallelPlan amp = small_training::plan(model, {});
  const ParallelPlan half = small_training::plan(model, {"precision.kind=ALL_FP16"});
  // The last stage takes longest, with norm, output layer, two gradients, and loss: 7 operators.
  EXPECT_NEAR(computation_us(half), 8 * (16 * 26 + 7) * 16 / 1e3, 1e-4);
  EXPECT_NEAR(computation_us(precision_blind(amp)), 8 * (16 * 26 + 7) * 32 / 1e3, 1e-4);
  EXPECT_EQ(computation_us(precision_blind(amp)), computation_us(precision_blind(half)));
  EXPECT_GT(computation_us(precision_blind(amp)), computation_us(amp));
  EXPECT_GT(computation_us(amp), computation_us(half));
}

}  // namespace
}  // namespace weft::precision_estimate_test
