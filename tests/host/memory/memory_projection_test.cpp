// SPDX-License-Identifier: Apache-2.0
// Memory of plans: bytes of parameters by precision and ZeRO stage, activations against published
// closed forms and figures.
#include "host/memory/memory_projection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "host/memory/activation_memory.hpp"
#include "tests/host/memory/memory_testing.hpp"
#include "workloads/plans/held_parameters.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft::memory_projection_test {

namespace {

using namespace memory_testing;

constexpr double gib = 1024.0 * 1024 * 1024;

double in_gib(Bytes bytes) { return static_cast<double>(bytes.count()) / gib; }

Bytes at_peak(const StageMemory& stage, std::string_view component) {
  const auto found = std::ranges::find(stage.components, component, &ComponentMemory::name);
  return found == stage.components.end() ? Bytes::zero() : found->at_peak;
}

/// Of layers alone, as the paper's formulas count.
double layers_gib(const StageMemory& stage) {
  Bytes sum;
  for (const ComponentMemory& component : stage.components) {
    if (component.name != "embedding" && component.name != "output layer" && component.name != "loss") sum += component.at_peak;
  }
  return in_gib(sum);
}

struct PublishedRow {
  const char* model;
  const char* plan;
  double states_gib;
  double plain_gib;
  double sequence_selective_gib;
};

// Korthikanti et al., arXiv 2205.05198, figure 1 and table 3: GiB per GPU.
constexpr PublishedRow published[] = {{"gpt_22b", "gpt_22b_megatron", 45.56, 59.25, 9.56},
                                      {"gpt3_175b", "gpt3_175b_megatron", 45.56, 66.84, 12.35},
                                      {"gpt_530b", "gpt_530b_megatron", 31.64, 114.02, 23.08},
                                      {"gpt_1t", "gpt_1t_megatron", 32.96, 131.25, 26.56}};

}  // namespace

// The paper counts 18 bytes for each parameter, gradients in FP32, and the parameters of layers.
TEST(MemoryProjection, HasTheStatesOfKorthikanti) {
  for (const PublishedRow& row : published) {
    const TransformerModel model = model_named(row.model);
    const ParallelPlan plan = plan_named(row.plan, model, {"precision.gradients=FP32"});
    const MemoryProjection projection = project_memory(model, plan);
    // Stages in the middle have layers alone; of one stage the embedding is taken off.
    const bool has_middle = plan.pipeline > 2;
    const StageMemory& stage = projection.stages[has_middle ? 1 : 0];
    const Bytes states = stage.parameters + stage.gradients + stage.optimizer;
    EXPECT_NEAR(in_gib(states), row.states_gib, 0.02 * row.states_gib) << row.model;
    if (!has_middle) continue;
    EXPECT_NEAR(in_gib(states), row.states_gib, 0.001 * row.states_gib) << row.model;
  }
}

TEST(MemoryProjection, HasTheActivationsOfKorthikanti) {
  for (const PublishedRow& row : published) {
    const TransformerModel model = model_named(row.model);
    const ParallelPlan plain = plan_named(row.plan, model, {"recompute.kind=KEEP", "sequence_parallel=false"});
    const MemoryProjection without = project_memory(model, plain);
    EXPECT_NEAR(layers_gib(without.stages.front()), row.plain_gib, 0.02 * row.plain_gib) << row.model;
    const ParallelPlan selective = plan_named(row.plan, model);
    const MemoryProjection with = project_memory(model, selective);
    EXPECT_NEAR(layers_gib(with.stages.front()), row.sequence_selective_gib, 0.02 * row.sequence_selective_gib) << row.model;
    // All of the first stage: the embedding adds little.
    const StageMemory& first = with.stages.front();
    if (plan_named(row.plan, model).pipeline > 1) {
      EXPECT_NEAR(in_gib(first.activations), row.sequence_selective_gib, 0.05 * row.sequence_selective_gib) << row.model;
    }
  }
}

// Section 4, equations 1 to 4, for s b h = n: n (10 + 24 / t + 5 a s / (h t)), n 34 / t, and
// without tensor parallelism n (34 + 5 a s / h). Statistics of norms come on top: two norms with
// two FP32 numbers per token.
TEST(MemoryProjection, FollowsTheFormulasOfLayers) {
  const TransformerModel model = model_named("gpt_22b");
  const auto kept = [&](const std::vector<std::string>& settings, std::uint64_t rows) {
    const ParallelPlan plan = plan_named("gpt_22b_megatron", model, settings);
    const std::int64_t statistics = static_cast<std::int64_t>(2 * 2 * 4 * rows);
    return activation_memory(model, plan).dense_layer.kept.count() - statistics;
  };
  constexpr std::int64_t s = 2048;
  constexpr std::int64_t b = 4;
  constexpr std::int64_t h = 6144;
  constexpr std::int64_t a = 64;
  constexpr std::int64_t n = s * b * h;
  constexpr std::int64_t scores = 5 * a * s * s * b;
  // With t = 8, eight times what a rank keeps.
  EXPECT_EQ(8 * kept({"recompute.kind=KEEP", "sequence_parallel=false"}, s * b), n * (8 * 10 + 24) + scores);
  EXPECT_EQ(8 * kept({"recompute.kind=KEEP"}, s * b / 8), n * 34 + scores);
  EXPECT_EQ(8 * kept({}, s * b / 8), n * 34);
  EXPECT_EQ(kept({"tensor_parallel=1", "sequence_parallel=false", "recompute.kind=KEEP"}, s * b), n * 34 + scores);
}

// Qi et al., ICLR 2024, section 2: 32 s b h wait for the gradients of weights.
TEST(MemoryProjection, KeepsTheInputsAndGradientsOfProductsForWeights) {
  const TransformerModel model = model_named("gpt_22b");
  const ParallelPlan plan = plan_named("gpt_22b_megatron", model, {"tensor_parallel=1", "sequence_parallel=false"});
  EXPECT_EQ(activation_memory(model, plan).dense_layer.for_weights, Bytes::of(32LL * 2048 * 4 * 6144));
}

// Llama 3.1 8B, a token of a layer, 2 bytes a number: norms' inputs 2 x 4096, their outputs, which
// are inputs of products, 2 x 4096, queries 4096, keys and values 2 x 1024, attention's output
// 4096, gate and up 2 x 14336, their product 14336. FP32: 32 logarithms and 2 norms' statistics.
TEST(MemoryProjection, KeepsEachTensorOfAGatedLayerOnce) {
  const TransformerModel model = model_named("llama3_8b");
  const ParallelPlan plan = plan_named("llama3_8b_nemo", model, {"context_parallel=1"});
  constexpr std::int64_t numbers = 4 * 4096 + 4096 + 2 * 1024 + 4096 + 3 * 14336;
  constexpr std::int64_t token_bytes = 2 * numbers + 4 * (32 + 2);
  EXPECT_EQ(activation_memory(model, plan).dense_layer.kept, Bytes::of(8192 * token_bytes));
  // Half the tokens on each of two context-parallel ranks.
  const ParallelPlan halved = plan_named("llama3_8b_nemo", model);
  EXPECT_EQ(activation_memory(model, halved).dense_layer.kept, Bytes::of(4096 * token_bytes));
}

// Mixtral: top-2 of 8 experts on 8 ranks, so that a rank's expert gets 2 copies of a token on
// average: inputs 6144, gate and up 2 x 16384, their product 16384 for each.
TEST(MemoryProjection, KeepsCopiesOfTokensForExperts) {
  TransformerModel model = model_named("mixtral_8x22b");
  const ParallelPlan plan = plan_named("mixtral_8x22b_primus", model);
  const auto experts = [&] {
    const auto items = activation_memory(model, plan).expert_layer.items;
    return std::ranges::find(items, "experts", &ActivationItem::component)->bytes.count();
  };
  constexpr std::int64_t copy_bytes = 2 * (6144 + 3 * 16384);
  EXPECT_EQ(experts(), 2 * 8192 * 2 * copy_bytes);
  // A quarter of all tokens goes to one expert: twice the mean.
  model.experts->load_shares = {0.25, 0.11, 0.11, 0.11, 0.11, 0.11, 0.1, 0.1};
  EXPECT_EQ(experts(), 2 * (2 * 8192 * 2 * copy_bytes));
  // No expert takes more than 1.5 times the mean.
  model.experts->capacity_factor = 1.5;
  EXPECT_EQ(experts() * 2, 3 * (2 * 8192 * 2 * copy_bytes));
}

// Bytes of each parameter, by precision.hpp: stored and cast copies, gradients, optimizer.
TEST(MemoryProjection, CountsBytesByPrecision) {
  struct Row {
    const char* kind;
    int parameters, gradients, optimizer;
  };
  const TransformerModel model = small_model();
  for (const Row& row : {Row{"ALL_FP32", 4, 4, 8}, Row{"ALL_BF16", 2, 2, 4}, Row{"AMP_BF16", 4 + 2, 4, 8},
                         Row{"MEGATRON_FP16", 2, 2, 4 + 8}, Row{"MEGATRON_BF16", 2, 4, 4 + 8}}) {
    const ParallelPlan plan =
        plan_named("llama3_8b_nemo", model, {"context_parallel=1", "zero_stage=0", "precision.kind=" + std::string(row.kind)}, 1);
    const StageMemory stage = project_memory(model, plan).stages.front();
    const auto held = static_cast<std::int64_t>(stage.held);
    EXPECT_EQ(stage.parameters, Bytes::of(held * row.parameters)) << row.kind;
    EXPECT_EQ(stage.gradients, Bytes::of(held * row.gradients)) << row.kind;
    EXPECT_EQ(stage.optimizer, Bytes::of(held * row.optimizer)) << row.kind;
  }
}

// Weights of products of layers once more by rows and once by columns: attention 64 (64 + 2 x 32 +
// 64) and the MLP 3 x 64 x 192 in each of 12 layers.
TEST(MemoryProjection, CountsNarrowCopiesOfWeights) {
  const TransformerModel model = small_model();
  const auto parameters = [&](const char* kind) {
    const ParallelPlan plan = plan_named("llama3_8b_nemo", model, {"context_parallel=1", "precision.kind=" + std::string(kind)}, 1);
    return project_memory(model, plan).stages.front().parameters;
  };
  constexpr std::int64_t linear = 12 * (64 * (64 + 2 * 32 + 64) + 3 * 64 * 192);
  EXPECT_EQ(parameters("MEGATRON_FP8") - parameters("MEGATRON_BF16"), Bytes::of(2 * linear));
  EXPECT_EQ(parameters("MEGATRON_FP4") - parameters("MEGATRON_BF16"), Bytes::of(linear));
}

// Each stage of ZeRO shares one thing more among the replicas; experts have replicas of their own.
TEST(MemoryProjection, SharesByZeroStage) {
  const TransformerModel model = small_model("experts { count: 8 top_k: 2 width: 64 }");
  for (int zero = 0; zero <= 3; ++zero) {
    const ParallelPlan plan =
        plan_named("llama3_8b_nemo", model, {"expert_parallel=4", "zero_stage=" + std::to_string(zero), "global_batch=16"}, 16);
    ASSERT_EQ(plan.replicas(), 16U);
    ASSERT_EQ(plan.expert_replicas(), 4U);
    const HeldSum held = sum_of(held_by_position(model, plan, 0));
    const auto share = [&](bool is_shared) {
      return static_cast<std::int64_t>(is_shared ? (held.dense + 15) / 16 + held.expert / 4 : held.all());
    };
    const StageMemory stage = project_memory(model, plan).stages.front();
    EXPECT_EQ(stage.held, held.all());
    EXPECT_EQ(stage.optimizer, Bytes::of(12 * share(zero >= 1))) << zero;
    EXPECT_EQ(stage.gradients, Bytes::of(4 * share(zero >= 2))) << zero;
    EXPECT_EQ(stage.parameters, Bytes::of(2 * share(zero >= 3))) << zero;
  }
}

// Tied weights stand in the first and in the last of several stages.
TEST(MemoryProjection, CountsTiedWeightsInBothStages) {
  const TransformerModel model = small_model("tied_embeddings: true");
  const ParallelPlan one = plan_named("llama3_8b_nemo", model, {"context_parallel=1"}, 1);
  const ParallelPlan two = plan_named("llama3_8b_nemo", model, {"context_parallel=1", "pipeline_parallel=2", "global_batch=16"}, 2);
  const std::uint64_t table = padded_vocabulary(model, one) * model.hidden;
  std::uint64_t held = 0;
  const MemoryProjection projection = project_memory(model, two);
  for (const StageMemory& stage : projection.stages) held += stage.held;
  EXPECT_EQ(held, project_memory(model, one).stages.front().held + table);
}

// Full recomputation keeps a layer's input; while a layer goes backward all else of it is there,
// but for that input.
TEST(MemoryProjection, RecomputesLayers) {
  const TransformerModel model = small_model();
  const auto stage_of = [&](std::vector<std::string> settings) {
    settings.insert(settings.end(), {"context_parallel=1", "global_batch=1"});
    return project_memory(model, plan_named("llama3_8b_nemo", model, settings, 1)).stages.front();
  };
  const ActivationMemory parts = activation_memory(model, plan_named("llama3_8b_nemo", model, {"context_parallel=1"}, 1));
  const Bytes input = Bytes::of(128 * 64 * 2);
  ASSERT_EQ(parts.layer_input, input);
  const Bytes ends = parts.input.kept + parts.output.kept;
  const Bytes kept = parts.dense_layer.kept;

  const StageMemory keeps = stage_of({});
  EXPECT_EQ(keeps.activations, ends + kept * 12);
  EXPECT_EQ(keeps.recomputed, Bytes::zero());
  // Logits are the largest tensors of so small a model: backward begins with the most.
  EXPECT_EQ(keeps.working, parts.output.working);

  const StageMemory all = stage_of({"recompute.kind=UNIFORM"});
  EXPECT_EQ(all.activations, ends + input * 12);
  EXPECT_EQ(at_peak(all, "recomputed layers"), input * 12);

  const StageMemory by_four = stage_of({"recompute.kind=UNIFORM", "recompute.layers=4"});
  EXPECT_EQ(by_four.activations, ends + input * 3);
  // The last group of four comes first, when the output's activations are gone.
  const Bytes first_group = kept * 4 - input + parts.dense_layer.working - parts.output.kept;
  EXPECT_EQ(by_four.working, std::max(first_group, parts.output.working));

  const StageMemory block = stage_of({"recompute.kind=BLOCK", "recompute.layers=5"});
  EXPECT_EQ(block.activations, ends + input * 5 + kept * 7);
}

// Under ZeRO 3 a unit and the next one are there at once, and gradients of a unit.
TEST(MemoryProjection, GathersTwoUnitsUnderZero3) {
  const TransformerModel model = small_model();
  const auto working = [&](int zero) {
    const ParallelPlan plan =
        plan_named("llama3_8b_nemo", model, {"context_parallel=1", "global_batch=16", "zero_stage=" + std::to_string(zero)}, 4);
    return project_memory(model, plan).stages.front().working;
  };
  const ParallelPlan plan = plan_named("llama3_8b_nemo", model, {"context_parallel=1", "global_batch=16"}, 4);
  const auto table = static_cast<std::int64_t>(padded_vocabulary(model, plan) * model.hidden);
  const auto layer = static_cast<std::int64_t>(sum_of(held_by_layer(model, plan, false)).all());
  const auto output = static_cast<std::int64_t>(sum_of(held_by_output(model, plan)).all());
  ASSERT_GT(table, layer);
  EXPECT_EQ(working(3) - working(1), Bytes::of(2 * (layer + output) + 4 * output));
}

// A split backward pass: the last stage of zb_h1 holds what weights wait for.
TEST(MemoryProjection, TakesAnOrderFromItsCaller) {
  const TransformerModel model = small_model();
  const ParallelPlan plan =
      plan_named("llama3_8b_nemo", model, {"context_parallel=1", "pipeline_parallel=2", "schedule=zb_h1", "global_batch=2"}, 2);
  ASSERT_TRUE(needs_order(plan));
  const PipelineOrder order = {ChunkPlacement::loop,
                               {{{PassKind::forward, 0, 0},
                                 {PassKind::forward, 1, 0},
                                 {PassKind::backward_input, 0, 0},
                                 {PassKind::backward_input, 1, 0},
                                 {PassKind::backward_weight, 0, 0},
                                 {PassKind::backward_weight, 1, 0}},
                                {{PassKind::forward, 0, 0},
                                 {PassKind::backward_input, 0, 0},
                                 {PassKind::forward, 1, 0},
                                 {PassKind::backward_input, 1, 0},
                                 {PassKind::backward_weight, 0, 0},
                                 {PassKind::backward_weight, 1, 0}}}};
  const MemoryProjection projection = project_memory(model, plan, order);
  EXPECT_EQ(projection.stages[0].peak.chunks, (std::vector<LiveChunk>{{.kept = 2, .for_weights = 0}}));
  EXPECT_EQ(projection.stages[1].peak.chunks, (std::vector<LiveChunk>{{.kept = 1, .for_weights = 1}}));
  const ActivationMemory parts = activation_memory(model, plan);
  EXPECT_EQ(projection.stages[1].for_weights, parts.dense_layer.for_weights * 6 + parts.output.for_weights);
}

// Property: rows add up, and the few passes that are gone through show what all passes show.
TEST(MemoryProjection, AddsUpUnderRandomPlans) {
  std::mt19937 random(11);
  const auto pick = [&](std::initializer_list<const char*> texts) {
    return std::string(*(texts.begin() + random() % texts.size()));
  };
  const TransformerModel dense = small_model("dropout: 0.1");
  const TransformerModel expert = small_model("experts { count: 8 top_k: 2 width: 64 shared_width: 64 first_dense_layers: 3 }");
  const auto clock = [](const Operator&, OperatorPass) { return Duration::us(10); };
  for (int round = 0; round < 200; ++round) {
    const TransformerModel& model = round % 2 == 0 ? dense : expert;
    const std::string chunks = pick({"1", "2", "3"});
    std::vector<std::string> settings = {"context_parallel=" + pick({"1", "2"}),
                                         "tensor_parallel=" + pick({"1", "2", "4"}),
                                         "pipeline_parallel=" + pick({"2", "4"}),
                                         "global_batch=96",
                                         "zero_stage=" + pick({"0", "1", "2", "3"}),
                                         "recompute.kind=" + pick({"KEEP", "SELECTIVE", "UNIFORM"}),
                                         "fused_attention=" + pick({"true", "false"}),
                                         "precision.kind=" + pick({"ALL_FP32", "AMP_FP16", "MEGATRON_BF16", "MEGATRON_FP8"})};
    if (chunks != "1") settings.push_back("virtual_pipeline=" + chunks);
    if (round % 2 == 1) settings.push_back("expert_parallel=" + pick({"1", "2"}));
    const ParallelPlan plan = plan_named("llama3_8b_nemo", model, settings, 32);
    if (chunks != "1" && plan.microbatches() % plan.pipeline != 0) continue;
    const MemoryProjection few = project_memory(model, plan);
    const MemoryProjection all = project_memory(model, plan, pipeline_order(model, plan, clock, test_place()));
    ASSERT_EQ(few.stages.size(), all.stages.size());
    std::uint64_t layers = 0;
    for (std::size_t i = 0; i < few.stages.size(); ++i) {
      const StageMemory& stage = few.stages[i];
      EXPECT_EQ(stage.total(), all.stages[i].total());
      EXPECT_EQ(stage.activations, all.stages[i].activations);
      Bytes at_the_peak = stage.for_weights;
      std::uint64_t held = 0;
      for (const ComponentMemory& component : stage.components) {
        at_the_peak += component.at_peak;
        held += component.parameters;
      }
      EXPECT_EQ(at_the_peak, stage.activations);
      EXPECT_EQ(held, stage.held);
      // The live set's bytes are those of the rows, and working memory of backward is part of all.
      EXPECT_LE(stage.peak.bytes, stage.activations + stage.working);
      layers += stage.layers;
    }
    EXPECT_EQ(layers, model.layers);
  }
}

TEST(MemoryProjection, NamesTheWorstStage) {
  const TransformerModel model = model_named("llama3_70b");
  const ParallelPlan plan = plan_named("llama3_70b_nemo", model, {}, 64);
  const MemoryProjection projection = project_memory(model, plan);
  ASSERT_EQ(projection.stages.size(), 4U);
  EXPECT_EQ(projection.worst().stage, 0U);
  // (2 (p - 1) + (v - 1) p + 1) / v with p = 4, v = 5.
  std::uint32_t chunks = 0;
  for (const LiveChunk& chunk : projection.worst().peak.chunks) chunks += chunk.kept;
  EXPECT_EQ(chunks, 2U * 3 + 4 * 4 + 1);
}

}  // namespace weft::memory_projection_test
