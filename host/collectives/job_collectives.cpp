// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/job_collectives.hpp"

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

std::size_t JobCollectives::RequestHash::operator()(const CollectiveRequest& request) const noexcept {
  std::uint64_t hash = mix64(static_cast<std::uint64_t>(request.bytes.count()));
  hash = mix64(hash ^ reinterpret_cast<std::uintptr_t>(request.layout));
  hash = mix64(hash ^ reinterpret_cast<std::uintptr_t>(request.splits));
  return mix64(hash ^ (std::uint64_t{request.root} << 8 | static_cast<std::uint64_t>(request.type)));
}

CollectiveRequest JobCollectives::request(const Op& op, const GroupLayout& layout, std::uint32_t position) const {
  WEFT_CHECK(op.kind == OpKind::collective, "only a collective makes a collective request");
  CollectiveRequest request{op.collective, 0, op.bytes, &layout, nullptr};
  if (has_root(op.collective)) {
    const std::int64_t base = op.addressing == PeerAddressing::relative ? position : 0;
    request.root = wrapped(base + op.peer, layout.ranks());
  }
  if (op.collective == CollectiveType::all_to_all_v) request.splits = &workload_.splits[op.splits];
  return request;
}

JobCollectives::SwitchKey JobCollectives::switch_key(const CollectivePlan& plan, std::uint16_t communicator, GroupId group,
                                                     const CollectiveStep& step, std::uint32_t position) {
  const std::uint32_t root = has_root(step.operation) ? plan.peer(step, position) : 0;
  const std::uint32_t first = plan.divisions[step.peer.division]->member(position, 0);
  return {&plan, communicator, group, step.peer.division, step.operation, step.channel, root, first};
}

NodeId JobCollectives::switch_operation(const CollectivePlan& plan, std::uint16_t communicator, GroupId group,
                                        const CollectiveStep& step, std::uint32_t position) const {
  const auto found = switch_operations_.find(switch_key(plan, communicator, group, step, position));
  WEFT_CHECK(found != switch_operations_.end(), "every operation in switches of a job was registered with it");
  return found->second;
}

const CollectivePlan* JobCollectives::find(const Op& op, GroupId group, std::uint32_t position, Recent& recent) const {
  const GroupLayout& layout = this->layout(op.communicator, group);
  if (layout.ranks() < 2) return nullptr;
  const CollectiveRequest asked = request(op, layout, position);
  for (const auto& [known, plan] : recent.plans) {
    if (plan != nullptr && known == asked) return plan;
  }
  const CollectivePlan* const plan = find(op, group, position);
  recent.plans[recent.next++ % recent.plans.size()] = {asked, plan};
  return plan;
}

const CollectivePlan* JobCollectives::find(const Op& op, GroupId group, std::uint32_t position) const {
  const GroupLayout& layout = this->layout(op.communicator, group);
  if (layout.ranks() < 2) return nullptr;
  const auto found = plans_.find(request(op, layout, position));
  WEFT_CHECK(found != plans_.end(), "every collective of a job was prepared with it");
  return found->second;
}

}  // namespace weft
