// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/transformer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/workloads/templates/template_testing.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/plan_reader.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft::transformer_test {
namespace {

using namespace template_testing;

/// End of the iteration if messages and collectives take no time: the longest path over all ranks
/// of one pipeline, a receive waiting for its send.
Duration pipeline_makespan(const Workload& workload) {
  const auto stages = static_cast<std::uint32_t>(workload.roles.size());
  std::vector<std::vector<Duration>> start(stages);
  std::vector<std::vector<Duration>> end(stages);
  for (std::uint32_t s = 0; s < stages; ++s) {
    start[s].resize(role(workload, s).size());
    end[s].resize(role(workload, s).size());
  }
  // Relaxed until nothing moves: slow, and needs no order among the ranks.
  bool moved = true;
  while (moved) {
    moved = false;
    const auto raise = [&](Duration& value, Duration to) {
      if (to > value) {
        value = to;
        moved = true;
      }
    };
    for (std::uint32_t s = 0; s < stages; ++s) {
      const RoleDag& dag = role(workload, s);
      for (std::uint32_t i = 0; i < dag.size(); ++i) {
        const Op op = dag.op(OpId(i));
        raise(end[s][i], start[s][i] + op.duration);
        for (const OpId next : dag.successors(OpId(i))) raise(start[s][next.index()], end[s][i]);
        if (op.kind != OpKind::send) continue;
        const auto peer = static_cast<std::uint32_t>(op.peer);
        const RoleDag& other = role(workload, peer);
        for (std::uint32_t j = 0; j < other.size(); ++j) {
          const Op match = other.op(OpId(j));
          if (match.kind == OpKind::receive && match.peer == static_cast<std::int32_t>(s) && match.tag == op.tag &&
              other.match_ordinal(OpId(j)) == dag.match_ordinal(OpId(i))) {
            raise(start[peer][j], end[s][i]);
          }
        }
      }
    }
  }
  Duration last;
  for (const auto& ends : end) last = std::max(last, *std::max_element(ends.begin(), ends.end()));
  return last;
}

/// A thousand operations of a product take 1 us.
const Settings tiny = {{"tp", "2"},         {"pp", "2"},           {"dp", "2"},     {"layers", "4"},
                       {"hidden", "8"},     {"heads", "2"},        {"ffn", "32"},   {"seq", "4"},
                       {"microbatch", "2"}, {"microbatches", "3"}, {"vocab", "16"}, {"tflops", "0.001"}};
// Of its parameters a rank has, in each layer, half of 4 x 8 x 8 for attention and of 2 x 8 x 32
// for the MLP, and both norms of 8; of the vocabulary half of 16 x 8; behind the last layer a norm.
constexpr std::int64_t tiny_layer = 128 + 256 + 16;
constexpr std::int64_t tiny_words = 64;
constexpr std::int64_t tiny_norm = 8;

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// What make_training_workload() is told, for a preset of a model with changes to it.
struct Planned {
  TransformerModel model;
  ParallelPlan plan;
};

/// At the rate of the templates' default.
Workload workload_of(const Planned& planned) {
  const auto clock = [](const Operator& op, OperatorPass pass) {
    if (op.name == "optimizer") return Duration::ms(10);
    return Duration::from_seconds(product_operations(op.shape, pass) / 400e12);
  };
  return make_training_workload("planned", planned.model, planned.plan, clock, SourcePlace::named("test"));
}

void expect_same_dag(const Workload& made, const Workload& planned) {
  EXPECT_EQ(made.roles, planned.roles);
  EXPECT_EQ(made.role_names, planned.role_names);
  EXPECT_EQ(made.role_of, planned.role_of);
  ASSERT_EQ(made.communicators.size(), planned.communicators.size());
  for (std::size_t i = 0; i < made.communicators.size(); ++i) {
    const Communicator& ours = made.communicators[i];
    const Communicator& theirs = planned.communicators[i];
    EXPECT_EQ(ours.name(), theirs.name());
    ASSERT_EQ(ours.group_count(), theirs.group_count()) << ours.name();
    for (std::uint32_t group = 0; group < ours.group_count(); ++group) {
      EXPECT_TRUE(std::ranges::equal(ours.ranks(GroupId(group)), theirs.ranks(GroupId(group)))) << ours.name();
    }
  }
}

TEST(TransformerTemplates, AreThePresetOfTheModelUnderThePlan) {
  const SourcePlace place = SourcePlace::named("test");
  Planned gpt;
  gpt.model = *load_model("gpt3_6_7b", place).transformer();
  // What the template does not have: biases, learned positions, shifts of norms, dropout; and the
  // vocabulary is a padded one.
  gpt.model.attention.query_key_value_bias = gpt.model.attention.output_bias = gpt.model.mlp.bias = false;
  gpt.model.positions = Positions::rotary;
  gpt.model.norm = Norm::rms_norm;
  gpt.model.dropout = 0.0;
  gpt.model.vocabulary = 51200;
  // A bucket is a layer of a rank: an eighth of 12 h^2 and two norms.
  gpt.plan =
      load_plan({.name = "",
                 .overrides = {"tensor_parallel=8", "pipeline_parallel=4", "data_parallel=4", "global_batch=32", "zero_stage=0",
                               "vocabulary_multiple=1", "gradient_bucket=" + std::to_string(12 * 4096 * 512 + 2 * 4096)},
                 .gpus = {}},
                gpt.model, place);
  expect_same_dag(make("llm"), workload_of(gpt));
}

TEST(TransformerTemplates, ExpressMlperfsConfigurationOf405B) {
  // 1,024 GPUs as MLPerf Training v5.0's submissions divide them; a ninth of their global batch.
  const Workload made = make("llm", {{"tp", "8"},
                                     {"cp", "2"},
                                     {"pp", "8"},
                                     {"vpp", "8"},
                                     {"dp", "8"},
                                     {"layers", "126"},
                                     {"hidden", "16384"},
                                     {"heads", "128"},
                                     {"kv_heads", "8"},
                                     {"ffn", "53248"},
                                     {"gated", "true"},
                                     {"vocab", "128256"},
                                     {"tied_embeddings", "false"},
                                     {"seq", "8192"},
                                     {"microbatches", "16"},
                                     {"count_ends", "true"},
                                     {"gradients", "reduce_scatter"},
                                     {"bucket_layers", "2"}});
  EXPECT_EQ(made.rank_count, 1024U);
  const SourcePlace place = SourcePlace::named("test");
  Planned llama;
  llama.model = *load_model("llama3_405b", place).transformer();
  // Of a layer a rank has an eighth of queries and outputs, 2 h^2, of keys and values for 8 heads
  // of 128, 2 x 1024 h, and of three matrices of 53248 h; norms whole.
  constexpr std::uint64_t hidden = 16384;
  constexpr std::uint64_t layer = (2 * hidden * hidden + 2 * 1024 * hidden + 3 * 53248 * hidden) / 8 + 2 * hidden;
  llama.plan = load_plan({.name = "llama3_405b_mlperf",
                          .overrides = {"data_parallel=8", "global_batch=128", "vocabulary_multiple=1",
                                        "gradient_bucket=" + std::to_string(2 * layer)},
                          .gpus = {}},
                         llama.model, place);
  expect_same_dag(made, workload_of(llama));
}

/// Elements of all gradients that one rank of the role reduces, of 4 bytes each.
std::int64_t reduced_by(const RoleDag& dag) {
  std::int64_t elements = 0;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    const std::string_view name = dag.name(OpId(i));
    if (name.starts_with("grads.") && name != "grads.tied") elements += dag.op(OpId(i)).bytes.count() / 4;
  }
  return elements;
}

TEST(TransformerTemplates, ReduceTheGradientsOfAllThatARankHolds) {
  for (const Settings& more : std::vector<Settings>{{},
                                                    {{"gradients", "reduce_scatter"}},
                                                    {{"bucket_layers", "3"}},
                                                    {{"cp", "2"}},
                                                    {{"vpp", "2"}, {"microbatches", "4"}},
                                                    {{"schedule", "zb_h1"}}}) {
    const Workload workload = make("llm", with(tiny, more));
    EXPECT_EQ(problems(workload), std::vector<std::string>());
    EXPECT_EQ(reduced_by(role(workload, 0)), 2 * tiny_layer + tiny_words) << ::testing::PrintToString(more);
    EXPECT_EQ(reduced_by(role(workload, 1)), 2 * tiny_layer + tiny_words + tiny_norm) << ::testing::PrintToString(more);
  }
  // Keys and values of one head of two, three matrices of the MLP: a rank has no half of a head of
  // keys and values but all of it.
  const Workload grouped = make("llm", with(tiny, {{"kv_heads", "1"}, {"gated", "true"}}));
  constexpr std::int64_t queries_and_output = 8 * 8;
  constexpr std::int64_t keys_and_values = 2 * 8 * 4;
  constexpr std::int64_t grouped_layer = queries_and_output + keys_and_values + 3 * 128 + 16;
  EXPECT_EQ(reduced_by(role(grouped)), 2 * grouped_layer + tiny_words);
  // Heads of 6 instead of 4.
  const Workload wide = make("llm", with(tiny, {{"head_width", "6"}}));
  constexpr std::int64_t wide_layer = 4 * 8 * 6 + 256 + 16;
  EXPECT_EQ(reduced_by(role(wide)), 2 * wide_layer + tiny_words);
  // Two experts of four, and of each half; the router of 8 x 4 is whole.
  const Workload experts = make("moe", with(tiny, {{"dp", "4"}, {"ep", "2"}, {"experts", "4"}}));
  constexpr std::int64_t expert_layer = 128 + 16 + 8 * 4 + 2 * 256;
  EXPECT_EQ(reduced_by(role(experts)), 2 * expert_layer + tiny_words);
  // 17 words are padded to 18.
  EXPECT_EQ(reduced_by(role(make("llm", with(tiny, {{"vocab", "17"}})))), 2 * tiny_layer + 9 * 8);
}

TEST(TransformerTemplates, LlmHasTheShapesOfATransformer) {
  const Workload workload = make("llm", with(tiny, {{"sequence_parallel", "false"}}));
  EXPECT_EQ(workload.rank_count, 8U);
  ASSERT_EQ(workload.roles.size(), 2U);
  EXPECT_EQ(problems(workload), std::vector<std::string>());
  auto rows = traffic(workload);
  // tp: each of 8 ranks all-reduces twice a layer and direction: 2 layers x 3 micro-batches x 4 =
  // 24, as in section 3 of arXiv 1909.08053. The first stage's 4 ranks also reduce its 3
  // embeddings, the last stage's 4 the gradients of the inputs of its 3 heads, and for each head 3
  // numbers of each token.
  // The tensor: 4 tokens x 2 sequences x 8 x 2 bytes = 128; a number of each token: 8 x 4 bytes =
  // 32.
  EXPECT_EQ(rows["tp all_reduce"].ops, 8U * 24 + 4 * 3 + 4 * (3 + 9));
  EXPECT_EQ(rows["tp all_reduce"].bytes, Bytes::of((8 * 24 + 4 * 3 + 4 * 3) * 128 + 4 * 9 * 32));
  EXPECT_EQ(rows.count("tp all_gather") + rows.count("tp reduce_scatter"), 0U);
  // Sends: 3 activations from each rank of the first stage, 3 gradients from each of the second.
  EXPECT_EQ(rows["pp send"].ops, 4U * 3 + 4 * 3);
  EXPECT_EQ(rows["pp send"].bytes, Bytes::of(24 * 128));
  // dp: two layers and the embedding in the first stage; in the second what is behind the last
  // layer is less than a layer and goes with it.
  EXPECT_EQ(rows["dp all_reduce"].ops, 4U * 3 + 4 * 2);
  EXPECT_EQ(rows["dp all_reduce"].bytes, Bytes::of(4 * 4 * (4 * tiny_layer + 2 * tiny_words + tiny_norm)));
  // Megatron clips gradients by their norm: one number from each rank.
  EXPECT_EQ(rows["world all_reduce"].ops, 8U);
  EXPECT_EQ(rows["world all_reduce"].bytes, Bytes::of(8 * 4));
}

TEST(TransformerTemplates, LlmTimesFollowFromOperations) {
  const Workload workload = make("llm", tiny);
  const RoleDag& dag = role(workload);
  // T = 8 tokens; a rank has one head of 4. Queries, keys and values 2 x 8 x 12 x 8 = 1536, scores
  // and values 2 x 2 x 2 x 4 x 4 x 4 = 512 of which half are in the future, output 2 x 8 x 4 x 8 =
  // 512. MLP 2 x 2 x 8 x 16 x 8 = 4096. Head 2 x 8 x 8 x 8 = 1024. Norms take no time: no ops.
  EXPECT_EQ(op_named(dag, "fwd.0.layer1.attention").duration, Duration::ns(1536 + 256 + 512));
  EXPECT_EQ(op_named(dag, "fwd.0.layer1.mlp").duration, Duration::ns(4096));
  EXPECT_EQ(op_named(role(workload, 1), "fwd.0.output.output_layer").duration, Duration::ns(1024));
  // Backward takes twice as much, fused attention 5/2. Gradients of the inputs and of the weights
  // of the first matrices of MLP and attention, and of the head, are operations of their own.
  EXPECT_EQ(op_named(dag, "bwd.2.layer0.mlp").duration, Duration::ns(2 * 2048));
  EXPECT_EQ(op_named(dag, "bwd.2.layer0.projection").duration, Duration::ns(2 * 512 + 640));
  EXPECT_EQ(op_named(dag, "bwd.2.layer0.input_gradient").duration, Duration::ns(2048));
  EXPECT_EQ(op_named(dag, "bwd.2.layer0.input_gradient2").duration, Duration::ns(1536));
  EXPECT_EQ(op_named(dag, "bwd.2.layer0.weights").duration, Duration::ns(2048));
  EXPECT_EQ(op_named(dag, "bwd.2.layer0.weights2").duration, Duration::ns(1536));
  EXPECT_EQ(op_named(role(workload, 1), "bwd.0.output.input_gradient").duration, Duration::ns(1024));
  EXPECT_EQ(op_named(role(workload, 1), "bwd.0.output.weights").duration, Duration::ns(1024));
  EXPECT_EQ(op_named(dag, "optimizer").duration, Duration::ms(10));
  // Of three matrices two are first ones.
  const Workload gated = make("llm", with(tiny, {{"gated", "true"}}));
  EXPECT_EQ(op_named(role(gated), "bwd.0.layer0.mlp").duration, Duration::ns(2 * 2048));
  EXPECT_EQ(op_named(role(gated), "bwd.0.layer0.input_gradient").duration, Duration::ns(4096));
  EXPECT_EQ(op_named(role(gated), "bwd.0.layer0.input_gradient2").duration, Duration::ns(1536));
  // A rank alone has no communication to put beside them: twice as much of everything, in one.
  const Workload alone = make("llm", with(tiny, {{"tp", "1"}}));
  EXPECT_EQ(longest_path(role(alone)),
            3 * 2 * Duration::ns(2 * (2304 + 4096) + 2 * (2 * (1536 + 512 + 4096) + 640)) + Duration::ms(10));
  EXPECT_EQ(traffic(alone).count("tp all_reduce"), 0U);
  // A given forward_time is 2304 + 4096 = 6400 ns of these; backward takes three times as much
  // instead of twice. 64 us are ten times as much, 1.5 times that backward.
  const Workload given = make("llm", with(tiny, {{"forward_time", "64us"}, {"backward_factor", "3"}, {"tflops", "7"}}));
  EXPECT_EQ(op_named(role(given), "fwd.0.layer0.attention").duration, Duration::ns(23'040));
  EXPECT_EQ(op_named(role(given), "fwd.0.layer0.mlp").duration, Duration::ns(40'960));
  EXPECT_EQ(op_named(role(given), "bwd.0.layer0.mlp").duration, Duration::ns(61'440));
  EXPECT_EQ(op_named(role(given), "bwd.0.layer0.weights").duration, Duration::ns(30'720));
  EXPECT_EQ(op_named(role(given, 1), "bwd.0.output.input_gradient").duration, Duration::ns(15'360));
  const Workload quick = make("llm", with(tiny, {{"optimizer_time", "3us"}}));
  EXPECT_EQ(op_named(role(quick), "optimizer").duration, Duration::us(3));
}

TEST(TransformerTemplates, LlmHasTheTypesOfItsPrecision) {
  const auto sent = [](const Settings& more) { return traffic(make("llm", with(tiny, more)))["pp send"].bytes; };
  const auto reduced = [](const Settings& more) { return traffic(make("llm", with(tiny, more)))["dp all_reduce"].bytes; };
  const Bytes in_bf16 = sent({});
  EXPECT_EQ(sent({{"dtype", "FP16"}}), in_bf16);
  EXPECT_EQ(sent({{"dtype", "FP32"}}), in_bf16 * 2);
  EXPECT_EQ(sent({{"dtype", "TF32"}}), in_bf16 * 2);
  // Linear layers alone are in 8 bits.
  EXPECT_EQ(sent({{"dtype", "FP8_E4M3"}}), in_bf16);
  EXPECT_EQ(sent({{"dtype", "FP4"}}), in_bf16);
  const Bytes in_fp32 = reduced({});
  for (const char* dtype : {"FP16", "FP32", "FP8_E4M3"}) EXPECT_EQ(reduced({{"dtype", dtype}}), in_fp32) << dtype;
  EXPECT_EQ(reduced({{"grad_dtype", "BF16"}}) * 2, in_fp32);
  EXPECT_HAS(errors_in("llm", {{"dtype", "FP8_E5M2"}}), "[bad-value]");
}

TEST(TransformerTemplates, LlmWithSequenceParallelismGathersAndScatters) {
  const Workload workload = make("llm", with(tiny, {{"gradients", "reduce_scatter"}, {"bucket_layers", "2"}}));
  auto rows = traffic(workload);
  // The template once left out the second all-gather of a block's input in backward (arXiv
  // 2205.05198 section 4.2.2: a rank keeps only its part and gathers again), and all communication
  // of the head and of the embedding's backward.
  // Per layer and micro-batch 2 all-gathers forward and 2 + 2 backward of a rank's 64 bytes, 2
  // reduce-scatters each way of 128: for 2 layers x 3 micro-batches 36 and 24. The first stage's 4
  // ranks scatter 3 embeddings and gather their gradients; the last stage's gather 3 inputs of the
  // head in both directions and scatter their gradients.
  EXPECT_EQ(rows["tp all_gather"].ops, 8U * 36 + 4 * 3 + 4 * 6);
  EXPECT_EQ(rows["tp all_gather"].bytes, Bytes::of((8 * 36 + 4 * 3 + 4 * 6) * 64));
  EXPECT_EQ(rows["tp reduce_scatter"].ops, 8U * 24 + 4 * 3 + 4 * 3);
  EXPECT_EQ(rows["tp reduce_scatter"].bytes, Bytes::of((8 * 24 + 4 * 3 + 4 * 3) * 128));
  // The loss (1909.08053 section 3): 3 numbers of 4 bytes for each of 8 tokens, in each of 3
  // micro-batches.
  EXPECT_EQ(rows["tp all_reduce"].ops, 4U * 9);
  EXPECT_EQ(rows["tp all_reduce"].bytes, Bytes::of(4 * 9 * 32));
  EXPECT_EQ(rows["pp send"].bytes, Bytes::of(24 * 64));
  // In the first stage a bucket of both layers and one of the vocabulary, in the second one of all;
  // and the weights, 2 bytes each, half of them from each of 2 ranks.
  constexpr std::int64_t all = 4 * tiny_layer + 2 * tiny_words + tiny_norm;
  EXPECT_EQ(rows["dp reduce_scatter"].ops, 4U * 2 + 4);
  EXPECT_EQ(rows["dp reduce_scatter"].bytes, Bytes::of(4 * 4 * all));
  EXPECT_EQ(rows["dp all_gather"].bytes, Bytes::of(4 * all));
  // Weights are gathered beside the forward pass that needs them, layers before those behind them.
  EXPECT_TRUE(follows(role(workload), "fwd.0.layer0.attention", "params.layer0-layer1"));
  EXPECT_FALSE(follows(role(workload), "fwd.0.embedding.scatter", "params.layer0-layer1"));
  EXPECT_TRUE(follows(role(workload), "optimizer", "grads.layer0-layer1"));
  EXPECT_FALSE(follows(role(workload, 1), "bwd.2.layer3.projection", "grads.layer2-output"));
}

TEST(TransformerTemplates, LlmBackwardCommunicatesBesideGradients) {
  // arXiv 2205.05198 section 4.2.2 and Megatron-LM's tensor_parallel/layers.py: the input is
  // gathered beside its gradient, which is scattered beside the weights' gradient; that needs the
  // gathered input.
  const Workload scattered = make("llm", tiny);
  const RoleDag& dag = role(scattered);
  // The first block of backward is the MLP, the second one attention.
  const std::string layer = "bwd.0.layer0.";
  for (const auto& [block, number] : std::vector<std::pair<std::string, std::string>>{{"mlp", ""}, {"projection", "2"}}) {
    const auto named = [&layer, suffix = number](const char* name) { return layer + name + suffix; };
    EXPECT_TRUE(follows(dag, layer + block, named("gather")));
    EXPECT_TRUE(follows(dag, named("gather_input"), layer + block));
    EXPECT_FALSE(follows(dag, named("input_gradient"), named("gather_input")));
    EXPECT_FALSE(follows(dag, named("gather_input"), named("input_gradient")));
    EXPECT_TRUE(follows(dag, named("scatter_gradient"), named("input_gradient")));
    EXPECT_TRUE(follows(dag, named("weights"), named("gather_input")));
    EXPECT_FALSE(follows(dag, named("weights"), named("scatter_gradient")));
    EXPECT_FALSE(follows(dag, named("scatter_gradient"), named("weights")));
  }
  for (const auto& part : std::vector<std::string>{"scatter_gradient", "weights"}) {
    EXPECT_TRUE(follows(dag, layer + "gather2", layer + part));
    EXPECT_TRUE(follows(dag, "bwd.0.embedding.gather", layer + part + "2"));
    EXPECT_TRUE(follows(role(scattered, 1), "bwd.0.layer3.mlp", "bwd.0.output." + part));
    EXPECT_TRUE(follows(role(scattered, 1), "grads.layer3-output", "bwd.2.output." + part));
  }
  EXPECT_TRUE(follows(dag, "grads.embedding", "bwd.2.embedding.gather"));
  // The head needs its whole input, and the gradient the loss.
  const RoleDag& last = role(scattered, 1);
  EXPECT_TRUE(follows(last, "fwd.0.output.output_layer", "fwd.0.output.gather"));
  EXPECT_TRUE(follows(last, "fwd.0.output.loss_maximum", "fwd.0.output.output_layer"));
  EXPECT_TRUE(follows(last, "bwd.0.output.input_gradient", "fwd.0.output.loss_sum"));
  EXPECT_FALSE(follows(last, "bwd.0.output.input_gradient", "bwd.0.output.gather_input"));
  // Without sequence parallelism the gradient's all-reduce is beside the weights' gradient.
  const Workload reduced = make("llm", with(tiny, {{"sequence_parallel", "false"}}));
  EXPECT_TRUE(follows(role(reduced), layer + "sum_gradient", layer + "input_gradient"));
  EXPECT_FALSE(follows(role(reduced), layer + "weights", layer + "sum_gradient"));
  EXPECT_TRUE(follows(role(reduced), layer + "input_gradient2", layer + "sum_gradient"));
}

TEST(TransformerTemplates, TiedEmbeddingsAreSummedBetweenTheEndsOfThePipeline) {
  // The vocabulary's gradient of a rank, 64 x 4 bytes = 256, is reduced among data-parallel ranks
  // in both stages and then between first and last (Megatron-LM's finalize_model_grads.py).
  const Settings three = with(tiny, {{"pp", "3"}, {"layers", "3"}});
  const Workload tied = make("llm", three);
  EXPECT_EQ(problems(tied), std::vector<std::string>());
  auto rows = traffic(tied);
  const Bytes all = Bytes::of(4 * 4 * (3 * tiny_layer + 2 * tiny_words + tiny_norm));
  EXPECT_EQ(rows["embedding all_reduce"].ops, 4U + 4);
  EXPECT_EQ(rows["embedding all_reduce"].bytes, Bytes::of(8 * 4 * tiny_words));
  EXPECT_EQ(rows["embedding all_reduce"].group_size_max, 2U);
  EXPECT_EQ(rows["dp all_reduce"].bytes, all);
  for (const std::size_t end : {0U, 2U}) {
    EXPECT_TRUE(follows(role(tied, end), "grads.tied", end == 0 ? "grads.embedding" : "grads.layer2-output"));
    EXPECT_TRUE(follows(role(tied, end), "grad_norm", "grads.tied"));
    EXPECT_TRUE(follows(role(tied, end), "optimizer", "grad_norm"));
  }
  // Of 12 ranks, 4 in each stage, rank 1 and rank 9 have the same part.
  const auto is_embedding = [](const Communicator& communicator) { return communicator.name() == "embedding"; };
  const auto found = std::find_if(tied.communicators.begin(), tied.communicators.end(), is_embedding);
  ASSERT_NE(found, tied.communicators.end());
  EXPECT_EQ(found->group_of(RankId(1)), found->group_of(RankId(9)));
  // Two matrices of their own are two reductions among data-parallel ranks and nothing else.
  auto untied = traffic(make("llm", with(three, {{"tied_embeddings", "false"}})));
  EXPECT_EQ(untied.count("embedding all_reduce"), 0U);
  EXPECT_EQ(untied["dp all_reduce"].bytes, all);
  // One stage has the matrix once, untied twice.
  const Settings one = with(tiny, {{"pp", "1"}});
  constexpr std::int64_t held = 4 * tiny_layer + tiny_words + tiny_norm;
  auto alone = traffic(make("llm", one));
  EXPECT_EQ(alone.count("embedding all_reduce"), 0U);
  EXPECT_EQ(alone["dp all_reduce"].bytes, Bytes::of(4 * 4 * held));
  EXPECT_EQ(traffic(make("llm", with(one, {{"tied_embeddings", "false"}})))["dp all_reduce"].bytes,
            Bytes::of(4 * 4 * (held + tiny_words)));
  // Sharded optimizers gather the weights, half of them 2 bytes each from each of 2 ranks.
  EXPECT_EQ(traffic(make("llm", with(one, {{"gradients", "reduce_scatter"}})))["dp all_gather"].bytes, Bytes::of(4 * held));
}

TEST(TransformerTemplates, ContextParallelRanksPassKeysAndValuesOn) {
  const Workload workload = make("llm", with(tiny, {{"cp", "2"}, {"seq", "8"}}));
  EXPECT_EQ(workload.rank_count, 16U);
  EXPECT_EQ(problems(workload), std::vector<std::string>());
  auto rows = traffic(workload);
  // Ring attention (arXiv 2310.01889) of two ranks: keys and values go on once forward, once
  // backward, where two gradients of them follow. A rank has 2 x 4 tokens, a head of 4 for keys and
  // one for values, 2 bytes each: 128. For 2 layers x 3 micro-batches.
  EXPECT_EQ(rows["cp send"].ops, 16U * 2 * 3 * 4);
  EXPECT_EQ(rows["cp send"].bytes, Bytes::of(16 * 2 * 3 * 4 * 128));
  EXPECT_EQ(rows["cp send"].group_size_max, 2U);
  // A parameter has cp x dp replicas.
  EXPECT_EQ(rows["dp all_reduce"].group_size_max, 4U);
}

TEST(TransformerTemplates, StagesOfSeveralChunksPassMoreOn) {
  const Workload workload = make("llm", with(tiny, {{"vpp", "2"}, {"microbatches", "4"}}));
  EXPECT_EQ(problems(workload), std::vector<std::string>());
  // Four positions of a layer, every other one on the same stage: 3 borders, 2 directions, 4
  // micro-batches, for each of 4 ranks of a stage.
  EXPECT_EQ(traffic(workload)["pp send"].ops, 4U * 3 * 2 * 4);
  EXPECT_TRUE(has_op(role(workload), "fwd.0.layer2.mlp"));
  EXPECT_FALSE(has_op(role(workload), "fwd.0.layer1.mlp"));
  EXPECT_HAS(errors_in("llm", with(tiny, {{"vpp", "2"}})),
             "interleaved_1f1b needs a multiple of the 2 stages as microbatches, not 3 [bad-plan]");
  EXPECT_HAS(errors_in("llm", with(tiny, {{"vpp", "2"}, {"pp", "1"}})), "there is one stage [bad-plan]");
  // Weight gradients have passes of their own under schedules that split backward.
  EXPECT_TRUE(has_op(role(make("llm", with(tiny, {{"schedule", "zb_h1"}}))), "wgrad.0.layer0.weights"));
  EXPECT_FALSE(has_op(role(make("llm", tiny)), "wgrad.0.layer0.weights"));
  EXPECT_HAS(errors_in("llm", with(tiny, {{"schedule", "zb"}})), "there is no schedule \"zb\" [unknown-module]");
}

TEST(TransformerTemplates, PipelinesTakeMicrobatchesPlusStagesMinusOne) {
  // 1F1B without communication time: (m + p - 1) (f + b), with f of a stage's layers and no head (a
  // vocabulary of one word at a rate that makes its time vanish beside the given forward_time).
  for (const auto& [stages, batches] : {std::pair(1, 3), std::pair(2, 1), std::pair(3, 2), std::pair(4, 4), std::pair(4, 9)}) {
    const Workload workload = make("llm", {{"tp", "1"},
                                           {"dp", "1"},
                                           {"pp", std::to_string(stages)},
                                           {"layers", std::to_string(stages)},
                                           {"hidden", "1024"},
                                           {"ffn", "1048576"},
                                           {"vocab", "1"},
                                           {"seq", "1"},
                                           {"microbatches", std::to_string(batches)},
                                           {"forward_time", "10us"},
                                           {"backward_factor", "2"},
                                           {"optimizer_time", "0s"}});
    // The head is 2 x 1024 of more than 4 x 1024 x 1048576 operations: less than 0.05 ns of 10 us,
    // 5 ticks with its backward. Attention on its one token is as little. A layer's times are those
    // of 15 products, each rounded to a tick.
    const Duration expected = Duration::us(30) * (batches + stages - 1);
    const Duration off = Duration::ticks(20 * (batches + stages));
    EXPECT_GE(pipeline_makespan(workload), expected - off);
    EXPECT_LE(pipeline_makespan(workload), expected + off);
  }
}

TEST(TransformerTemplates, MoeExchangesTokens) {
  const Settings settings = with(tiny, {{"dp", "4"}, {"ep", "2"}, {"experts", "4"}, {"top_k", "2"}, {"pp", "1"}});
  const Workload workload = make("moe", settings);
  EXPECT_EQ(workload.rank_count, 8U);
  EXPECT_EQ(problems(workload), std::vector<std::string>());
  auto rows = traffic(workload);
  // Two all-to-alls a layer and direction: 4 layers x 3 micro-batches x 4; a rank's half of 8
  // tokens, twice, x 8 x 2 bytes = 128.
  EXPECT_EQ(rows["ep all_to_all"].ops, 8U * 48);
  EXPECT_EQ(rows["ep all_to_all"].bytes, Bytes::of(8 * 48 * 128));
  EXPECT_EQ(rows["ep all_to_all"].group_size_max, 2U);
  // Experts' gradients: 2 experts x 2 x 8 x 32 / 2 weights x 4 bytes per layer, among 8 / (2 x 2)
  // replicas.
  EXPECT_EQ(rows["edp all_reduce"].group_size_max, 2U);
  EXPECT_EQ(rows["edp all_reduce"].bytes, Bytes::of(8 * 4 * 2 * 256 * 4));
  // Dense ones: 4 x 8 x 8 / 2 for attention, 8 x 4 for the router and two norms, four layers; the
  // vocabulary, which embedding and head share, and the last norm.
  EXPECT_EQ(rows["dp all_reduce"].bytes, Bytes::of(8 * 4 * (4 * (128 + 32 + 16) + tiny_words + tiny_norm)));
  // tp: in each of 4 layers x 3 micro-batches attention gathers a rank's 64 bytes once forward and
  // twice backward and scatters the whole once each way. Embedding and head as in llm.
  EXPECT_EQ(rows["tp all_gather"].bytes, Bytes::of(8 * (12 * 3 * 64 + 3 * 3 * 64)));
  EXPECT_EQ(rows["tp reduce_scatter"].bytes, Bytes::of(8 * (12 * 2 * 128 + 3 * 2 * 128)));
  // etp: experts gather their tokens, two for one, 128 bytes each way, and keep them; they scatter
  // the whole each way.
  EXPECT_EQ(rows["etp all_gather"].bytes, Bytes::of(8 * 12 * 2 * 128));
  EXPECT_EQ(rows["etp reduce_scatter"].bytes, Bytes::of(8 * 12 * 2 * 256));
  // Experts compute 2 x (2 x 2 x 8 x 8 x 32) / 2 for two experts a token. The router, 2 x 8 x 8 x 4
  // / 2, comes with the norm before it, behind attention.
  EXPECT_EQ(op_named(role(workload), "fwd.0.layer0.experts").duration, Duration::ns(2 * 4096));
  EXPECT_EQ(op_named(role(workload), "fwd.0.layer0.residual").duration, Duration::ns(256));
  // Whole experts: those of 4 neighbours' tokens, with 2 replicas of 8 ranks.
  auto whole = traffic(make("moe", with(settings, {{"etp", "1"}, {"ep", "4"}})));
  EXPECT_EQ(whole.count("etp all_gather"), 0U);
  EXPECT_EQ(whole["ep all_to_all"].group_size_max, 4U);
  EXPECT_EQ(whole["ep all_to_all"].bytes, Bytes::of(8 * 48 * 128));
  EXPECT_EQ(whole["edp all_reduce"].group_size_max, 2U);
  EXPECT_EQ(whole["edp all_reduce"].bytes, Bytes::of(8 * 4 * 512 * 4));
  EXPECT_HAS(errors_in("moe", {{"ep", "3"}}), "expert_parallel = 3 does not divide experts = 8 [bad-plan]");
  EXPECT_HAS(errors_in("moe", {{"ep", "8"}, {"experts", "8"}}),
             "expert_parallel x expert_tensor_parallel = 8 x 8 does not divide the 32 ranks of a stage [bad-plan]");
  EXPECT_HAS(errors_in("moe", {{"experts", "9"}}), "expert_parallel = 4 does not divide experts = 9 [bad-plan]");
  EXPECT_HAS(errors_in("moe", {{"top_k", "9"}}), "top_k = 9 is more than experts = 8 [bad-plan]");
  EXPECT_HAS(errors_in("moe", {{"sequence_parallel", "false"}}),
             "experts with tensor parallelism need sequence parallelism, so that each token is sent once [bad-plan]");
}

TEST(TransformerTemplates, RefusePlansThatDoNotFit) {
  EXPECT_HAS(errors_in("llm", {{"pp", "33"}}), "every position has a layer at least: 32 layers, 33 stages x 1 chunks [bad-plan]");
  EXPECT_EQ(errors_in("llm", {{"pp", "5"}}), "");  // 7, 7, 6, 6 and 6 layers
  const std::string by_three = errors_in("llm", {{"tp", "3"}});
  EXPECT_HAS(by_three, "tensor_parallel = 3 does not divide attention heads = 32 [bad-plan]");
  EXPECT_HAS(by_three, "tensor_parallel = 3 does not divide the MLP's width = 16384 [bad-plan]");
  EXPECT_HAS(errors_in("llm", {{"heads", "3"}}), "hidden = 4096 cannot be divided by heads = 3 [bad-plan]");
  EXPECT_HAS(errors_in("llm", {{"kv_heads", "3"}}), "heads = 32 cannot be divided by kv_heads = 3 [bad-plan]");
  EXPECT_HAS(errors_in("llm", {{"ffn", "4"}}), "tensor_parallel = 8 does not divide the MLP's width = 4 [bad-plan]");
  EXPECT_HAS(errors_in("llm", {{"cp", "3"}}), "2 x context_parallel = 6 does not divide the sequence = 2048 [bad-plan]");
  EXPECT_HAS(errors_in("llm", {{"dp", "1048576"}}), "[too-large]");
  EXPECT_HAS(errors_in("llm", {{"microbatches", "1048576"}}), "[too-large]");
  EXPECT_HAS(errors_in("llm", {{"microbatches", "1048576"}, {"microbatch", "1048576"}}), "global_batch");
  EXPECT_HAS(errors_in("llm", {{"seq", "16777216"}, {"microbatch", "1048576"}}), "[too-large]");
  EXPECT_HAS(errors_in("llm", {{"hidden", "1048576"}, {"ffn", "16777216"}, {"layers", "1000000"}}), "parameters [too-large]");
  EXPECT_HAS(errors_in("llm", {{"tflops", "0.001"}, {"seq", "16777216"}, {"microbatch", "64"}}),
             "would take more than 31536000s [too-large]");
  EXPECT_HAS(errors_in("llm", {{"forward_time", "400d"}}), "[too-large]");
  EXPECT_HAS(errors_in("llm", {{"forward_time", "20d"}}), "[too-large]");  // 32 layers of 60 days
  EXPECT_HAS(errors_in("llm", {{"optimizer_time", "400d"}}), "[too-large]");
}

}  // namespace
}  // namespace weft::transformer_test
