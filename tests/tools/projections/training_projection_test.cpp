// SPDX-License-Identifier: Apache-2.0
// Training projections: where nothing competes for links, the formula and the simulation agree; and
// what stays inside hosts may be combined.
#include "tools/projections/training_projection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "host/projections/plan_network.hpp"
#include "tests/tools/projections/projection_setup.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft::training_projection_test {
namespace {

using projection_setup::place;
using projection_setup::TestedPlan;

const ProjectionColumn& column(const TrainingProjection& projection, const std::string& name) {
  for (const ProjectionColumn& one : projection.columns) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << "no column " << name;
  return projection.columns.front();
}

double simulated_over_isolated(const TrainingProjection& projection) {
  return column(projection, "simulated").iteration.in_s() / column(projection, "isolated").iteration.in_s();
}

struct OneAxis {
  const char* what;
  const char* model;
  std::vector<std::string> settings;
  const char* server;
  double tolerance;
};

// One axis communicates, all its groups at a time, on links that no two groups share. Inside hosts
// the simulation takes the tuner's times, and messages of pipelines are alone in both: 0.1 %.
// Between hosts it moves the bytes of collectives' programs step by step, for a third of the
// iteration with experts and for more than half with context: 1.5 %. Of replicas the last bucket
// and the first gathers are all that is exposed, 13 % of the iteration: 1 %.
TEST(TrainingProjection, OneAxisAloneTakesWhatTheFormulaSays) {
  const OneAxis all[] = {
      {"tensor in a host", "llama3_8b", {"tensor_parallel=8", "data_parallel=1", "sequence_parallel=true"}, "hgx_h100", 0.001},
      {"context between hosts", "llama3_8b", {"context_parallel=8", "data_parallel=1"}, "gh200", 0.015},
      {"pipeline in a host", "llama3_8b", {"pipeline_parallel=8", "data_parallel=1"}, "hgx_h100", 0.001},
      {"pipeline between hosts", "llama3_8b", {"pipeline_parallel=8", "data_parallel=1"}, "gh200", 0.001},
      {"data in a host", "llama3_8b", {"data_parallel=8"}, "hgx_h100", 0.001},
      {"data between hosts", "llama3_8b", {"data_parallel=16"}, "hgx_h100", 0.01},
      {"experts in a host", "mixtral_8x7b", {"expert_parallel=8", "data_parallel=8"}, "hgx_h100", 0.002},
      {"experts between hosts", "mixtral_8x7b", {"expert_parallel=8", "data_parallel=8"}, "gh200", 0.015}};
  for (const OneAxis& one : all) {
    const TestedPlan tested(one.model, 8, one.settings, one.server);
    EXPECT_NEAR(simulated_over_isolated(tested.projection()), 1, one.tolerance) << one.what;
  }
}

// 8B as NeMo trains it on 8 H100, all layers: within half a per cent.
TEST(TrainingProjection, EightGpusOfOneHostAreAsTheFormulaSays) {
  const TestedPlan tested("llama3_8b", 32, {"context_parallel=2", "global_batch=32", "data_parallel=4", "sequence=8192"},
                          "hgx_h100");
  EXPECT_NEAR(simulated_over_isolated(tested.projection()), 1, 0.005);
}

const std::vector<std::vector<std::string>>& mixed_plans() {
  static const std::vector<std::vector<std::string>> plans = {
      {"tensor_parallel=4", "sequence_parallel=true", "pipeline_parallel=2", "data_parallel=2"},
      {"tensor_parallel=2", "context_parallel=2", "pipeline_parallel=2", "virtual_pipeline=2", "data_parallel=2"},
      {"tensor_parallel=8", "sequence_parallel=true", "data_parallel=2", "zero_stage=2"},
      {"tensor_parallel=4", "pipeline_parallel=4", "data_parallel=1", "schedule=zb_h1"},
      {"tensor_parallel=2", "sequence_parallel=true", "data_parallel=8", "zero_stage=3"},
      {"context_parallel=4", "data_parallel=4", "recompute.kind=UNIFORM"}};
  return plans;
}

std::string text_of(const std::vector<std::string>& settings) {
  std::string text;
  for (const std::string& setting : settings) text += setting + " ";
  return text;
}

// Combined steps take what the formula says, others what they take on the network: within 1.5 %.
// What ZeRO 3 gathers shares NVLink with tensor parallelism, which combined steps do not know.
TEST(TrainingProjection, WhatStaysInsideMayBeCombined) {
  for (const std::vector<std::string>& settings : mixed_plans()) {
    const TestedPlan tested("llama3_8b", 8, settings, "hgx_h100");
    TrainingRequest request = tested.request();
    const Duration whole = column(project_training(request), "simulated").iteration;
    request.combines_inside = true;
    const Duration combined = column(project_training(request), "simulated").iteration;
    const bool gathers = std::ranges::find(settings, "zero_stage=3") != settings.end();
    EXPECT_NEAR(combined.in_s() / whole.in_s(), 1, gathers ? 0.03 : 0.015) << text_of(settings);
  }
}

using BytesByCommunicator = std::map<std::string, std::int64_t>;

/// What all roles hand to the network; receives say again what was sent.
BytesByCommunicator bytes_of(const Workload& workload) {
  BytesByCommunicator sums;
  for (const RoleDag& role : workload.roles) {
    for (std::uint32_t i = 0; i < role.size(); ++i) {
      const Op op = role.op(OpId(i));
      if (op.kind == OpKind::collective || op.kind == OpKind::send)
        sums[std::string(workload.communicators[op.communicator].name())] += op.bytes.count();
    }
  }
  return sums;
}

// Combining takes nothing away from what goes between hosts.
TEST(TrainingProjection, CombinedWorkloadsMoveTheSameBetweenHosts) {
  for (const std::vector<std::string>& settings : mixed_plans()) {
    const TestedPlan tested("llama3_8b", 8, settings, "hgx_h100");
    NetworkFormula formula(*tested.cluster.topology, tested.cluster.parameters.of("nccl"),
                           FlowSettings(tested.cluster.parameters.of("flow"), 1));
    const InsideAxes inside = inside_axes(formula, tested.model, tested.plan);
    const auto made = [&](const InsideAxes* what) {
      return bytes_of(make_training_workload("test", tested.model, tested.plan, tested.clock, place(), what));
    };
    const BytesByCommunicator whole = made(nullptr);
    const BytesByCommunicator combined = made(&inside);
    for (const auto& [name, bytes] : whole) {
      const bool stays = (name == "tp" && inside.is_inside[static_cast<std::size_t>(PlanAxis::tensor)]) ||
                         (name == "cp" && inside.is_inside[static_cast<std::size_t>(PlanAxis::context)]);
      EXPECT_EQ(combined.contains(name) ? combined.at(name) : 0, stays ? 0 : bytes) << name << " of " << text_of(settings);
    }
  }
}

// What is told of the isolated column adds up to it.
TEST(TrainingProjection, PartsAddUp) {
  const TestedPlan tested("llama3_8b", 8, mixed_plans().front(), "hgx_h100");
  TrainingRequest request = tested.request();
  request.simulates = false;
  const TrainingProjection projection = project_training(request);
  ASSERT_EQ(projection.columns.size(), 1U);
  Duration sum;
  for (const auto& [name, time] : projection.parts) sum += time;
  EXPECT_EQ(sum, projection.isolated);
  EXPECT_EQ(projection.isolated, projection.columns.front().iteration);
  EXPECT_EQ(projection.hosts_min, 1U);  // TP 4 x PP 2
  EXPECT_EQ(projection.gpus, 16U);
  EXPECT_EQ(projection.plan, "TP 4, PP 2, DP 2, 1f1b");
}

// A benchmark that took twice as long as the clock says: computation takes twice as long, and the
// clock's own column stays.
TEST(TrainingProjection, MeasuredLayersHaveTheirOwnColumns) {
  const TestedPlan tested("llama3_8b", 8, {"data_parallel=8"}, "hgx_h100");
  TrainingRequest request = tested.request();
  request.simulates = false;
  const TrainingProjection calculated = project_training(request);
  const auto reduced = std::get<ReducedPlan>(reduced_plan(tested.model, tested.plan, {.gpus = 1}));
  LayerBenchmark layers = planned_benchmark("test", reduced);
  const AxisClock nothing = {[](PlanAxis, CollectiveType, Bytes) { return Duration::zero(); },
                             [](PlanAxis, Bytes) { return Duration::zero(); }};
  const LayerTimes times = timed_layers(reduced.model, reduced.plan, tested.clock, nothing);
  const auto measure = [&](BenchmarkLayer layer, const PartTimes& part) {
    layers.layers[static_cast<std::size_t>(layer)] = MeasuredLayer{1, part.forward * 2, part.backward * 2, {}};
  };
  measure(BenchmarkLayer::dense, times.dense_layer);
  measure(BenchmarkLayer::embedding, times.input);
  measure(BenchmarkLayer::output, times.output);
  request.benchmark = BenchmarkRequest{layers, reduced, place(), true};
  const TrainingProjection both = project_training(request);
  EXPECT_EQ(column(both, "isolated, calculated").iteration, calculated.isolated);
  EXPECT_NEAR(both.parts.front().second.in_s(), calculated.parts.front().second.in_s() * 2, 1e-6);
  ASSERT_TRUE(both.bench);
  EXPECT_EQ(both.bench->measured.dense_layer.forward, times.dense_layer.forward * 2);
  EXPECT_EQ(both.bench->calculated.dense_layer.forward, times.dense_layer.forward);
}

// Links of the hardware configuration count for the isolated column alone.
TEST(TrainingProjection, HardwareConfigurationReplacesTheFormula) {
  const TestedPlan tested("llama3_8b", 8, {"data_parallel=16", "overlap_gradients=false"}, "hgx_h100");
  TrainingRequest request = tested.request();
  const TrainingProjection on_cluster = project_training(request);
  request.hardware = HardwareConfig{.name = "slow",
                                    .origin = {},
                                    .inside = {Bandwidth::gbps(100), Duration::us(1), 1.0},
                                    .between = {Bandwidth::gbps(10), Duration::us(10), 1.0},
                                    .message_overhead = {}};
  const TrainingProjection slow = project_training(request);
  EXPECT_GT(slow.isolated, on_cluster.isolated * 2);
  EXPECT_EQ(column(slow, "simulated").iteration, column(on_cluster, "simulated").iteration);
  EXPECT_EQ(slow.network, "slow");
}

}  // namespace
}  // namespace weft::training_projection_test
