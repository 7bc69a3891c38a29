// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/model_components.hpp"

#include <algorithm>
#include <cstddef>

namespace weft {

namespace {

using Components = std::vector<ModelComponent>;

std::uint64_t norm_parameters(Norm norm, std::uint64_t width) { return norm == Norm::layer_norm ? 2 * width : width; }

/// Weights of attention's projections, biases included.
class AttentionComponents {
 public:
  AttentionComponents(const TransformerModel& model, Components& rows) : model_(model), rows_(rows) {}

  void operator()(const GroupedQueryAttention& attention) const {
    const std::uint64_t inputs = model_.hidden + (model_.attention.query_key_value_bias ? 1 : 0);
    const std::uint64_t queries = attention.heads * attention.head_width;
    const std::uint64_t keys = attention.key_value_heads * attention.head_width;
    add(inputs * queries, Division::tensor);
    rows_.push_back({"attention", inputs * 2 * keys, Division::tensor, attention.key_value_heads});
    if (model_.attention.query_key_norm) add(2 * norm_parameters(model_.norm, attention.head_width), Division::copied);
    add_output(queries);
  }

  void operator()(const LatentAttention& attention) const {
    const std::uint64_t queries = attention.heads * (attention.key_width + attention.rotary_width);
    if (attention.query_rank > 0) {
      add(model_.hidden * attention.query_rank + attention.query_rank, Division::copied);
      add(attention.query_rank * queries, Division::tensor);
    } else {
      add(model_.hidden * queries, Division::tensor);
    }
    add(model_.hidden * (attention.key_value_rank + attention.rotary_width) + attention.key_value_rank, Division::copied);
    add(attention.key_value_rank * attention.heads * (attention.key_width + attention.value_width), Division::tensor);
    add_output(attention.heads * attention.value_width);
  }

 private:
  void add(std::uint64_t parameters, Division division) const { rows_.push_back({"attention", parameters, division}); }
  void add_output(std::uint64_t inputs) const {
    add(inputs * model_.hidden, Division::tensor);
    if (model_.attention.output_bias) add(model_.hidden, Division::copied);
  }

  const TransformerModel& model_;
  Components& rows_;
};

void add_mlp(const TransformerModel& model, Components& rows) {
  const MlpBlock& mlp = model.mlp;
  rows.push_back({"mlp", (mlp.projections_up() + 1) * model.hidden * mlp.width, Division::tensor});
  if (!mlp.bias) return;
  rows.push_back({"mlp", mlp.projections_up() * mlp.width, Division::tensor});
  rows.push_back({"mlp", model.hidden, Division::copied});
}

void add_experts(const TransformerModel& model, const ExpertBlock& experts, Components& rows) {
  const std::uint64_t matrices = model.mlp.projections_up() + 1;
  rows.push_back({"router", model.hidden * experts.count + (experts.router_bias ? experts.count : 0), Division::copied});
  rows.push_back({"experts", experts.count * matrices * model.hidden * experts.width, Division::expert});
  if (model.mlp.bias) {
    rows.push_back({"experts", experts.count * model.mlp.projections_up() * experts.width, Division::expert});
    rows.push_back({"experts", experts.count * model.hidden, Division::expert_copied});
  }
  if (experts.shared_width > 0) {
    rows.push_back({"shared experts", matrices * model.hidden * experts.shared_width, Division::tensor});
  }
}

// --- Other models ---

std::uint64_t dense_layer(std::uint64_t inputs, std::uint64_t outputs) { return inputs * outputs + outputs; }

std::uint64_t mlp_parameters(const std::vector<std::uint64_t>& widths) {
  std::uint64_t sum = 0;
  for (std::size_t i = 1; i < widths.size(); ++i) sum += dense_layer(widths[i - 1], widths[i]);
  return sum;
}

std::uint64_t module_parameters(InteractionModule module, std::uint64_t n, std::uint64_t l, std::uint64_t d) {
  switch (module) {
    case InteractionModule::dot_product:
      return dense_layer(n * (n - 1) / 2, l * d);
    case InteractionModule::linear:
      return n * l;
    case InteractionModule::cross:
      return dense_layer(d, d) + n * l;
    case InteractionModule::self_attention:
      return 4 * dense_layer(d, d) + 2 * 2 * d + 2 * dense_layer(d, d) + n * l;
  }
  return 0;
}

std::uint64_t interaction_parameters(const RecommenderModel& model) {
  std::uint64_t sum = 0;
  std::uint64_t n = model.features();
  for (const InteractionLayer& layer : model.layers) {
    for (const InteractionModule module : layer.modules) sum += module_parameters(module, n, layer.outputs, model.width);
    sum += (n != layer.outputs ? n * layer.outputs : 0) + 2 * model.width;
    n = layer.outputs;
  }
  return sum;
}

std::vector<ComponentCount> recommender_counts(const RecommenderModel& model) {
  std::uint64_t rows = 0;
  for (const std::uint64_t table : model.table_rows) rows += table;
  std::vector<std::uint64_t> top = {model.top_inputs()};
  top.insert(top.end(), model.top.begin(), model.top.end());
  const std::uint64_t bottom = mlp_parameters(model.bottom);
  const std::uint64_t interactions = interaction_parameters(model);
  const std::uint64_t top_parameters = mlp_parameters(top);
  return {{"embedding tables", rows * model.width, model.table_rows.size() * model.pooled * model.width},
          {"bottom layers", bottom, bottom},
          {"interactions", interactions, interactions},
          {"top layers", top_parameters, top_parameters}};
}

std::vector<ComponentCount> unet_counts(const UNetModel& model) {
  const auto convolution = [&](std::uint64_t from, std::uint64_t to) {
    constexpr std::uint64_t points = 3 * 3;
    return points * from * to + (model.batch_norm ? 2 * to : to);
  };
  std::uint64_t down = 0;
  std::uint64_t up = 0;
  std::uint64_t channels = model.channels;
  for (std::uint64_t level = 0; level <= model.levels; ++level) {
    const std::uint64_t own = model.channels_of(level);
    down += convolution(channels, own) + convolution(own, own);
    channels = own;
  }
  for (std::uint64_t level = 0; level < model.levels; ++level) {
    const std::uint64_t own = model.channels_of(level);
    constexpr std::uint64_t points = 2 * 2;
    const std::uint64_t upward = points * 2 * own * own + own;
    up += upward + convolution(2 * own, own) + convolution(own, own);
  }
  const std::uint64_t head = dense_layer(model.base_channels, model.classes);
  return {{"encoder", down, down}, {"decoder", up, up}, {"head", head, head}};
}

// --- Transformers ---

/// Adds rows to the counts, so many instances of each.
void count(const Components& rows, std::uint64_t instances, const TransformerModel& model, std::vector<ComponentCount>& counts) {
  for (const ModelComponent& row : rows) {
    auto found = std::find_if(counts.begin(), counts.end(), [&](const ComponentCount& known) { return known.name == row.name; });
    if (found == counts.end()) found = counts.insert(counts.end(), {row.name, 0, 0});
    const std::uint64_t all = instances * row.parameters;
    found->parameters += all;
    found->active += row.name == "experts" ? all / model.experts->count * model.experts->top_k : all;
  }
}

std::vector<ComponentCount> transformer_counts(const TransformerModel& model) {
  std::vector<ComponentCount> counts;
  const std::uint64_t dense = model.dense_layers();
  count(input_components(model, model.vocabulary), 1, model, counts);
  if (dense > 0) count(layer_components(model, false), dense, model, counts);
  if (dense < model.layers) count(layer_components(model, true), model.layers - dense, model, counts);
  count(output_components(model, model.vocabulary), 1, model, counts);
  return counts;
}

struct CountsOf {
  std::vector<ComponentCount> operator()(const TransformerModel& model) const { return transformer_counts(model); }
  std::vector<ComponentCount> operator()(const RecommenderModel& model) const { return recommender_counts(model); }
  std::vector<ComponentCount> operator()(const UNetModel& model) const { return unet_counts(model); }
};

}  // namespace

std::uint64_t RecommenderModel::top_inputs() const {
  if (!layers.empty()) return layers.back().outputs * width;
  return features() * (features() - 1) / 2 + width;
}

std::vector<ModelComponent> input_components(const TransformerModel& model, std::uint64_t vocabulary) {
  Components rows;
  if (model.images) {
    const std::uint64_t points = model.images->patch * model.images->patch * model.images->channels;
    const std::uint64_t class_token = model.hidden;
    rows.push_back({"embedding", dense_layer(points, model.hidden) + class_token});
  } else {
    rows.push_back({"embedding", vocabulary * model.hidden, Division::tensor});
  }
  if (model.positions == Positions::learned) rows.push_back({"positions", model.learned_positions * model.hidden});
  return rows;
}

std::vector<ModelComponent> layer_components(const TransformerModel& model, bool has_experts) {
  Components rows;
  rows.push_back({"norms", 2 * norm_parameters(model.norm, model.hidden)});
  std::visit(AttentionComponents(model, rows), model.attention.kind);
  if (has_experts) {
    add_experts(model, *model.experts, rows);
  } else {
    add_mlp(model, rows);
  }
  return rows;
}

std::vector<ModelComponent> output_components(const TransformerModel& model, std::uint64_t vocabulary) {
  Components rows;
  rows.push_back({"norms", norm_parameters(model.norm, model.hidden)});
  if (model.images) {
    rows.push_back({"output layer", dense_layer(model.hidden, model.images->classes)});
  } else if (!model.tied_embeddings) {
    rows.push_back({"output layer", vocabulary * model.hidden, Division::tensor});
  }
  return rows;
}

std::vector<ComponentCount> component_counts(const ModelDescription& model) { return std::visit(CountsOf(), model.what); }

std::uint64_t parameter_count(const ModelDescription& model) {
  std::uint64_t sum = 0;
  for (const ComponentCount& row : component_counts(model)) sum += row.parameters;
  return sum;
}

std::uint64_t active_parameter_count(const ModelDescription& model) {
  std::uint64_t sum = 0;
  for (const ComponentCount& row : component_counts(model)) sum += row.active;
  return sum;
}

}  // namespace weft
