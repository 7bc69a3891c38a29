// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/reduced_plan.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace weft {

namespace {

/// Divisors of a number, from itself down to 1.
std::vector<std::uint32_t> divisors(std::uint32_t number) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t divisor = number; divisor > 0; --divisor) {
    if (number % divisor == 0) found.push_back(divisor);
  }
  return found;
}

class PlanReducer {
 public:
  PlanReducer(const TransformerModel& model, const ParallelPlan& plan, std::uint64_t gpus)
      : whole_(plan), gpus_(gpus), reduced_{model, plan, {}} {}

  ReducedPlan reduce(const BenchmarkSize& size) {
    ParallelPlan& plan = reduced_.plan;
    plan.pipeline = 1;
    plan.chunks = 1;
    plan.placement = ChunkPlacement::loop;
    plan.schedule = "1f1b";
    // Layers are measured as they are where nothing of them is computed again.
    if (plan.recompute.kind != RecomputeKind::selective) plan.recompute = {};
    reduce_to_fit(whole_.expert, [&](std::uint32_t ways) { plan.expert = ways; });
    reduce_to_fit(whole_.tensor, [&](std::uint32_t ways) {
      plan.tensor = ways;
      plan.expert_tensor = std::gcd(whole_.expert_tensor, ways);
    });
    reduce_to_fit(whole_.context, [&](std::uint32_t ways) { plan.context = ways; });
    if (plan.tensor == 1) plan.sequence_parallel = plan.scatter_between_stages = false;
    reduced_.model.sequence = plan.sequence = whole_.sequence / whole_.context * plan.context;
    plan.data = static_cast<std::uint32_t>(std::max<std::uint64_t>(gpus_ / (std::uint64_t{plan.tensor} * plan.context), 1));
    plan.global_batch = plan.microbatch * plan.data;
    cut_model(size);
    tell("pipeline_parallel", whole_.pipeline, plan.pipeline);
    tell("expert_parallel", whole_.expert, plan.expert);
    tell("tensor_parallel", whole_.tensor, plan.tensor);
    tell("expert_tensor_parallel", whole_.expert_tensor, plan.expert_tensor);
    tell("context_parallel", whole_.context, plan.context);
    return std::move(reduced_);
  }

 private:
  bool fits() const { return ranks_min(reduced_.plan) <= gpus_ && gpus_ % ranks_min(reduced_.plan) == 0; }

  template <class Set>
  void reduce_to_fit(std::uint32_t whole, const Set& set) {
    if (fits()) return;
    for (const std::uint32_t divisor : divisors(whole)) {
      set(divisor);
      if (fits()) return;
    }
  }

  void cut_model(const BenchmarkSize& size) {
    TransformerModel& model = reduced_.model;
    const std::uint64_t dense = model.dense_layers() > 0 ? size.dense_layers : 0;
    const std::uint64_t experts = model.experts ? size.expert_layers : 0;
    model.layers = dense + experts;
    reduced_.plan.layout = {{.first = 0, .count = model.layers}};
    if (!model.experts) return;
    ExpertBlock& block = *model.experts;
    block.first_dense_layers = dense;
    block.count = block.count / whole_.expert * reduced_.plan.expert;
    block.top_k = std::min(block.top_k, block.count);
    block.load_shares.clear();
  }

  void tell(const char* field, std::uint32_t before, std::uint32_t now) {
    if (before != now) reduced_.reductions.push_back(fmt::format("{} {} -> {}", field, before, now));
  }

  const ParallelPlan& whole_;
  std::uint64_t gpus_;
  ReducedPlan reduced_;
};

}  // namespace

std::variant<ReducedPlan, BrokenPlanRule> reduced_plan(const TransformerModel& model, const ParallelPlan& plan,
                                                       const BenchmarkSize& size) {
  ReducedPlan reduced = PlanReducer(model, plan, size.gpus).reduce(size);
  std::vector<BrokenPlanRule> broken = broken_rules(reduced.plan, reduced.model);
  if (!broken.empty()) return std::move(broken.front());
  return reduced;
}

}  // namespace weft
