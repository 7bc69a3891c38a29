// SPDX-License-Identifier: Apache-2.0
// Workloads of plans: bytes against the closed form, structure, and how passes wait for each other.
#include "workloads/plans/training_workload.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/text/diagnostics.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/plan_reader.hpp"
#include "workloads/plans/plan_volumes.hpp"
#include "workloads/plans/stage_program.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft::training_workload_test {

namespace {

const SourcePlace place = SourcePlace::named("test");

/// One tick per operation of a product, and a nanosecond for all else.
Duration count_operations(const Operator& op, OperatorPass pass) {
  const double operations = product_operations(op.shape, pass);
  return operations > 0.0 ? Duration::ticks(static_cast<std::int64_t>(operations / 1e3) + 1) : Duration::ns(1);
}

TransformerModel small_model() {
  return *read_model(SourceText("test", R"(transformer { layers: 6 hidden: 64 vocabulary: 1000 sequence: 128
    attention { heads: 8 key_value_heads: 4 } mlp { width: 192 activation: SWIGLU } norm: RMS_NORM
    positions { kind: ROTARY } })"))
              .transformer();
}

/// As presets name fields, without a file.
ParallelPlan small_plan(const TransformerModel& model, std::vector<std::string> settings, std::optional<std::uint64_t> gpus = {}) {
  settings.insert(settings.begin(), {"context_parallel=1", "global_batch=16"});
  return load_plan({.name = "llama3_8b_nemo", .overrides = std::move(settings), .gpus = gpus}, model, place);
}

Workload workload_of(const TransformerModel& model, const ParallelPlan& plan) {
  return make_training_workload("test", model, plan, count_operations, place);
}

using Volumes = std::map<std::tuple<std::string, OpKind, CollectiveType>, std::pair<std::uint64_t, std::int64_t>>;

/// By communicator, kind and type: ops and bytes of a role. The norm of gradients is left out.
Volumes volumes_of(const Workload& workload, std::size_t role) {
  Volumes sums;
  const RoleDag& dag = workload.roles[role];
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    const Op op = dag.op(OpId(i));
    if (op.kind == OpKind::compute || op.kind == OpKind::receive || op.communicator == 0) continue;
    const CollectiveType type = op.kind == OpKind::collective ? op.collective : CollectiveType::all_reduce;
    auto& [count, bytes] = sums[{workload.communicators[op.communicator].name(), op.kind, type}];
    ++count;
    bytes += op.bytes.count();
  }
  return sums;
}

Volumes closed_form(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage) {
  Volumes sums;
  for (const PlanVolume& volume : plan_volumes(model, plan, stage)) {
    sums[{std::string(to_text(volume.axis)), volume.kind, volume.type}] = {volume.count, volume.bytes.count()};
  }
  return sums;
}

std::set<std::string_view> names_of(const RoleDag& dag) {
  std::set<std::string_view> names;
  for (std::uint32_t i = 0; i < dag.size(); ++i) names.insert(dag.name(OpId(i)));
  return names;
}

void expect_closed_form(const TransformerModel& model, const ParallelPlan& plan, const std::string& what) {
  const Workload workload = workload_of(model, plan);
  Diagnostics diagnostics;
  check_workload(workload, place, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << what << ": " << diagnostics.all().front().to_text();
  ASSERT_EQ(workload.roles.size(), plan.pipeline) << what;
  for (const RoleDag& dag : workload.roles) EXPECT_EQ(names_of(dag).size(), dag.size()) << what;
  for (std::uint32_t stage = 0; stage < plan.pipeline; ++stage) {
    EXPECT_EQ(volumes_of(workload, stage), closed_form(model, plan, stage)) << what << ", stage " << stage;
  }
}

}  // namespace

// What follows each other on the GPU takes no less than the host needs to hand it over. Forward of
// a layer is one step here.
TEST(TrainingWorkload, HostsThatAreBehindHoldComputationUp) {
  const TransformerModel model = small_model();
  const ParallelPlan plan = small_plan(model, {}, 1);
  const TrainingPass forward = TrainingSteps(model, plan).layer(false).forward;
  ASSERT_EQ(forward.size(), 1U);
  const auto& step = std::get<ComputeStep>(forward.front().what);
  const auto operators = static_cast<std::int64_t>(step.operators.size());
  const auto kernels = [](const Operator&, OperatorPass) { return Duration::us(10); };
  EXPECT_EQ(time_of(step, OperatorClock(kernels)), Duration::us(10) * operators);
  EXPECT_EQ(time_of(step, OperatorClock(kernels, Duration::us(10))), Duration::us(10) * operators);
  EXPECT_EQ(time_of(step, OperatorClock(kernels, Duration::us(25))), Duration::us(25) * operators);
  // One long kernel gives the host time for all others.
  bool is_first = true;
  const auto one_long = [&](const Operator&, OperatorPass) {
    return std::exchange(is_first, false) ? Duration::ms(1) : Duration::us(10);
  };
  EXPECT_EQ(time_of(step, OperatorClock(one_long, Duration::us(25))), Duration::ms(1) + Duration::us(10) * (operators - 1));
}

TEST(TrainingWorkload, HasTheBytesOfTheClosedForm) {
  const TransformerModel llama = small_model();
  using Settings = std::vector<std::string>;
  const std::vector<std::pair<Settings, std::uint64_t>> plans = {
      {{}, 4},
      {{"tensor_parallel=4"}, 8},
      {{"tensor_parallel=4", "sequence_parallel=false"}, 8},
      {{"tensor_parallel=8"}, 8},
      {{"pipeline_parallel=3", "tensor_parallel=2"}, 12},
      {{"pipeline_parallel=3", "virtual_pipeline=2", "global_batch=12"}, 6},
      {{"pipeline_parallel=3", "tensor_parallel=4", "sequence_parallel=false", "scatter_between_stages=true"}, 12},
      {{"pipeline_parallel=3", "tensor_parallel=2", "sequence_parallel=false", "scatter_between_stages=true", "schedule=zbv"}, 6},
      {{"pipeline_parallel=3", "schedule=zb_h1"}, 6},
      {{"pipeline_parallel=3", "schedule=zbv"}, 6},
      {{"pipeline_parallel=3", "schedule=gpipe", "overlap_pipeline=true"}, 6},
      {{"context_parallel=4", "tensor_parallel=2"}, 16},
      {{"context_parallel=4", "context_exchange=GATHER"}, 8},
      {{"context_parallel=2", "context_exchange=HEADS", "tensor_parallel=4"}, 8},
      {{"zero_stage=0"}, 4},
      {{"zero_stage=2"}, 4},
      {{"zero_stage=3"}, 4},
      {{"zero_stage=3", "tensor_parallel=2", "pipeline_parallel=2"}, 8},
      {{"overlap_gradients=false", "overlap_parameters=false"}, 4},
      {{"gradient_bucket=60000"}, 4},
      {{"recompute.kind=UNIFORM", "recompute.layers=4", "tensor_parallel=2"}, 4},
      {{"recompute.kind=BLOCK", "recompute.layers=2", "tensor_parallel=2", "pipeline_parallel=3"}, 6},
      {{"recompute.kind=SELECTIVE", "fused_attention=false", "tensor_parallel=2"}, 4},
      {{"precision.kind=AMP_FP16"}, 4},
      {{"precision.kind=ALL_FP32", "tensor_parallel=2"}, 4},
      {{"precision.kind=MEGATRON_FP8", "tensor_parallel=2"}, 4},
  };
  for (const auto& [settings, gpus] : plans) {
    std::string what;
    for (const std::string& setting : settings) what += setting + " ";
    expect_closed_form(llama, small_plan(llama, settings, gpus), what);
  }
}

TEST(TrainingWorkload, HasTheBytesOfTheClosedFormWithExperts) {
  const TransformerModel model = *read_model(SourceText("test", R"(transformer { layers: 6 hidden: 64 vocabulary: 1000 sequence: 128
    attention { heads: 8 latent { query_rank: 24 key_value_rank: 16 key_width: 8 rotary_width: 4 value_width: 8 } }
    mlp { width: 192 activation: SWIGLU } experts { count: 8 top_k: 2 width: 96 shared_width: 96 first_dense_layers: 1 }
    norm: RMS_NORM positions { kind: ROTARY } tied_embeddings: true })"))
                                      .transformer();
  for (const std::vector<std::string>& settings : std::vector<std::vector<std::string>>{
           {"expert_parallel=8"},
           {"expert_parallel=4", "tensor_parallel=2"},
           {"expert_parallel=2", "expert_tensor_parallel=2", "tensor_parallel=2"},
           {"expert_parallel=4", "expert_tensor_parallel=2", "tensor_parallel=2", "context_parallel=2"},
           {"expert_parallel=4", "pipeline_parallel=2"},
           {"expert_parallel=2", "pipeline_parallel=3", "schedule=zb_h1", "tensor_parallel=2"},
           {"expert_parallel=4", "zero_stage=3"},
       }) {
    std::string what;
    for (const std::string& setting : settings) what += setting + " ";
    const std::uint64_t gpus = what.find("pipeline_parallel=3") != std::string::npos ? 12 : 16;
    expect_closed_form(model, small_plan(model, settings, gpus), what);
  }
}

// A vision transformer is a transformer: its sequence is the patches of an image and a class.
TEST(TrainingWorkload, HasTheBytesOfTheClosedFormOfImages) {
  const TransformerModel model = *load_model("vit_b16", place).transformer();
  using Settings = std::vector<std::string>;
  for (const Settings& settings :
       {Settings{}, Settings{"tensor_parallel=4", "sequence_parallel=false"}, Settings{"pipeline_parallel=3"},
        Settings{"zero_stage=0", "microbatch=2"}, Settings{"zero_stage=3", "precision.kind=AMP_BF16"}}) {
    std::string what;
    for (const std::string& setting : settings) what += setting + " ";
    expect_closed_form(model, small_plan(model, settings, what.find("pipeline_parallel=3") != std::string::npos ? 12 : 8), what);
  }
  // One rank updates every parameter: 12 layers, patches, positions, class and head.
  std::uint64_t updated = 0;
  const auto clock = [&](const Operator& op, OperatorPass) {
    if (const auto* step = std::get_if<OptimizerStep>(&op.shape)) updated += step->parameters;
    return Duration::ns(1);
  };
  make_training_workload("test", model, small_plan(model, {}, 1), OperatorClock(clock), place);
  EXPECT_EQ(updated, 86'567'656U);
}

TEST(TrainingWorkload, HasTheBytesOfTheClosedFormUnderRandomPlans) {
  const TransformerModel model = small_model();
  std::mt19937 random(35);
  const auto pick = [&](std::vector<std::string> values) { return values[random() % values.size()]; };
  int tried = 0;
  for (int i = 0; i < 120; ++i) {
    const std::string tensor = pick({"1", "2", "4", "8"});
    const std::string context = pick({"1", "2", "4"});
    const std::string pipeline = pick({"1", "2", "3", "6"});
    const std::vector<std::string> settings = {
        "tensor_parallel=" + tensor,
        "context_parallel=" + context,
        "pipeline_parallel=" + pipeline,
        "schedule=" + pick({"1f1b", "gpipe", "zb_h1", "zbv"}),
        "zero_stage=" + pick({"0", "1", "2", "3"}),
        "context_exchange=" + pick({"RING", "GATHER"}),
        "recompute.kind=" + pick({"KEEP", "SELECTIVE", "UNIFORM"}),
        "fused_attention=" + pick({"true", "false"}),
        "microbatch=" + pick({"1", "2"}),
        "overlap_gradients=" + pick({"true", "false"}),
        "overlap_parameters=" + pick({"true", "false"}),
        "gradient_bucket=" + pick({"1000", "50000", "10000000"}),
        "global_batch=32",
    };
    const std::uint64_t gpus = std::stoull(tensor) * std::stoull(context) * std::stoull(pipeline) * 2;
    ParallelPlan plan;
    try {
      plan = small_plan(model, settings, gpus);
      workload_of(model, plan);
    } catch (const InputError&) {
      continue;  // a rule of the plan or of its schedule
    }
    ++tried;
    std::string what;
    for (const std::string& setting : settings) what += setting + " ";
    expect_closed_form(model, plan, what);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tried, 60);
}

TEST(TrainingWorkload, SendsTokensByTheLoadsOfExperts) {
  const TransformerModel model = *read_model(SourceText("test", R"(transformer { layers: 2 hidden: 64 vocabulary: 1000 sequence: 128
    attention { heads: 8 } mlp { activation: SWIGLU } experts { count: 4 top_k: 2 width: 96 load { share: [ 5, 1, 1, 1 ] } }
    norm: RMS_NORM positions { kind: ROTARY } })"))
                                      .transformer();
  const ParallelPlan plan = small_plan(model, {"expert_parallel=4"}, 8);
  const Workload workload = workload_of(model, plan);
  Diagnostics diagnostics;
  check_workload(workload, place, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.all().front().to_text();
  // 128 tokens go to 2 experts each, 64 elements of 2 bytes; 5 of 8 to the first rank.
  constexpr std::int64_t sent = 128 * 2 * 64 * 2;
  ASSERT_EQ(workload.splits.size(), 2U);
  EXPECT_EQ(workload.splits[0].at(3, 0).count(), sent / 8 * 5);
  EXPECT_EQ(workload.splits[0].at(3, 1).count(), sent / 8);
  EXPECT_EQ(workload.splits[1].at(0, 3).count(), sent / 8 * 5);
  // Its experts take five times as long as others.
  ASSERT_EQ(workload.roles.size(), 4U);
  EXPECT_EQ(workload.role_of[0], 0);
  EXPECT_EQ(workload.role_of[5], 1);
  const auto time_of_experts = [&](std::size_t role) {
    const RoleDag& dag = workload.roles[role];
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      if (dag.name(OpId(i)) == "fwd.0.layer0.experts") return dag.op(OpId(i)).duration.in_ns();
    }
    return 0.0;
  };
  EXPECT_NEAR(time_of_experts(0) / time_of_experts(1), 5.0, 0.1);
}

TEST(TrainingWorkload, TakesTheTimeOfThePipelineWhereNothingIsSent) {
  // Each stage has equal layers and the ends cost what they cost; with free communication an
  // iteration's critical path is at least the schedule's of the middle stages.
  const TransformerModel model = small_model();
  const ParallelPlan plan = small_plan(model, {"pipeline_parallel=3", "global_batch=8"}, 3);
  const Workload workload = workload_of(model, plan);
  std::uint64_t passes = 0;
  const RoleDag& middle = workload.roles[1];
  std::set<std::string> units;
  for (std::uint32_t i = 0; i < middle.size(); ++i) {
    const std::string name(middle.name(OpId(i)));
    if (name.starts_with("fwd.") && middle.kind(OpId(i)) == OpKind::compute) ++passes;
    if (name.starts_with("bwd.7.layer")) units.insert(name.substr(6, 6));
  }
  EXPECT_EQ(units, (std::set<std::string>{"layer2", "layer3"}));
  EXPECT_GE(passes, 8U * 2);
}

TEST(TrainingWorkload, RefusesWhatIsTooLarge) {
  const TransformerModel model = small_model();
  try {
    workload_of(model, small_plan(model, {"global_batch=4000000", "tensor_parallel=8"}, 8));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "too-large");
  }
}

TEST(TrainingWorkload, NamesTheRuleThatAScheduleBreaks) {
  const TransformerModel model = small_model();
  try {
    workload_of(model, small_plan(model, {"pipeline_parallel=3", "virtual_pipeline=2", "global_batch=8"}, 3));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "bad-plan");
    EXPECT_NE(error.diagnostics().front().message.find("a multiple of the 3 stages"), std::string::npos) << error.what();
  }
}

}  // namespace weft::training_workload_test
