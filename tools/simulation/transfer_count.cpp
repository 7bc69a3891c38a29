// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/transfer_count.hpp"

#include <map>
#include <utility>

#include "workloads/dag/dag.hpp"

namespace weft {

namespace {

/// Messages of a position with this role in a collective.
std::uint64_t messages_of(const CollectivePlan& plan, std::uint32_t position) {
  const CollectiveProgram& program = plan.program_of(position);
  std::uint64_t messages = 0;
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    const CollectiveStep& step = program.step(i);
    if (step.kind == StepKind::in_network) ++messages;
    if (step.kind == StepKind::send && !plan.is_left_out(step, position)) messages += plan.slots.chunks_of(plan, step);
  }
  return messages;
}

}  // namespace

std::uint64_t transfers_of(const Workload& workload, const JobCollectives& collectives, std::uint64_t enough) {
  // by role, or by position
  std::map<std::pair<const CollectivePlan*, std::uint32_t>, std::uint64_t> known;
  std::uint64_t transfers = 0;
  for (std::uint32_t r = 0; r < workload.rank_count && transfers <= enough; ++r) {
    const RankId rank(r);
    const RoleDag& dag = workload.dag_of(rank);
    for (std::uint32_t i = 0; i < dag.size() && transfers <= enough; ++i) {
      const OpKind kind = dag.kind(OpId(i));
      if (kind == OpKind::send) ++transfers;
      if (kind != OpKind::collective) continue;
      const Op op = dag.op(OpId(i));
      const Communicator& communicator = workload.communicators[op.communicator];
      const std::uint32_t position = communicator.position_of(rank);
      const CollectivePlan* const plan = collectives.find(op, communicator.group_of(rank), position);
      if (plan == nullptr) continue;
      const bool differs = plan->request.splits != nullptr;
      const auto [messages, is_new] = known.try_emplace({plan, differs ? position : plan->role_at(position)}, 0);
      if (is_new) messages->second = messages_of(*plan, position);
      transfers += messages->second;
    }
  }
  return transfers;
}

}  // namespace weft
