// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/workloads/templates/template_testing.hpp"
#include "workloads/dag/dag_reader.hpp"
#include "workloads/dag/dag_writer.hpp"
#include "workloads/dag/summary.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/block_workload.hpp"
#include "workloads/plans/plan_reader.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft::templates_test {
namespace {

using namespace template_testing;

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
