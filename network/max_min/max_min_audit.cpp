// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/max_min_audit.hpp"

#include <algorithm>
#include <vector>

namespace weft {

MaxMinAudit audit_max_min(const FlowLinkGraph& graph, std::span<const double> rates, double relative_tolerance) {
  MaxMinAudit audit;
  std::vector<double> load(graph.link_count(), 0.0);     // of this class and of those above
  std::vector<double> highest(graph.link_count(), 0.0);  // rate per weight in this class
  std::vector<std::vector<FlowSlot>> flows(priority_classes);
  for (std::uint32_t i = 0; i < graph.slot_count(); ++i) {
    if (graph.alive(FlowSlot(i))) flows[graph.priority(FlowSlot(i))].push_back(FlowSlot(i));
  }
  const auto is_full = [&](LinkId link) { return load[link.index()] >= graph.capacity(link) * (1 - relative_tolerance); };
  for (std::size_t priority = priority_classes; priority-- > 0;) {
    std::fill(highest.begin(), highest.end(), 0.0);
    for (const FlowSlot flow : flows[priority]) {
      const double rate = rates[flow.index()];
      const std::span<const FlowLinkGraph::Hop> hops = graph.hops(flow);
      const std::span<const double> loads = graph.loads(flow);
      for (std::size_t i = 0; i < hops.size(); ++i) {
        const std::uint32_t link = hops[i].link.index();
        load[link] += rate * (loads.empty() ? 1.0 : loads[i]);
        highest[link] = std::max(highest[link], rate / graph.weight(flow));
      }
    }
    for (const FlowSlot flow : flows[priority]) {
      const double rate = rates[flow.index()];
      const double cap = graph.cap(flow);
      if (rate > cap * (1 + relative_tolerance)) ++audit.flows_above_cap;
      if (rate >= cap * (1 - relative_tolerance)) continue;
      const std::span<const FlowLinkGraph::Hop> hops = graph.hops(flow);
      const bool has_bottleneck = std::any_of(hops.begin(), hops.end(), [&](const FlowLinkGraph::Hop& hop) {
        return is_full(hop.link) && rate / graph.weight(flow) >= highest[hop.link.index()] * (1 - relative_tolerance);
      });
      if (!has_bottleneck) ++audit.flows_without_bottleneck;
    }
  }
  for (std::uint32_t i = 0; i < graph.link_count(); ++i) {
    if (load[i] > graph.capacity(LinkId(i)) * (1 + relative_tolerance)) ++audit.overloaded_links;
  }
  return audit;
}

}  // namespace weft
