// SPDX-License-Identifier: Apache-2.0
// Blocks of recommenders; model_blocks.hpp has their sizes.
#include <numeric>

#include <fmt/format.h>

#include "workloads/plans/block_sizes.hpp"
#include "workloads/plans/model_blocks.hpp"

namespace weft {

namespace {

class RecommenderWriter {
 public:
  RecommenderWriter(const RecommenderModel& model, const ParallelPlan& plan, const SourcePlace& place)
      : model_(model), plan_(plan), sizes_(plan.precision, place), batch_(plan.microbatch), width_(model.width) {}

  std::vector<ModelBlock> write() {
    std::uint32_t last = layers("bottom", model_.bottom, {});
    const std::uint32_t embeddings = tables();
    if (model_.layers.empty()) {
      last = add(pairwise_products(), {last, embeddings});
    } else {
      std::uint64_t inputs = model_.features();
      std::vector<std::uint32_t> after = {last, embeddings};
      for (std::size_t i = 0; i < model_.layers.size(); ++i) {
        last = add(interaction(fmt::format("interaction_{}", i), model_.layers[i], inputs), after);
        after = {last};
        inputs = model_.layers[i].outputs;
      }
    }
    std::vector<std::uint64_t> top = {model_.top_inputs()};
    top.insert(top.end(), model_.top.begin(), model_.top.end());
    layers("top", top, {last});
    blocks_.back().operators.push_back(
        sizes_.row_wise("loss", RowOperator::cross_entropy, batch_, model_.top.back(), OperatorRole::loss));
    return std::move(blocks_);
  }

 private:
  std::uint32_t add(ModelBlock block, std::vector<std::uint32_t> after) {
    block.after = std::move(after);
    blocks_.push_back(std::move(block));
    return static_cast<std::uint32_t>(blocks_.size() - 1);
  }

  /// Weights and biases.
  std::uint64_t dense(std::uint64_t inputs, std::uint64_t outputs) const { return sizes_.product({inputs + 1, outputs}); }

  /// Fully connected layers from each width to the next; the last one.
  std::uint32_t layers(const char* name, const std::vector<std::uint64_t>& widths, std::vector<std::uint32_t> after) {
    std::uint32_t last = 0;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      ModelBlock block{.name = fmt::format("{}_{}", name, i)};
      sizes_.add(block.parameters, dense(widths[i], widths[i + 1]));
      block.operators = {sizes_.matmul("layer", batch_, widths[i + 1], widths[i], OperatorRole::linear),
                         sizes_.row_wise("activation", RowOperator::activation, batch_, widths[i + 1], OperatorRole::pass_through)};
      last = add(std::move(block), std::move(after));
      after = {last};
    }
    return last;
  }

  /// Pooled embeddings of this rank's samples, from the ranks that have the rows; the exchange.
  std::uint32_t tables() {
    const std::uint64_t tables = model_.table_rows.size();
    const std::uint64_t outputs = sizes_.product({batch_, tables});
    const std::uint64_t looked_up = sizes_.product({outputs, model_.pooled});
    sizes_.product({looked_up, width_});
    ModelBlock indices{.name = "indices", .kind = BlockKind::request};
    indices.exchanged = sizes_.bytes(looked_up, *element_type_named("INT64"));
    std::uint32_t last = add(std::move(indices), {});

    const std::uint64_t rows = std::accumulate(model_.table_rows.begin(), model_.table_rows.end(), std::uint64_t{0});
    ModelBlock lookup{.name = "lookup", .kind = BlockKind::lookup};
    lookup.operators = {sizes_.make("embedding_table",
                                    EmbeddingLookup{.rows = outputs,
                                                    .width = width_,
                                                    .table_rows = (rows + plan_.ranks() - 1) / plan_.ranks(),
                                                    .pooled = model_.pooled,
                                                    .is_updated_in_place = true},
                                    OperatorRole::lookup)};
    last = add(std::move(lookup), {last});
    return add({.name = "embeddings", .kind = BlockKind::exchange, .exchanged = sizes_.activations(outputs * width_)}, {last});
  }

  /// Products of all pairs of n vectors of each sample.
  Operator pairs(std::uint64_t n) const { return sizes_.matmul("pairs", n, n, width_, OperatorRole::product, batch_); }

  /// The vectors side by side, their products, and what the top reads of both.
  ModelBlock pairwise_products() const {
    const std::uint64_t n = model_.features();
    sizes_.product({batch_, n, n});
    return {
        .name = "interaction",
        .operators = {
            sizes_.row_wise("stack", RowOperator::permute, sizes_.product({batch_, n}), width_, OperatorRole::pass_through),
            pairs(n), sizes_.row_wise("select", RowOperator::permute, batch_, model_.top_inputs(), OperatorRole::pass_through)}};
  }

  ModelBlock interaction(std::string name, const InteractionLayer& layer, std::uint64_t n) const {
    const std::uint64_t l = layer.outputs;
    ModelBlock block{.name = std::move(name)};
    for (const InteractionModule module : layer.modules) add_module(block, module, n, l);
    if (n != l) add_mixing(block, "shortcut", n, l);
    const std::uint64_t outputs = sizes_.product({batch_, l});
    for (std::size_t i = 0; i < layer.modules.size(); ++i)
      block.operators.push_back(sizes_.row_wise("sum", RowOperator::residual_add, outputs, width_, OperatorRole::residual));
    block.operators.push_back(sizes_.row_wise("norm", RowOperator::layer_norm, outputs, width_, OperatorRole::full));
    sizes_.add(block.parameters, 2 * width_);
    return block;
  }

  /// A matrix over the embeddings: l of n.
  void add_mixing(ModelBlock& block, const char* name, std::uint64_t n, std::uint64_t l) const {
    block.operators.push_back(sizes_.matmul(name, sizes_.product({batch_, width_}), l, n, OperatorRole::linear));
    sizes_.add(block.parameters, sizes_.product({n, l}));
  }

  void add_module(ModelBlock& block, InteractionModule module, std::uint64_t n, std::uint64_t l) const {
    const std::uint64_t d = width_;
    const std::uint64_t vectors = sizes_.product({batch_, n});
    const auto layer = [&](const char* name, std::uint64_t columns, std::uint64_t inner) {
      block.operators.push_back(sizes_.matmul(name, vectors, columns, inner, OperatorRole::linear));
      sizes_.add(block.parameters, dense(inner, columns));
    };
    const auto row_wise = [&](const char* name, RowOperator what, OperatorRole role) {
      block.operators.push_back(sizes_.row_wise(name, what, vectors, d, role));
    };
    switch (module) {
      case InteractionModule::dot_product: {
        const std::uint64_t products = sizes_.product({n, n - 1}) / 2;
        block.operators.push_back(pairs(n));
        block.operators.push_back(sizes_.row_wise("select", RowOperator::permute, batch_, products, OperatorRole::pass_through));
        block.operators.push_back(sizes_.matmul("dot_product", batch_, sizes_.product({l, d}), products, OperatorRole::linear));
        sizes_.add(block.parameters, dense(products, sizes_.product({l, d})));
        return;
      }
      case InteractionModule::linear:
        return add_mixing(block, "linear", n, l);
      case InteractionModule::cross:
        layer("cross", d, d);
        row_wise("cross_product", RowOperator::gated_activation, OperatorRole::pass_through);
        return add_mixing(block, "cross_outputs", n, l);
      case InteractionModule::self_attention:
        layer("qkv", 3 * d, d);
        block.operators.push_back(sizes_.make("attention",
                                              FusedAttention{.batch = batch_,
                                                             .query_heads = 1,
                                                             .key_value_heads = 1,
                                                             .query_length = n,
                                                             .key_length = n,
                                                             .key_width = d,
                                                             .value_width = d,
                                                             .is_causal = false},
                                              OperatorRole::product));
        layer("attention_output", d, d);
        row_wise("residual", RowOperator::residual_add, OperatorRole::residual);
        row_wise("norm", RowOperator::layer_norm, OperatorRole::full);
        layer("mlp_up", d, d);
        row_wise("activation", RowOperator::activation, OperatorRole::pass_through);
        layer("mlp_down", d, d);
        row_wise("residual", RowOperator::residual_add, OperatorRole::residual);
        row_wise("norm", RowOperator::layer_norm, OperatorRole::full);
        sizes_.add(block.parameters, 2 * 2 * d);
        return add_mixing(block, "attention_outputs", n, l);
    }
  }

  const RecommenderModel& model_;
  const ParallelPlan& plan_;
  BlockSizes sizes_;
  std::uint64_t batch_;
  std::uint64_t width_;
  std::vector<ModelBlock> blocks_;
};

}  // namespace

std::vector<ModelBlock> model_blocks(const RecommenderModel& model, const ParallelPlan& plan, const SourcePlace& place) {
  return RecommenderWriter(model, plan, place).write();
}

}  // namespace weft
