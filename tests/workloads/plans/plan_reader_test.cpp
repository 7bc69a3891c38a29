// SPDX-License-Identifier: Apache-2.0
// Plans from presets and overrides: what they leave open, and the rules that they may break.
#include "workloads/plans/plan_reader.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/text/diagnostics.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/held_parameters.hpp"

namespace weft::plan_reader_test {

namespace {

TransformerModel model_named(const std::string& name) { return *load_model(name, SourcePlace::named("test")).transformer(); }

ParallelPlan plan_of(const std::string& model, const std::string& preset, std::vector<std::string> overrides = {},
                     std::optional<std::uint64_t> gpus = {}) {
  return load_plan({.name = preset, .overrides = std::move(overrides), .gpus = gpus}, model_named(model),
                   SourcePlace::named("test"));
}

/// "code: message" of each mistake.
std::set<std::string> mistakes(const std::string& model, const std::string& preset, std::vector<std::string> overrides,
                               std::optional<std::uint64_t> gpus = {}) {
  std::set<std::string> all;
  try {
    plan_of(model, preset, std::move(overrides), gpus);
  } catch (const InputError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) all.insert(diagnostic.code + ": " + diagnostic.message);
  }
  return all;
}

using Mistakes = std::set<std::string>;

}  // namespace

TEST(PlanReader, FillsWhatAPlanLeavesOpen) {
  const ParallelPlan plan = plan_of("llama3_70b", "llama3_70b_nemo", {}, 64);
  EXPECT_EQ(plan.data, 2U);
  EXPECT_EQ(plan.ranks(), 64U);
  EXPECT_EQ(plan.sequence, 8192U);
  EXPECT_EQ(plan.microbatches(), 64U);
  EXPECT_EQ(plan.schedule, "interleaved_1f1b");
  EXPECT_TRUE(plan.sequence_parallel);
  EXPECT_TRUE(plan.overlap_pipeline);
  EXPECT_EQ(plan.layout.size(), 20U);
  EXPECT_EQ(plan.layout.front().count, 4U);
  // 128,256 words padded to a multiple of 128 x 4.
  EXPECT_EQ(padded_vocabulary(model_named("llama3_70b"), plan), 128'512U);
  EXPECT_EQ(plan_of("llama3_70b", "llama3_70b_nemo").data, 1U);
}

TEST(PlanReader, ReadsEveryPresetForItsModel) {
  EXPECT_EQ(plan_of("llama3_8b", "llama3_8b_nemo", {}, 8).data, 4U);
  EXPECT_EQ(plan_of("llama3_405b", "llama3_405b_mlperf", {}, 1024).data, 8U);
  EXPECT_EQ(plan_of("gpt_22b", "gpt_22b_megatron").ranks(), 8U);
  EXPECT_EQ(plan_of("gpt3_175b", "gpt3_175b_megatron").ranks(), 64U);
  EXPECT_EQ(plan_of("gpt_530b", "gpt_530b_megatron").ranks(), 280U);
  EXPECT_EQ(plan_of("gpt_1t", "gpt_1t_megatron").ranks(), 512U);
  EXPECT_EQ(plan_of("mixtral_8x22b", "mixtral_8x22b_primus").ranks(), 32U);
  EXPECT_EQ(plan_of("deepseek_v3", "deepseek_v3_report", {}, 2048).data, 128U);
  EXPECT_EQ(plan_summaries().size(), plan_presets().size());
}

TEST(PlanReader, FewestGpusHoldDenseAndExpertRanks) {
  // Four stages of eight expert-parallel ranks.
  EXPECT_EQ(ranks_min(plan_of("mixtral_8x22b", "mixtral_8x22b_primus")), 32U);
  // Two tensor-parallel ranks are among them; three context-parallel ones would not be.
  EXPECT_EQ(ranks_min(plan_of("mixtral_8x22b", "mixtral_8x22b_primus", {"tensor_parallel=2"})), 32U);
}

TEST(PlanReader, NamesBrokenRules) {
  EXPECT_EQ(mistakes("llama3_70b", "llama3_70b_nemo", {"tensor_parallel=5"}),
            (Mistakes{"bad-plan: tensor_parallel = 5 does not divide attention heads = 64",
                      "bad-plan: tensor_parallel = 5 and 8 heads of keys and values do not divide each other",
                      "bad-plan: tensor_parallel = 5 does not divide the MLP's width = 28672",
                      "bad-plan: context_parallel x tensor_parallel = 2 x 5 does not divide the sequence = 8192"}));
  EXPECT_EQ(mistakes("mixtral_8x22b", "mixtral_8x22b_primus", {"expert_parallel=16"}),
            (Mistakes{"bad-plan: expert_parallel = 16 is more than 8 experts"}));
  EXPECT_EQ(mistakes("mixtral_8x22b", "mixtral_8x22b_primus", {"expert_parallel=3"}),
            (Mistakes{"bad-plan: expert_parallel = 3 does not divide experts = 8",
                      "bad-plan: microbatch x data_parallel = 2 x 3 does not divide global_batch = 128"}));
  EXPECT_EQ(mistakes("mixtral_8x22b", "mixtral_8x22b_primus", {"tensor_parallel=2", "sequence_parallel=false"}),
            (Mistakes{"bad-plan: experts with tensor parallelism need sequence parallelism, so that each token is sent once"}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"expert_parallel=2"}),
            (Mistakes{"bad-plan: expert_parallel = 2, but the model has no experts"}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"pipeline_parallel=64"}),
            (Mistakes{"bad-plan: every position has a layer at least: 32 layers, 64 stages x 1 chunks"}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"precision.gradients=FP9"}),
            (Mistakes{"unknown-dtype: there is no type \"FP9\""}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"schedule=zb"}), (Mistakes{"unknown-module: there is no schedule \"zb\""}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"zero_stage=4"}), (Mistakes{"out-of-range: zero_stage = 4"}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {}, 7),
            (Mistakes{"bad-plan: tensor_parallel x context_parallel x pipeline_parallel = 2 does not divide 7 GPUs"}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"data_parallel=2"}, 8), (Mistakes{"bad-plan: the plan has 4 GPUs, not 8"}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"context_parallel=3"}),
            (Mistakes{"bad-plan: 2 x context_parallel = 6 does not divide the sequence = 8192"}));
  EXPECT_EQ(mistakes("gpt3_175b", "gpt3_175b_megatron", {"sequence=4096"}),
            (Mistakes{"bad-plan: sequence = 4096 is more than the model's 2048 positions"}));
  EXPECT_EQ(mistakes("gpt3_175b", "gpt3_175b_megatron", {"recompute.kind=BLOCK", "recompute.layers=5"}),
            (Mistakes{"bad-plan: recompute has 5 layers of each chunk, and one chunk has 4"}));
  EXPECT_EQ(
      mistakes("llama3_8b", "llama3_8b_nemo", {"recompute.kind=UNIFORM", "recompute.layers=2", "zero_stage=3"}),
      (Mistakes{"bad-plan: recompute.layers = 2, but under zero_stage = 3 a rank has the parameters of one layer at a time"}));
}

namespace {

std::set<std::string> mistakes_of_replicas(const std::string& model, std::vector<std::string> overrides,
                                           std::optional<std::uint64_t> gpus = {}) {
  const SourcePlace place = SourcePlace::named("test");
  std::set<std::string> all;
  try {
    load_plan({.name = "dlrm_nvidia", .overrides = std::move(overrides), .gpus = gpus}, load_model(model, place), place);
  } catch (const InputError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) all.insert(diagnostic.code + ": " + diagnostic.message);
  }
  return all;
}

}  // namespace

TEST(PlanReader, FillsPlansOfOtherModelsAsPyTorchDoes) {
  const SourcePlace place = SourcePlace::named("test");
  const ModelDescription model = load_model("unet", place);
  const ParallelPlan plan = load_plan({.name = "", .overrides = {"global_batch=96"}, .gpus = 8}, model, place);
  EXPECT_EQ(plan.data, 8U);
  EXPECT_EQ(plan.ranks(), 8U);
  EXPECT_EQ(plan.microbatch, 12U);
  EXPECT_EQ(plan.zero_stage, 0U);
  EXPECT_EQ(plan.precision.kind, PrecisionKind::all_fp32);
  EXPECT_EQ(plan.gradient_bucket * 4, 25U * 1024 * 1024);
  // Only a type is given, not a kind.
  const ParallelPlan half =
      load_plan({.name = "", .overrides = {"global_batch=8", "precision.reduced_gradients=BF16"}, .gpus = 8}, model, place);
  EXPECT_EQ(half.precision.parameters.name, "FP32");
  EXPECT_EQ(half.precision.reduced_gradients.name, "BF16");
  // One rank of an axis, and what is off, says nothing.
  EXPECT_EQ(
      mistakes_of_replicas("unet", {"tensor_parallel=1", "virtual_pipeline=1", "sequence_parallel=false", "recompute.kind=KEEP"}),
      Mistakes());
}

TEST(PlanReader, NamesTheRuleOfModelsThatHaveReplicasOnly) {
  const std::string unet = "bad-plan: a U-Net is trained with data parallelism only: ";
  const std::string recommender = "bad-plan: a recommender has data-parallel layers and tables that all ranks share: ";
  EXPECT_EQ(mistakes_of_replicas("unet", {"tensor_parallel=2"}), (Mistakes{unet + "tensor_parallel is 2"}));
  EXPECT_EQ(mistakes_of_replicas("dlrm_mlperf", {"tensor_parallel=2"}), (Mistakes{recommender + "tensor_parallel is 2"}));
  for (const char* setting :
       {"context_parallel=2", "pipeline_parallel=2", "virtual_pipeline=2", "expert_parallel=2", "expert_tensor_parallel=2",
        "sequence=1", "sequence_parallel=true", "first_stage_layers=1", "last_stage_layers=1", "count_embedding=true",
        "count_output=true", "overlap_pipeline=true", "context_exchange=RING", "fused_attention=false", "vocabulary_multiple=1",
        "scatter_between_stages=true"}) {
    std::string text = setting;
    text.replace(text.find('='), 1, " is ");
    EXPECT_EQ(mistakes_of_replicas("dhen", {setting}), (Mistakes{recommender + text}));
  }
  EXPECT_EQ(mistakes_of_replicas("unet", {"schedule=zbv", "layout=Et|tL", "recompute.kind=UNIFORM"}),
            (Mistakes{unet + "schedule is \"zbv\"", unet + "layout is \"Et|tL\"", unet + "recompute is UNIFORM"}));
  EXPECT_EQ(mistakes_of_replicas("unet", {"zero_stage=3"}),
            (Mistakes{"bad-plan: zero_stage = 3 gathers parameters layer by layer, which is for transformers"}));
  EXPECT_EQ(mistakes_of_replicas("unet", {"zero_stage=4"}), (Mistakes{"out-of-range: zero_stage = 4"}));
  EXPECT_EQ(mistakes_of_replicas("dlrm_mlperf", {}, 7),
            (Mistakes{"bad-plan: data_parallel = 7 does not divide global_batch = 65536"}));
  EXPECT_EQ(mistakes_of_replicas("dlrm_mlperf", {"data_parallel=4"}, 8), (Mistakes{"bad-plan: the plan has 4 GPUs, not 8"}));
  EXPECT_EQ(mistakes_of_replicas("dlrm_mlperf", {"global_batch=0"}), (Mistakes{"missing-field: global_batch is missing"}));
}

TEST(PlanReader, ChecksFieldsWithoutAModel) {
  const auto check = [](const std::string& text) {
    Mistakes all;
    try {
      check_plan_fields(SourceText("test", text));
    } catch (const InputError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) all.insert(diagnostic.code + ": " + diagnostic.message);
    }
    return all;
  };
  EXPECT_EQ(check("tensor_parallel: 3 global_batch: 8"), Mistakes());
  EXPECT_EQ(check("tensor_parallel: 3"), (Mistakes{"missing-field: global_batch is missing"}));
  EXPECT_EQ(check("global_batch: 8 zero_stage: 7 schedule: 'zb' precision { parameters: 'FP9' } data_parallel: 4000000"),
            (Mistakes{"out-of-range: zero_stage = 7", "unknown-module: there is no schedule \"zb\"",
                      "unknown-dtype: there is no type \"FP9\"", "out-of-range: data_parallel = 4000000 is more than 1048576"}));
}

TEST(PlanReader, SaysWhichSettingIsWrong) {
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"tensor=2"}), (Mistakes{"unknown-field: Plan has no field \"tensor\""}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"tensor_parallel=two"}),
            (Mistakes{"bad-value: tensor_parallel = \"two\": it takes a whole number"}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"precision.kind=BF16"}),
            (Mistakes{"bad-value: kind = \"BF16\": it takes one of its values"}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"precision=BF16"}),
            (Mistakes{"bad-value: precision = \"BF16\": it takes a message, whose fields are set one by one"}));
  EXPECT_EQ(mistakes("llama3_8b", "llama3_8b_nemo", {"microbatch"}), (Mistakes{"bad-setting: \"microbatch\" has no value"}));
}

TEST(HeldParameters, OfAllRanksAreTheModelOnce) {
  // Undivided copies aside: with one replica, no padding and nothing copied but norms.
  const TransformerModel model = model_named("llama3_8b");
  const ParallelPlan plan = plan_of("llama3_8b", "llama3_8b_nemo",
                                    {"tensor_parallel=4", "context_parallel=1", "pipeline_parallel=4", "vocabulary_multiple=1"});
  std::uint64_t sum = 0;
  for (std::size_t position = 0; position < plan.layout.size(); ++position)
    sum += sum_of(held_by_position(model, plan, position)).all();
  const std::uint64_t norms = (2 * 32 + 1) * 4096;
  EXPECT_EQ(sum * 4, 8'030'261'248U + 3 * norms);
}

TEST(HeldParameters, OfExpertsAreDividedByExpertRanks) {
  // Four stages of 14 layers: the first has an eighth of the experts, all of the rest and the
  // embedding (Primus' documentation counts norms of two vectors, three per layer, instead).
  const TransformerModel model = model_named("mixtral_8x22b_primus");
  const ParallelPlan plan = plan_of("mixtral_8x22b_primus", "mixtral_8x22b_primus");
  const HeldSum held = sum_of(held_by_position(model, plan, 0));
  EXPECT_EQ(held.expert, 14U * 3 * 6144 * 16384);
  EXPECT_EQ(held.all(), 6'078'750'720U - 14 * (3 * 2 - 2) * 6144);
}

TEST(HeldParameters, OfTiedWeightsAreHeldTwice) {
  const TransformerModel model = model_named("gpt3_175b");
  const ParallelPlan plan = plan_of("gpt3_175b", "gpt3_175b_megatron");
  constexpr std::uint64_t words_per_rank = 6'400;       // 51,200 over 8 ranks
  const std::uint64_t words = words_per_rank * 12'288;  // 50,257 padded to a multiple of 1,024
  const auto named = [](const std::vector<HeldComponent>& all, std::string_view name) {
    for (const HeldComponent& component : all) {
      if (component.name == name) return component.parameters;
    }
    return std::uint64_t{0};
  };
  EXPECT_EQ(named(held_by_position(model, plan, 0), "embedding"), words);
  EXPECT_EQ(named(held_by_position(model, plan, plan.layout.size() - 1), "output layer"), words);
}

TEST(HeldParameters, CopyKeysAndValuesBeyondTheirHeads) {
  // 8 heads of keys and values over 16 ranks: two ranks share one.
  const TransformerModel model = model_named("llama3_405b");
  const ParallelPlan plan = plan_of("llama3_405b", "llama3_405b_mlperf", {"tensor_parallel=16"});
  const std::uint64_t keys_and_values = 2 * 16384 * 128;
  EXPECT_EQ(held_by_layer(model, plan, false)[1].parameters, 2 * 16384U * 1024 + keys_and_values);
}

}  // namespace weft::plan_reader_test
