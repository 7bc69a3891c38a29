// SPDX-License-Identifier: Apache-2.0
// Workloads of recommenders and U-Nets: bytes and updated parameters in closed form, what waits for
// what, and random models and plans.
#include "workloads/plans/block_workload.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/workloads/named_ops.hpp"
#include "tests/workloads/workload_testing.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/models/model_components.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft::block_workload_test {

namespace {

const SourcePlace place = SourcePlace::named("test");
using Settings = std::vector<std::string>;
using named_ops::follows;
using named_ops::op_named;

/// Parameters of all optimizer steps of a role; every other operator takes a tick.
struct CountingClock {
  std::uint64_t updated = 0;

  OperatorClock clock() {
    return [this](const Operator& op, OperatorPass) {
      if (const auto* step = std::get_if<OptimizerStep>(&op.shape)) updated += step->parameters;
      return Duration::ticks(1);
    };
  }
};

Workload workload_of(const ModelDescription& model, const ParallelPlan& plan, const OperatorClock& clock) {
  if (const auto* recommender = std::get_if<RecommenderModel>(&model.what))
    return make_training_workload("test", *recommender, plan, clock, place);
  return make_training_workload("test", std::get<UNetModel>(model.what), plan, clock, place);
}

Workload workload_of(const ModelDescription& model, const ParallelPlan& plan) {
  CountingClock counting;
  return workload_of(model, plan, counting.clock());
}

ParallelPlan plan_of(const ModelDescription& model, const std::string& preset, Settings settings, std::uint64_t gpus) {
  return load_plan({.name = preset, .overrides = std::move(settings), .gpus = gpus}, model, place);
}

struct Volume {
  std::uint64_t ops = 0;
  std::int64_t bytes = 0;

  bool operator==(const Volume&) const = default;
};

/// Of a rank.
std::map<CollectiveType, Volume> volumes_of(const Workload& workload) {
  std::map<CollectiveType, Volume> sums;
  const RoleDag& dag = workload.roles.front();
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    const Op op = dag.op(OpId(i));
    if (op.kind != OpKind::collective) continue;
    sums[op.collective].bytes += op.bytes.count();
    ++sums[op.collective].ops;
  }
  return sums;
}

std::uint64_t table_parameters(const ModelDescription& model) {
  std::uint64_t sum = 0;
  for (const ComponentCount& row : component_counts(model)) sum += row.name == "embedding tables" ? row.parameters : 0;
  return sum;
}

std::string joined(const Settings& settings) {
  std::string text;
  for (const std::string& setting : settings) text += setting + " ";
  return text;
}

void expect_valid(const Workload& workload, const std::string& what) {
  Diagnostics diagnostics;
  check_workload(workload, place, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << what << ": " << diagnostics.all().front().to_text();
}

/// Bytes and updates from the sizes of model and plan alone.
void expect_closed_form(const ModelDescription& model, const ParallelPlan& plan, const std::string& what) {
  CountingClock counting;
  const Workload workload = workload_of(model, plan, counting.clock());
  expect_valid(workload, what);
  const std::uint64_t dense = parameter_count(model) - table_parameters(model);
  auto volumes = volumes_of(workload);
  const auto ranks = static_cast<std::int64_t>(plan.ranks());

  // Gradients once, or once per microbatch where nobody keeps them whole.
  const bool has_replicas = ranks > 1;
  const std::uint64_t times = plan.zero_stage == 2 ? plan.microbatches() : 1;
  const CollectiveType type = plan.zero_stage == 0 ? CollectiveType::all_reduce : CollectiveType::reduce_scatter;
  const auto gradient = static_cast<std::int64_t>(plan.precision.reduced_gradients.bytes());
  EXPECT_EQ(volumes[type].bytes, has_replicas ? static_cast<std::int64_t>(times * dense) * gradient : 0) << what;
  EXPECT_EQ(volumes[type].ops % times, 0U) << what;
  const auto buckets = static_cast<std::int64_t>(volumes[type].ops / times);

  // Parameters: what all ranks update together is the model, but for shares that are rounded up.
  const auto parameter = static_cast<std::int64_t>(plan.precision.parameters.bytes());
  if (plan.zero_stage == 0) {
    EXPECT_EQ(counting.updated, dense) << what;
    EXPECT_EQ(volumes[CollectiveType::all_gather], Volume()) << what;
  } else {
    EXPECT_GE(counting.updated * plan.ranks(), dense) << what;
    EXPECT_LT(static_cast<std::int64_t>(counting.updated) * ranks,
              static_cast<std::int64_t>(dense) + std::max<std::int64_t>(buckets, 1) * ranks)
        << what;
    EXPECT_EQ(volumes[CollectiveType::all_gather].bytes, has_replicas ? static_cast<std::int64_t>(counting.updated) * parameter : 0)
        << what;
  }

  // Every sample's indices, its embeddings and their gradients.
  std::int64_t exchanged = 0;
  if (const auto* recommender = std::get_if<RecommenderModel>(&model.what)) {
    const auto samples = static_cast<std::int64_t>(plan.global_batch) / ranks;
    const auto lookups = samples * static_cast<std::int64_t>(recommender->table_rows.size());
    const auto activation = static_cast<std::int64_t>(plan.precision.activations().bytes());
    exchanged = lookups * static_cast<std::int64_t>(recommender->pooled) * 8 +
                2 * lookups * static_cast<std::int64_t>(recommender->width) * activation;
    EXPECT_EQ(volumes[CollectiveType::all_to_all].ops, has_replicas ? 3 * plan.microbatches() : 0) << what;
  }
  EXPECT_EQ(volumes[CollectiveType::all_to_all].bytes, has_replicas ? exchanged : 0) << what;
}

}  // namespace

TEST(BlockWorkload, HasTheBytesAndUpdatesOfTheClosedForm) {
  const std::vector<std::pair<Settings, std::uint64_t>> plans = {
      {{}, 1},
      {{}, 8},
      {{"zero_stage=1"}, 8},
      {{"zero_stage=1", "overlap_parameters=false", "overlap_gradients=false"}, 8},
      {{"zero_stage=2", "microbatch=1024"}, 8},
      {{"zero_stage=2", "microbatch=1024", "gradient_bucket=1"}, 16},
      {{"microbatch=512", "gradient_bucket=500000"}, 32},
      {{"precision.kind=ALL_BF16"}, 8},
      {{"precision.kind=MEGATRON_BF16", "zero_stage=1"}, 8},
      {{"precision.reduced_gradients=FP16"}, 8},
  };
  for (const std::string model_name : {"dlrm_mlperf", "dhen", "unet"}) {
    const ModelDescription model = load_model(model_name, place);
    for (const auto& [settings, gpus] : plans)
      expect_closed_form(model, plan_of(model, "dlrm_nvidia", settings, gpus), model_name + " " + joined(settings));
  }
}

// 8 ranks have 8,192 samples each, a sample 26 embeddings of 128 elements of 2 bytes; gradients of
// dense layers are in FP32.
TEST(BlockWorkload, OfMlperfsDlrmInNumbers) {
  const ModelDescription model = load_model("dlrm_mlperf", place);
  const Workload workload = workload_of(model, plan_of(model, "dlrm_nvidia", {}, 8));
  EXPECT_EQ(workload.rank_count, 8U);
  EXPECT_EQ(workload.roles.size(), 1U);
  const RoleDag& dag = workload.roles.front();
  EXPECT_EQ(op_named(dag, "fwd.0.embeddings").bytes, Bytes::of(8192LL * 26 * 128 * 2));
  EXPECT_EQ(op_named(dag, "bwd.0.embeddings").bytes, Bytes::of(8192LL * 26 * 128 * 2));
  EXPECT_EQ(op_named(dag, "fwd.0.indices").bytes, Bytes::of(8192LL * 26 * 8));
  const auto layer = [](std::int64_t from, std::int64_t to) { return (from + 1) * to; };
  const std::int64_t bottom = layer(13, 512) + layer(512, 256) + layer(256, 128);
  // 27 x 26 / 2 products and the dense vector.
  const std::int64_t top = layer(351 + 128, 1024) + layer(1024, 1024) + layer(1024, 512) + layer(512, 256) + layer(256, 1);
  EXPECT_EQ(op_named(dag, "grads.bottom_0-top_4").bytes, Bytes::of(4 * (bottom + top)));
}

TEST(BlockWorkload, LooksUpBesideDenseLayers) {
  const ModelDescription model = load_model("dlrm_mlperf", place);
  const Workload workload = workload_of(model, plan_of(model, "dlrm_nvidia", {"microbatch=4096"}, 8));
  const RoleDag& dag = workload.roles.front();
  const auto stream = [&](const char* name) { return op_named(dag, name).stream; };
  EXPECT_NE(stream("fwd.0.lookup"), stream("fwd.0.bottom_0"));
  EXPECT_FALSE(follows(dag, "fwd.0.bottom_2", "fwd.0.indices"));
  EXPECT_TRUE(follows(dag, "fwd.0.interaction", "fwd.0.embeddings"));
  EXPECT_TRUE(follows(dag, "fwd.0.interaction", "fwd.0.bottom_2"));
  EXPECT_TRUE(follows(dag, "bwd.0.lookup", "bwd.0.embeddings"));
  EXPECT_FALSE(follows(dag, "bwd.0.bottom_0", "bwd.0.embeddings"));
  // The second microbatch looks up what the first has updated.
  EXPECT_TRUE(follows(dag, "fwd.1.lookup", "bwd.0.lookup"));
  EXPECT_TRUE(follows(dag, "fwd.1.bottom_0", "bwd.0.bottom_0"));
  EXPECT_TRUE(follows(dag, "optimizer", "bwd.1.lookup"));
  EXPECT_TRUE(follows(dag, "optimizer", "grads.bottom_0-top_4"));
}

TEST(BlockWorkload, ReducesGradientsBesideBackwardOfTheLastMicrobatch) {
  const ModelDescription model = load_model("unet", place);
  const Settings settings = {"gradient_bucket=1"};
  const Workload workload = workload_of(model, plan_of(model, "unet_nvidia", settings, 4));
  const RoleDag& dag = workload.roles.front();
  EXPECT_TRUE(follows(dag, "grads.decoder_0", "bwd.1.decoder_0"));
  EXPECT_FALSE(follows(dag, "grads.decoder_0", "bwd.1.decoder_1"));
  EXPECT_FALSE(follows(dag, "bwd.1.encoder_0", "grads.decoder_0"));
  // encoder_3 goes back when both that read it have.
  EXPECT_TRUE(follows(dag, "bwd.0.encoder_3", "bwd.0.encoder_4"));
  EXPECT_TRUE(follows(dag, "bwd.0.encoder_3", "bwd.0.decoder_3"));
  const Workload after = workload_of(model, plan_of(model, "unet_nvidia", {"gradient_bucket=1", "overlap_gradients=false"}, 4));
  EXPECT_TRUE(follows(after.roles.front(), "grads.decoder_0", "bwd.1.encoder_0"));
}

TEST(BlockWorkload, GathersParametersBeforeTheirFirstUse) {
  const ModelDescription model = load_model("unet", place);
  const Settings settings = {"zero_stage=1", "gradient_bucket=1"};
  const Workload workload = workload_of(model, plan_of(model, "unet_nvidia", settings, 4));
  const RoleDag& dag = workload.roles.front();
  EXPECT_TRUE(follows(dag, "fwd.0.encoder_0", "params.encoder_0"));
  EXPECT_FALSE(follows(dag, "fwd.0.encoder_0", "params.encoder_1"));
  EXPECT_TRUE(follows(dag, "fwd.0.encoder_1", "params.encoder_1"));
  const Workload after =
      workload_of(model, plan_of(model, "unet_nvidia", {"zero_stage=1", "gradient_bucket=1", "overlap_parameters=false"}, 4));
  EXPECT_TRUE(follows(after.roles.front(), "params.encoder_0", "optimizer"));
}

TEST(BlockWorkload, OfRandomModelsAndPlansIsValidOrRefused) {
  std::mt19937 random(35);
  const auto pick = [&](const std::vector<std::string>& values) { return values[random() % values.size()]; };
  const auto number = [&](std::uint32_t most) { return std::to_string(1 + random() % most); };
  int tried = 0;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    if (i % 3 == 0) {
      text = "unet { image: " + pick({"16", "48", "64", "100"}) + " base_channels: " + number(70) + " levels: " + number(5) +
             " classes: " + number(9) + " batch_norm: " + pick({"true", "false"}) + " }";
    } else {
      const std::string width = number(40);
      text = "recommender { width: " + width + " pooled: " + number(30) + " bottom: [ " + number(20) + ", " + number(50) + ", " +
             width + " ] top: [ " + number(60) + ", 1 ]";
      for (std::uint32_t table = 0; table <= random() % 9; ++table) text += " table_rows: " + number(1'000'000);
      for (std::uint32_t layer = 0; i % 3 == 2 && layer <= random() % 3; ++layer) {
        text += " layer { outputs: " + number(12);
        for (std::uint32_t module = 0; module <= random() % 3; ++module)
          text += " module: " + pick({"DOT_PRODUCT", "LINEAR", "CROSS", "SELF_ATTENTION"});
        text += " }";
      }
      text += " }";
    }
    const Settings settings = {
        "zero_stage=" + pick({"0", "1", "2", "3"}),
        "microbatch=" + pick({"0", "1", "2", "3"}),
        "global_batch=" + pick({"24", "48", "96"}),
        "overlap_gradients=" + pick({"true", "false"}),
        "overlap_parameters=" + pick({"true", "false"}),
        "gradient_bucket=" + pick({"0", "1", "1000", "100000"}),
        "precision.kind=" + pick({"ALL_FP32", "ALL_BF16", "AMP_FP16", "MEGATRON_BF16", "MEGATRON_FP8"}),
    };
    const std::string what = text + " " + joined(settings);
    const std::string refusal = errors_of([&] {
      const ModelDescription model = read_model(SourceText("test", text));
      const ParallelPlan plan = plan_of(model, "dlrm_nvidia", settings, std::stoull(pick({"1", "2", "3", "4", "8", "12"})));
      expect_closed_form(model, plan, what);
      ++tried;
    });
    const bool names_rule =
        refusal.empty() || refusal.find("[bad-plan]") != std::string::npos || refusal.find("[bad-model]") != std::string::npos;
    EXPECT_TRUE(names_rule) << what << ": " << refusal;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tried, 100);
}

TEST(BlockWorkload, RefusesWhatIsTooLarge) {
  const ModelDescription model = load_model("unet", place);
  EXPECT_HAS(errors_of([&] {
               workload_of(model, plan_of(model, "unet_nvidia", {"microbatch=1", "global_batch=4000000000"}, 8));
             }),
             "an iteration would have about 500000000 microbatches of 27 ops [too-large]");
  const OperatorClock slow = [](const Operator&, OperatorPass) { return Duration::s(86400 * 300); };
  EXPECT_HAS(errors_of([&] { workload_of(model, plan_of(model, "unet_nvidia", {}, 8), slow); }),
             "a computation would take more than 31536000s [too-large]");
}

}  // namespace weft::block_workload_test
