// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/plan_groups.hpp"

#include <string>
#include <vector>

#include "workloads/dag/strided_groups.hpp"

namespace weft {

PlanGroups::PlanGroups(Workload& workload, const TransformerModel& model, const ParallelPlan& plan) {
  const auto add = [&](PlanAxis axis) {
    const std::uint64_t size = size_of(axis, plan);
    if (size == 1) return;
    groups_[static_cast<std::size_t>(axis)] = {static_cast<std::uint16_t>(workload.communicators.size()), size};
    workload.communicators.push_back(strided_communicator(std::string(to_text(axis)), workload.rank_count,
                                                          static_cast<std::uint32_t>(size),
                                                          static_cast<std::uint32_t>(stride_of(axis, plan))));
  };
  add(PlanAxis::tensor);
  add(PlanAxis::context);
  add(PlanAxis::replicas);
  add(PlanAxis::pipeline);
  if (model.experts) {
    add(PlanAxis::expert_tensor);
    add(PlanAxis::expert);
    add(PlanAxis::expert_replicas);
  }
  if (!model.tied_embeddings || plan.ends_share_a_stage()) return;
  std::vector<std::vector<RankId>> pairs;
  const auto stage = static_cast<std::uint32_t>(plan.stage_ranks());
  const auto stride = static_cast<std::uint32_t>(stride_of(PlanAxis::embedding, plan));
  for (std::uint32_t rank = 0; rank < stage; ++rank) pairs.push_back({RankId(rank), RankId(stride + rank)});
  groups_[static_cast<std::size_t>(PlanAxis::embedding)] = {static_cast<std::uint16_t>(workload.communicators.size()), 2};
  workload.communicators.emplace_back(std::string(to_text(PlanAxis::embedding)), workload.rank_count, pairs);
}

}  // namespace weft
