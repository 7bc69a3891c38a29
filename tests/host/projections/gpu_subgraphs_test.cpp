// SPDX-License-Identifier: Apache-2.0
// GPU subgraphs: layers, slices and types of one small model, counted by hand.
#include "host/projections/gpu_subgraphs.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/host/projections/small_training.hpp"

namespace weft::gpu_subgraphs_test {
namespace {

const GraphWeight* weight(const GpuSubgraph& graph, std::string_view component) {
  for (const GraphWeight& one : graph.weights) {
    if (one.component == component) return &one;
  }
  return nullptr;
}

std::uint64_t layers_of_replica(const std::vector<GpuSubgraph>& graphs) {
  std::uint64_t layers = 0;
  for (const GpuSubgraph& graph : graphs) layers += graph.data == 0 && graph.tensor == 0 ? graph.layer_count() : 0;
  return layers;
}

// floor(62 / 4) = 15 layers on each of 4 stages are 60; the plan has 16, 16, 15, 15.
TEST(GpuSubgraphs, PublishedFloorLosesLayers) {
  const TransformerModel model = small_training::model(62);
  const ParallelPlan plan = small_training::plan(model, {});
  const std::vector<GpuSubgraph> published = gpu_subgraphs(model, plan, Arithmetic::as_published);
  const std::vector<GpuSubgraph> physical = gpu_subgraphs(model, plan, Arithmetic::physical);
  ASSERT_EQ(published.size(), 4U * 2 * 2);
  EXPECT_EQ(layers_of_replica(published), 60U);
  EXPECT_EQ(layers_of_replica(physical), 62U);
  constexpr std::array<std::uint64_t, 4> layers = {16, 16, 15, 15};
  for (const GpuSubgraph& graph : physical) EXPECT_EQ(graph.layer_count(), layers.at(graph.stage));
  EXPECT_EQ(published[15].stage, 3U);
  EXPECT_EQ(published[14].tensor, 0U);
  EXPECT_EQ(published[13].data, 0U);
}

// A layer has 64 x 192 + 64 x 64 = 16,384 parameters of attention, 2 x 64 x 256 = 32,768 of the
// MLP, halved by tensor parallelism, and 2 norms of 2 x 64, which are not sliced.
TEST(GpuSubgraphs, WeightsAreSlicedAndTyped) {
  const TransformerModel model = small_training::model(62);
  const ParallelPlan plan = small_training::plan(model, {});
  const GpuSubgraph first = gpu_subgraph(model, plan, 0, 1, 1, Arithmetic::physical);
  EXPECT_TRUE(first.has_input);
  EXPECT_FALSE(first.has_output);
  EXPECT_EQ(weight(first, "attention")->parameters, 16U * 8192);
  EXPECT_TRUE(weight(first, "attention")->is_sliced);
  EXPECT_EQ(weight(first, "attention")->type.name, "FP16");
  EXPECT_EQ(weight(first, "mlp")->parameters, 16U * 16384);
  EXPECT_EQ(weight(first, "norms")->parameters, 16U * 256);
  EXPECT_FALSE(weight(first, "norms")->is_sliced);
  EXPECT_EQ(weight(first, "norms")->type.name, "FP32");
  EXPECT_EQ(weight(first, "embedding")->parameters, 1024U * 32);
  EXPECT_EQ(weight(first, "embedding")->type.name, "FP32");
  EXPECT_EQ(first.parameters(), 16U * (8192 + 16384 + 256) + 32768);
  EXPECT_EQ(weight(first, "output layer"), nullptr);
  const GpuSubgraph last = gpu_subgraph(model, plan, 3, 0, 0, Arithmetic::physical);
  EXPECT_TRUE(last.has_output);
  EXPECT_EQ(weight(last, "output layer")->parameters, 32768U);
  EXPECT_EQ(weight(last, "output layer")->type.name, "FP16");
  EXPECT_EQ(weight(last, "norms")->parameters, 15U * 256 + 128);
}

std::uint64_t uses(const std::vector<OperatorUse>& all, std::string_view name, OperatorPass pass) {
  std::uint64_t count = 0;
  for (const OperatorUse& use : all) count += use.what.op.name == name && use.what.pass == pass ? use.count : 0;
  return count;
}

// 16 layers with 2 norms each; what is recomputed runs forward twice and backward once.
TEST(GpuSubgraphs, UniqueOperators) {
  const TransformerModel model = small_training::model(62);
  const ParallelPlan plan = small_training::plan(model, {});
  const GpuSubgraph graph = gpu_subgraph(model, plan, 0, 0, 0, Arithmetic::physical);
  const std::vector<OperatorUse> all = unique_operators(model, plan, graph);
  EXPECT_EQ(uses(all, "qkv", OperatorPass::forward), 16U);
  EXPECT_EQ(uses(all, "qkv", OperatorPass::backward_weight), 16U);
  EXPECT_EQ(uses(all, "norm", OperatorPass::forward), 32U);
  EXPECT_EQ(uses(all, "embedding", OperatorPass::forward), 1U);
  EXPECT_EQ(uses(all, "output_layer", OperatorPass::forward), 0U);
  // Forward 9 different ones and embedding; backward 4 products of two passes each, attention,
  // rotary, activation, norm, residual and embedding.
  EXPECT_EQ(all.size(), 10U + 14);
  const ParallelPlan again = small_training::plan(model, {"recompute.kind=BLOCK", "recompute.layers=5"});
  const std::vector<OperatorUse> recomputed = unique_operators(model, again, graph);
  EXPECT_EQ(uses(recomputed, "qkv", OperatorPass::forward), 21U);
  EXPECT_EQ(uses(recomputed, "qkv", OperatorPass::backward_input), 16U);
}

}  // namespace
}  // namespace weft::gpu_subgraphs_test
