// SPDX-License-Identifier: Apache-2.0
#include "network/flow/flow_loads.hpp"

#include <cmath>

#include "core/check.hpp"

namespace weft {

void FlowLoads::on_flow_starts(FlowSlot slot, bool counts) {
  if (flows_.size() <= slot.index()) flows_.resize(slot.index() + 1);
  flows_[slot.index()] = {counts, 0};
}

void FlowLoads::on_flow_leaves(FlowSlot slot, Time /*now*/) {
  WEFT_CHECK(slot.index() < flows_.size(), "flows that leave were told of");
  add(slot, flows_[slot.index()].rate_bps, -1);
  flows_[slot.index()] = {};
}

void FlowLoads::on_rates_changed(std::span<const FlowSlot> changed, Time /*now*/, const AllocationPolicy& policy) {
  for (const FlowSlot slot : changed) {
    WEFT_CHECK(slot.index() < flows_.size(), "flows that move were told of");
    Flow& flow = flows_[slot.index()];
    add(slot, flow.rate_bps, -1);
    flow.rate_bps = policy.rate(slot);
    add(slot, flow.rate_bps, 1);
  }
}

void FlowLoads::add(FlowSlot slot, double rate_bps, std::int64_t sign) {
  if (!flows_[slot.index()].counts) return;
  // A policy may have another graph once flows have several priorities.
  const FlowLinkGraph& graph = policy_.graph();
  const std::span<const FlowLinkGraph::Hop> hops = graph.hops(slot);
  const std::span<const double> loads = graph.loads(slot);
  for (std::size_t i = 0; i < hops.size(); ++i) {
    std::int64_t& load_bps = load_bps_[hops[i].link.index()];
    told_.try_emplace(hops[i].link, load_bps);
    load_bps += sign * std::llround(rate_bps * (loads.empty() ? 1.0 : loads[i]));
  }
}

std::vector<FlowLoads::LinkLoad> FlowLoads::take_changes() {
  std::vector<LinkLoad> changes;
  for (const auto& [link, before] : told_) {
    const std::int64_t now = load_bps_[link.index()];
    if (now != before) changes.push_back({link, Bandwidth::bps(now)});
  }
  told_.clear();
  return changes;
}

}  // namespace weft
