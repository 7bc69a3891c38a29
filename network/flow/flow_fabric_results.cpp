// SPDX-License-Identifier: Apache-2.0
// Flow fabric, what it tells once the engine has stopped: counters, what links carried, and what
// has not left.
#include <algorithm>
#include <map>
#include <utility>

#include "network/flow/flow_fabric.hpp"
#include "network/flow/flow_tape.hpp"
#include "topologies/topology.hpp"

namespace weft {

FlowFabricCounters FlowFabric::counters() const {
  FlowFabricCounters counters;
  counters.transfers_started = started_;
  counters.transfers_finished = finished_;
  counters.flows_started = model_.flows_started();
  counters.flows_active_peak = model_.active_flows_peak();
  counters.solves = model_.solves();
  counters.rate_changes = model_.rate_changes();
  counters.payload_bytes = payload_bytes_;
  return counters;
}

void FlowFabric::add_folded(const FlowModel::CountedBytes& counted, std::vector<Bytes>& by_link) const {
  struct OfFolding {
    std::map<LinkId, Bytes> of_representatives;
    std::vector<Bytes> moved;  // by relation
  };
  std::unordered_map<const LinkFolding*, OfFolding> by_folding;
  for (std::size_t account = 0; account < counted.by_account.size(); ++account) {
    const auto& [folding, relation] = accounts_[account];
    if (folding == nullptr) continue;
    OfFolding& of_folding = by_folding[folding];
    for (const auto& [link, bytes] : counted.by_account[account]) of_folding.of_representatives[link] += bytes;
    if (of_folding.moved.size() <= relation) of_folding.moved.resize(relation + 1);
    of_folding.moved[relation] = counted.moved[account];
  }
  // order-free: sums of whole bytes
  for (auto& [folding, of_folding] : by_folding) {
    for (const auto& [link, representative] : folding->representatives()) {
      const auto found = of_folding.of_representatives.find(representative);
      if (found != of_folding.of_representatives.end()) by_link[link.index()] += found->second;
    }
    if (folding->relations_counted() == 0) continue;
    of_folding.moved.resize(folding->relations_counted());
    folding->add_hashed(topology_, settings_, of_folding.moved, by_link);
  }
}

std::vector<LinkUsage> FlowFabric::link_usage(Time begin, Time end, Time now) const {
  FlowModel::CountedBytes counted = model_.link_bytes(now);
  std::vector<Bytes> bytes = std::move(counted.by_link);
  add_folded(counted, bytes);
  std::vector<LinkUsage> usage(bytes.size());
  for (std::uint32_t i = 0; i < bytes.size(); ++i) {
    usage[i].bytes = bytes[i];
    usage[i].mean_utilization = mean_utilization(usage[i].bytes, topology_.link(LinkId(i)).rate, end - begin);
  }
  return usage;
}

std::vector<UnfinishedTransfer> FlowFabric::unfinished() const {
  std::vector<LinkId> stalled_at(transfers_.size(), LinkId::none());
  std::vector<LinkId> joint_stalled_at(joint_.size(), LinkId::none());
  for (const StalledFlow& flow : model_.stalled_flows()) {
    const FlowOwner owner(flow.owner);
    (owner.is_joint ? joint_stalled_at : stalled_at)[owner.slot] = flow.link;
  }
  for (std::uint32_t slot = 0; slot < transfers_.size() && !order_.nobody_waits(); ++slot) {
    const ActiveTransfer& active = transfers_[slot];
    if (active.flows_left == 0 || !has_order(active)) continue;
    const std::uint32_t parts = std::max(1U, parts_of(active));
    for (std::uint32_t i = 0; i < parts && stalled_at[slot].is_none(); ++i) {
      const std::optional<FlowSlot> before = moving_over(QueuePairName(active.transfer, i));
      if (before) stalled_at[slot] = stalled_at[owner_of(*before).slot];
    }
  }
  std::vector<UnfinishedTransfer> unfinished;
  for (std::size_t slot = 0; slot < transfers_.size(); ++slot) {
    const ActiveTransfer& active = transfers_[slot];
    if (active.flows_left > 0 && !active.is_of_packets)
      unfinished.push_back({active.id, active.transfer, active.start, stalled_at[slot]});
  }
  for (std::size_t slot = 0; slot < joint_.size(); ++slot) {
    const JointOperation& joint = joint_[slot];
    if (joint.operation == nullptr || joint.joined < joint.members.size()) continue;
    const JointOperation::Joined& first = joint.members.front();
    UnfinishedTransfer& added = unfinished.emplace_back();
    added.id = first.id;
    added.transfer = first.transfer;
    added.transfer.destination = joint.operation->top;
    added.start = first.entered - entry_latency(joint.operation->inside_host);
    added.stalled_at = joint_stalled_at[slot];
  }
  std::sort(unfinished.begin(), unfinished.end(),
            [](const UnfinishedTransfer& a, const UnfinishedTransfer& b) { return a.id < b.id; });
  return unfinished;
}

void FlowFabric::record(FlowTape& tape) {
  tape_ = &tape;
  tape.begin(model_.policy().graph());
  model_.watch(tape);
}

}  // namespace weft
