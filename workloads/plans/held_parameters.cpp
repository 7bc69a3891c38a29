// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/held_parameters.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace weft {

namespace {

std::uint64_t divided(std::uint64_t parameters, std::uint64_t ranks) {
  WEFT_CHECK(parameters % ranks == 0, "a plan that breaks no rule divides every component evenly");
  return parameters / ranks;
}

std::uint64_t share_of(const ModelComponent& component, const ParallelPlan& plan) {
  switch (component.division) {
    case Division::copied:
      return component.parameters;
    case Division::tensor:
      return divided(component.parameters, std::min<std::uint64_t>(plan.tensor, component.parts_max));
    case Division::expert:
      return divided(component.parameters, std::uint64_t{plan.expert} * plan.expert_tensor);
    case Division::expert_copied:
      return divided(component.parameters, plan.expert);
  }
  return component.parameters;
}

void merge(std::vector<HeldComponent>& all, const std::vector<HeldComponent>& more) {
  for (const HeldComponent& component : more) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const HeldComponent& known) { return known.name == component.name; });
    if (found == all.end()) {
      all.push_back(component);
    } else {
      found->parameters += component.parameters;
    }
  }
}

}  // namespace

std::vector<HeldComponent> held_components(const std::vector<ModelComponent>& components, const ParallelPlan& plan) {
  std::vector<HeldComponent> held;
  for (const ModelComponent& component : components) {
    const bool is_expert = component.division == Division::expert || component.division == Division::expert_copied;
    merge(held, {{component.name, share_of(component, plan), is_expert}});
  }
  return held;
}

std::vector<HeldComponent> held_by_layer(const TransformerModel& model, const ParallelPlan& plan, bool has_experts) {
  return held_components(layer_components(model, has_experts), plan);
}

std::vector<HeldComponent> held_by_input(const TransformerModel& model, const ParallelPlan& plan) {
  return held_components(input_components(model, padded_vocabulary(model, plan)), plan);
}

std::vector<HeldComponent> held_by_output(const TransformerModel& model, const ParallelPlan& plan) {
  std::vector<ModelComponent> components = output_components(model, padded_vocabulary(model, plan));
  if (model.tied_embeddings && !plan.ends_share_a_stage()) {
    components.push_back({"output layer", padded_vocabulary(model, plan) * model.hidden, Division::tensor});
  }
  return held_components(components, plan);
}

std::vector<HeldComponent> held_by_position(const TransformerModel& model, const ParallelPlan& plan, std::size_t position) {
  std::vector<HeldComponent> held;
  if (position == 0) merge(held, held_by_input(model, plan));
  const LayerRange& range = plan.layout[position];
  for (std::uint64_t layer = range.first; layer < range.end(); ++layer) {
    merge(held, held_by_layer(model, plan, model.has_experts(layer)));
  }
  if (position + 1 == plan.layout.size()) merge(held, held_by_output(model, plan));
  return held;
}

HeldSum sum_of(const std::vector<HeldComponent>& components) {
  HeldSum sum;
  for (const HeldComponent& component : components) (component.is_expert ? sum.expert : sum.dense) += component.parameters;
  return sum;
}

HeldSum held_by_stage(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage) {
  const PipelineSizes sizes = pipeline_sizes(plan);
  HeldSum held;
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
    const HeldSum own = sum_of(held_by_position(model, plan, position_of(sizes, plan.placement, stage, chunk)));
    held.dense += own.dense;
    held.expert += own.expert;
  }
  return held;
}

std::uint64_t tied_parameters(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage) {
  const bool is_end = stage == 0 || stage + 1 == plan.pipeline;
  if (!model.tied_embeddings || plan.ends_share_a_stage() || !is_end) return 0;
  return padded_vocabulary(model, plan) / plan.tensor * model.hidden;
}

}  // namespace weft
