// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/training_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "workloads/plans/pass_builder.hpp"

namespace weft {

namespace {

using Operators = PassBuilder::Operators;

Operators all_in(OperatorPass pass, const std::vector<Operator>& ops) {
  Operators timed;
  for (const Operator& op : ops) timed.push_back({op, pass});
  return timed;
}

/// In reverse order, as backward goes.
Operators backward_of(const std::vector<Operator>& ops) {
  Operators timed;
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) timed.push_back({*op, OperatorPass::backward});
  return timed;
}

/// Shapes and sizes of one layer on one rank; writes the steps of its parts.
class PartWriter {
 public:
  PartWriter(const TransformerModel& model, const ParallelPlan& plan, double load) : model_(model), plan_(plan), load_(load) {}

  PartPasses layer(bool has_experts) const {
    return all_passes(
        [&](PassBuilder& pass) {
          attention_forward(pass);
          has_experts ? experts_forward(pass) : mlp_forward(pass);
        },
        [&](PassBuilder& pass, GradientKind kind) {
          has_experts ? experts_backward(pass, kind) : mlp_backward(pass, kind);
          attention_backward(pass, kind);
        });
  }

  PartPasses input() const {
    return all_passes([&](PassBuilder& pass) { input_forward(pass); },
                      [&](PassBuilder& pass, GradientKind kind) { input_backward(pass, kind); });
  }

  PartPasses output() const {
    return all_passes([&](PassBuilder& pass) { output_forward(pass); },
                      [&](PassBuilder& pass, GradientKind kind) { output_backward(pass, kind); });
  }

  Bytes between_stages() const { return activations(plan_.tokens_between_blocks() * model_.hidden); }

 private:
  template <class Forward, class Backward>
  PartPasses all_passes(const Forward& forward, const Backward& backward) const {
    PartPasses passes;
    PassBuilder builder(plan_);
    forward(builder);
    passes.forward = builder.finish();
    const auto written = [&](GradientKind kind) {
      PassBuilder pass(plan_);
      backward(pass, kind);
      return pass.finish();
    };
    passes.backward = written(GradientKind::both);
    passes.backward_input = written(GradientKind::input);
    passes.backward_weight = written(GradientKind::weight);
    return passes;
  }

  // --- Sizes ---

  std::uint64_t tokens() const { return plan_.tokens(); }
  std::uint64_t rows() const { return plan_.tokens_between_blocks(); }
  std::uint64_t hidden() const { return model_.hidden; }
  std::uint64_t heads() const { return model_.attention.heads() / plan_.tensor; }
  std::uint64_t key_value_heads() const { return std::max<std::uint64_t>(model_.attention.key_value_heads() / plan_.tensor, 1); }
  std::uint64_t query_width() const { return heads() * model_.attention.key_width(); }
  std::uint64_t key_value_width() const {
    return key_value_heads() * (model_.attention.key_width() + model_.attention.value_width());
  }
  std::uint64_t output_width() const { return heads() * model_.attention.value_width(); }
  const LatentAttention* latent() const { return std::get_if<LatentAttention>(&model_.attention.kind); }

  Bytes activations(std::uint64_t elements) const { return checked_tensor_size(elements, plan_.precision.activations()); }

  // --- Operators ---

  Operator make(std::string_view name, const OperatorShape& shape, OperatorRole role) const {
    return {name, shape, plan_.precision.type_of(role)};
  }
  Operator linear(std::string_view name, std::uint64_t m, std::uint64_t n, std::uint64_t k) const {
    return make(name, Matmul{.rows = m, .columns = n, .inner = k}, OperatorRole::linear);
  }
  Operator row_wise(std::string_view name, RowOperator what, std::uint64_t m, std::uint64_t width, OperatorRole role) const {
    return make(name, RowWise{.what = what, .rows = m, .width = width}, role);
  }
  Operator norm(std::string_view name, std::uint64_t m, std::uint64_t width) const {
    return row_wise(name, model_.norm == Norm::layer_norm ? RowOperator::layer_norm : RowOperator::rms_norm, m, width,
                    OperatorRole::full);
  }
  Operator block_norm() const { return norm("norm", rows(), hidden()); }
  /// What stands behind each block: dropout where there is any, and the sum with what went past it.
  std::vector<Operator> residual() const {
    std::vector<Operator> ops;
    if (model_.dropout > 0.0)
      ops.push_back(row_wise("dropout", RowOperator::dropout, rows(), hidden(), OperatorRole::pass_through));
    ops.push_back(row_wise("residual", RowOperator::residual_add, rows(), hidden(), OperatorRole::residual));
    return ops;
  }

  // --- Blocks split by columns at their beginning and by rows at their end ---

  /// Brings inputs of `width` together on tensor-parallel ranks.
  void gather(PassBuilder& pass, std::uint64_t width) const {
    if (plan_.sequence_parallel)
      pass.collective("gather", PlanAxis::tensor, CollectiveType::all_gather, activations(rows() * width));
  }
  /// Adds outputs of tensor-parallel ranks up.
  void sum_up(PassBuilder& pass) const {
    const CollectiveType type = plan_.sequence_parallel ? CollectiveType::reduce_scatter : CollectiveType::all_reduce;
    pass.collective(plan_.sequence_parallel ? "scatter" : "sum", PlanAxis::tensor, type, activations(tokens() * hidden()));
  }

  /// Gradients of products whose input, of `width`, all tensor-parallel ranks have.
  void columns_backward(PassBuilder& pass, const std::vector<Operator>& ops, std::uint64_t width, GradientKind kind) const {
    if (plan_.tensor == 1) {
      if (kind != GradientKind::weight) pass.compute("input_gradient", all_in(OperatorPass::backward_input, ops));
      if (kind != GradientKind::input) pass.compute("weights", all_in(OperatorPass::backward_weight, ops));
      return;
    }
    const PassBuilder::After begin = pass.last();
    PassBuilder::After gathered = begin;
    if (plan_.sequence_parallel && kind != GradientKind::input) {
      gathered =
          pass.collective_after("gather_input", PlanAxis::tensor, CollectiveType::all_gather, activations(rows() * width), begin);
    }
    if (kind == GradientKind::weight)
      return pass.continue_after(pass.compute_after("weights", all_in(OperatorPass::backward_weight, ops), gathered));
    const PassBuilder::After gradient = pass.compute_after("input_gradient", all_in(OperatorPass::backward_input, ops), begin);
    const CollectiveType type = plan_.sequence_parallel ? CollectiveType::reduce_scatter : CollectiveType::all_reduce;
    const PassBuilder::After summed = pass.collective_after(plan_.sequence_parallel ? "scatter_gradient" : "sum_gradient",
                                                            PlanAxis::tensor, type, activations(tokens() * width), gradient);
    if (kind == GradientKind::input) return pass.continue_after(summed);
    pass.continue_after(
        joined(summed, pass.compute_after("weights", all_in(OperatorPass::backward_weight, ops), joined(gradient, gathered))));
  }

  /// Gradients of products whose output the ranks added up.
  void rows_backward(PassBuilder& pass, std::string_view name, const Operator& op, const std::vector<Operator>& before,
                     GradientKind kind) const {
    if (kind != GradientKind::weight) gather(pass, hidden());
    Operators ops;
    if (kind != GradientKind::weight) ops.push_back({op, OperatorPass::backward_input});
    if (kind != GradientKind::input) ops.push_back({op, OperatorPass::backward_weight});
    if (kind != GradientKind::weight) {
      for (const TimedOperator& one : backward_of(before)) ops.push_back(one);
    }
    pass.compute(name, std::move(ops));
  }

  // --- Attention ---

  /// Products from the input, or from what is compressed, to queries, keys and values.
  std::vector<Operator> projections() const {
    const LatentAttention* compressed = latent();
    if (compressed == nullptr) return {linear("qkv", tokens(), query_width() + key_value_width(), hidden())};
    std::vector<Operator> ops;
    if (compressed->query_rank > 0) {
      ops.push_back(linear("query_up", tokens(), query_width(), compressed->query_rank));
    } else {
      ops.push_back(linear("query", tokens(), query_width(), hidden()));
    }
    ops.push_back(
        linear("key_value_up", tokens(), heads() * (compressed->key_width + compressed->value_width), compressed->key_value_rank));
    return ops;
  }
  /// Width of what those products read.
  std::uint64_t projected_width() const {
    const LatentAttention* compressed = latent();
    if (compressed == nullptr) return hidden();
    return (compressed->query_rank > 0 ? compressed->query_rank : hidden()) + compressed->key_value_rank + compressed->rotary_width;
  }
  /// Products that compress, which every tensor-parallel rank does for its own rows.
  std::vector<Operator> compressions() const {
    const LatentAttention* compressed = latent();
    if (compressed == nullptr) return {};
    std::vector<Operator> ops;
    if (compressed->query_rank > 0) ops.push_back(linear("query_down", rows(), compressed->query_rank, hidden()));
    ops.push_back(linear("key_value_down", rows(), compressed->key_value_rank + compressed->rotary_width, hidden()));
    return ops;
  }
  std::vector<Operator> compressed_norms() const {
    const LatentAttention* compressed = latent();
    if (compressed == nullptr) return {};
    std::vector<Operator> ops;
    if (compressed->query_rank > 0) ops.push_back(norm("query_norm", rows(), compressed->query_rank));
    ops.push_back(norm("key_value_norm", rows(), compressed->key_value_rank));
    return ops;
  }

  /// On queries and keys, before attention.
  std::vector<Operator> query_key_operators() const {
    std::vector<Operator> ops;
    const std::uint64_t keys = key_value_heads() * model_.attention.key_width();
    if (model_.attention.query_key_norm) {
      ops.push_back(norm("query_key_norm", tokens() * (heads() + key_value_heads()), model_.attention.key_width()));
    }
    if (model_.positions == Positions::rotary) {
      const LatentAttention* compressed = latent();
      const std::uint64_t width = compressed == nullptr ? query_width() + keys : (heads() + 1) * compressed->rotary_width;
      ops.push_back(row_wise("rotary", RowOperator::rotary, tokens(), width, OperatorRole::pass_through));
    }
    return ops;
  }

  /// One of `parts` parts of attention that follow each other on different keys.
  std::vector<Operator> attention_part() const {
    const bool by_heads = plan_.context_exchange == ContextExchange::heads;
    const bool by_ring = plan_.context_exchange == ContextExchange::ring;
    const std::uint64_t own = plan_.sequence / plan_.context;
    const std::uint64_t queries = by_heads ? plan_.sequence : own;
    const std::uint64_t keys = by_ring ? own : plan_.sequence;
    const std::uint64_t ranks = by_heads ? plan_.context : 1;
    const std::uint64_t a = heads() / ranks;
    const std::uint64_t g = std::max<std::uint64_t>(key_value_heads() / ranks, 1);
    if (plan_.fused_attention) {
      return {make("attention",
                   FusedAttention{.batch = plan_.microbatch,
                                  .query_heads = a,
                                  .key_value_heads = g,
                                  .query_length = queries,
                                  .key_length = keys,
                                  .key_width = model_.attention.key_width(),
                                  .value_width = model_.attention.value_width(),
                                  .is_causal = model_.is_causal()},
                   OperatorRole::product)};
    }
    const std::uint64_t groups = plan_.microbatch * a;
    std::vector<Operator> ops = {
        make("scores", Matmul{.rows = queries, .columns = keys, .inner = model_.attention.key_width(), .groups = groups},
             OperatorRole::product),
        row_wise("softmax", model_.is_causal() ? RowOperator::masked_softmax : RowOperator::softmax, groups * queries, keys,
                 OperatorRole::full)};
    if (model_.dropout > 0.0)
      ops.push_back(row_wise("dropout", RowOperator::dropout, groups * queries, keys, OperatorRole::pass_through));
    ops.push_back(make("values",
                       Matmul{.rows = queries, .columns = model_.attention.value_width(), .inner = keys, .groups = groups},
                       OperatorRole::product));
    return ops;
  }

  Bytes keys_and_values() const { return activations(tokens() * key_value_width()); }
  bool has_ring() const { return plan_.context > 1 && plan_.context_exchange == ContextExchange::ring; }
  bool has_gather() const { return plan_.context > 1 && plan_.context_exchange == ContextExchange::gather; }
  bool has_heads() const { return plan_.context > 1 && plan_.context_exchange == ContextExchange::heads; }

  void core_forward(PassBuilder& pass) const {
    if (has_gather()) pass.collective("keys_and_values", PlanAxis::context, CollectiveType::all_gather, keys_and_values());
    if (has_heads()) {
      pass.collective("to_heads", PlanAxis::context, CollectiveType::all_to_all,
                      activations(tokens() * (query_width() + key_value_width())));
    }
    if (has_ring()) {
      ring(pass, all_in(OperatorPass::forward, attention_part()), keys_and_values(), Bytes::zero());
    } else {
      pass.compute("attention", all_in(OperatorPass::forward, attention_part()));
    }
    if (has_heads())
      pass.collective("to_sequence", PlanAxis::context, CollectiveType::all_to_all, activations(tokens() * output_width()));
  }

  void core_backward(PassBuilder& pass) const {
    if (has_heads())
      pass.collective("to_heads", PlanAxis::context, CollectiveType::all_to_all, activations(tokens() * output_width()));
    if (has_gather()) pass.collective("keys_and_values", PlanAxis::context, CollectiveType::all_gather, keys_and_values());
    Operators ops;
    if (plan_.recompute.kind == RecomputeKind::selective) ops = all_in(OperatorPass::forward, attention_part());
    for (const TimedOperator& op : backward_of(attention_part())) ops.push_back(op);
    if (has_ring()) {
      ring(pass, ops, keys_and_values(), keys_and_values());
    } else {
      pass.compute("attention", std::move(ops));
    }
    if (has_gather()) {
      pass.collective("key_value_gradients", PlanAxis::context, CollectiveType::reduce_scatter,
                      activations(plan_.context * tokens() * key_value_width()));
    }
    if (has_heads()) {
      pass.collective("to_sequence", PlanAxis::context, CollectiveType::all_to_all,
                      activations(tokens() * (query_width() + key_value_width())));
    }
  }

  /// Each of C parts works while what the next one needs is on its way; results, if any, follow.
  void ring(PassBuilder& pass, const Operators& part, Bytes ahead, Bytes results) const {
    PassBuilder::After there = pass.last();
    PassBuilder::After worked;
    PassBuilder::After passed_on;
    for (std::uint32_t i = 0; i < plan_.context; ++i) {
      const bool is_last = i + 1 == plan_.context;
      const PassBuilder::After next = is_last ? there : pass.shift_after("keys_and_values", PlanAxis::context, ahead, there);
      worked = pass.compute_after("attention", part, joined(there, worked));
      // Results add up on their way, so that each part's go with those of the part before.
      passed_on = results == Bytes::zero()
                      ? worked
                      : pass.shift_after("key_value_gradients", PlanAxis::context, results, joined(worked, passed_on));
      there = next;
    }
    pass.continue_after(joined(worked, passed_on));
  }

  Operator projection() const { return linear("projection", tokens(), hidden(), output_width()); }

  void attention_forward(PassBuilder& pass) const {
    pass.compute("attention", all_in(OperatorPass::forward, {block_norm()}));
    pass.compute("attention", all_in(OperatorPass::forward, compressions()));
    pass.compute("attention", all_in(OperatorPass::forward, compressed_norms()));
    gather(pass, projected_width());
    pass.compute("attention", all_in(OperatorPass::forward, projections()));
    pass.compute("attention", all_in(OperatorPass::forward, query_key_operators()));
    core_forward(pass);
    pass.compute("projection", all_in(OperatorPass::forward, {projection()}));
    sum_up(pass);
    pass.compute("residual", all_in(OperatorPass::forward, residual()));
  }

  void attention_backward(PassBuilder& pass, GradientKind kind) const {
    if (kind != GradientKind::weight) pass.compute("residual", backward_of(residual()));
    rows_backward(pass, "projection", projection(), {}, kind);
    if (kind != GradientKind::weight) {
      core_backward(pass);
      pass.compute("attention", backward_of(query_key_operators()));
    }
    columns_backward(pass, projections(), projected_width(), kind);
    Operators ops;
    if (kind != GradientKind::weight) ops = backward_of(compressed_norms());
    for (const Operator& op : compressions()) {
      if (kind != GradientKind::weight) ops.push_back({op, OperatorPass::backward_input});
      if (kind != GradientKind::input) ops.push_back({op, OperatorPass::backward_weight});
    }
    if (kind != GradientKind::weight) ops.push_back({block_norm(), OperatorPass::backward});
    pass.compute("norm", std::move(ops));
  }

  // --- MLP, dense or shared by all tokens ---

  std::uint64_t up_columns(std::uint64_t width) const { return model_.mlp.projections_up() * width / plan_.tensor; }
  Operator up(std::uint64_t width) const { return linear("mlp_up", tokens(), up_columns(width), hidden()); }
  Operator down(std::uint64_t width) const { return linear("mlp_down", tokens(), hidden(), width / plan_.tensor); }
  Operator activation(std::uint64_t m, std::uint64_t width) const {
    return row_wise("activation", model_.mlp.is_gated() ? RowOperator::gated_activation : RowOperator::activation, m, width,
                    OperatorRole::pass_through);
  }

  void dense_forward(PassBuilder& pass, std::uint64_t width) const {
    gather(pass, hidden());
    pass.compute("mlp", all_in(OperatorPass::forward, {up(width), activation(tokens(), width / plan_.tensor), down(width)}));
    sum_up(pass);
  }
  void dense_backward(PassBuilder& pass, std::uint64_t width, GradientKind kind) const {
    rows_backward(pass, "mlp", down(width), {activation(tokens(), width / plan_.tensor)}, kind);
    columns_backward(pass, {up(width)}, hidden(), kind);
  }

  void mlp_forward(PassBuilder& pass) const {
    pass.compute("norm", all_in(OperatorPass::forward, {block_norm()}));
    dense_forward(pass, model_.mlp.width);
    pass.compute("residual", all_in(OperatorPass::forward, residual()));
  }
  void mlp_backward(PassBuilder& pass, GradientKind kind) const {
    if (kind != GradientKind::weight) pass.compute("residual", backward_of(residual()));
    dense_backward(pass, model_.mlp.width, kind);
    if (kind != GradientKind::weight) pass.compute("norm", backward_of({block_norm()}));
  }

  // --- Experts ---

  const ExpertBlock& experts() const { return *model_.experts; }
  std::uint64_t sent_rows() const { return rows() * experts().top_k; }
  /// Rows of this rank's experts.
  std::uint64_t expert_rows() const {
    return static_cast<std::uint64_t>(std::llround(load_ * static_cast<double>(sent_rows() * plan_.expert_tensor)));
  }
  Bytes sent() const { return activations(sent_rows() * hidden()); }

  std::vector<Operator> routing() const {
    return {make("router", Matmul{.rows = rows(), .columns = experts().count, .inner = hidden()}, OperatorRole::product),
            row_wise("top_k", RowOperator::router, rows(), experts().count, OperatorRole::full)};
  }
  Operator permute() const { return row_wise("permute", RowOperator::permute, sent_rows(), hidden(), OperatorRole::pass_through); }

  Operator grouped(std::string_view name, std::uint64_t columns, std::uint64_t inner) const {
    const std::uint64_t groups = experts().count / plan_.expert;
    return make(
        name,
        GroupedMatmul{.rows = expert_rows(), .rows_most = rows_most(groups), .columns = columns, .inner = inner, .groups = groups},
        OperatorRole::linear);
  }
  /// Of the largest expert of this rank; loads inside a rank differ as those of all experts do.
  std::uint64_t rows_most(std::uint64_t groups) const {
    const std::uint64_t even = (expert_rows() + groups - 1) / groups;
    if (experts().load_shares.empty() || groups == 1) return groups == 1 ? expert_rows() : even;
    const double most = *std::max_element(experts().load_shares.begin(), experts().load_shares.end());
    const double mean = 1.0 / static_cast<double>(experts().count);
    return std::min(expert_rows(), static_cast<std::uint64_t>(std::ceil(static_cast<double>(even) * most / mean)));
  }
  std::uint64_t expert_width() const { return experts().width / plan_.expert_tensor; }
  Operator expert_up() const { return grouped("expert_up", model_.mlp.projections_up() * expert_width(), hidden()); }
  Operator expert_down() const { return grouped("expert_down", hidden(), expert_width()); }
  Operator expert_activation() const { return activation(expert_rows(), expert_width()); }

  void gather_tokens(PassBuilder& pass) const {
    pass.collective("gather_tokens", PlanAxis::expert_tensor, CollectiveType::all_gather,
                    activations(expert_rows() / plan_.expert_tensor * hidden()));
  }
  void scatter_tokens(PassBuilder& pass) const {
    pass.collective("scatter_tokens", PlanAxis::expert_tensor, CollectiveType::reduce_scatter,
                    activations(expert_rows() * hidden()));
  }

  void experts_forward(PassBuilder& pass) const {
    pass.compute("norm", all_in(OperatorPass::forward, {block_norm()}));
    pass.compute("router", all_in(OperatorPass::forward, routing()));
    pass.compute("router", all_in(OperatorPass::forward, {permute()}));
    pass.exchange("dispatch", sent(), false);
    gather_tokens(pass);
    pass.compute("experts", all_in(OperatorPass::forward, {expert_up(), expert_activation(), expert_down()}));
    scatter_tokens(pass);
    pass.exchange("combine", sent(), true);
    pass.compute("permute", all_in(OperatorPass::forward, {permute()}));
    if (experts().shared_width > 0) dense_forward(pass, experts().shared_width);
    pass.compute("residual", all_in(OperatorPass::forward, residual()));
  }

  void experts_backward(PassBuilder& pass, GradientKind kind) const {
    const bool has_input = kind != GradientKind::weight;
    const bool has_weight = kind != GradientKind::input;
    if (has_input) pass.compute("residual", backward_of(residual()));
    if (experts().shared_width > 0) dense_backward(pass, experts().shared_width, kind);
    if (has_input) {
      pass.compute("permute", backward_of({permute()}));
      pass.exchange("dispatch", sent(), false);
      gather_tokens(pass);
    }
    Operators ops;
    for (const Operator& op : {expert_down(), expert_up()}) {
      if (has_input) ops.push_back({op, OperatorPass::backward_input});
      if (has_weight) ops.push_back({op, OperatorPass::backward_weight});
      if (has_input && op.name == "expert_down") ops.push_back({expert_activation(), OperatorPass::backward});
    }
    pass.compute("experts", std::move(ops));
    if (has_input) {
      scatter_tokens(pass);
      pass.exchange("combine", sent(), true);
      pass.compute("permute", backward_of({permute()}));
    }
    Operators router;
    if (has_input) router.push_back({routing().back(), OperatorPass::backward});
    if (has_input) router.push_back({routing().front(), OperatorPass::backward_input});
    if (has_weight) router.push_back({routing().front(), OperatorPass::backward_weight});
    pass.compute("router", std::move(router));
    if (has_input) pass.compute("norm", backward_of({block_norm()}));
  }

  // --- Ends ---

  std::uint64_t words() const { return padded_vocabulary(model_, plan_) / plan_.tensor; }
  Operator patches() const {
    const ImageInput& images = *model_.images;
    return linear("patches", plan_.microbatch * images.patches() / plan_.context, hidden(),
                  images.patch * images.patch * images.channels);
  }
  Operator lookup() const {
    return make("embedding", EmbeddingLookup{.rows = tokens(), .width = hidden(), .table_rows = words()}, OperatorRole::lookup);
  }
  std::vector<Operator> behind_embedding() const {
    std::vector<Operator> ops;
    if (model_.positions == Positions::learned) {
      ops.push_back(row_wise("positions", RowOperator::residual_add, rows(), hidden(), OperatorRole::residual));
    }
    if (model_.dropout > 0.0)
      ops.push_back(row_wise("dropout", RowOperator::dropout, rows(), hidden(), OperatorRole::pass_through));
    return ops;
  }

  void input_forward(PassBuilder& pass) const {
    if (model_.images) {
      pass.compute("embedding", all_in(OperatorPass::forward, {patches()}));
    } else {
      pass.compute("embedding", all_in(OperatorPass::forward, {lookup()}));
      sum_up(pass);
    }
    pass.compute("embedding", all_in(OperatorPass::forward, behind_embedding()));
  }

  void input_backward(PassBuilder& pass, GradientKind kind) const {
    if (kind != GradientKind::weight) pass.compute("embedding", backward_of(behind_embedding()));
    if (kind == GradientKind::input) return;
    if (model_.images) return pass.compute("embedding", all_in(OperatorPass::backward_weight, {patches()}));
    gather(pass, hidden());
    pass.compute("embedding", backward_of({lookup()}));
  }

  Operator head() const {
    if (model_.images) {
      return make("output_layer", Matmul{.rows = plan_.microbatch, .columns = model_.images->classes, .inner = hidden()},
                  OperatorRole::product);
    }
    return make("output_layer", Matmul{.rows = tokens(), .columns = words(), .inner = hidden()}, OperatorRole::product);
  }
  Operator loss() const {
    const std::uint64_t m = model_.images ? plan_.microbatch : tokens();
    const std::uint64_t width = model_.images ? model_.images->classes : words();
    return row_wise("loss", RowOperator::cross_entropy, m, width, OperatorRole::loss);
  }

  void output_forward(PassBuilder& pass) const {
    pass.compute("norm", all_in(OperatorPass::forward, {block_norm()}));
    if (!model_.images) gather(pass, hidden());
    pass.compute("output_layer", all_in(OperatorPass::forward, {head()}));
    if (!model_.images) {
      // Each rank has logits of its words: their maximum, the target's logit, the sum.
      const Bytes number_per_token = checked_tensor_size(tokens(), *element_type_named("FP32"));
      for (const char* name : {"loss_maximum", "loss_target", "loss_sum"}) {
        pass.collective(name, PlanAxis::tensor, CollectiveType::all_reduce, number_per_token);
      }
    }
    pass.compute("loss", all_in(OperatorPass::forward, {loss()}));
  }

  void output_backward(PassBuilder& pass, GradientKind kind) const {
    if (kind != GradientKind::weight) pass.compute("loss", backward_of({loss()}));
    if (model_.images) {
      Operators ops;
      if (kind != GradientKind::weight) ops.push_back({head(), OperatorPass::backward_input});
      if (kind != GradientKind::input) ops.push_back({head(), OperatorPass::backward_weight});
      pass.compute("output_layer", std::move(ops));
    } else {
      columns_backward(pass, {head()}, hidden(), kind);
    }
    if (kind != GradientKind::weight) pass.compute("norm", backward_of({block_norm()}));
  }

  const TransformerModel& model_;
  const ParallelPlan& plan_;
  double load_;
};

}  // namespace

std::uint64_t size_of(PlanAxis axis, const ParallelPlan& plan) {
  switch (axis) {
    case PlanAxis::tensor:
      return plan.tensor;
    case PlanAxis::context:
      return plan.context;
    case PlanAxis::replicas:
      return plan.replicas();
    case PlanAxis::pipeline:
      return plan.pipeline;
    case PlanAxis::expert:
      return plan.expert;
    case PlanAxis::expert_tensor:
      return plan.expert_tensor;
    case PlanAxis::expert_replicas:
      return plan.expert_replicas();
    case PlanAxis::embedding:
      return plan.ends_share_a_stage() ? 1 : 2;
    case PlanAxis::world:
      return plan.ranks();
  }
  return 1;
}

std::uint64_t stride_of(PlanAxis axis, const ParallelPlan& plan) {
  switch (axis) {
    case PlanAxis::tensor:
    case PlanAxis::expert_tensor:
    case PlanAxis::world:
      return 1;
    case PlanAxis::context:
    case PlanAxis::replicas:
      return plan.tensor;
    case PlanAxis::pipeline:
      return plan.stage_ranks();
    case PlanAxis::expert:
      return plan.expert_tensor;
    case PlanAxis::expert_replicas:
      return std::uint64_t{plan.expert_tensor} * plan.expert;
    case PlanAxis::embedding:
      return plan.stage_ranks() * (plan.pipeline - 1);
  }
  return 1;
}

std::string_view to_text(PlanAxis axis) {
  switch (axis) {
    case PlanAxis::tensor:
      return "tp";
    case PlanAxis::context:
      return "cp";
    case PlanAxis::replicas:
      return "dp";
    case PlanAxis::pipeline:
      return "pp";
    case PlanAxis::expert:
      return "ep";
    case PlanAxis::expert_tensor:
      return "etp";
    case PlanAxis::expert_replicas:
      return "edp";
    case PlanAxis::embedding:
      return "embedding";
    case PlanAxis::world:
      return "world";
  }
  return "?";
}

std::vector<double> expert_rank_loads(const ExpertBlock& experts, std::uint32_t expert_ranks) {
  const std::uint64_t own = experts.count / expert_ranks;
  const double mean = 1.0 / static_cast<double>(experts.count);
  std::vector<double> loads;
  for (std::uint32_t rank = 0; rank < expert_ranks; ++rank) {
    double sum = 0.0;
    for (std::uint64_t i = 0; i < own; ++i) {
      const double share = experts.load_shares.empty() ? mean : experts.load_shares[rank * own + i];
      sum += experts.capacity_factor > 0.0 ? std::min(share, experts.capacity_factor * mean) : share;
    }
    loads.push_back(sum);
  }
  return loads;
}

TrainingSteps::TrainingSteps(const TransformerModel& model, const ParallelPlan& plan) : model_(model), plan_(plan) {}

PartPasses TrainingSteps::layer(bool has_experts, double load) const { return PartWriter(model_, plan_, load).layer(has_experts); }
PartPasses TrainingSteps::input() const { return PartWriter(model_, plan_, 1.0).input(); }
PartPasses TrainingSteps::output() const { return PartWriter(model_, plan_, 1.0).output(); }

Operator TrainingSteps::optimizer(std::uint64_t parameters) const {
  return {"optimizer", OptimizerStep{.parameters = parameters}, plan_.precision.parameters};
}

Bytes TrainingSteps::pipeline_message() const { return PartWriter(model_, plan_, 1.0).between_stages(); }

Bytes TrainingSteps::pipeline_sent() const {
  const Bytes message = pipeline_message();
  return plan_.scatter_between_stages ? Bytes::of(message.count() / plan_.tensor) : message;
}

TrainingPass TrainingSteps::pipeline_gather() const {
  PassBuilder pass(plan_);
  if (plan_.scatter_between_stages) pass.collective("gather", PlanAxis::tensor, CollectiveType::all_gather, pipeline_sent());
  return pass.finish();
}

}  // namespace weft
