// SPDX-License-Identifier: Apache-2.0
#include "host/memory/activation_memory.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/check.hpp"
#include "workloads/dag/element_type.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft {

namespace {

ElementType known_type(std::string_view name) {
  const auto type = element_type_named(name);
  WEFT_CHECK(type.has_value(), "element types of activations are known");
  return *type;
}

/// Tensors of the parts of a layer.
class TensorLedger {
 public:
  TensorLedger(const TransformerModel& model, const ParallelPlan& plan)
      : model_(model),
        plan_(plan),
        act_(plan.precision.activations()),
        residual_(plan.precision.residuals()),
        linear_(plan.precision.type_of(OperatorRole::linear)),
        fp32_(known_type("FP32")),
        tokens_(plan.tokens()),
        rows_(plan.tokens_between_blocks()) {}

  PartActivations layer(bool has_experts) {
    begin();
    attention();
    const Bytes attention_working = working_;
    const Bytes attention_kept = part_.kept;
    working_ = Bytes::zero();
    if (has_experts) {
      experts(*model_.experts);
    } else {
      norm_input(model_.hidden, "norms", residual_);
      mlp("mlp", model_.mlp.width, true);
    }
    residual_mask();
    // Backward of the second block comes first, and frees what it kept.
    const Bytes freed = part_.kept - attention_kept;
    const Bytes along = size(rows_ * model_.hidden, residual_);
    part_.working = along + std::max(working_, attention_working - freed);
    return std::move(part_);
  }

  PartActivations input() {
    begin();
    constexpr std::uint64_t id_bytes = 8;
    if (model_.images) {
      const ImageInput& images = *model_.images;
      const std::uint64_t patches = plan_.microbatch * images.patches() / plan_.context;
      add("embedding", size(patches * images.patch * images.patch * images.channels, linear_));
    } else {
      add("embedding", count(tokens_ * id_bytes));
    }
    if (model_.dropout > 0.0) add("embedding", count(rows_ * model_.hidden));
    part_.for_weights = part_.kept + size(rows_ * model_.hidden, residual_);
    part_.working = size(rows_ * model_.hidden, residual_) + gathered(model_.hidden);
    return std::move(part_);
  }

  PartActivations output() {
    begin();
    norm_input(model_.hidden, "norms", residual_);
    const std::uint64_t results = model_.images ? plan_.microbatch : tokens_;
    const std::uint64_t words = model_.images ? model_.images->classes : padded_vocabulary(model_, plan_) / plan_.tensor;
    const ElementType product = plan_.precision.type_of(OperatorRole::product);
    add("output layer", size((model_.images ? plan_.microbatch : rows_) * model_.hidden, product));
    for_weights(size(rows_ * model_.hidden, product) + size(results * words, product));
    add("loss", size(results * words, plan_.precision.type_of(OperatorRole::loss)));
    // Logits before their softmax, then their gradient, as the product has them.
    part_.working = size(results * words, product) + gathered(model_.hidden) + size(rows_ * model_.hidden, residual_);
    return std::move(part_);
  }

  Bytes layer_input() const { return size(rows_ * model_.hidden, residual_); }

 private:
  static Bytes count(std::uint64_t bytes) { return Bytes::of(static_cast<std::int64_t>(bytes)); }
  static Bytes size(std::uint64_t elements, ElementType type) { return checked_tensor_size(elements, type); }

  void begin() {
    part_ = {};
    working_ = Bytes::zero();
  }
  void add(std::string_view component, Bytes bytes) {
    if (bytes == Bytes::zero()) return;
    part_.kept += bytes;
    add_item(part_.items, component, bytes);
  }
  void for_weights(Bytes bytes) { part_.for_weights += bytes; }
  /// A part of backward needs so much at once.
  void works(Bytes bytes) { working_ = std::max(working_, bytes); }

  /// What sequence-parallel ranks gather again of an input.
  Bytes gathered(std::uint64_t width) const { return plan_.sequence_parallel ? size(tokens_ * width, act_) : Bytes::zero(); }

  void norm_input(std::uint64_t width, std::string_view component, ElementType type) {
    const std::uint64_t statistics = model_.norm == Norm::layer_norm ? 2 : 1;
    add(component, size(rows_ * width, type) + size(rows_ * statistics, fp32_));
  }
  void residual_mask() {
    constexpr std::uint64_t blocks = 2;
    if (model_.dropout > 0.0) add("residuals", count(blocks * rows_ * model_.hidden));
  }
  /// Input of a product with weights.
  void linear_input(std::string_view component, std::uint64_t m, std::uint64_t width) {
    add(component, size(m * width, linear_));
    for_weights(size(m * width, linear_));
  }
  void linear_output(std::uint64_t m, std::uint64_t width) { for_weights(size(m * width, act_)); }

  // --- Attention ---

  std::uint64_t heads() const { return model_.attention.heads() / plan_.tensor; }
  std::uint64_t key_value_heads() const { return std::max<std::uint64_t>(model_.attention.key_value_heads() / plan_.tensor, 1); }

  void attention() {
    const std::string_view name = "attention";
    const std::uint64_t queries = heads() * model_.attention.key_width();
    const std::uint64_t keys = key_value_heads() * model_.attention.key_width();
    const std::uint64_t values = key_value_heads() * model_.attention.value_width();
    const std::uint64_t outputs = heads() * model_.attention.value_width();
    norm_input(model_.hidden, "norms", residual_);
    linear_input(name, rows_, model_.hidden);
    if (const auto* latent = std::get_if<LatentAttention>(&model_.attention.kind)) {
      compressed(*latent, queries);
    } else {
      linear_output(tokens_, queries + keys + values);
    }
    if (model_.attention.query_key_norm) add(name, size(tokens_ * (queries + keys), act_));
    add(name, size(tokens_ * (queries + keys + values), act_));
    core(outputs);
    for_weights(size(tokens_ * outputs, linear_));
    linear_output(rows_, model_.hidden);

    works(size(tokens_ * (queries + keys + values + outputs), act_) + score_gradients() + gathered(model_.hidden));
  }

  /// Latent attention: what is compressed, before and after its norm.
  void compressed(const LatentAttention& latent, std::uint64_t queries) {
    const std::string_view name = "attention";
    const auto rank = [&](std::uint64_t width) {
      norm_input(width, name, act_);
      linear_input(name, rows_, width);
    };
    if (latent.query_rank > 0) {
      rank(latent.query_rank);
      linear_output(rows_, latent.query_rank);
    }
    linear_output(tokens_, queries);
    rank(latent.key_value_rank);
    linear_output(rows_, latent.key_value_rank + latent.rotary_width);
    linear_output(tokens_, heads() * (latent.key_width + latent.value_width));
  }

  std::uint64_t scores() const { return tokens_ * plan_.sequence * heads(); }
  bool keeps_scores() const { return !plan_.fused_attention && plan_.recompute.kind != RecomputeKind::selective; }

  /// From queries, keys and values to the input of the projection.
  void core(std::uint64_t outputs) {
    const std::string_view name = "attention";
    if (keeps_scores()) {
      const ElementType softmax = plan_.precision.type_of(OperatorRole::full);
      const ElementType product = plan_.precision.type_of(OperatorRole::product);
      add(name, size(scores(), softmax));
      if (model_.dropout > 0.0) add(name, count(scores()));
      if (model_.dropout > 0.0 || !(softmax == product)) add(name, size(scores(), product));
    }
    const bool is_kept_as_it_is = plan_.fused_attention && !(linear_ == act_);
    if (is_kept_as_it_is) add(name, size(tokens_ * outputs, act_));
    add(name, size(tokens_ * outputs, linear_));
    if (plan_.fused_attention && plan_.recompute.kind != RecomputeKind::selective) add(name, size(tokens_ * heads(), fp32_));
  }

  /// Of softmax and of its input; where they were not kept, softmax again.
  Bytes score_gradients() const {
    if (plan_.fused_attention) return Bytes::zero();
    const Bytes one = size(scores(), act_);
    return keeps_scores() ? one * 2 : one * 3;
  }

  // --- MLP ---

  std::uint64_t up_width(std::uint64_t width) const { return model_.mlp.projections_up() * width; }

  /// Projections up, activation, projection down, of `m` rows.
  void mlp_inside(std::string_view component, std::uint64_t m, std::uint64_t width) {
    // ReLU goes backward by its output, which the projection down keeps.
    const bool keeps_up = model_.mlp.activation != Activation::relu || !(linear_ == act_);
    if (keeps_up) add(component, size(m * up_width(width), act_));
    linear_output(m, up_width(width));
    linear_input(component, m, width);
  }
  void mlp(std::string_view component, std::uint64_t width, bool has_own_input) {
    if (has_own_input) linear_input(component, rows_, model_.hidden);
    mlp_inside(component, tokens_, width / plan_.tensor);
    linear_output(rows_, model_.hidden);
    works(size(tokens_ * (up_width(width) + width) / plan_.tensor, act_) + gathered(model_.hidden) * 2);
  }

  // --- Experts ---

  /// Rows of the expert-parallel rank whose experts get most.
  std::uint64_t expert_rows(const ExpertBlock& experts) const {
    const std::vector<double> loads = expert_rank_loads(experts, plan_.expert);
    const double most = *std::max_element(loads.begin(), loads.end()) * static_cast<double>(loads.size());
    const std::uint64_t even = rows_ * experts.top_k * plan_.expert_tensor;
    return static_cast<std::uint64_t>(std::llround(most * static_cast<double>(even)));
  }

  void experts(const ExpertBlock& experts) {
    norm_input(model_.hidden, "norms", residual_);
    constexpr std::uint64_t index_bytes = 8;
    add("router", size(rows_ * model_.hidden, act_) + size(rows_ * (experts.count + experts.top_k), fp32_) +
                      count(rows_ * experts.top_k * index_bytes));
    for_weights(size(rows_ * model_.hidden, act_) + size(rows_ * experts.count, fp32_));
    const std::uint64_t m = expert_rows(experts);
    const std::uint64_t width = experts.width / plan_.expert_tensor;
    linear_input("experts", m, model_.hidden);
    mlp_inside("experts", m, width);
    linear_output(m, model_.hidden);
    works(size(m * (up_width(width) + width + model_.hidden), act_));
    // Shared experts read what the router reads.
    if (experts.shared_width > 0) mlp("shared experts", experts.shared_width, !(linear_ == act_));
  }

  const TransformerModel& model_;
  const ParallelPlan& plan_;
  ElementType act_;       ///< between operators
  ElementType residual_;  ///< between layers
  ElementType linear_;    ///< inputs of products with weights of layers
  ElementType fp32_;
  std::uint64_t tokens_;
  std::uint64_t rows_;
  PartActivations part_;
  Bytes working_;
};

}  // namespace

void add_item(std::vector<ActivationItem>& items, std::string_view component, Bytes bytes) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const ActivationItem& item) { return item.component == component; });
  if (found == items.end()) {
    items.push_back({component, bytes});
  } else {
    found->bytes += bytes;
  }
}

ActivationMemory activation_memory(const TransformerModel& model, const ParallelPlan& plan) {
  TensorLedger ledger(model, plan);
  ActivationMemory memory;
  memory.dense_layer = ledger.layer(false);
  if (model.experts) memory.expert_layer = ledger.layer(true);
  memory.input = ledger.input();
  memory.output = ledger.output();
  memory.layer_input = ledger.layer_input();
  return memory;
}

}  // namespace weft
