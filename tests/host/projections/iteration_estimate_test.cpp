// SPDX-License-Identifier: Apache-2.0
// Iteration estimate: small plans by hand, and what holds for all plans.
#include "host/projections/iteration_estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tests/host/projections/small_training.hpp"
#include "workloads/plans/plan_units.hpp"

namespace weft::iteration_estimate_test {
namespace {

const SourcePlace place = SourcePlace::named("test");

/// Every operator takes 10 us, the optimizer 1 ms.
Duration ten_us(const Operator& op, OperatorPass) {
  return std::holds_alternative<OptimizerStep>(op.shape) ? Duration::ms(1) : Duration::us(10);
}

/// Every collective takes so long, every message as well.
AxisClock constant_network(Duration collective, Duration message) {
  return {[collective](PlanAxis, CollectiveType, Bytes) { return collective; }, [message](PlanAxis, Bytes) { return message; }};
}

AxisClock free_network() { return constant_network(Duration::zero(), Duration::zero()); }

ExplainedIteration explained(const TransformerModel& model, const ParallelPlan& plan, const AxisClock& network) {
  return explain_iteration(model, plan, pipeline_order(model, plan, ten_us, place), ten_us, network);
}

Duration sum_of_parts(const IterationEstimate& one) {
  return one.compute + one.communication + one.pipeline + one.gradients + one.parameters + one.optimizer;
}

const AxisTime& axis(const IterationEstimate& estimate, PlanAxis axis) { return estimate.axes[static_cast<std::size_t>(axis)]; }

Duration compute_of(const PartPasses& part) {
  return cost_of(part.forward, ten_us, free_network()).compute + cost_of(part.backward, ten_us, free_network()).compute;
}

/// Of a microbatch in all layers.
Duration compute_of_all(const TransformerModel& model, const ParallelPlan& plan) {
  const TrainingSteps steps(model, plan);
  return compute_of(steps.input()) + compute_of(steps.output()) +
         compute_of(steps.layer(false)) * static_cast<std::int64_t>(model.layers);
}

// One GPU: 16 microbatches, one after the other, and the optimizer.
TEST(IterationEstimate, OneGpuComputes) {
  const TransformerModel model = small_training::model(4);
  const ParallelPlan plan = small_training::plan(model, {"tensor_parallel=1", "pipeline_parallel=1", "data_parallel=1"});
  const IterationEstimate estimate = estimate_iteration(model, plan, ten_us, free_network(), place);
  EXPECT_EQ(estimate.compute, compute_of_all(model, plan) * 16);
  EXPECT_EQ(estimate.optimizer, Duration::ms(1));
  EXPECT_EQ(estimate.iteration, estimate.compute + Duration::ms(1));
}

// TP 2 without sequence parallelism: two sums in each direction of a layer, one behind the
// embedding, one of the output layer's gradient and three of the loss. Backward ones go beside
// gradients of weights (10 us each), so that 20 us of the 30 remain.
TEST(IterationEstimate, TensorSums) {
  const TransformerModel model = small_training::model(4);
  const ParallelPlan plan = small_training::plan(model, {"pipeline_parallel=1", "data_parallel=1"});
  const AxisClock network = constant_network(Duration::us(30), Duration::zero());
  const IterationEstimate estimate = estimate_iteration(model, plan, ten_us, network, place);
  const std::int64_t microbatches = 16;
  EXPECT_EQ(axis(estimate, PlanAxis::tensor).busy, Duration::us(30) * (4 * 4 + 1 + 1 + 3) * microbatches);
  const Duration hidden = Duration::us(10) * (2 * 4 + 1) * microbatches;
  EXPECT_EQ(axis(estimate, PlanAxis::tensor).exposed, axis(estimate, PlanAxis::tensor).busy - hidden);
  EXPECT_EQ(estimate.communication, axis(estimate, PlanAxis::tensor).exposed);
  // The norm of the gradients is added up among both.
  EXPECT_EQ(axis(estimate, PlanAxis::world).exposed, Duration::us(30));
  EXPECT_EQ(estimate.optimizer, Duration::ms(1) + Duration::us(30));
}

// PP 4 without communication: the first stage waits for (P - 1) passes of the others.
TEST(IterationEstimate, TheBubbleIsOfTheOtherStages) {
  const TransformerModel model = small_training::model(8);
  const ParallelPlan plan = small_training::plan(model, {"tensor_parallel=1", "data_parallel=1", "global_batch=8"});
  const IterationEstimate estimate = estimate_iteration(model, plan, ten_us, free_network(), place);
  const TrainingSteps steps(model, plan);
  const Duration layers = compute_of(steps.layer(false)) * 2;
  EXPECT_EQ(estimate.stage, compute_of(steps.input()) > compute_of(steps.output()) ? 0U : 3U);
  // Beside the steady state of the longest stage stand the first passes of the others.
  EXPECT_GE(estimate.pipeline, layers * 3);
  EXPECT_LE(estimate.pipeline, layers * 3 + compute_of(steps.input()) + compute_of(steps.output()));
}

// DP 2, ZeRO 0, no overlap: one bucket of everything is reduced behind the last pass.
TEST(IterationEstimate, GradientsComeAfterTheLastPass) {
  const TransformerModel model = small_training::model(4);
  const std::vector<std::string> base = {"tensor_parallel=1", "pipeline_parallel=1", "data_parallel=2"};
  std::vector<std::string> apart = base;
  apart.emplace_back("overlap_gradients=false");
  const ParallelPlan plan = small_training::plan(model, apart);
  const AxisClock network = constant_network(Duration::us(700), Duration::zero());
  const ExplainedIteration iteration = explained(model, plan, network);
  EXPECT_EQ(iteration.estimate.gradients, Duration::us(700));
  ASSERT_EQ(iteration.communication.size(), 2U);
  EXPECT_EQ(iteration.communication[0].purpose, "gradients");
  EXPECT_EQ(iteration.communication[0].what, "all_reduce");
  EXPECT_EQ(iteration.communication[0].count, 1U);
  EXPECT_EQ(iteration.communication[0].exposed, Duration::us(700));
  EXPECT_EQ(iteration.communication[1].axis, PlanAxis::world);
  // Overlapped, with a bucket for each layer: the embedding's gradient takes 10 us beside the first
  // layer's 20 us of reduction, and is reduced for 20 us after that.
  std::vector<std::string> small_buckets = base;
  small_buckets.emplace_back("gradient_bucket=1");
  const ParallelPlan overlapped = small_training::plan(model, small_buckets);
  const ExplainedIteration beside = explained(model, overlapped, constant_network(Duration::us(20), Duration::zero()));
  EXPECT_EQ(beside.communication[0].count, 4U + 2);
  EXPECT_EQ(beside.communication[0].busy, Duration::us(20) * 6);
  EXPECT_EQ(beside.communication[0].exposed, Duration::us(30));
  EXPECT_EQ(beside.estimate.gradients, Duration::us(30));
}

// Two stages and one microbatch: messages forward and backward, both in the way of the step.
TEST(IterationEstimate, MessagesOfOneMicrobatchAreExposed) {
  const TransformerModel model = small_training::model(4);
  const ParallelPlan plan =
      small_training::plan(model, {"tensor_parallel=1", "pipeline_parallel=2", "data_parallel=1", "global_batch=1"});
  const ExplainedIteration iteration = explained(model, plan, constant_network(Duration::zero(), Duration::us(50)));
  const CommunicationCost& row = iteration.communication.front();
  EXPECT_EQ(row.axis, PlanAxis::pipeline);
  EXPECT_EQ(row.count, 1U);  // a stage sends in one direction
  EXPECT_EQ(row.each(), Duration::us(50));
  EXPECT_EQ(row.exposed, Duration::us(100));
}

// PP 2, TP 2, one microbatch: what a stage receives in two parts it gathers, the only gather that
// there is without sequence parallelism.
TEST(IterationEstimate, ReceivedPartsAreGathered) {
  const TransformerModel model = small_training::model(4);
  const ParallelPlan plan =
      small_training::plan(model, {"pipeline_parallel=2", "data_parallel=1", "global_batch=3", "scatter_between_stages=true"});
  const ExplainedIteration iteration = explained(model, plan, constant_network(Duration::us(20), Duration::us(1)));
  std::uint64_t gathers = 0;
  for (const CommunicationCost& row : iteration.communication) {
    if (row.what != "all_gather") continue;
    EXPECT_EQ(row.axis, PlanAxis::tensor);
    EXPECT_EQ(row.purpose, "activations");
    // Half of 128 tokens of 64 numbers, of two bytes each.
    EXPECT_EQ(row.each_bytes(), Bytes::of(128 * 64));
    gathers += row.count;
  }
  EXPECT_EQ(gathers, 3U);  // a stage of two receives in one direction
}

// PP 2 with tied weights: when both stages have their gradients, they add up those of 1,024 words
// of 64 numbers.
TEST(IterationEstimate, TiedWeightsHaveAnAxisOfTheirOwn) {
  TransformerModel model = small_training::model(4);
  model.tied_embeddings = true;
  const ParallelPlan plan = small_training::plan(model, {"tensor_parallel=1", "pipeline_parallel=2"});
  const ExplainedIteration iteration = explained(model, plan, constant_network(Duration::us(70), Duration::zero()));
  EXPECT_EQ(axis(iteration.estimate, PlanAxis::embedding).busy, Duration::us(70));
  EXPECT_EQ(axis(iteration.estimate, PlanAxis::embedding).exposed, Duration::us(70));
  EXPECT_EQ(axis(iteration.estimate, PlanAxis::replicas).exposed, iteration.estimate.gradients - Duration::us(70));
  const auto row = std::ranges::find(iteration.communication, PlanAxis::embedding, &CommunicationCost::axis);
  ASSERT_NE(row, iteration.communication.end());
  EXPECT_EQ(row->bytes, Bytes::of(std::int64_t{1024} * 64 * 4));
  // A stage between that computes longest has none of them, and waits all the same.
  model.layers = 10;
  const ParallelPlan between = small_training::plan(
      model, {"tensor_parallel=1", "pipeline_parallel=4", "data_parallel=1", "first_stage_layers=1", "last_stage_layers=1"});
  const ExplainedIteration waits = explained(model, between, constant_network(Duration::us(70), Duration::zero()));
  EXPECT_TRUE(waits.estimate.stage == 1 || waits.estimate.stage == 2) << waits.estimate.stage;
  EXPECT_EQ(waits.estimate.gradients, Duration::us(70));
  EXPECT_EQ(axis(waits.estimate, PlanAxis::embedding).exposed, Duration::us(70));
  EXPECT_EQ(axis(waits.estimate, PlanAxis::embedding).busy, Duration::zero());
}

// ZeRO 3, whose gathers are in the way of every unit: the weights' pass of a split backward needs
// none and its gradients are scattered behind it, so that splitting makes no difference to the sum.
TEST(IterationEstimate, ShardedParametersOfASplitBackward) {
  const TransformerModel model = small_training::model(8);
  std::vector<std::string> settings = {"tensor_parallel=1", "zero_stage=3", "gradient_bucket=1"};
  const AxisClock network = constant_network(Duration::ms(1), Duration::zero());
  const auto replicas = [&](const char* schedule) {
    std::vector<std::string> all = settings;
    all.push_back(std::string("schedule=") + schedule);
    return axis(explained(model, small_training::plan(model, all), network).estimate, PlanAxis::replicas);
  };
  const AxisTime whole = replicas("1f1b");
  const AxisTime split = replicas("zb_h1");
  EXPECT_EQ(split.busy, whole.busy);
  EXPECT_LE(split.exposed, split.busy);
  EXPECT_LE(whole.exposed, whole.busy);
}

// Uneven experts: rows say what the rank with the largest load sends.
TEST(IterationEstimate, RowsOfUnevenExpertsGoByTheLargestLoad) {
  TransformerModel model = small_training::model(4);
  model.experts = ExpertBlock{.count = 4, .top_k = 1, .width = 256, .load_shares = {}};
  const auto sent = [&](std::vector<double> shares) {
    model.experts->load_shares = std::move(shares);
    const ParallelPlan plan =
        small_training::plan(model, {"tensor_parallel=1", "pipeline_parallel=1", "data_parallel=2", "expert_parallel=2"});
    Bytes sum;
    for (const CommunicationCost& row : explained(model, plan, free_network()).communication) {
      if (row.axis == PlanAxis::expert) sum += row.bytes;
    }
    return sum;
  };
  // Half of the tokens go to the first expert, so that the first rank has three fifths of them.
  const Bytes even = sent({});
  EXPECT_GT(even, Bytes::zero());
  EXPECT_NEAR(sent({0.5, 0.1, 0.2, 0.2}).count(), even.count() * 0.6 * 2, 64);
}

// --- All plans ---

std::vector<std::string> random_settings(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<const char*> choices) {
    return std::string(*(choices.begin() + static_cast<std::ptrdiff_t>(random() % choices.size())));
  };
  std::vector<std::string> settings = {
      "tensor_parallel=" + pick({"1", "2", "4"}),     "context_parallel=" + pick({"1", "2"}),
      "pipeline_parallel=" + pick({"1", "2", "4"}),   "data_parallel=" + pick({"1", "2"}),
      "zero_stage=" + pick({"0", "1", "2", "3"}),     "recompute.kind=" + pick({"KEEP", "SELECTIVE", "UNIFORM", "BLOCK"}),
      "overlap_gradients=" + pick({"true", "false"}), "overlap_parameters=" + pick({"true", "false"}),
      "overlap_pipeline=" + pick({"true", "false"}),  "gradient_bucket=" + pick({"1", "100000", "100000000"})};
  if (settings[0] != "tensor_parallel=1") {
    const bool shares_sequence = random() % 2 == 0;
    settings.emplace_back(shares_sequence ? "sequence_parallel=true" : "sequence_parallel=false");
    if (!shares_sequence) settings.push_back("scatter_between_stages=" + pick({"true", "false"}));
  }
  if (settings[2] == "pipeline_parallel=4")
    settings.push_back("schedule=" + pick({"1f1b", "gpipe", "zb_h1", "zbv", "interleaved_1f1b"}));
  if (settings.back() == "schedule=interleaved_1f1b") settings.emplace_back("virtual_pipeline=2");
  return settings;
}

/// Everything that any rank does, one after the other.
Duration serial_time(const TransformerModel& model, const ParallelPlan& plan, const AxisClock& network) {
  const TrainingSteps steps(model, plan);
  const auto microbatches = static_cast<std::int64_t>(plan.microbatches());
  const auto all_of = [&](const TrainingPass& pass) {
    const PassCost cost = cost_of(pass, ten_us, network);
    Duration sum = cost.compute;
    for (const AxisTime& one : cost.axes) sum += one.busy;
    return sum;
  };
  Duration sum;
  for (std::size_t position = 0; position < plan.positions(); ++position) {
    const std::vector<PlanUnit> units = units_of(model, plan, position);
    for (const PlanUnit& unit : units) {
      const PartPasses part = unit.kind == UnitKind::input    ? steps.input()
                              : unit.kind == UnitKind::output ? steps.output()
                                                              : steps.layer(unit.kind == UnitKind::expert_layer);
      const Duration backward = std::max(all_of(part.backward), all_of(part.backward_input) + all_of(part.backward_weight));
      sum += (all_of(part.forward) * 2 + backward) * microbatches;
    }
    for (const GradientBucket& bucket : buckets_of(units, plan)) {
      const PlanAxis replicas = bucket.is_expert ? PlanAxis::expert_replicas : PlanAxis::replicas;
      if (size_of(replicas, plan) == 1) continue;
      const Bytes size = checked_tensor_size(bucket.parameters, plan.precision.reduced_gradients);
      sum += network.collective(replicas, CollectiveType::all_reduce, size) * (3 * microbatches + 1);
    }
    sum += network.message(PlanAxis::pipeline, steps.pipeline_message()) * 2 * microbatches;
  }
  sum += network.collective(PlanAxis::world, CollectiveType::all_reduce, Bytes::of(4));
  return sum + Duration::ms(1);
}

TEST(IterationEstimate, BoundsOfRandomPlans) {
  std::mt19937 random(35);
  const TransformerModel model = small_training::model(8);
  int tried = 0;
  for (int round = 0; round < 300; ++round) {
    const std::vector<std::string> settings = random_settings(random);
    const AxisClock network = constant_network(Duration::us(static_cast<std::int64_t>(random() % 200)),
                                               Duration::us(static_cast<std::int64_t>(random() % 200)));
    std::string what;
    for (const std::string& setting : settings) what += setting + " ";
    ExplainedIteration iteration;
    ParallelPlan plan;
    try {
      plan = small_training::plan(model, settings);
      iteration = explained(model, plan, network);
    } catch (const InputError&) {
      continue;  // a plan that breaks a rule
    }
    ++tried;
    const IterationEstimate& estimate = iteration.estimate;
    EXPECT_EQ(sum_of_parts(estimate), estimate.iteration) << what;
    EXPECT_GE(estimate.iteration, estimate.compute + estimate.optimizer) << what;
    EXPECT_LE(estimate.iteration, serial_time(model, plan, network)) << what;
    for (const Duration part :
         {estimate.compute, estimate.communication, estimate.pipeline, estimate.gradients, estimate.parameters, estimate.optimizer})
      EXPECT_GE(part, Duration::zero()) << what;
    std::array<AxisTime, plan_axis_count> rows = {};
    for (const CommunicationCost& row : iteration.communication) {
      if (row.purpose != "activations" || row.axis == PlanAxis::pipeline) continue;
      EXPECT_LE(row.exposed, row.busy) << what;
      rows[static_cast<std::size_t>(row.axis)].busy += row.busy;
      rows[static_cast<std::size_t>(row.axis)].exposed += row.exposed;
    }
    for (const PlanAxis one : {PlanAxis::tensor, PlanAxis::context, PlanAxis::expert}) {
      SCOPED_TRACE(to_text(one));
      EXPECT_EQ(rows[static_cast<std::size_t>(one)].busy, axis(estimate, one).busy) << what;
      EXPECT_EQ(rows[static_cast<std::size_t>(one)].exposed, axis(estimate, one).exposed) << what;
    }
  }
  EXPECT_GT(tried, 150);
}

}  // namespace
}  // namespace weft::iteration_estimate_test
