// SPDX-License-Identifier: Apache-2.0
#include "host/projections/gpu_subgraphs.hpp"

#include <algorithm>

#include "workloads/plans/held_parameters.hpp"

namespace weft {

namespace {

OperatorRole role_of(std::string_view component, const TransformerModel& model) {
  if (component == "norms") return OperatorRole::full;
  if (component == "router" || component == "output layer") return OperatorRole::product;
  const bool is_table = component == "positions" || (component == "embedding" && !model.images);
  return is_table ? OperatorRole::lookup : OperatorRole::linear;
}

/// Collects the weights of one rank.
class WeightCollector {
 public:
  WeightCollector(const TransformerModel& model, const ParallelPlan& plan, std::vector<GraphWeight>& weights)
      : model_(model), plan_(plan), weights_(weights) {}

  void add(const std::vector<ModelComponent>& components, std::uint64_t times) {
    if (times == 0) return;
    for (const ModelComponent& component : components) {
      const HeldComponent held = held_components({component}, plan_).front();
      const bool is_sliced = (component.division == Division::tensor && plan_.tensor > 1) ||
                             (component.division == Division::expert && plan_.expert_tensor > 1);
      const auto known = std::ranges::find_if(weights_, [&](const GraphWeight& weight) {
        return weight.component == component.name && weight.is_sliced == is_sliced && weight.is_expert == held.is_expert;
      });
      if (known != weights_.end()) {
        known->parameters += held.parameters * times;
      } else {
        weights_.push_back({component.name, held.parameters * times, plan_.precision.type_of(role_of(component.name, model_)),
                            is_sliced, held.is_expert});
      }
    }
  }

 private:
  const TransformerModel& model_;
  const ParallelPlan& plan_;
  std::vector<GraphWeight>& weights_;
};

std::vector<LayerRange> layers_of_stage(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage,
                                        Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::as_published) {
    const std::uint64_t each = model.layers / plan.pipeline;
    return {{stage * each, each}};
  }
  std::vector<LayerRange> layers;
  const PipelineSizes sizes = pipeline_sizes(plan);
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk)
    layers.push_back(plan.layout[position_of(sizes, plan.placement, stage, chunk)]);
  return layers;
}

class OperatorCounter {
 public:
  void add(const TrainingPass& pass, std::uint64_t times) {
    if (times == 0) return;
    for (const TrainingStep& step : pass) {
      const auto* compute = std::get_if<ComputeStep>(&step.what);
      if (compute == nullptr) continue;
      for (const TimedOperator& one : compute->operators) add(one, times);
    }
  }
  std::vector<OperatorUse> finish() { return std::move(uses_); }

 private:
  void add(const TimedOperator& one, std::uint64_t times) {
    const auto known =
        std::ranges::find_if(uses_, [&](const OperatorUse& use) { return use.what.op == one.op && use.what.pass == one.pass; });
    if (known != uses_.end()) {
      known->count += times;
    } else {
      uses_.push_back({one, times});
    }
  }

  std::vector<OperatorUse> uses_;
};

}  // namespace

std::uint64_t expert_layers_in(const TransformerModel& model, const LayerRange& range) {
  return range.end() - std::clamp(model.dense_layers(), range.first, range.end());
}

std::uint64_t recomputed_layers(const ParallelPlan& plan, const LayerRange& range) {
  std::uint64_t layers = 0;
  while (layers < range.count && plan.recompute.repeats(layers)) ++layers;
  return layers;
}

std::uint64_t GpuSubgraph::layer_count() const {
  std::uint64_t count = 0;
  for (const LayerRange& range : layers) count += range.count;
  return count;
}

std::uint64_t GpuSubgraph::parameters() const {
  std::uint64_t sum = 0;
  for (const GraphWeight& weight : weights) sum += weight.parameters;
  return sum;
}

GpuSubgraph gpu_subgraph(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage, std::uint32_t data,
                         std::uint32_t tensor, Arithmetic arithmetic) {
  GpuSubgraph graph{.stage = stage, .data = data, .tensor = tensor, .layers = {}, .weights = {}};
  graph.layers = layers_of_stage(model, plan, stage, arithmetic);
  const PipelineSizes sizes = pipeline_sizes(plan);
  graph.has_input = stage == 0;
  graph.has_output = place_of(sizes, plan.placement, static_cast<std::uint32_t>(plan.positions() - 1)).device == stage;
  WeightCollector weights(model, plan, graph.weights);
  const std::uint64_t words = padded_vocabulary(model, plan);
  if (graph.has_input) weights.add(input_components(model, words), 1);
  for (const LayerRange& range : graph.layers) {
    const std::uint64_t experts = expert_layers_in(model, range);
    if (experts < range.count) weights.add(layer_components(model, false), range.count - experts);
    if (experts > 0) weights.add(layer_components(model, true), experts);
  }
  if (graph.has_output) {
    weights.add(output_components(model, words), 1);
    if (model.tied_embeddings && !plan.ends_share_a_stage()) {
      weights.add({{"output layer", words * model.hidden, Division::tensor}}, 1);
    }
  }
  return graph;
}

std::vector<GpuSubgraph> gpu_subgraphs(const TransformerModel& model, const ParallelPlan& plan, Arithmetic arithmetic) {
  std::vector<GpuSubgraph> graphs;
  for (std::uint32_t stage = 0; stage < plan.pipeline; ++stage) {
    for (std::uint32_t data = 0; data < plan.data; ++data) {
      for (std::uint32_t tensor = 0; tensor < plan.tensor; ++tensor)
        graphs.push_back(gpu_subgraph(model, plan, stage, data, tensor, arithmetic));
    }
  }
  return graphs;
}

std::vector<OperatorUse> unique_operators(const TransformerModel& model, const ParallelPlan& plan, const GpuSubgraph& graph) {
  const TrainingSteps steps(model, plan);
  OperatorCounter counter;
  const auto add_both = [&](const PartPasses& part, std::uint64_t times, std::uint64_t again) {
    counter.add(part.forward, times + again);
    counter.add(part.backward, times);
  };
  if (graph.has_input) add_both(steps.input(), 1, 0);
  for (const LayerRange& range : graph.layers) {
    const std::uint64_t experts = expert_layers_in(model, range);
    const std::uint64_t dense = range.count - experts;
    const std::uint64_t again = recomputed_layers(plan, range);
    // Dense layers come first, and the first layers of a chunk are computed again.
    if (dense > 0) add_both(steps.layer(false), dense, std::min(again, dense));
    if (experts > 0) add_both(steps.layer(true), experts, again - std::min(again, dense));
  }
  if (graph.has_output) add_both(steps.output(), 1, 0);
  return counter.finish();
}

}  // namespace weft
