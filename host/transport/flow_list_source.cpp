// SPDX-License-Identifier: Apache-2.0
#include "host/transport/flow_list_source.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

static_assert(flow_list_size_max <= 1U << transfer_connection_bits && op_priority_max < 1U << transfer_priority_bits);

Transfer transfer_of(const FlowList& flows, std::uint32_t place) {
  const ListedFlow& flow = flows.flows[place];
  return {AttemptId::none(), NodeId(flow.source), NodeId(flow.destination), place, flow.priority, place, flow.size};
}

std::vector<std::uint32_t> by_start(const FlowList& flows) {
  std::vector<std::uint32_t> order(flows.flows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return flows.flows[a].start < flows.flows[b].start; });
  return order;
}

FlowListSource::FlowListSource(const FlowList& flows, const NetworkPort& network)
    : flows_(flows), network_(network), order_(by_start(flows)) {}

Time FlowListSource::first_start() const {
  WEFT_CHECK(!order_.empty(), "a flow list has flows");
  return Time::zero() + flows_.flows[order_.front()].start;
}

void FlowListSink::handle(const Event& event, EventContext& context) {
  if (event.kind == transfer_delivered) last_delivery_ = context.now();
}

void FlowListSource::handle(const Event& event, EventContext& context) {
  switch (event.kind) {
    case start_next:
      for (; next_ < order_.size(); ++next_) {
        const ListedFlow& flow = flows_.flows[order_[next_]];
        const Time at = Time::zero() + flow.start;
        if (at > context.now()) {
          context.schedule(at - context.now(), EventClass::timer, start_next);
          return;
        }
        network_.start(transfer_of(flows_, order_[next_]), context);
      }
      return;
    case transfer_sent:
      return;
    case transfer_delivered:
      ++delivered_;
      last_delivery_ = context.now();
      return;
    default:
      fail_check("event.kind is known", fmt::format("a flow list source knows event kind {}", event.kind), __FILE__, __LINE__);
  }
}

void check_flow_list(const FlowList& flows, const Topology& topology, const std::string& file, Diagnostics& diagnostics) {
  SourcePlace place = SourcePlace::named(file);
  if (flows.flows.empty()) {
    diagnostics.error("no-flows", "the flow list holds no flows", place,
                      "its first line is the number of flows, then one flow per line");
  }
  const auto is_endpoint = [&](std::uint32_t node) {
    if (node >= topology.node_count()) return false;
    const NodeKind kind = topology.node(NodeId(node)).kind;
    return kind == NodeKind::gpu || kind == NodeKind::host;
  };
  for (const ListedFlow& flow : flows.flows) {
    place.line = flow.line;
    for (const std::uint32_t node : {flow.source, flow.destination}) {
      if (is_endpoint(node)) continue;
      diagnostics.error(
          "unknown-endpoint",
          node < topology.node_count() ? fmt::format("node {} is a switch, flows begin and end at hosts", node)
                                       : fmt::format("node {} is not in the topology", node),
          place,
          fmt::format("the topology has {} nodes, {} of them endpoints", topology.node_count(), topology.endpoints().size()));
    }
    if (flow.source == flow.destination) {
      diagnostics.error("self-flow", fmt::format("the flow goes from node {} to itself", flow.source), place, "remove the line");
    }
  }
}

}  // namespace weft
