// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/parallel_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>

namespace weft {

namespace {

constexpr const char* equal_columns = "ranks have equally many columns of each matrix";

/// Collects broken rules of one plan.
class PlanRules {
 public:
  PlanRules(const ParallelPlan& plan, const TransformerModel& model) : plan_(plan), model_(model) {}

  std::vector<BrokenPlanRule> check() {
    check_tensor();
    check_sequence();
    for (BrokenPlanRule& rule : broken_batch_rules(plan_)) broken_.push_back(std::move(rule));
    if (model_.experts) {
      check_experts(*model_.experts);
    } else {
      check_dense();
    }
    check_recompute();
    return std::move(broken_);
  }

 private:
  void broken(const char* field, std::string rule, std::string help = "") {
    broken_.push_back({field, std::move(rule), std::move(help)});
  }

  void divides(const char* field, std::uint64_t divisor, const char* what, std::uint64_t number, std::string help = "") {
    if (number % divisor == 0) return;
    broken(field, fmt::format("{} = {} does not divide {} = {}", field, divisor, what, number), std::move(help));
  }

  void check_tensor() {
    const std::uint64_t tensor = plan_.tensor;
    divides("tensor_parallel", tensor, "attention heads", model_.attention.heads(), "ranks share whole heads");
    const std::uint64_t groups = model_.attention.key_value_heads();
    if (groups % tensor != 0 && tensor % groups != 0) {
      broken("tensor_parallel",
             fmt::format("tensor_parallel = {} and {} heads of keys and values do not divide each other", tensor, groups),
             "ranks have whole heads of keys and values, or several ranks have copies of one");
    }
    if (model_.dense_layers() > 0) divides("tensor_parallel", tensor, "the MLP's width", model_.mlp.width, equal_columns);
    if (plan_.sequence_parallel && tensor == 1) {
      broken("sequence_parallel", "sequence parallelism is among tensor-parallel ranks, and there is one",
             "leave it out, or raise tensor_parallel");
    }
    if (plan_.scatter_between_stages && (tensor == 1 || plan_.sequence_parallel)) {
      broken("scatter_between_stages",
             tensor == 1 ? "tensor-parallel ranks share what they send, and there is one"
                         : "with sequence_parallel tensor-parallel ranks have a share each, which they send",
             "leave it out");
    }
    if (plan_.scatter_between_stages && plan_.tokens() * model_.hidden % tensor != 0) {
      broken("scatter_between_stages",
             fmt::format("tensor_parallel = {} does not divide the {} x {} activations between stages", tensor, plan_.tokens(),
                         model_.hidden),
             "ranks send equally much");
    }
  }

  void check_sequence() {
    // Causal attention is even among context-parallel ranks where each has a piece from the front
    // and one from the back (Megatron-LM).
    const std::uint64_t pieces = plan_.context > 1 && model_.is_causal() ? 2 : 1;
    if (plan_.sequence % (plan_.context * pieces) != 0) {
      broken("context_parallel",
             fmt::format("{}context_parallel = {} does not divide the sequence = {}", pieces == 2 ? "2 x " : "",
                         plan_.context * pieces, plan_.sequence),
             pieces == 2 ? "each rank has a piece from the front and one from the back" : "ranks have equally many tokens");
    }
    if (plan_.sequence_parallel && plan_.sequence % (std::uint64_t{plan_.context} * plan_.tensor) != 0) {
      broken("sequence_parallel",
             fmt::format("context_parallel x tensor_parallel = {} x {} does not divide the sequence = {}", plan_.context,
                         plan_.tensor, plan_.sequence),
             "with sequence_parallel ranks share the tokens");
    }
    if (plan_.context > 1 && plan_.context_exchange == ContextExchange::heads) {
      const std::uint64_t heads = model_.attention.heads() / plan_.tensor;
      divides("context_parallel", plan_.context, "heads of a tensor-parallel rank", std::max<std::uint64_t>(heads, 1),
              "context_exchange: HEADS shares heads; RING and GATHER do not");
    }
    if (model_.positions == Positions::learned && !model_.images && plan_.sequence > model_.learned_positions) {
      broken("sequence",
             fmt::format("sequence = {} is more than the model's {} positions", plan_.sequence, model_.learned_positions),
             "shorten it, or give the model more positions");
    }
    if (model_.images && plan_.sequence != model_.sequence) {
      broken("sequence", fmt::format("sequence = {}, but images have {} patches and a class", plan_.sequence, model_.sequence - 1),
             "leave it out");
    }
  }

  void check_dense() {
    if (plan_.expert > 1) {
      broken("expert_parallel", fmt::format("expert_parallel = {}, but the model has no experts", plan_.expert), "leave it out");
    }
    if (plan_.expert_tensor > 1) {
      broken("expert_tensor_parallel",
             fmt::format("expert_tensor_parallel = {}, but the model has no experts", plan_.expert_tensor), "leave it out");
    }
  }

  void check_experts(const ExpertBlock& experts) {
    if (plan_.expert > experts.count) {
      broken("expert_parallel", fmt::format("expert_parallel = {} is more than {} experts", plan_.expert, experts.count),
             "every rank has an expert at least");
    } else {
      divides("expert_parallel", plan_.expert, "experts", experts.count, "ranks have equally many experts");
    }
    divides("expert_tensor_parallel", plan_.expert_tensor, "an expert's width", experts.width, equal_columns);
    if (experts.shared_width > 0)
      divides("tensor_parallel", plan_.tensor, "the width of shared experts", experts.shared_width, equal_columns);
    const std::uint64_t shared = std::uint64_t{plan_.expert} * plan_.expert_tensor;
    if (plan_.stage_ranks() % shared != 0) {
      broken("expert_parallel",
             fmt::format("expert_parallel x expert_tensor_parallel = {} x {} does not divide the {} ranks of a stage", plan_.expert,
                         plan_.expert_tensor, plan_.stage_ranks()),
             "a stage has tensor_parallel x context_parallel x data_parallel ranks");
    }
    if (plan_.tensor > 1 && !plan_.sequence_parallel) {
      broken("sequence_parallel", "experts with tensor parallelism need sequence parallelism, so that each token is sent once",
             "set sequence_parallel: true");
    }
  }

  void check_recompute() {
    if (plan_.recompute.kind == RecomputeKind::uniform && plan_.recompute.layers > 1 && plan_.shards_parameters()) {
      broken("recompute",
             fmt::format("recompute.layers = {}, but under zero_stage = 3 a rank has the parameters of one layer at a time",
                         plan_.recompute.layers),
             "layers: 1, or zero_stage: 2");
    }
    if (plan_.recompute.kind != RecomputeKind::block) return;
    for (const LayerRange& range : plan_.layout) {
      if (range.count >= plan_.recompute.layers) continue;
      broken("recompute",
             fmt::format("recompute has {} layers of each chunk, and one chunk has {}", plan_.recompute.layers, range.count),
             "kind: UNIFORM computes all layers again");
      return;
    }
  }

  const ParallelPlan& plan_;
  const TransformerModel& model_;
  std::vector<BrokenPlanRule> broken_;
};

}  // namespace

PipelineSizes pipeline_sizes(const ParallelPlan& plan) {
  return {.stages = plan.pipeline, .microbatches = static_cast<std::uint32_t>(plan.microbatches()), .chunks = plan.chunks};
}

std::uint64_t padded_vocabulary(const TransformerModel& model, const ParallelPlan& plan) {
  const std::uint64_t multiple = std::uint64_t{plan.vocabulary_multiple} * plan.tensor;
  return (model.vocabulary + multiple - 1) / multiple * multiple;
}

std::uint64_t ranks_min(const ParallelPlan& plan) {
  return plan.pipeline * std::lcm(std::uint64_t{plan.tensor} * plan.context, std::uint64_t{plan.expert} * plan.expert_tensor);
}

std::uint64_t default_gradient_bucket(std::uint64_t replicas) {
  constexpr std::uint64_t least = 40'000'000;
  constexpr std::uint64_t per_replica = 1'000'000;
  return std::max(least, per_replica * replicas);
}

std::vector<BrokenPlanRule> broken_batch_rules(const ParallelPlan& plan) {
  const std::uint64_t of_all = plan.microbatch * plan.data;
  if (plan.global_batch > 0 && plan.global_batch % of_all == 0) return {};
  return {{"global_batch",
           fmt::format("microbatch x data_parallel = {} x {} does not divide global_batch = {}", plan.microbatch, plan.data,
                       plan.global_batch),
           "replicas have equally many whole microbatches"}};
}

std::vector<BrokenPlanRule> broken_rules(const ParallelPlan& plan, const TransformerModel& model) {
  return PlanRules(plan, model).check();
}

}  // namespace weft
