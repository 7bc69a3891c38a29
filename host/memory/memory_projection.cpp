// SPDX-License-Identifier: Apache-2.0
#include "host/memory/memory_projection.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "core/check.hpp"
#include "host/memory/activation_memory.hpp"
#include "workloads/dag/element_type.hpp"
#include "workloads/plans/held_parameters.hpp"
#include "workloads/plans/plan_units.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft {

namespace {

std::uint64_t rounded_up(std::uint64_t number, std::uint64_t ranks) { return (number + ranks - 1) / ranks; }

PartActivations scaled(PartActivations part, double factor) {
  if (factor == 1.0) return part;
  const auto times = [&](Bytes bytes) { return Bytes::of(std::llround(static_cast<double>(bytes.count()) * factor)); };
  Bytes kept;
  for (ActivationItem& item : part.items) kept += item.bytes = times(item.bytes);
  part.kept = kept;
  part.for_weights = times(part.for_weights);
  return part;
}

/// What stages have in common.
class StageProjector {
 public:
  StageProjector(const TransformerModel& model, const ParallelPlan& plan, const ActivationCorrection& correction)
      : model_(model),
        plan_(plan),
        sizes_(pipeline_sizes(plan)),
        activations_(activation_memory(model, plan)),
        input_(held_by_input(model, plan)),
        output_(held_by_output(model, plan)),
        message_(TrainingSteps(model, plan).pipeline_message()) {
    if (model.dense_layers() > 0) layer_[0] = held_by_layer(model, plan, false);
    if (model.experts) layer_[1] = held_by_layer(model, plan, true);
    activations_.dense_layer = scaled(std::move(activations_.dense_layer), correction.dense_layer);
    activations_.expert_layer = scaled(std::move(activations_.expert_layer), correction.expert_layer);
  }

  StageMemory project(std::uint32_t stage, ChunkPlacement placement, std::span<const PipelinePass> passes) const {
    StageMemory memory;
    memory.stage = stage;
    HeldSum held;
    std::vector<Chunk> chunks;
    std::vector<ChunkActivations> sizes;
    for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
      const std::uint32_t position = position_of(sizes_, placement, stage, chunk);
      memory.layers += plan_.layout[position].count;
      hold(position, memory.components, held);
      chunks.push_back(chunk_at(position));
      sizes.push_back(chunks.back().sizes);
    }
    memory.held = held.all();
    add_states(held, linear_parameters(memory.components), memory);
    memory.peak = live_peak(passes, sizes);
    add_activations(chunks, memory);
    memory.working += between_replicas(placement, stage);
    if (plan_.pipeline > 1) memory.working += message_ * 2;  // one forward, one backward
    memory.communicators = communicator_memory(model_, plan_, stage == 0 || stage + 1 == plan_.pipeline);
    return memory;
  }

 private:
  struct Chunk {
    ChunkActivations sizes;
    Bytes recomputed;                   ///< part of working
    std::vector<ActivationItem> items;  ///< of kept
  };

  // --- Parameters and their states ---

  void hold(std::uint32_t position, std::vector<ComponentMemory>& components, HeldSum& held) const {
    const auto add = [&](const std::vector<HeldComponent>& part, std::uint64_t times) {
      if (times == 0) return;
      for (const HeldComponent& component : part) {
        named(components, component.name).parameters += times * component.parameters;
        (component.is_expert ? held.expert : held.dense) += times * component.parameters;
      }
    };
    const std::uint64_t with_experts = expert_layers(position);
    if (position == 0) add(input_, 1);
    add(layer_[0], plan_.layout[position].count - with_experts);
    add(layer_[1], with_experts);
    if (position + 1 == plan_.layout.size()) add(output_, 1);
  }

  std::uint64_t expert_layers(std::uint32_t position) const {
    const LayerRange& range = plan_.layout[position];
    const std::uint64_t first = std::max(range.first, model_.dense_layers());
    return range.end() > first ? range.end() - first : 0;
  }

  static ComponentMemory& named(std::vector<ComponentMemory>& components, std::string_view name) {
    for (ComponentMemory& component : components) {
      if (component.name == name) return component;
    }
    components.push_back({.name = name, .parameters = 0, .activations = {}, .at_peak = {}});
    return components.back();
  }

  /// Of products with weights of layers, which FP8 and FP4 are for.
  static std::uint64_t linear_parameters(const std::vector<ComponentMemory>& components) {
    std::uint64_t sum = 0;
    for (const ComponentMemory& component : components) {
      const std::string_view name = component.name;
      if (name == "attention" || name == "mlp" || name == "experts" || name == "shared experts") sum += component.parameters;
    }
    return sum;
  }

  void add_states(const HeldSum& held, std::uint64_t linear, StageMemory& memory) const {
    const Precision& precision = plan_.precision;
    const auto share = [&](bool is_shared) {
      if (!is_shared) return held.all();
      return rounded_up(held.dense, plan_.replicas()) + (held.expert > 0 ? rounded_up(held.expert, plan_.expert_replicas()) : 0);
    };
    memory.parameters = checked_tensor_size(share(plan_.shards_parameters()), precision.parameters);
    if (!plan_.shards_parameters()) memory.parameters += bytes_of(held.all(), precision.cast_copy_bytes());
    const ElementType narrow = precision.type_of(OperatorRole::linear);
    const bool has_copies = narrow.bits < precision.activations().bits && !plan_.shards_parameters();
    if (has_copies) memory.parameters += checked_tensor_size(linear, narrow) * 2;
    memory.gradients = checked_tensor_size(share(plan_.shards_gradients()), precision.gradients);
    const std::uint64_t updated = share(plan_.shards_optimizer());
    constexpr int master_bytes = 4;
    memory.optimizer = checked_tensor_size(updated, precision.moments) * 2;
    if (precision.has_master_copy) memory.optimizer += bytes_of(updated, master_bytes);
  }
  static Bytes bytes_of(std::uint64_t numbers, int bytes) { return Bytes::of(static_cast<std::int64_t>(numbers)) * bytes; }

  /// What ZeRO brings together for a while.
  Bytes between_replicas(ChunkPlacement placement, std::uint32_t stage) const {
    if (!plan_.shards_gradients()) return Bytes::zero();
    std::uint64_t gradients = 0;
    std::uint64_t gathered = 0;
    for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
      const std::vector<PlanUnit> units = units_of(model_, plan_, position_of(sizes_, placement, stage, chunk));
      for (const GradientBucket& bucket : buckets_of(units, plan_)) gradients = std::max(gradients, bucket.parameters);
      for (std::size_t i = 0; i < units.size(); ++i) {
        const std::uint64_t next = i + 1 < units.size() ? units[i + 1].held.all() : 0;
        gathered = std::max(gathered, units[i].held.all() + next);
        if (plan_.shards_parameters()) gradients = std::max(gradients, units[i].held.all());
      }
    }
    const Bytes reduced = checked_tensor_size(gradients, plan_.precision.gradients);
    if (!plan_.shards_parameters()) return reduced;
    const int cast = plan_.precision.cast_copy_bytes();
    return reduced + (cast > 0 ? bytes_of(gathered, cast) : checked_tensor_size(gathered, plan_.precision.parameters));
  }

  // --- Activations ---

  /// Layers that are computed again together, by their number in the chunk.
  std::uint64_t group() const { return plan_.recompute.kind == RecomputeKind::uniform ? plan_.recompute.layers : 1; }

  /// Everything of a chunk for one microbatch.
  Chunk chunk_at(std::uint32_t position) const {
    const LayerRange& range = plan_.layout[position];
    Chunk chunk;
    const auto keep = [&](const PartActivations& part) {
      for (const ActivationItem& item : part.items) add_item(chunk.items, item.component, item.bytes);
      chunk.sizes.kept += part.kept;
    };
    if (position == 0) keep(activations_.input);
    for (std::uint64_t i = 0; i < range.count; ++i) {
      if (!plan_.recompute.repeats(i)) {
        keep(of_layer(range.first + i));
      } else if (i % group() == 0) {
        add_item(chunk.items, "recomputed layers", activations_.layer_input);
        chunk.sizes.kept += activations_.layer_input;
      }
      chunk.sizes.for_weights += of_layer(range.first + i).for_weights;
    }
    if (position == 0) chunk.sizes.for_weights += activations_.input.for_weights;
    const bool is_last = position + 1 == plan_.layout.size();
    if (is_last) {
      keep(activations_.output);
      chunk.sizes.for_weights += activations_.output.for_weights;
    }
    go_backward(range, position == 0, is_last, chunk);
    return chunk;
  }

  /// From the last part to the first: how far it gets above what the chunk kept.
  void go_backward(const LayerRange& range, bool is_first, bool is_last, Chunk& chunk) const {
    Bytes excess;  // what is held now, less what the chunk kept
    Bytes again;   // part of it
    const auto pass = [&](Bytes working, Bytes freed) {
      if (excess + working > chunk.sizes.working) {
        chunk.sizes.working = excess + working;
        chunk.recomputed = std::min(again, chunk.sizes.working);
      }
      excess = excess - freed;
    };
    if (is_last) pass(activations_.output.working, activations_.output.kept);
    for (std::uint64_t i = range.count; i-- > 0;) {
      const PartActivations& layer = of_layer(range.first + i);
      const bool ends_group = (i + 1) % group() == 0 || i + 1 == range.count;
      if (plan_.recompute.repeats(i) && ends_group) {
        again = Bytes::zero() - activations_.layer_input;
        for (std::uint64_t j = i / group() * group(); j <= i; ++j) again += of_layer(range.first + j).kept;
        excess += again;
      }
      pass(layer.working, layer.kept);
      if (!plan_.recompute.repeats(i)) again = Bytes::zero();
    }
    if (is_first) pass(activations_.input.working, activations_.input.kept);
  }

  const PartActivations& of_layer(std::uint64_t layer) const {
    return model_.has_experts(layer) ? activations_.expert_layer : activations_.dense_layer;
  }

  static void add_activations(const std::vector<Chunk>& chunks, StageMemory& memory) {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const LiveChunk& live = memory.peak.chunks[i];
      for (const ActivationItem& item : chunks[i].items) {
        ComponentMemory& component = named(memory.components, item.component);
        component.activations += item.bytes;
        component.at_peak += item.bytes * live.kept;
      }
      memory.for_weights += chunks[i].sizes.for_weights * live.for_weights;
      memory.activations += chunks[i].sizes.kept * live.kept;
    }
    memory.activations += memory.for_weights;
    if (!memory.peak.working_chunk) return;
    const Chunk& working = chunks[*memory.peak.working_chunk];
    memory.working = working.sizes.working;
    memory.recomputed = working.recomputed;
  }

  const TransformerModel& model_;
  const ParallelPlan& plan_;
  PipelineSizes sizes_;
  ActivationMemory activations_;
  std::vector<HeldComponent> input_;
  std::vector<HeldComponent> output_;
  std::vector<HeldComponent> layer_[2];  ///< without and with experts
  Bytes message_;
};

}  // namespace

const StageMemory& MemoryProjection::worst() const {
  WEFT_CHECK(!stages.empty(), "a plan has a stage");
  return *std::max_element(stages.begin(), stages.end(),
                           [](const StageMemory& a, const StageMemory& b) { return a.total() < b.total(); });
}

bool needs_order(const ParallelPlan& plan) { return !passes_without_times(plan, 0).has_value(); }

MemoryProjection project_memory(const TransformerModel& model, const ParallelPlan& plan, const PipelineOrder& order,
                                const ActivationCorrection& correction) {
  const StageProjector projector(model, plan, correction);
  MemoryProjection projection;
  for (std::uint32_t stage = 0; stage < plan.pipeline; ++stage) {
    projection.stages.push_back(projector.project(stage, order.placement, order.devices[stage]));
  }
  return projection;
}

MemoryProjection project_memory(const TransformerModel& model, const ParallelPlan& plan, const ActivationCorrection& correction) {
  const StageProjector projector(model, plan, correction);
  MemoryProjection projection;
  for (std::uint32_t stage = 0; stage < plan.pipeline; ++stage) {
    const std::optional<std::vector<PipelinePass>> passes = passes_without_times(plan, stage);
    WEFT_CHECK(passes.has_value(), "schedules whose order depends on times come with their order");
    projection.stages.push_back(projector.project(stage, ChunkPlacement::loop, *passes));
  }
  return projection;
}

Bytes communicator_memory(const TransformerModel& model, const ParallelPlan& plan, bool is_end) {
  constexpr std::int64_t channels = 16;
  constexpr Bytes ll = Bytes::of(8 * 512 * 8 * 16);
  constexpr Bytes ll128 = Bytes::of(120 * 640 * 8 * 8);
  constexpr Bytes simple = Bytes::of(1 << 22);
  std::int64_t communicators = plan.ranks() > 1 ? 1 : 0;  // of all ranks
  for (const PlanAxis axis : {PlanAxis::tensor, PlanAxis::context, PlanAxis::replicas, PlanAxis::pipeline}) {
    if (size_of(axis, plan) > 1) ++communicators;
  }
  if (model.experts) {
    for (const PlanAxis axis : {PlanAxis::expert, PlanAxis::expert_tensor, PlanAxis::expert_replicas}) {
      if (size_of(axis, plan) > 1) ++communicators;
    }
  }
  if (model.tied_embeddings && is_end && size_of(PlanAxis::embedding, plan) > 1) ++communicators;
  return (ll + ll128 + simple) * channels * communicators;
}

}  // namespace weft
