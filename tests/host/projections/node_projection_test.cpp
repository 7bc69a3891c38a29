// SPDX-License-Identifier: Apache-2.0
// Node projection: the numbers of the published example, as printed and as they are right.
#include "host/projections/node_projection.hpp"

#include <gtest/gtest.h>

#include "host/projections/collective_formulas.hpp"
#include "tests/host/projections/small_training.hpp"
#include "workloads/plans/reduced_plan.hpp"

namespace weft::node_projection_test {
namespace {

const SourcePlace place = SourcePlace::named("test");

TransformerModel mixtral() { return *load_model("mixtral_8x22b_primus", place).transformer(); }

ParallelPlan mixtral_plan(std::vector<std::string> settings = {}) {
  settings.insert(settings.begin(), "data_parallel=8");
  return load_plan({.name = "mixtral_8x22b_primus", .overrides = std::move(settings), .gpus = {}}, mixtral(), place);
}

HardwareConfig hardware(std::uint32_t gpus_per_node = 8) {
  return {.name = "test",
          .origin = {},
          .gpus_per_node = gpus_per_node,
          .nics_per_node = gpus_per_node,
          .inside = {Bandwidth::gbps(3200), Duration::us(1), 1.0},
          .between = {Bandwidth::gbps(400), Duration::us(5), 1.0},
          .message_overhead = Duration::zero()};
}

// TP 1, PP 4, EP 8: 32 GPUs are 4 nodes; on 64 GPUs there are 16 data-parallel ranks by the rule of
// scaling, 2 by the others.
TEST(NodeProjection, CountsOfTheExample) {
  const ParallelPlan plan = mixtral_plan();
  for (const Arithmetic arithmetic : {Arithmetic::as_published, Arithmetic::physical})
    EXPECT_EQ(nodes_min(plan, true, 8, arithmetic), 4U);
  EXPECT_EQ(data_ranks(DataRankRule::performance, 32, plan), 8);
  EXPECT_EQ(data_ranks(DataRankRule::performance, 64, plan), 16);
  EXPECT_EQ(data_ranks(DataRankRule::memory, 64, plan), 2);
  EXPECT_EQ(data_ranks(DataRankRule::gpus, 64, plan), 2);
}

// TP 2, CP 4 and PP 3: 8 GPUs hold a stage. Whole experts on 8 ranks share them (lcm(8, 8) = 8);
// as published T E = 16 ranks do, which is right where tensor ranks slice experts, too.
TEST(NodeProjection, FewestNodes) {
  ParallelPlan plan;
  plan.tensor = 2;
  plan.context = 4;
  plan.pipeline = 3;
  EXPECT_EQ(nodes_min(plan, false, 8, Arithmetic::as_published), 3U);
  EXPECT_EQ(nodes_min(plan, false, 8, Arithmetic::physical), 3U);
  plan.expert = 8;
  EXPECT_EQ(nodes_min(plan, true, 8, Arithmetic::as_published), 6U);
  EXPECT_EQ(nodes_min(plan, true, 8, Arithmetic::physical), 3U);
  EXPECT_EQ(nodes_min(plan, true, 7, Arithmetic::physical), 4U);  // 24 GPUs
  plan.expert_tensor = 2;
  EXPECT_EQ(nodes_min(plan, true, 8, Arithmetic::physical), 6U);
}

// Printed: iteration time 10,052 ms, 64 GPUs, 3,260 tokens/s/GPU, GBS 128. That is what 256
// sequences make; 128 make the half.
TEST(NodeProjection, TokensOfTheExampleNeedTwiceTheBatch) {
  const Duration step = Duration::ms(10052);
  EXPECT_NEAR(tokens_per_s_per_gpu(256, 8192, step, 64), 3260, 0.5);
  EXPECT_NEAR(tokens_per_s_per_gpu(128, 8192, step, 64), 1630, 0.5);
  EXPECT_NEAR(tokens_per_s_per_gpu(128, 8192, Duration::ms(5026), 64), 3260, 0.5);
}

// 2 x 8,192 tokens, top 2, hidden 6,144, 2 bytes. Gradients: 56 / 4 layers of 12 h^2 parameters of
// 4 bytes are printed as 24,192 MB; the rank's 6,078,750,720 parameters have 24,315,002,880.
TEST(NodeProjection, MessagesOfTheExample) {
  EXPECT_EQ(expert_message(mixtral(), mixtral_plan()), Bytes::mib(384));
  EXPECT_EQ(gradient_size_by_hidden(mixtral(), mixtral_plan()), Bytes::mib(24192));
  EXPECT_EQ(gradient_size(6'078'750'720), Bytes::of(24'315'002'880));
}

// The plan reduces gradients in BF16, half of FP32. A stage of 14 layers has an expert of each
// layer: 14 x 3 x 6,144 x 16,384 parameters.
TEST(NodeProjection, ExpertsGradientsAreApart) {
  const GradientSizes published = gradient_sizes(mixtral(), mixtral_plan(), Arithmetic::as_published);
  const GradientSizes physical = gradient_sizes(mixtral(), mixtral_plan(), Arithmetic::physical);
  EXPECT_EQ(published.expert, Bytes::of(14LL * 3 * 6144 * 16384 * 4));
  EXPECT_EQ(physical.expert * 2, published.expert);
  EXPECT_EQ(physical.dense * 2, published.dense);
}

/// Every stage takes 1 ms forward and as much backward, whatever it holds.
std::vector<PositionTimes> even_positions(std::uint32_t stages) {
  return std::vector<PositionTimes>(stages, {.forward = Duration::ms(1), .backward = Duration::ms(1)});
}

ParallelPlan pipeline_of(std::uint32_t stages, std::uint64_t microbatches) {
  ParallelPlan plan;
  plan.pipeline = stages;
  plan.global_batch = microbatches;
  plan.schedule = "1f1b";
  return plan;
}

// 8 microbatches on 4 stages are 8 + 3 slots; twice the replicas have 4 each, 4 + 3 slots. Scaling
// the step by 1 / 2 has half of the bubble vanish: 5.5 slots.
TEST(NodeProjection, TheBubbleDoesNotScale) {
  const Duration slot = Duration::ms(2);
  const Duration base = pipeline_step(pipeline_of(4, 8), even_positions(4), place);
  EXPECT_EQ(base, slot * 11);
  EXPECT_EQ(scaled(base, 1, 2).in_s() / slot.in_s(), 5.5);
  EXPECT_EQ(pipeline_step(pipeline_of(4, 4), even_positions(4), place), slot * 7);
}

/// Llama-like on TP 2, PP 4, DP 2 at its smallest, 8 GPUs: one node of 8.
struct SmallProjection {
  TransformerModel model = small_training::model(8);
  ParallelPlan plan = small_training::plan(model, {"global_batch=16", "data_parallel=1"});
  LayerTimes times = {{}, {Duration::ms(1), Duration::ms(2)}, {}, {}};

  NodeProjection on(std::uint64_t nodes, Arithmetic arithmetic) const {
    return std::get<NodeProjection>(
        project_on_nodes(model, plan, plan, times, hardware(), {.nodes = nodes, .arithmetic = arithmetic}, place));
  }
};

// A stage has 2 layers: 2 ms forward, 4 ms backward. On one node there are 16 microbatches: 19
// slots of 6 ms; on two 8 each: 11 slots, as published 9.5. Transfers of 0.1 ms go beside: three
// there, three back.
TEST(NodeProjection, TwiceTheNodesHaveHalfOfTheMicrobatches) {
  SmallProjection small;
  small.plan.overlap_pipeline = true;
  const NodeProjection published = small.on(2, Arithmetic::as_published);
  EXPECT_EQ(published.nodes_min, 1U);
  EXPECT_EQ(published.data_min, 1U);
  EXPECT_EQ(published.data, 2U);
  EXPECT_EQ(published.gpus, 16U);
  EXPECT_EQ(published.base, small.on(1, Arithmetic::as_published).base);
  EXPECT_GE(published.base, Duration::us(19 * 6000 + 6 * 100));
  EXPECT_EQ(published.pipeline, scaled(published.base, 1, 2));
  const NodeProjection physical = small.on(2, Arithmetic::physical);
  EXPECT_EQ(physical.microbatches, 8U);
  EXPECT_GE(physical.pipeline, Duration::us(11 * 6000));
  EXPECT_GT(physical.pipeline, published.pipeline);
  EXPECT_EQ(physical.base, small.on(1, Arithmetic::physical).pipeline);
}

// PP' = 1 on the bench: 3 stages are added, with 2 x 16 transfers each.
TEST(NodeProjection, PublishedTransfersOfAddedStages) {
  const SmallProjection small;
  const ReducedPlan bench = std::get<ReducedPlan>(reduced_plan(small.model, small.plan, {.gpus = 2}));
  ASSERT_EQ(bench.plan.pipeline, 1U);
  ASSERT_EQ(bench.plan.tensor, 2U);
  const NodeProjection with = small.on(1, Arithmetic::as_published);
  const auto without = std::get<NodeProjection>(project_on_nodes(small.model, small.plan, bench.plan, small.times, hardware(),
                                                                 {.nodes = 1, .arithmetic = Arithmetic::as_published}, place));
  const Duration send = send_time(hardware(), false, TrainingSteps(small.model, small.plan).pipeline_message());
  EXPECT_EQ(without.base, with.base + send * (3 * 2 * 16));
}

const CommunicationRow* row(const NodeProjection& projection, const std::string& name) {
  for (const CommunicationRow& one : projection.communication) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

// Gradients are hidden where they are overlapped, as published always, else as long as the last
// backward pass lasts.
TEST(NodeProjection, WhatGradientsAdd) {
  SmallProjection small;
  const std::string name = "all-reduce of dense gradients";
  EXPECT_EQ(row(small.on(1, Arithmetic::physical), name), nullptr);  // one replica
  for (const Arithmetic arithmetic : {Arithmetic::as_published, Arithmetic::physical}) {
    small.plan.overlap_gradients = true;
    const NodeProjection hidden = small.on(2, arithmetic);
    EXPECT_EQ(row(hidden, name)->added, Duration::zero());
    EXPECT_EQ(hidden.step, hidden.pipeline);
    small.plan.overlap_gradients = false;
    const NodeProjection added = small.on(2, arithmetic);
    EXPECT_EQ(row(added, name)->added, row(added, name)->each);
    EXPECT_EQ(added.step, added.pipeline + row(added, name)->each);
  }
  small.plan.overlap_gradients = true;
  small.times.dense_layer.backward = Duration::ns(100);
  const NodeProjection longer = small.on(2, Arithmetic::physical);
  EXPECT_EQ(row(longer, name)->added, row(longer, name)->each - Duration::ns(200));
}

// 56 layers: as printed two all-to-alls per layer of the model and direction, once; a stage's 14
// layers exchange for each of its microbatches: 128 / (2 x 8) = 8 on the fewest nodes.
TEST(NodeProjection, AllToAllsOfTheExample) {
  const TransformerModel model = mixtral();
  const ParallelPlan plan = mixtral_plan({"schedule=1f1b"});
  const LayerTimes times = {{}, {}, {Duration::ms(10), Duration::ms(20)}, {}};
  const auto on = [&](Arithmetic arithmetic) {
    return std::get<NodeProjection>(
        project_on_nodes(model, plan, plan, times, hardware(), {.nodes = 0, .arithmetic = arithmetic}, place));
  };
  const NodeProjection published = on(Arithmetic::as_published);
  const NodeProjection physical = on(Arithmetic::physical);
  EXPECT_EQ(published.nodes, 4U);
  EXPECT_EQ(published.data, 8U);
  EXPECT_EQ(row(published, "all-to-all forward")->count, 2U * 56);
  EXPECT_EQ(row(published, "all-to-all forward")->message, Bytes::mib(384));
  EXPECT_EQ(row(published, "all-to-all forward")->added, Duration::zero());  // experts share a node
  EXPECT_EQ(row(physical, "all-to-all backward")->count, 2U * 14 * 8);
  EXPECT_EQ(row(physical, "all-to-all backward")->added, Duration::zero());
  EXPECT_EQ(row(physical, "all-reduce of experts' gradients"), nullptr);  // one replica of experts
  const auto small_nodes = std::get<NodeProjection>(
      project_on_nodes(model, plan, plan, times, hardware(4), {.nodes = 0, .arithmetic = Arithmetic::as_published}, place));
  const CommunicationRow* across = row(small_nodes, "all-to-all forward");
  EXPECT_EQ(across->added, across->total());
  EXPECT_EQ(across->each, all_to_all_time(hardware(4), {8, 4}, Bytes::mib(384)));
}

// TP 2: four all-reduces of 128 x 64 activations of 2 bytes in each of a stage's 2 layers and 16
// microbatches. They are in the layers' times.
TEST(NodeProjection, TensorSumsAreListed) {
  const SmallProjection small;
  for (const Arithmetic arithmetic : {Arithmetic::as_published, Arithmetic::physical}) {
    const NodeProjection projection = small.on(1, arithmetic);
    const CommunicationRow* sums = row(projection, "all-reduce of tensor ranks");
    ASSERT_NE(sums, nullptr);
    EXPECT_EQ(sums->count, 4U * 2 * 16);
    EXPECT_EQ(sums->message, Bytes::of(16384));
    EXPECT_EQ(sums->each, best_all_reduce(hardware(), {2, 2}, Bytes::of(16384)).time);
    EXPECT_TRUE(sums->formula);
    EXPECT_EQ(sums->added, Duration::zero());
  }
  EXPECT_EQ(small.on(1, Arithmetic::as_published).transfer, Duration::us(100));
}

TEST(NodeProjection, NamesTheRuleThatNodesBreak) {
  const SmallProjection small;
  const auto refusal = [&](std::uint64_t nodes, std::uint32_t gpus_per_node) {
    return std::get<std::string>(
        project_on_nodes(small.model, small.plan, small.plan, small.times, hardware(gpus_per_node), {.nodes = nodes}, place));
  };
  EXPECT_NE(refusal(1, 4).find("1 nodes are fewer than the 2"), std::string::npos);
  EXPECT_NE(refusal(3, 4).find("does not divide the 12 GPUs of 3 nodes"), std::string::npos);
  EXPECT_NE(refusal(3, 8).find("on 3 nodes microbatch x data_parallel = 1 x 3 does not divide global_batch = 16"),
            std::string::npos);
  // Layers that were timed with another context parallelism are not brought back.
  ParallelPlan bench = small.plan;
  bench.context = 2;
  const auto other = project_on_nodes(small.model, small.plan, bench, small.times, hardware(), {}, place);
  EXPECT_NE(std::get<std::string>(other).find("context_parallel = 1 was 2"), std::string::npos);
}

}  // namespace
}  // namespace weft::node_projection_test
