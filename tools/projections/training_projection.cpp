// SPDX-License-Identifier: Apache-2.0
#include "tools/projections/training_projection.hpp"

#include <algorithm>
#include <memory>
#include <variant>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "host/projections/hardware_network.hpp"
#include "host/projections/model_operations.hpp"
#include "host/projections/plan_network.hpp"
#include "tools/projections/projected_cluster.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

namespace {

ProjectionColumn isolated_column(std::string name, const IterationEstimate& estimate) {
  ProjectionColumn column;
  column.name = std::move(name);
  column.iteration = estimate.iteration;
  const Duration norm = estimate.axes[static_cast<std::size_t>(PlanAxis::world)].exposed;
  column.exposed = estimate.communication + estimate.pipeline + estimate.gradients + estimate.parameters + norm;
  for (std::size_t i = 0; i < estimate.axes.size(); ++i) {
    const auto axis = static_cast<PlanAxis>(i);
    if (axis != PlanAxis::pipeline && estimate.axes[i].busy > Duration::zero())
      column.exposed_s.emplace_back(to_text(axis), estimate.axes[i].exposed.in_s());
  }
  if (estimate.pipeline > Duration::zero()) column.exposed_s.emplace_back(to_text(PlanAxis::pipeline), estimate.pipeline.in_s());
  return column;
}

ProjectionColumn simulated_column(std::string name, const SimulatedIteration& simulated) {
  ProjectionColumn column;
  column.name = std::move(name);
  column.iteration = simulated.iteration;
  column.exposed = simulated.exposed;
  column.exposed_s = simulated.exposed_s;
  column.blamed = simulated.blamed;
  column.ranks_simulated = simulated.ranks_simulated;
  return column;
}

class TrainingProjector {
 public:
  explicit TrainingProjector(const TrainingRequest& request)
      : request_(request),
        model_(request.model),
        plan_(request.plan),
        formula_(network_formula(request.cluster)),
        gpus_per_host_(static_cast<std::uint32_t>(request.cluster.topology->endpoints_of(HostId(0)).size())),
        clocks_(request.operators) {}

  TrainingProjection project() {
    describe();
    if (request_.benchmark) measure(*request_.benchmark);
    isolate();
    if (request_.simulates) simulate();
    estimate();
    if (request_.compares_nodes) compare_nodes();
    projection_.notes = request_.cluster.assumptions;
    return std::move(projection_);
  }

 private:
  void describe() {
    projection_.model = request_.name;
    projection_.plan = plan_text(plan_);
    projection_.gpus = plan_.ranks();
    projection_.gpus_per_host = gpus_per_host_;
    projection_.hosts_min = nodes_min(plan_, model_.experts.has_value(), gpus_per_host_, Arithmetic::physical);
    projection_.global_batch = plan_.global_batch;
    projection_.sequence = plan_.sequence;
    projection_.microbatches = plan_.microbatches();
    projection_.operations = model_operations(model_, plan_);
    if (request_.hardware) projection_.network = request_.hardware->name;
  }

  AxisClock network() { return request_.hardware ? hardware_clock(*request_.hardware, plan_) : axis_clock(formula_, plan_); }

  void measure(const BenchmarkRequest& benchmark) {
    if (benchmark.beside_clock)
      projection_.columns.push_back(
          isolated_column("isolated, calculated", estimate_iteration(model_, plan_, clocks_, network(), request_.place)));
    const ParallelPlan& reduced = benchmark.reduced.plan;
    if (reduced.ranks() > formula_.ranks_max()) {
      fail("other-plan", fmt::format("the benchmark ran on {}, and the cluster has fewer", counted(reduced.ranks(), "GPU", "GPUs")),
           benchmark.place);
    }
    MeasuredLayers layers =
        measured_layers(benchmark.layers, benchmark.reduced, request_.operators, axis_clock(formula_, reduced), benchmark.place);
    clocks_ = std::move(layers.clocks);
    projection_.bench = MeasuredBench{fmt::format("{} on {} ({})", benchmark.layers.model, benchmark.layers.gpu,
                                                  counted(benchmark.layers.world_size, "GPU", "GPUs")),
                                      benchmark.reduced.reductions, layers.measured, layers.calculated};
    projection_.compares_layers = benchmark.beside_clock;
  }

  void isolate() {
    const PipelineOrder order = pipeline_order(model_, plan_, clocks_, request_.place);
    ExplainedIteration explained = explain_iteration(model_, plan_, order, clocks_, network());
    const IterationEstimate& estimate = explained.estimate;
    const bool is_measured = request_.benchmark.has_value();
    projection_.columns.push_back(isolated_column(is_measured ? "isolated, measured" : "isolated", estimate));
    projection_.isolated = estimate.iteration;
    projection_.parts = {{"compute", estimate.compute},
                         {"communication in passes", estimate.communication},
                         {"pipeline: waits and messages", estimate.pipeline},
                         {"gradients after the last pass", estimate.gradients},
                         {"waits for parameters", estimate.parameters},
                         {"optimizer", estimate.optimizer}};
    projection_.communication = std::move(explained.communication);
  }

  void simulate() {
    const InsideAxes inside = inside_axes(formula_, model_, plan_);
    SimulationRequest simulation;
    simulation.name = request_.name;
    simulation.iterations = request_.iterations;
    simulation.workload = std::make_shared<const Workload>(make_training_workload(
        request_.name, model_, plan_, clocks_, request_.place, request_.combines_inside ? &inside : nullptr));
    projection_.columns.push_back(simulated_column("simulated", simulate_iteration(request_.cluster, simulation, request_.run)));
    const std::size_t neighbours = request_.cluster.jobs.size();
    if (neighbours == 0) return;
    simulation.with_neighbours = true;
    projection_.columns.push_back(simulated_column(fmt::format("with {}", counted(neighbours, "neighbour", "neighbours")),
                                                   simulate_iteration(request_.cluster, simulation, request_.run)));
  }

  // --- The literature ---

  const HardwareConfig& hardware() {
    if (!hardware_)
      hardware_ =
          request_.hardware ? *request_.hardware : hardware_of(*request_.cluster.topology, formula_, "messages on the cluster");
    return *hardware_;
  }

  /// Layers as they were timed, and the plan under which they were.
  std::pair<LayerTimes, const ParallelPlan*> timed() {
    if (request_.benchmark) return {projection_.bench->measured, &request_.benchmark->reduced.plan};
    return {timed_layers(model_, plan_, clocks_, hardware_clock(hardware(), plan_)), &plan_};
  }

  void estimate() {
    const EstimatorRequest& asked = request_.estimators;
    if (!asked.composition && !asked.precision && !asked.nodes) return;
    const AxisClock network_clock = network();
    const EstimatedPlan of{model_, plan_, clocks_, network_clock, hardware()};
    const auto add = [&](std::vector<LiteratureEstimate> more) {
      for (LiteratureEstimate& one : more) projection_.estimates.push_back(std::move(one));
    };
    if (asked.composition) add(composition_estimates(of, asked.components ? &*asked.components : nullptr, asked.place));
    if (asked.precision) add(precision_estimates(of));
    if (asked.nodes) {
      const auto [times, bench] = timed();
      add({nodes_estimate(of, *bench, times, request_.place)});
    }
  }

  void compare_nodes() {
    const auto [times, bench] = timed();
    const auto filled = filled_nodes(hardware(), plan_);
    if (const auto* rule = std::get_if<std::string>(&filled)) fail("bad-plan", *rule, request_.place);
    const auto& links = std::get<HardwareConfig>(filled);
    const std::uint64_t nodes = plan_.ranks() / links.gpus_per_node;
    const auto on_nodes = [&, &layers = times, &timed_plan = *bench](Arithmetic arithmetic) {
      auto found =
          project_on_nodes(model_, plan_, timed_plan, layers, links, {.nodes = nodes, .arithmetic = arithmetic}, request_.place);
      if (const auto* rule = std::get_if<std::string>(&found)) fail("bad-plan", *rule, request_.place);
      return std::get<NodeProjection>(std::move(found));
    };
    const std::uint64_t gpus = plan_.ranks();
    const auto ranks = [&](DataRankRule rule) { return data_ranks(rule, gpus, plan_); };
    const GradientSizes gradients = gradient_sizes(model_, plan_, Arithmetic::physical);
    projection_.nodes = NodesComparison{links,
                                        on_nodes(Arithmetic::as_published),
                                        on_nodes(Arithmetic::physical),
                                        {ranks(DataRankRule::memory), ranks(DataRankRule::performance), ranks(DataRankRule::gpus)},
                                        gradient_size_by_hidden(model_, plan_),
                                        gradients.dense + gradients.expert};
  }

  const TrainingRequest& request_;
  const TransformerModel& model_;
  const ParallelPlan& plan_;
  NetworkFormula formula_;
  std::uint32_t gpus_per_host_;
  PartClocks clocks_;
  std::optional<HardwareConfig> hardware_;
  TrainingProjection projection_;
};

}  // namespace

TrainingProjection project_training(const TrainingRequest& request) { return TrainingProjector(request).project(); }

std::string plan_text(const ParallelPlan& plan) {
  std::string text;
  const auto add = [&](const char* name, std::uint64_t size) {
    if (size > 1) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, size);
  };
  add("TP", plan.tensor);
  add("CP", plan.context);
  add("PP", plan.pipeline);
  if (plan.chunks > 1) text += fmt::format(" x {} chunks", plan.chunks);
  add("DP", plan.data);
  add("EP", plan.expert);
  add("ETP", plan.expert_tensor);
  if (text.empty()) return "one GPU";
  return plan.pipeline > 1 ? fmt::format("{}, {}", text, plan.schedule) : text;
}

}  // namespace weft
