// SPDX-License-Identifier: Apache-2.0
#include "host/projections/node_projection.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "host/projections/collective_formulas.hpp"
#include "host/projections/gpu_subgraphs.hpp"
#include "workloads/plans/held_parameters.hpp"
#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

namespace {

constexpr Duration published_transfer = Duration::ticks(100 * Duration::ticks_per_us);

std::uint64_t whole_nodes(std::uint64_t gpus, std::uint32_t gpus_per_node) { return (gpus + gpus_per_node - 1) / gpus_per_node; }

/// Layers with experts of the stage that has most.
std::uint64_t expert_layers_of_stage(const TransformerModel& model, const ParallelPlan& plan) {
  std::uint64_t most = 0;
  for (std::uint32_t stage = 0; stage < plan.pipeline; ++stage) {
    std::uint64_t layers = 0;
    for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk)
      layers += expert_layers_in(model, plan.layout[position_of(pipeline_sizes(plan), plan.placement, stage, chunk)]);
    most = std::max(most, layers);
  }
  return most;
}

class NodeProjector {
 public:
  NodeProjector(const TransformerModel& model, const ParallelPlan& plan, const ParallelPlan& bench, const LayerTimes& times,
                const HardwareConfig& hardware, Arithmetic arithmetic, const SourcePlace& place)
      : model_(model),
        plan_(plan),
        bench_(bench),
        times_(bench.context == plan.context ? restored(times, model, bench, plan, hardware) : times),
        hardware_(hardware),
        arithmetic_(arithmetic),
        place_(place) {}

  std::variant<NodeProjection, std::string> project(std::uint64_t nodes) {
    result_.nodes_min = nodes_min(plan_, model_.experts.has_value(), hardware_.gpus_per_node, arithmetic_);
    if (bench_.context != plan_.context) {
      return fmt::format("context_parallel = {} was {} where layers were timed, and times are not brought back from that",
                         plan_.context, bench_.context);
    }
    result_.nodes = nodes == 0 ? result_.nodes_min : nodes;
    if (result_.nodes < result_.nodes_min)
      return fmt::format("{} nodes are fewer than the {} that one replica needs", result_.nodes, result_.nodes_min);
    result_.gpus = result_.nodes * hardware_.gpus_per_node;
    const std::variant<ParallelPlan, std::string> least = on_nodes(result_.nodes_min);
    if (const auto* rule = std::get_if<std::string>(&least)) return *rule;
    const std::variant<ParallelPlan, std::string> target = on_nodes(result_.nodes);
    if (const auto* rule = std::get_if<std::string>(&target)) return *rule;
    fill(std::get<ParallelPlan>(least), std::get<ParallelPlan>(target));
    return std::move(result_);
  }

 private:
  bool as_published() const { return arithmetic_ == Arithmetic::as_published; }

  /// The plan with as many replicas as fill the nodes, or the rule that this breaks.
  std::variant<ParallelPlan, std::string> on_nodes(std::uint64_t nodes) const {
    const std::uint64_t gpus = nodes * hardware_.gpus_per_node;
    const std::uint64_t replica = std::uint64_t{plan_.tensor} * plan_.pipeline * plan_.context;
    if (gpus % replica != 0) {
      return fmt::format("tensor_parallel x pipeline_parallel x context_parallel = {} does not divide the {} GPUs of {} nodes",
                         replica, gpus, nodes);
    }
    ParallelPlan there = plan_;
    there.data = static_cast<std::uint32_t>(gpus / replica);
    // Scaled times need no whole number of microbatches on the target.
    const bool is_simulated = !as_published() || nodes == result_.nodes_min;
    for (const BrokenPlanRule& broken : broken_rules(there, model_)) {
      if (is_simulated || broken.field != "global_batch") return fmt::format("on {} nodes {}", nodes, broken.rule);
    }
    return there;
  }

  void fill(const ParallelPlan& least, const ParallelPlan& target) {
    result_.data_min = least.data;
    result_.data = target.data;
    const Bytes message = TrainingSteps(model_, plan_).pipeline_message();
    const bool between_nodes = plan_.stage_ranks() >= hardware_.gpus_per_node;
    const Duration send = send_time(hardware_, between_nodes, message);
    result_.transfer = as_published() ? published_transfer : send;
    const std::vector<PositionTimes> positions = position_times(times_, model_, plan_, result_.transfer, arithmetic_);
    result_.base = pipeline_step(least, positions, place_);
    if (as_published()) {
      const std::uint64_t stages_added = plan_.pipeline - std::min(plan_.pipeline, bench_.pipeline);
      result_.microbatches = least.microbatches();
      result_.base += send * static_cast<std::int64_t>(stages_added * 2 * least.microbatches());
      result_.pipeline = scaled(result_.base, least.data, target.data);
    } else {
      result_.microbatches = target.microbatches();
      result_.pipeline = pipeline_step(target, positions, place_);
    }
    if (plan_.pipeline > 1) {
      add_row({.name = "pipeline transfer",
               .message = message,
               .count = 2 * result_.microbatches,
               .each = send,
               .added = {},
               .is_listed = false,
               .nodes = between_nodes ? 2U : 1U});
    }
    add_tensor_sums(target);
    add_gradients(target, positions);
    if (model_.experts) add_exchanges(target);
    result_.step = result_.pipeline;
    for (const CommunicationRow& row : result_.communication) result_.step += row.added;
    result_.tokens_per_s_per_gpu = tokens_per_s_per_gpu(plan_.global_batch, plan_.sequence, result_.step, result_.gpus);
  }

  void add_row(CommunicationRow row) { result_.communication.push_back(std::move(row)); }

  void add_tensor_sums(const ParallelPlan& target) {
    const GroupSpread group = spread_of(PlanAxis::tensor, target, hardware_.gpus_per_node);
    if (group.ranks <= 1) return;
    constexpr std::uint64_t per_layer = 4;  // two forward, two backward
    const Bytes message = checked_tensor_size(target.tokens() * model_.hidden, target.precision.activations());
    const BestAllReduce best = best_all_reduce(hardware_, group, message);
    const std::uint64_t layers = (model_.layers + target.pipeline - 1) / target.pipeline;
    add_row({.name = "all-reduce of tensor ranks",
             .message = message,
             .count = per_layer * layers * result_.microbatches,
             .each = best.time,
             .added = {},
             .formula = best.formula,
             .is_listed = false,
             .nodes = group.nodes()});
  }

  void add_gradients(const ParallelPlan& target, const std::vector<PositionTimes>& positions) {
    const GradientSizes sizes = gradient_sizes(model_, target, arithmetic_);
    Duration hidden;
    if (plan_.overlap_gradients && !as_published()) {
      hidden = Duration::max();
      for (const PositionTimes& position : positions) hidden = std::min(hidden, position.backward);
    }
    const auto add = [&](const char* name, PlanAxis axis, Bytes size) {
      const GroupSpread group = spread_of(axis, target, hardware_.gpus_per_node);
      if (group.ranks <= 1 || size == Bytes::zero()) return;
      const BestAllReduce best = best_all_reduce(hardware_, group, size);
      Duration added = best.time;
      if (plan_.overlap_gradients) {
        added = as_published() ? Duration::zero() : std::max(best.time - hidden, Duration::zero());
        hidden = std::max(hidden - best.time, Duration::zero());
      }
      add_row({.name = name,
               .message = size,
               .count = 1,
               .each = best.time,
               .added = added,
               .formula = best.formula,
               .nodes = group.nodes()});
    };
    add("all-reduce of dense gradients", PlanAxis::replicas, sizes.dense);
    add("all-reduce of experts' gradients", PlanAxis::expert_replicas, sizes.expert);
  }

  void add_exchanges(const ParallelPlan& target) {
    const GroupSpread group = spread_of(PlanAxis::expert, target, hardware_.gpus_per_node);
    if (group.ranks <= 1) return;
    const Bytes message = expert_message(model_, target);
    const Duration time = all_to_all_time(hardware_, group, message);
    const std::uint64_t layers = as_published() ? model_.layers - model_.dense_layers() : expert_layers_of_stage(model_, target);
    // To experts and back.
    const std::uint64_t count = 2 * layers * (as_published() ? 1 : target.microbatches());
    const bool is_added = as_published() && group.nodes() > 1;
    const Duration added = is_added ? time * static_cast<std::int64_t>(count) : Duration::zero();
    for (const char* name : {"all-to-all forward", "all-to-all backward"})
      add_row({.name = name, .message = message, .count = count, .each = time, .added = added, .nodes = group.nodes()});
  }

  const TransformerModel& model_;
  const ParallelPlan& plan_;
  const ParallelPlan& bench_;
  LayerTimes times_;
  const HardwareConfig& hardware_;
  Arithmetic arithmetic_;
  SourcePlace place_;
  NodeProjection result_;
};

}  // namespace

std::uint64_t nodes_min(const ParallelPlan& plan, bool has_experts, std::uint32_t gpus_per_node, Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::physical) return whole_nodes(ranks_min(plan), gpus_per_node);
  const std::uint64_t third = has_experts ? plan.expert : plan.context;
  return whole_nodes(std::uint64_t{plan.tensor} * plan.pipeline * third, gpus_per_node);
}

double data_ranks(DataRankRule rule, std::uint64_t gpus, const ParallelPlan& plan) {
  const double all = static_cast<double>(gpus) / plan.pipeline;
  switch (rule) {
    case DataRankRule::memory:
      return all / plan.expert;
    case DataRankRule::performance:
      return all / plan.tensor / plan.context;
    case DataRankRule::gpus:
      return all / plan.tensor / plan.expert;
  }
  return all;
}

double tokens_per_s_per_gpu(std::uint64_t global_batch, std::uint64_t sequence, Duration step, std::uint64_t gpus) {
  return static_cast<double>(global_batch) * static_cast<double>(sequence) / (step.in_s() * static_cast<double>(gpus));
}

GradientSizes gradient_sizes(const TransformerModel& model, const ParallelPlan& plan, Arithmetic arithmetic) {
  HeldSum most;
  for (std::uint32_t stage = 0; stage < plan.pipeline; ++stage) {
    const HeldSum held = held_by_stage(model, plan, stage);
    if (held.all() > most.all()) most = held;
  }
  const ElementType type = arithmetic == Arithmetic::as_published ? *element_type_named("FP32") : plan.precision.reduced_gradients;
  return {checked_tensor_size(most.dense, type), checked_tensor_size(most.expert, type)};
}

Bytes gradient_size(std::uint64_t parameters) { return checked_tensor_size(parameters, *element_type_named("FP32")); }

Bytes gradient_size_by_hidden(const TransformerModel& model, const ParallelPlan& plan) {
  constexpr std::uint64_t per_layer = 12;
  return gradient_size(model.layers / plan.pipeline * per_layer * model.hidden * model.hidden);
}

Duration pipeline_step(const ParallelPlan& plan, const std::vector<PositionTimes>& positions, const SourcePlace& place) {
  PipelineSizes sizes = pipeline_sizes(plan);
  // Schedules that look at times see those of the longest stage.
  for (const PositionTimes& position : positions) {
    sizes.forward = std::max(sizes.forward, position.forward * plan.chunks);
    sizes.backward_input = std::max(sizes.backward_input, position.backward_input * plan.chunks);
    sizes.backward_weight = std::max(sizes.backward_weight, position.backward_weight * plan.chunks);
    sizes.transfer = std::max(sizes.transfer, position.forward_transfer);
  }
  const std::string name = plan.pipeline == 1 ? "1f1b" : plan.schedule;
  const Module<PipelineScheduleMaker>& module = find_module(pipeline_schedules(), name, place);
  PipelineScheduleResult result = module.make.make(sizes, ParamSet(std::string(module.info.name), module.info.params));
  if (const auto* broken = std::get_if<BrokenScheduleRule>(&result)) fail("bad-plan", broken->rule, place, broken->help);
  const DuringTransfer during = plan.overlap_pipeline ? DuringTransfer::next_pass : DuringTransfer::wait;
  return execute(sizes, std::get<PipelineSchedule>(result).order, positions, during).step_time;
}

std::variant<NodeProjection, std::string> project_on_nodes(const TransformerModel& model, const ParallelPlan& plan,
                                                           const ParallelPlan& bench, const LayerTimes& times,
                                                           const HardwareConfig& hardware, const NodeProjectionRequest& request,
                                                           const SourcePlace& place) {
  return NodeProjector(model, plan, bench, times, hardware, request.arithmetic, place).project(request.nodes);
}

}  // namespace weft
