// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/dag/dag_reader.hpp"
#include "workloads/dag/dag_writer.hpp"
#include "workloads/dag/summary.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/block_workload.hpp"
#include "workloads/plans/plan_reader.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft::templates_test {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

Workload make(const std::string& name, const Settings& settings = {}) {
  const SourcePlace place = SourcePlace::named("test");
  const auto& module = find_module(workload_templates(), name, place);
  ParamSet params(name, module.info.params);
  for (const auto& [key, value] : settings) params.set(key, value, place);
  return module.make(params, place);
}

std::string errors_in(const std::string& name, const Settings& settings) {
  return errors_of([&] { make(name, settings); });
}

const RoleDag& role(const Workload& workload, std::size_t index = 0) { return workload.roles[index]; }

std::uint32_t index_of(const RoleDag& dag, std::string_view name) {
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    if (dag.name(OpId(i)) == name) return i;
  }
  ADD_FAILURE() << "no op " << name;
  return 0;
}
Op op_named(const RoleDag& dag, std::string_view name) { return dag.op(OpId(index_of(dag, name))); }

/// Does `later` wait for `earlier`, directly or not?
bool follows(const RoleDag& dag, std::string_view later, std::string_view earlier) {
  std::vector<bool> reached(dag.size(), false);
  reached[index_of(dag, earlier)] = true;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    if (!reached[i]) continue;
    for (const OpId next : dag.successors(OpId(i))) reached[next.index()] = true;
  }
  return reached[index_of(dag, later)];
}

std::vector<std::string> problems(const Workload& workload) {
  Diagnostics diagnostics;
  check_workload(workload, SourcePlace::named("test"), diagnostics);
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : diagnostics.all()) texts.push_back(diagnostic.to_text());
  return texts;
}

std::map<std::string, CommunicationSummary> traffic(const Workload& workload) {
  std::map<std::string, CommunicationSummary> rows;
  for (CommunicationSummary& row : summarise(workload).communication) rows[row.communicator + " " + row.type] = row;
  return rows;
}

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
          if (match.kind == OpKind::receive && match.peer == static_cast<std::int32_t>(s) &&
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

TEST(Templates, RunWithTheirDefaultsAndSurviveAFile) {
  for (const auto& module : workload_templates()) {
    const Workload workload = make(std::string(module.info.name));
    EXPECT_EQ(problems(workload), std::vector<std::string>()) << module.info.name;
    EXPECT_EQ(workload.name, module.info.name);
    EXPECT_EQ(module.info.kind, "template");
    const Workload again = parse_workload_text(SourceText("made.textproto", to_workload_text(workload)));
    EXPECT_EQ(again.roles, workload.roles) << module.info.name;
    EXPECT_EQ(again.role_of, workload.role_of) << module.info.name;
  }
}

TEST(Templates, CollectivesAreALoop) {
  const Workload workload = make("collectives", {{"ranks", "8"},
                                                 {"collective", "all_gather"},
                                                 {"size", "1MB"},
                                                 {"count", "3"},
                                                 {"gap", "5us"},
                                                 {"group", "4"},
                                                 {"stride", "2"}});
  // Three collectives with two pauses between them.
  EXPECT_EQ(role(workload).size(), 5U);
  EXPECT_EQ(longest_path(role(workload)), Duration::us(10));
  EXPECT_TRUE(follows(role(workload), "all_gather.2", "all_gather.0"));
  EXPECT_EQ(op_named(role(workload), "all_gather.1").bytes, Bytes::of(1'000'000));
  EXPECT_EQ(workload.communicators[1].ranks(GroupId(1))[3], RankId(7));
  EXPECT_HAS(errors_in("collectives", {{"ranks", "9"}, {"group", "4"}}),
             "ranks = 9 cannot be divided by group x stride = 4 [bad-plan]");
  EXPECT_HAS(errors_in("collectives", {{"stride", "2"}}), "[bad-plan]");
  for (const char* type :
       {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather", "scatter"}) {
    const Op op = make("collectives", {{"collective", type}, {"size", "1MB"}}).roles[0].op(OpId(0));
    EXPECT_EQ(to_text(op.collective), type);
    EXPECT_EQ(op.bytes, Bytes::of(1'000'000));
  }
  EXPECT_EQ(make("collectives", {{"collective", "barrier"}}).roles[0].op(OpId(0)).bytes, Bytes::zero());
  EXPECT_HAS(errors_in("collectives", {{"collective", "barrier"}, {"size", "1MB"}}), "a barrier has no size [bad-plan]");
  EXPECT_HAS(errors_in("collectives", {{"count", "16000000"}}), "[too-large]");
  EXPECT_HAS(errors_in("collectives", {{"count", "8000000"}, {"size_max", "1GiB"}}), "[too-large]");
}

// From 1 KiB on by factors of 4: 1, 4 and 16 KiB are no more than 20 KiB; each twice.
TEST(Templates, CollectivesSweepOverSizes) {
  const Workload workload =
      make("collectives", {{"size", "1KiB"}, {"size_max", "20KiB"}, {"size_factor", "4"}, {"count", "2"}, {"gap", "1us"}});
  EXPECT_EQ(role(workload).size(), 6U + 5U);
  const std::vector<std::int64_t> kib = {1, 1, 4, 4, 16, 16};
  for (std::size_t i = 0; i < kib.size(); ++i) {
    EXPECT_EQ(op_named(role(workload), "all_reduce." + std::to_string(i)).bytes, Bytes::kib(kib[i]));
  }
  EXPECT_TRUE(follows(role(workload), "all_reduce.5", "all_reduce.0"));
  EXPECT_EQ(role(make("collectives", {{"size", "1KiB"}, {"size_max", "1KiB"}})).size(), 1U);
  EXPECT_HAS(errors_in("collectives", {{"size", "1MiB"}, {"size_max", "1KiB"}}), "size_max is below size [bad-plan]");
  EXPECT_HAS(errors_in("collectives", {{"size", "0B"}, {"size_max", "1KiB"}}), "a sweep cannot begin with no bytes [bad-plan]");
  EXPECT_HAS(errors_in("collectives", {{"collective", "barrier"}, {"size_max", "1MB"}}), "a barrier has no size [bad-plan]");
}

TEST(Templates, DataParallelOverlapsBuckets) {
  const Workload workload = make("data_parallel", {{"ranks", "4"},
                                                   {"parameters", "10"},
                                                   {"buckets", "3"},
                                                   {"forward_time", "10us"},
                                                   {"backward_time", "20us"},
                                                   {"optimizer_time", "1us"}});
  const RoleDag& dag = role(workload);
  EXPECT_EQ(dag.size(), 1U + 3 + 3 + 1);
  // The parts of 20 us and of 10 weights add up: 3 + 3 + 4 weights of 4 bytes.
  EXPECT_EQ(longest_path(dag), Duration::us(31));
  EXPECT_EQ(op_named(dag, "reduce.2").bytes, Bytes::of(12));
  EXPECT_EQ(op_named(dag, "reduce.0").bytes, Bytes::of(16));
  EXPECT_TRUE(follows(dag, "reduce.2", "backward.2"));
  EXPECT_FALSE(follows(dag, "backward.0", "reduce.2"));
  EXPECT_TRUE(follows(dag, "step", "reduce.2"));
  EXPECT_TRUE(follows(dag, "reduce.0", "reduce.2"));
}

const Settings tiny = {{"tp", "2"},         {"pp", "2"},           {"dp", "2"},     {"layers", "4"},
                       {"hidden", "8"},     {"heads", "2"},        {"ffn", "32"},   {"seq", "4"},
                       {"microbatch", "2"}, {"microbatches", "3"}, {"vocab", "16"}, {"tflops", "0.001"}};

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

TEST(Templates, LlmHasTheShapesOfATransformer) {
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
  // dp: a layer has 4 x 8 x 8 + 2 x 8 x 32 = 768 weights, half of them on a rank, 4 bytes each; a
  // stage has two of them and embedding or head with 16 x 8 / 2 weights.
  EXPECT_EQ(rows["dp all_reduce"].ops, 8U * 3);
  EXPECT_EQ(rows["dp all_reduce"].bytes, Bytes::of(8 * 4 * (2 * 384 + 64)));
}

TEST(Templates, LlmTimesFollowFromOperations) {
  const Workload workload = make("llm", tiny);
  // T = 8 tokens, tp 2, 1e9 operations per second, so one takes 1 ns.
  // Attention 2 x 8 x 8 x 32 / 2 + 4 x 8 x 4 x 8 / 2 = 2048 + 512; MLP 2 x 2 x 8 x 8 x 32 / 2 =
  // 4096; head 2 x 8 x 8 x 16 / 2 = 1024.
  EXPECT_EQ(op_named(role(workload), "fwd.0.layer1.attention").duration, Duration::ns(2560));
  EXPECT_EQ(op_named(role(workload), "fwd.0.layer1.mlp").duration, Duration::ns(4096));
  EXPECT_EQ(op_named(role(workload, 1), "fwd.0.head").duration, Duration::ns(1024));
  // Backward takes twice as much. The MLP's first matrix has half of its operations, queries, keys
  // and values 3/4 of attention's 2048, and the head nothing else: their two gradients are
  // operations of their own.
  const std::map<std::string, Duration> parts = {
      {"layer0.mlp", Duration::ns(8192 - 2 * 2048)},  {"layer0.mlp_dgrad", Duration::ns(2048)},
      {"layer0.mlp_wgrad", Duration::ns(2048)},       {"layer0.attention", Duration::ns(5120 - 2 * 1536)},
      {"layer0.attention_dgrad", Duration::ns(1536)}, {"layer0.attention_wgrad", Duration::ns(1536)},
  };
  for (const auto& [name, duration] : parts) EXPECT_EQ(op_named(role(workload), "bwd.2." + name).duration, duration) << name;
  EXPECT_EQ(op_named(role(workload, 1), "bwd.0.head_dgrad").duration, Duration::ns(1024));
  EXPECT_EQ(op_named(role(workload, 1), "bwd.0.head_wgrad").duration, Duration::ns(1024));
  // Of three matrices two are first ones: 2/3 of 3 x 4096.
  const Workload gated = make("llm", with(tiny, {{"gated", "true"}}));
  EXPECT_EQ(op_named(role(gated), "bwd.0.layer0.mlp").duration, Duration::ns(12288 - 2 * 4096));
  EXPECT_EQ(op_named(role(gated), "bwd.0.layer0.mlp_dgrad").duration, Duration::ns(4096));
  // A rank alone has no communication to put beside them.
  const Workload alone = make("llm", with(tiny, {{"tp", "1"}}));
  EXPECT_EQ(op_named(role(alone), "bwd.2.layer0.mlp").duration, Duration::ns(2 * 8192));
  EXPECT_EQ(op_named(role(alone, 1), "bwd.2.head").duration, Duration::ns(2 * 2048));
  EXPECT_EQ(traffic(alone).count("tp all_reduce"), 0U);
  // A given forward_time is shared in the proportion 2560 : 4096 = 5 : 8, the head takes 2 / 13 of
  // it.
  const Workload given = make("llm", with(tiny, {{"forward_time", "13us"}, {"backward_factor", "3"}}));
  EXPECT_EQ(op_named(role(given), "fwd.0.layer0.attention").duration, Duration::us(5));
  EXPECT_EQ(op_named(role(given), "bwd.0.layer0.mlp").duration, Duration::us(12));
  EXPECT_EQ(op_named(role(given), "bwd.0.layer0.mlp_wgrad").duration, Duration::us(6));
  EXPECT_EQ(op_named(role(given, 1), "bwd.0.head_dgrad").duration, Duration::us(3));
}

TEST(Templates, LlmWithSequenceParallelismGathersAndScatters) {
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
  // A bucket of both layers and one of the vocabulary; afterwards the new weights, 2 bytes each,
  // half of them from each of 2 ranks.
  EXPECT_EQ(rows["dp reduce_scatter"].ops, 8U * 2);
  EXPECT_EQ(rows["dp reduce_scatter"].bytes, Bytes::of(8 * 4 * (2 * 384 + 64)));
  EXPECT_EQ(rows["dp all_gather"].bytes, Bytes::of(8 * (2 * 384 + 64)));
  EXPECT_TRUE(follows(role(workload), "weights.layer1", "optimizer"));
  EXPECT_TRUE(follows(role(workload), "optimizer", "grad.layer1"));
  EXPECT_FALSE(follows(role(workload, 1), "bwd.2.layer3.attention", "grad.head"));
}

TEST(Templates, LlmBackwardCommunicatesBesideGradients) {
  // arXiv 2205.05198 section 4.2.2 and Megatron-LM's tensor_parallel/layers.py: the input is
  // gathered beside its gradient, which is scattered beside the weights' gradient; that needs the
  // gathered input.
  const Workload scattered = make("llm", tiny);
  const RoleDag& dag = role(scattered);
  for (const auto& block : std::vector<std::string>{"bwd.0.layer0.mlp", "bwd.0.layer0.attention"}) {
    EXPECT_TRUE(follows(dag, block, block + "_gather"));
    EXPECT_TRUE(follows(dag, block + "_input_gather", block));
    EXPECT_FALSE(follows(dag, block + "_dgrad", block + "_input_gather"));
    EXPECT_FALSE(follows(dag, block + "_input_gather", block + "_dgrad"));
    EXPECT_TRUE(follows(dag, block + "_scatter", block + "_dgrad"));
    EXPECT_TRUE(follows(dag, block + "_wgrad", block + "_input_gather"));
    EXPECT_FALSE(follows(dag, block + "_wgrad", block + "_scatter"));
    EXPECT_FALSE(follows(dag, block + "_scatter", block + "_wgrad"));
  }
  for (const auto& part : std::vector<std::string>{"_scatter", "_wgrad"}) {
    EXPECT_TRUE(follows(dag, "bwd.0.layer0.attention_gather", "bwd.0.layer0.mlp" + part));
    EXPECT_TRUE(follows(dag, "bwd.0.embedding", "bwd.0.layer0.attention" + part));
    EXPECT_TRUE(follows(role(scattered, 1), "bwd.0.layer3.mlp", "bwd.0.head" + part));
    EXPECT_TRUE(follows(role(scattered, 1), "grad.head", "bwd.2.head" + part));
  }
  EXPECT_TRUE(follows(dag, "grad.embedding", "bwd.2.embedding"));
  // The head needs its whole input, and the gradient the loss.
  const RoleDag& last = role(scattered, 1);
  EXPECT_TRUE(follows(last, "fwd.0.head", "fwd.0.head_gather"));
  EXPECT_TRUE(follows(last, "fwd.0.loss_maximum", "fwd.0.head"));
  EXPECT_TRUE(follows(last, "bwd.0.head_dgrad", "fwd.0.loss_sum"));
  EXPECT_FALSE(follows(last, "bwd.0.head_dgrad", "bwd.0.head_input_gather"));
  // Without sequence parallelism the gradient's all-reduce is beside the weights' gradient.
  const Workload reduced = make("llm", with(tiny, {{"sequence_parallel", "false"}}));
  EXPECT_TRUE(follows(role(reduced), "bwd.0.layer0.mlp_reduce", "bwd.0.layer0.mlp_dgrad"));
  EXPECT_FALSE(follows(role(reduced), "bwd.0.layer0.mlp_wgrad", "bwd.0.layer0.mlp_reduce"));
  EXPECT_TRUE(follows(role(reduced), "bwd.0.layer0.attention", "bwd.0.layer0.mlp_reduce"));
}

TEST(Templates, TiedEmbeddingsAreSummedBetweenTheEndsOfThePipeline) {
  // The vocabulary's gradient of a rank: 16 words x 8 / 2 x 4 bytes = 256, reduced among
  // data-parallel ranks in both stages and then between first and last (Megatron-LM's
  // finalize_model_grads.py).
  const Settings three = with(tiny, {{"pp", "3"}, {"layers", "3"}});
  const Workload tied = make("llm", three);
  EXPECT_EQ(problems(tied), std::vector<std::string>());
  auto rows = traffic(tied);
  EXPECT_EQ(rows["embedding all_reduce"].ops, 4U + 4);
  EXPECT_EQ(rows["embedding all_reduce"].bytes, Bytes::of(8 * 256));
  EXPECT_EQ(rows["embedding all_reduce"].group_size_max, 2U);
  EXPECT_EQ(rows["dp all_reduce"].bytes, Bytes::of(12 * 4 * 384 + 8 * 256));
  for (const std::size_t end : {0U, 2U}) {
    EXPECT_TRUE(follows(role(tied, end), "grad.tied", end == 0 ? "grad.embedding" : "grad.head"));
    EXPECT_TRUE(follows(role(tied, end), "optimizer", "grad.tied"));
  }
  // Of 12 ranks, 4 in each stage, rank 1 and rank 9 have the same part.
  const auto is_embedding = [](const Communicator& communicator) { return communicator.name() == "embedding"; };
  const auto found = std::find_if(tied.communicators.begin(), tied.communicators.end(), is_embedding);
  ASSERT_NE(found, tied.communicators.end());
  EXPECT_EQ(found->group_of(RankId(1)), found->group_of(RankId(9)));
  // Two matrices of their own are two reductions among data-parallel ranks and nothing else.
  auto untied = traffic(make("llm", with(three, {{"tied_embeddings", "false"}})));
  EXPECT_EQ(untied.count("embedding all_reduce"), 0U);
  EXPECT_EQ(untied["dp all_reduce"].bytes, Bytes::of(12 * 4 * 384 + 8 * 256));
  // One stage has the matrix once: 4 ranks x (4 layers x 384 weights x 4 bytes + 256), untied
  // twice.
  const Settings one = with(tiny, {{"pp", "1"}});
  auto alone = traffic(make("llm", one));
  EXPECT_EQ(alone.count("embedding all_reduce"), 0U);
  EXPECT_EQ(alone["dp all_reduce"].bytes, Bytes::of(4 * (4 * 4 * 384 + 256)));
  EXPECT_EQ(traffic(make("llm", with(one, {{"tied_embeddings", "false"}})))["dp all_reduce"].bytes,
            Bytes::of(4 * (4 * 4 * 384 + 2 * 256)));
  // Sharded optimizers gather the new weights, half of them 2 bytes each from each of 2 ranks, as
  // often.
  EXPECT_EQ(traffic(make("llm", with(one, {{"gradients", "reduce_scatter"}})))["dp all_gather"].bytes,
            Bytes::of(4 * (4 * 384 + 64)));
}

TEST(Templates, PipelinesTakeMicrobatchesPlusStagesMinusOne) {
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
    // 5 ticks with its backward.
    const Duration expected = Duration::us(30) * (batches + stages - 1);
    EXPECT_GE(pipeline_makespan(workload), expected);
    EXPECT_LE(pipeline_makespan(workload), expected + Duration::ticks(20 * batches));
  }
}

TEST(Templates, MoeExchangesTokens) {
  const Workload workload = make("moe", with(tiny, {{"dp", "4"}, {"ep", "2"}, {"experts", "4"}, {"top_k", "2"}, {"pp", "1"}}));
  EXPECT_EQ(workload.rank_count, 8U);
  EXPECT_EQ(problems(workload), std::vector<std::string>());
  auto rows = traffic(workload);
  // Two all-to-alls a layer and direction: 4 layers x 3 micro-batches x 4; a rank's half of 8
  // tokens, twice, x 8 x 2 bytes = 128.
  EXPECT_EQ(rows["ep all_to_all"].ops, 8U * 48);
  EXPECT_EQ(rows["ep all_to_all"].bytes, Bytes::of(8 * 48 * 128));
  EXPECT_EQ(rows["ep all_to_all"].group_size_max, 2U);
  // Experts' gradients: 2 experts x 2 x 8 x 32 / 2 weights x 4 bytes per layer, among 4 / 2
  // replicas.
  EXPECT_EQ(rows["dp_ep all_reduce"].group_size_max, 2U);
  EXPECT_EQ(rows["dp_ep all_reduce"].bytes, Bytes::of(8 * 4 * 2 * 256 * 4));
  // Dense ones: 4 x 8 x 8 / 2 for attention and 8 x 4 for the router, four layers; 64 for embedding
  // and head, which are one.
  EXPECT_EQ(rows["dp all_reduce"].bytes, Bytes::of(8 * 4 * (4 * (128 + 32) + 64)));
  // tp: in each of 4 layers x 3 micro-batches attention gathers a rank's 64 bytes once forward and
  // twice backward, experts their tokens, two for one, 128 bytes each way and keep them; both
  // scatter the whole each way. Embedding and head as in llm.
  EXPECT_EQ(rows["tp all_gather"].bytes, Bytes::of(8 * (12 * (3 * 64 + 2 * 128) + 3 * 3 * 64)));
  EXPECT_EQ(rows["tp reduce_scatter"].bytes, Bytes::of(8 * (12 * (2 * 128 + 2 * 256) + 3 * 2 * 128)));
  // Experts compute 2 x (2 x 2 x 8 x 8 x 32) / 2 for two experts a token, and the router 2 x 8 x 8
  // x 4 / 2.
  EXPECT_EQ(op_named(role(workload), "fwd.0.layer0.experts").duration, Duration::ns(2 * 4096 + 256));
  EXPECT_HAS(errors_in("moe", {{"ep", "3"}}), "dp = 4 cannot be divided by ep = 3 [bad-plan]");
  EXPECT_HAS(errors_in("moe", {{"experts", "9"}}), "[bad-plan]");
  EXPECT_HAS(errors_in("moe", {{"top_k", "9"}}), "top_k = 9 is more than experts = 8 [bad-plan]");
  EXPECT_HAS(errors_in("moe", {{"sequence_parallel", "false"}}), "need sequence_parallel [bad-plan]");
}

TEST(Templates, LlmRefusesPlansThatDoNotFit) {
  EXPECT_HAS(errors_in("llm", {{"pp", "5"}}), "layers = 32 cannot be divided by pp = 5 [bad-plan]");
  EXPECT_HAS(errors_in("llm", {{"tp", "3"}}), "heads = 32 cannot be divided by tp = 3 [bad-plan]");
  EXPECT_HAS(errors_in("llm", {{"heads", "3"}}), "[bad-plan]");
  EXPECT_HAS(errors_in("llm", {{"ffn", "4"}}), "[bad-plan]");
  EXPECT_HAS(errors_in("llm", {{"vocab", "1"}}), "[bad-plan]");
  EXPECT_HAS(errors_in("llm", {{"dp", "1048576"}}), "[too-large]");
  EXPECT_HAS(errors_in("llm", {{"microbatches", "1048576"}}), "[too-large]");
  EXPECT_HAS(errors_in("llm", {{"seq", "16777216"}, {"microbatch", "1048576"}}), "[too-large]");
  EXPECT_HAS(errors_in("llm", {{"tflops", "0.001"}, {"seq", "16777216"}, {"microbatch", "64"}}),
             "would take more than 31536000s [too-large]");
  EXPECT_HAS(errors_in("llm", {{"forward_time", "400d"}}), "[too-large]");
}

TEST(Templates, DlrmExchangesEmbeddingsBesideItsDenseLayers) {
  const Workload workload = make("dlrm", {{"ranks", "4"},
                                          {"batch", "16"},
                                          {"tables", "3"},
                                          {"dimension", "4"},
                                          {"lookups", "2"},
                                          {"bottom", "5-6-4"},
                                          {"top", "7-1"},
                                          {"tflops", "0.001"},
                                          {"memory_bandwidth", "8Gbps"}});
  const RoleDag& dag = role(workload);
  // lookup, 2 + 2 layers, interaction; as many backward; optimizer. 3 all-to-alls and 4
  // all-reduces.
  EXPECT_EQ(summarise(workload).roles[0].ops_by_kind[0], 6U + 6 + 1);
  EXPECT_EQ(summarise(workload).roles[0].ops_by_kind[1], 3U + 4);
  EXPECT_EQ(op_named(dag, "fwd.0.indices").bytes, Bytes::of(16 * 3 * 2 * 8));
  EXPECT_EQ(op_named(dag, "fwd.0.embeddings").bytes, Bytes::of(16 * 3 * 4 * 4));
  EXPECT_EQ(op_named(dag, "bwd.0.embeddings").bytes, Bytes::of(16 * 3 * 4 * 4));
  EXPECT_EQ(op_named(dag, "grads.bottom_0").bytes, Bytes::of((5 * 6 + 6) * 4));
  // The top reads 4 x 3 / 2 = 6 products and the dense vector of 4.
  EXPECT_EQ(op_named(dag, "grads.top_0").bytes, Bytes::of((10 * 7 + 7) * 4));
  // 2 x 16 x 5 x 6 operations at 1 per ns, and as many for the gradient of the weights alone, as
  // nobody needs that of the features; 16 x 3 x 2 x 4 x 4 bytes at 1 per ns.
  EXPECT_EQ(op_named(dag, "fwd.0.bottom_0").duration, Duration::ns(960));
  EXPECT_EQ(op_named(dag, "bwd.0.bottom_0").duration, Duration::ns(960));
  EXPECT_EQ(op_named(dag, "bwd.0.bottom_1").duration, Duration::ns(2 * 2 * 16 * 6 * 4));
  // 4 x 4 products of vectors of 4.
  EXPECT_EQ(op_named(dag, "fwd.0.interaction").duration, Duration::ns(2 * 16 * 4 * 4 * 4));
  EXPECT_EQ(op_named(dag, "fwd.0.lookup").duration, Duration::ns(1536));
  EXPECT_EQ(op_named(dag, "bwd.0.lookup").duration, Duration::ns(3072));
  EXPECT_EQ(op_named(dag, "optimizer").duration, Duration::us(100));
  EXPECT_FALSE(follows(dag, "fwd.0.bottom_1", "fwd.0.indices"));
  EXPECT_TRUE(follows(dag, "fwd.0.interaction", "fwd.0.embeddings"));
  EXPECT_TRUE(follows(dag, "bwd.0.embeddings", "bwd.0.interaction"));
  EXPECT_FALSE(follows(dag, "bwd.0.bottom_0", "bwd.0.embeddings"));
  EXPECT_TRUE(follows(dag, "optimizer", "bwd.0.lookup"));
  // Embeddings of a byte per element; gradients keep their type.
  const Workload small = make("dlrm", {{"dtype", "FP8_E4M3"}, {"tables", "3"}, {"batch", "16"}});
  EXPECT_EQ(op_named(role(small), "fwd.0.embeddings").bytes, Bytes::of(16 * 3 * 128));
  EXPECT_EQ(op_named(role(small), "grads.bottom_0").bytes, Bytes::of((13 * 512 + 512) * 4));
  EXPECT_HAS(errors_in("dlrm", {{"bottom", "13-512"}}), "the last width of bottom is 512, the dimension 128 [bad-plan]");
  EXPECT_HAS(errors_in("dlrm", {{"bottom", "13-"}}), "[bad-value]");
  EXPECT_HAS(errors_in("dlrm", {{"bottom", "128"}}), "has no layer [bad-value]");
  EXPECT_HAS(errors_in("dlrm", {{"top", "a"}}), "[bad-value]");
  EXPECT_HAS(errors_in("dlrm", {{"tables", "1000000"}, {"lookups", "1000000"}, {"batch", "1073741824"}}), "[too-large]");
}

TEST(Templates, UnetSkipsAcross) {
  const Workload workload = make("unet", {{"ranks", "2"},
                                          {"batch", "1"},
                                          {"image", "4"},
                                          {"in_channels", "1"},
                                          {"classes", "1"},
                                          {"base_channels", "2"},
                                          {"levels", "1"},
                                          {"tflops", "0.001"}});
  const RoleDag& dag = role(workload);
  // Two encoders and a decoder forward; backward and reduction of each; optimizer.
  EXPECT_EQ(dag.size(), 3U + 6 + 1);
  // Level 0: 9 x 1 x 2 + 9 x 2 x 2 = 54 weights on 16 points. Level 1: 9 x 2 x 4 + 9 x 4 x 4 = 216
  // on 4. The decoder: 4 x 4 x 2 = 32 on 4, then 9 x 4 x 2 + 9 x 2 x 2 = 108 on 16, then 2 on 16.
  // Two operations each, 1 ns per operation. Nobody needs the gradient of images.
  EXPECT_EQ(op_named(dag, "fwd.0.encoder_0").duration, Duration::ns(2 * 54 * 16));
  EXPECT_EQ(op_named(dag, "fwd.0.encoder_1").duration, Duration::ns(2 * 216 * 4));
  EXPECT_EQ(op_named(dag, "fwd.0.decoder_0").duration, Duration::ns(2 * (32 * 4 + 110 * 16)));
  EXPECT_EQ(op_named(dag, "bwd.0.decoder_0").duration, Duration::ns(4 * (32 * 4 + 110 * 16)));
  EXPECT_EQ(op_named(dag, "bwd.0.encoder_0").duration, Duration::ns((2 * 18 + 4 * 36) * 16));
  // Biases: 2 of each of three convolutions, 1 of the head.
  EXPECT_EQ(op_named(dag, "grads.decoder_0").bytes, Bytes::of(4 * (32 + 110 + 3 * 2 + 1)));
  EXPECT_TRUE(follows(dag, "bwd.0.encoder_0", "bwd.0.decoder_0"));
  EXPECT_FALSE(follows(dag, "bwd.0.encoder_0", "grads.decoder_0"));
  EXPECT_TRUE(follows(dag, "optimizer", "grads.decoder_0"));
  EXPECT_HAS(errors_in("unet", {{"image", "100"}}), "image = 100 cannot be divided by 2^levels = 16 [bad-plan]");
}

// Templates of models and the models under a plan are one truth: the defaults of both templates are
// presets of models, but for batch norms.
TEST(Templates, DlrmAndUnetArePresetsOfModels) {
  const SourcePlace place = SourcePlace::named("test");
  const auto expect_alike = [&](const Workload& of_template, const Workload& of_model) {
    const RoleDag& dag = role(of_template);
    const RoleDag& other = role(of_model);
    ASSERT_EQ(dag.size(), other.size());
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      EXPECT_EQ(dag.name(OpId(i)), other.name(OpId(i)));
      EXPECT_EQ(dag.op(OpId(i)).bytes, other.op(OpId(i)).bytes) << dag.name(OpId(i));
    }
  };
  const auto no_time = [](const Operator&, OperatorPass) { return Duration::zero(); };
  const auto plan = [&](const ModelDescription& model, const char* batch, std::uint64_t gpus) {
    return load_plan({.name = "", .overrides = {batch, "gradient_bucket=1"}, .gpus = gpus}, model, place);
  };
  const ModelDescription dlrm = load_model("dlrm_mlperf", place);
  expect_alike(make("dlrm"), make_training_workload("test", std::get<RecommenderModel>(dlrm.what),
                                                    plan(dlrm, "global_batch=65536", 16), OperatorClock(no_time), place));
  ModelDescription unet = load_model("unet", place);
  std::get<UNetModel>(unet.what).batch_norm = false;
  expect_alike(make("unet"), make_training_workload("test", std::get<UNetModel>(unet.what), plan(unet, "global_batch=32", 8),
                                                    OperatorClock(no_time), place));
}

TEST(Templates, AnySettingsGiveAWorkloadOrAnInputError) {
  // Random values from each parameter's whole range: whatever comes, the ranks agree or an
  // InputError says why not.
  std::mt19937_64 random(11);
  for (int round = 0; round < (WEFT_SANITIZED ? 15 : 60); ++round) {
    for (const auto& module : workload_templates()) {
      const SourcePlace place = SourcePlace::named("test");
      ParamSet params(std::string(module.info.name), module.info.params);
      for (const ParamSpec& spec : module.info.params) {
        if (spec.kind != ParamKind::integer || random() % 2 == 0) continue;
        // Small numbers mostly, or nothing would fit together.
        const std::uint64_t value = random() % 4 == 0 ? random() % 3'000 : 1ULL << random() % 5;
        try {
          params.set(spec.name, std::to_string(value), place);
        } catch (const InputError&) {  // beyond the parameter's range
        }
      }
      try {
        if (params.module() == "collectives" && params.integer("count") > 1000) continue;
        const Workload workload = module.make(params, place);
        if (workload.rank_count > 1024 || workload.roles[0].size() >= 20'000) continue;
        EXPECT_EQ(problems(workload), std::vector<std::string>());
      } catch (const InputError& error) {
        EXPECT_FALSE(error.diagnostics().front().help.empty());
      }
    }
  }
}

}  // namespace
}  // namespace weft::templates_test
