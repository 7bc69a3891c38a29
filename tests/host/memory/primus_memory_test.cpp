// SPDX-License-Identifier: Apache-2.0
// The printed example of Primus' documentation: Mixtral 8x22B, PP 4, EP 8, microbatches of 2
// sequences of 8,192.
#include "host/memory/primus_memory.hpp"

#include <gtest/gtest.h>

#include "host/memory/live_set.hpp"
#include "tests/host/memory/memory_testing.hpp"

namespace weft::primus_memory_test {

namespace {

using namespace memory_testing;

constexpr double gib = 1024.0 * 1024 * 1024;

PrimusMemory example(const std::vector<std::string>& settings = {}) {
  const TransformerModel model = model_named("mixtral_8x22b_primus");
  const ParallelPlan plan = plan_named("mixtral_8x22b_primus", model, settings);
  return primus_memory(model, plan, *passes_without_times(plan, 0));
}

double activations_gib(const PrimusMemory& memory, std::string_view component) {
  for (const PrimusComponent& row : memory.components) {
    if (row.name == component) return row.activation_bytes / gib;
  }
  return -1.0;
}

}  // namespace

TEST(PrimusMemory, IsThePrintedExample) {
  const PrimusMemory memory = example();
  EXPECT_EQ(memory.parameters_total, 140'845'350'912U);
  EXPECT_EQ(memory.parameters, 6'078'750'720U);
  EXPECT_DOUBLE_EQ(activations_gib(memory, "expert layer"), 5.125);
  EXPECT_DOUBLE_EQ(activations_gib(memory, "  norm"), 0.1875);
  EXPECT_DOUBLE_EQ(activations_gib(memory, "  attention"), 0.625);
  EXPECT_DOUBLE_EQ(activations_gib(memory, "  router"), 0.1875);
  EXPECT_DOUBLE_EQ(activations_gib(memory, "  experts"), 3.375);
  EXPECT_DOUBLE_EQ(activations_gib(memory, "output layer"), 3.0625);
  EXPECT_NEAR(memory.state_bytes / gib, 79.2578888, 5e-8);
  EXPECT_DOUBLE_EQ(memory.activation_bytes / gib, 503.5625);
  EXPECT_NEAR(memory.total_bytes() / gib, 582.82, 5e-3);
}

// 14 layers of 5.125 GiB and the embedding's 0.1875 are 71.9375 GiB; 1F1B holds 4 microbatches of
// them. A parameter takes 2 + 2 + 4 + 4 + 4 bytes.
TEST(PrimusMemory, IsCorrectedForTheSameInputs) {
  const PrimusMemory memory = example();
  EXPECT_DOUBLE_EQ(memory.base_activation_bytes / gib, 14 * 5.125 + 0.1875);
  EXPECT_DOUBLE_EQ(memory.corrected_activation_bytes / gib, 287.75);
  EXPECT_NEAR(memory.corrected_state_bytes / gib, 90.5804443, 5e-8);
}

// With two chunks the printed factor 1 + 3 / 8 is that of the interleaved schedule: 4 x 1.375 =
// (2 x 3 + 4 + 1) / 2 microbatches.
TEST(PrimusMemory, IsRightForInterleavedSchedules) {
  const PrimusMemory memory = example({"virtual_pipeline=2"});
  EXPECT_DOUBLE_EQ(memory.activation_bytes / gib, 395.65625);
  EXPECT_DOUBLE_EQ(memory.corrected_activation_bytes / gib, 395.65625);
  EXPECT_DOUBLE_EQ(memory.corrected_microbatches, 5.5);
}

// DP = 128 / (8 x 4) = 4 shares the optimizer: 4 + 10 / 4 bytes.
TEST(PrimusMemory, SharesTheOptimizer) {
  const TransformerModel model = model_named("mixtral_8x22b_primus");
  const ParallelPlan plan = plan_named("mixtral_8x22b_primus", model, {"global_batch=64"}, 128);
  const PrimusMemory memory = primus_memory(model, plan, *passes_without_times(plan, 0));
  EXPECT_DOUBLE_EQ(memory.data_parallel, 4.0);
  EXPECT_DOUBLE_EQ(memory.state_bytes, 6'078'750'720.0 * 6.5);
  EXPECT_DOUBLE_EQ(memory.accumulation_saving, 1.0);
}

// One microbatch of a pipeline of four: GA / PP. The schedule holds it, too.
TEST(PrimusMemory, CountsFewMicrobatches) {
  const PrimusMemory memory = example({"expert_parallel=1", "global_batch=1", "microbatch=1"});
  EXPECT_DOUBLE_EQ(memory.accumulation_saving, 0.25);
  EXPECT_DOUBLE_EQ(memory.corrected_microbatches, 1.0);
}

// Everything recomputed: 14 inputs of 0.1875 GiB, 4 x 1.75 times; a layer of 5.125 and the
// embedding once.
TEST(PrimusMemory, RecomputesAsPrinted) {
  const PrimusMemory memory = example({"recompute.kind=UNIFORM"});
  EXPECT_DOUBLE_EQ(memory.activation_bytes / gib, 14 * 0.1875 * 7 + 5.125 + 0.1875);
}

}  // namespace weft::primus_memory_test
