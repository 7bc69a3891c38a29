// SPDX-License-Identifier: Apache-2.0
#include "host/memory/primus_memory.hpp"

#include <algorithm>

#include "host/memory/live_set.hpp"

namespace weft {

namespace {

constexpr double half_bytes = 2.0;

/// Layers as Primus' profilers count them.
class PrimusProfile {
 public:
  PrimusProfile(const TransformerModel& model, const ParallelPlan& plan)
      : model_(model), plan_(plan), vocabulary_(padded_vocabulary(model, plan)) {
    const double divided = static_cast<double>(plan.tensor) * plan.context;
    tokens_ = static_cast<double>(plan.microbatch) * static_cast<double>(plan.sequence) / divided;
  }

  std::uint64_t embedding() const { return vocabulary_ * model_.hidden; }
  double sbh() const { return tokens_ * static_cast<double>(model_.hidden) * half_bytes; }
  double output_activations() const { return tokens_ * static_cast<double>(vocabulary_) * half_bytes; }

  std::uint64_t norm() const { return 2 * model_.hidden; }

  std::uint64_t attention() const {
    const std::uint64_t h = model_.hidden;
    if (const auto* grouped = std::get_if<GroupedQueryAttention>(&model_.attention.kind)) {
      return 2 * h * grouped->head_width * (grouped->heads + grouped->key_value_heads);
    }
    const auto& latent = std::get<LatentAttention>(model_.attention.kind);
    const std::uint64_t queries = latent.heads * (latent.key_width + latent.rotary_width);
    const std::uint64_t query = latent.query_rank > 0 ? latent.query_rank * (h + queries) : h * queries;
    const std::uint64_t key_value = latent.key_value_rank * (h + latent.heads * (latent.key_width + latent.value_width));
    return query + key_value + h * latent.rotary_width + latent.heads * latent.value_width * h;
  }
  double attention_activations() const {
    const AttentionBlock& attention = model_.attention;
    const std::uint64_t queries = attention.heads() * attention.key_width();
    const std::uint64_t keys_and_values = attention.key_value_heads() * (attention.key_width() + attention.value_width());
    return tokens_ * static_cast<double>(2 * queries + keys_and_values + model_.hidden) * half_bytes;
  }

  std::uint64_t matrices() const { return model_.mlp.projections_up() + 1; }
  std::uint64_t mlp(std::uint64_t width) const { return matrices() * model_.hidden * width; }
  double mlp_activations(std::uint64_t width) const {
    return tokens_ * static_cast<double>(matrices() * width + model_.hidden) * half_bytes;
  }

  std::uint64_t router() const { return model_.hidden * model_.experts->count; }
  std::uint64_t experts(std::uint64_t ranks) const {
    const ExpertBlock& experts = *model_.experts;
    return experts.count / ranks * mlp(experts.width) + mlp(experts.shared_width);
  }
  double expert_activations() const {
    const ExpertBlock& experts = *model_.experts;
    const double shared = experts.shared_width > 0 ? 1.0 : 0.0;
    return (static_cast<double>(experts.top_k) + shared) * mlp_activations(experts.width);
  }

  std::uint64_t layer(bool has_experts, std::uint64_t expert_ranks) const {
    const std::uint64_t common = 3 * norm() + attention();
    return has_experts ? common + router() + experts(expert_ranks) : common + mlp(model_.mlp.width);
  }
  double layer_activations(bool has_experts) const {
    const double common = 3 * sbh() + attention_activations() + 2 * sbh();
    return has_experts ? common + sbh() + expert_activations() : common + mlp_activations(model_.mlp.width);
  }

  /// Of one instance each.
  std::vector<PrimusComponent> components() const {
    std::vector<PrimusComponent> rows = {{"embedding", embedding(), sbh()}};
    if (model_.dense_layers() > 0) rows.push_back({"dense layer", layer(false, 1), layer_activations(false)});
    if (model_.experts) rows.push_back({"expert layer", layer(true, plan_.expert), layer_activations(true)});
    rows.push_back({"  norm", norm(), sbh()});
    rows.push_back({"  attention", attention(), attention_activations()});
    rows.push_back({"  residual", 0, sbh()});
    if (model_.dense_layers() > 0) rows.push_back({"  mlp", mlp(model_.mlp.width), mlp_activations(model_.mlp.width)});
    if (model_.experts) {
      rows.push_back({"  router", router(), sbh()});
      rows.push_back({"  experts", experts(plan_.expert), expert_activations()});
    }
    rows.push_back({"last norm", norm(), sbh()});
    rows.push_back({"output layer", embedding(), output_activations()});
    return rows;
  }

 private:
  const TransformerModel& model_;
  const ParallelPlan& plan_;
  std::uint64_t vocabulary_;
  double tokens_;
};

}  // namespace

PrimusMemory primus_memory(const TransformerModel& model, const ParallelPlan& plan, const std::vector<PipelinePass>& passes) {
  const PrimusProfile profile(model, plan);
  PrimusMemory memory;
  memory.components = profile.components();
  memory.parameters_total = profile.embedding();
  for (std::uint64_t layer = 0; layer < model.layers; ++layer)
    memory.parameters_total += profile.layer(model.has_experts(layer), 1);

  memory.parameters = profile.embedding();
  double layers = 0.0;
  double largest = 0.0;  // of recomputed ones
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
    const LayerRange& range = plan.layout[std::size_t{chunk} * plan.pipeline];
    for (std::uint64_t i = 0; i < range.count; ++i) {
      const bool has_experts = model.has_experts(range.first + i);
      memory.parameters += profile.layer(has_experts, plan.expert);
      const double all = profile.layer_activations(has_experts);
      const bool is_recomputed = plan.recompute.repeats(i);
      layers += is_recomputed ? profile.sbh() : all;
      if (is_recomputed) largest = std::max(largest, all);
    }
  }
  memory.data_parallel = static_cast<double>(plan.ranks()) / (static_cast<double>(plan.expert) * plan.pipeline);
  const double accumulation =
      static_cast<double>(plan.global_batch) / (static_cast<double>(plan.microbatch) * memory.data_parallel);
  memory.accumulation_saving = std::min(1.0, accumulation / plan.pipeline);
  const double stages = plan.pipeline;
  memory.penalty = 1.0 + (stages - 1.0) / (stages * plan.chunks);

  // A recomputed stage has the embedding once, another as often as its layers.
  const bool recomputes = largest > 0.0;
  const double once = recomputes ? largest + profile.sbh() : 0.0;
  memory.base_activation_bytes = recomputes ? layers : layers + profile.sbh();
  memory.activation_bytes = memory.base_activation_bytes * stages * memory.penalty * memory.accumulation_saving + once;
  const auto parameters = static_cast<double>(memory.parameters);
  constexpr double weight_and_gradient = 2.0 + 2.0;
  memory.state_bytes = parameters * (weight_and_gradient + (2.0 + 4.0 + 4.0) / memory.data_parallel);

  memory.corrected_state_bytes = parameters * (weight_and_gradient + (4.0 + 4.0 + 4.0) / memory.data_parallel);
  const std::vector<ChunkActivations> alike(plan.chunks, {.kept = Bytes::of(1), .for_weights = Bytes::of(1), .working = {}});
  memory.corrected_microbatches = static_cast<double>(live_peak(passes, alike).bytes.count()) / plan.chunks;
  memory.corrected_activation_bytes = memory.base_activation_bytes * memory.corrected_microbatches + once;
  return memory;
}

}  // namespace weft
