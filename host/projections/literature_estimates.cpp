// SPDX-License-Identifier: Apache-2.0
#include "host/projections/literature_estimates.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "host/projections/gpu_subgraphs.hpp"
#include "host/projections/precision_estimate.hpp"
#include "workloads/plans/held_parameters.hpp"
#include "workloads/plans/pass_cost.hpp"

namespace weft {

namespace {

constexpr double us_per_s = 1e6;

Duration from_us(double us) { return Duration::from_seconds(us / us_per_s); }

std::vector<std::uint64_t> layers_of_plan(const ParallelPlan& plan) {
  std::vector<std::uint64_t> layers(plan.pipeline);
  for (std::uint32_t stage = 0; stage < plan.pipeline; ++stage) {
    for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk)
      layers[stage] += plan.layout[position_of(pipeline_sizes(plan), plan.placement, stage, chunk)].count;
  }
  return layers;
}

std::uint64_t recomputed_of_plan(const ParallelPlan& plan) {
  std::uint64_t layers = 0;
  for (const LayerRange& range : plan.layout) layers += recomputed_layers(plan, range);
  return layers;
}

StageUpdate update_of(const EstimatedPlan& of, std::uint32_t stage, Arithmetic arithmetic) {
  const ParallelPlan& plan = of.plan;
  const std::uint64_t parameters = held_by_stage(of.model, plan, stage).all();
  const std::uint64_t ranks = plan.replicas();
  const std::uint64_t share = plan.shards_optimizer() ? (parameters + ranks - 1) / ranks : parameters;
  const bool scatters = plan.shards_optimizer() && arithmetic == Arithmetic::physical;
  StageUpdate update;
  const OperatorClock& clock = of.operators.all();
  update.optimizer_us = clock(TrainingSteps(of.model, plan).optimizer(share), OperatorPass::forward).in_us();
  if (ranks == 1) return update;
  update.all_reduce_us = of.network
                             .collective(PlanAxis::replicas, scatters ? CollectiveType::reduce_scatter : CollectiveType::all_reduce,
                                         checked_tensor_size(parameters, plan.precision.reduced_gradients))
                             .in_us();
  if (plan.shards_optimizer()) {
    update.all_gather_us =
        of.network.collective(PlanAxis::replicas, CollectiveType::all_gather, checked_tensor_size(share, plan.precision.parameters))
            .in_us();
  }
  return update;
}

/// What a part computes.
PassPair computation(const PartPasses& part, const OperatorClock& clock, const AxisClock& network) {
  return {cost_of(part.forward, clock, network).compute.in_us(), cost_of(part.backward, clock, network).compute.in_us()};
}

StepEstimates composed(const EstimatedPlan& of, const ComponentTable* table, Arithmetic arithmetic) {
  const ParallelPlan& plan = of.plan;
  std::vector<std::uint64_t> layers = table != nullptr ? table->layers_by_stage() : std::vector<std::uint64_t>();
  if (layers.empty() && arithmetic == Arithmetic::physical) layers = layers_of_plan(plan);
  if (layers.empty())
    layers = std::get<std::vector<std::uint64_t>>(split_layers(LayerSplit::ceil_floor, of.model.layers, plan.pipeline));
  const ComponentTimes times = table != nullptr ? table->times : clocked_components(of, arithmetic);
  return estimate_steps(compose_stages(times, layers), static_cast<std::uint32_t>(plan.microbatches()));
}

void require_same_plan(const ComponentTable& table, const ParallelPlan& plan, const SourcePlace& place) {
  if (!table.step) return;
  if (table.step->stages != plan.pipeline) {
    fail("other-plan", fmt::format("the table has {} stages, the plan {}", table.step->stages, plan.pipeline), place,
         "--set=pipeline_parallel changes the plan's");
  }
  if (table.step->microbatches != plan.microbatches()) {
    fail("other-plan", fmt::format("the table has {} microbatches, the plan {}", table.step->microbatches, plan.microbatches()),
         place, "--set=global_batch changes the plan's");
  }
}

}  // namespace

ComponentTimes clocked_components(const EstimatedPlan& of, Arithmetic arithmetic) {
  WEFT_CHECK(!of.model.experts, "layers are alike");
  const ParallelPlan& plan = of.plan;
  const TrainingSteps steps(of.model, plan);
  const auto part = [&](UnitKind kind, const PartPasses& passes) { return computation(passes, of.operators.of(kind), of.network); };
  ComponentTimes times;
  times.embedding = part(UnitKind::input, steps.input());
  times.encoder = {part(UnitKind::dense_layer, steps.layer(false))};
  times.output = part(UnitKind::output, steps.output());
  if (arithmetic == Arithmetic::physical)
    times.recomputed = static_cast<double>(recomputed_of_plan(plan)) / static_cast<double>(of.model.layers);
  if (plan.tensor > 1) {
    const Bytes size = checked_tensor_size(plan.tokens() * of.model.hidden, plan.precision.activations());
    times.tensor_all_reduce_us = of.network.collective(PlanAxis::tensor, CollectiveType::all_reduce, size).in_us();
  }
  if (plan.pipeline > 1) times.transfer_us = of.network.message(PlanAxis::pipeline, steps.pipeline_message()).in_us();
  times.first_update = update_of(of, 0, arithmetic);
  times.last_update = update_of(of, plan.pipeline - 1, arithmetic);
  times.middle_update = plan.pipeline > 2 ? update_of(of, 1, arithmetic) : times.last_update;
  return times;
}

std::vector<LiteratureEstimate> composition_estimates(const EstimatedPlan& of, const ComponentTable* table,
                                                      const SourcePlace& place) {
  if (of.model.experts && table == nullptr) return {{"composition", {}, {}, "it knows no layers with experts"}};
  if (table != nullptr) require_same_plan(*table, of.plan, place);
  const StepEstimates published = composed(of, table, Arithmetic::as_published);
  const StepEstimates right = composed(of, table, Arithmetic::physical);
  return {{"composition, AFAB", from_us(published.afab_us), from_us(right.afab_exact_us), ""},
          {"composition, 1F1B", from_us(published.one_f_one_b_published_us), from_us(right.one_f_one_b_exact_us), ""}};
}

std::vector<LiteratureEstimate> precision_estimates(const EstimatedPlan& of) {
  const bool between_hosts = of.plan.ranks() > of.hardware.gpus_per_node;
  const AlphaBeta link = between_hosts ? of.hardware.between_of_gpu() : of.hardware.inside_of_gpu();
  const Bandwidth rate = Bandwidth::bps(static_cast<std::int64_t>(link.bytes_per_s * Bytes::of(1).in_bits()));
  const auto estimate = [&](std::string name, const ParallelPlan& plan) -> LiteratureEstimate {
    const auto total = [&](Arithmetic arithmetic) {
      return precision_estimate(of.model, plan, of.operators.all(), rate, arithmetic).total();
    };
    return {std::move(name), total(Arithmetic::as_published), total(Arithmetic::physical), ""};
  };
  return {estimate("precision-aware", of.plan), estimate("precision-blind", precision_blind(of.plan))};
}

std::variant<HardwareConfig, std::string> filled_nodes(const HardwareConfig& hardware, const ParallelPlan& plan) {
  HardwareConfig filled = hardware;
  if (plan.ranks() < hardware.gpus_per_node) {
    filled.gpus_per_node = filled.nics_per_node = static_cast<std::uint32_t>(plan.ranks());
  } else if (plan.ranks() % hardware.gpus_per_node != 0) {
    return fmt::format("{} GPUs are no whole number of nodes of {}", plan.ranks(), hardware.gpus_per_node);
  }
  return filled;
}

LiteratureEstimate nodes_estimate(const EstimatedPlan& of, const ParallelPlan& bench, const LayerTimes& times,
                                  const SourcePlace& place) {
  LiteratureEstimate estimate{.name = "nodes", .published = {}, .right = {}, .rule = {}};
  const auto filled = filled_nodes(of.hardware, of.plan);
  if (const auto* rule = std::get_if<std::string>(&filled)) {
    estimate.rule = *rule;
    return estimate;
  }
  const auto& hardware = std::get<HardwareConfig>(filled);
  const std::uint64_t nodes = of.plan.ranks() / hardware.gpus_per_node;
  const auto on_nodes = [&](Arithmetic arithmetic) -> std::optional<Duration> {
    const auto projection =
        project_on_nodes(of.model, of.plan, bench, times, hardware, {.nodes = nodes, .arithmetic = arithmetic}, place);
    if (const auto* found = std::get_if<NodeProjection>(&projection)) return found->step;
    estimate.rule = std::get<std::string>(projection);
    return std::nullopt;
  };
  estimate.published = on_nodes(Arithmetic::as_published);
  estimate.right = on_nodes(Arithmetic::physical);
  return estimate;
}

}  // namespace weft
