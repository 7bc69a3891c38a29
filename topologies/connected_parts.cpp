// SPDX-License-Identifier: Apache-2.0
#include "topologies/connected_parts.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace weft {

namespace {

bool is_outside(NodeKind kind) { return kind == NodeKind::nic || kind == NodeKind::packet_switch; }

}  // namespace

bool has_one_port_nics(const Topology& topology) {
  const auto leads_to_switch = [&](LinkId link) {
    return topology.node(topology.link(link).destination).kind == NodeKind::packet_switch;
  };
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    const NodeId node(i);
    if (topology.node(node).kind == NodeKind::nic && std::ranges::count_if(topology.out_links(node), leads_to_switch) > 1)
      return false;
  }
  return true;
}

bool nics_relay(const Topology& topology) {
  if (has_one_port_nics(topology)) return false;
  const std::vector<bool> none_out(topology.link_count(), false);
  ConnectedParts parts(topology, none_out, false);
  std::optional<std::vector<std::uint32_t>> common;
  for (const NodeId endpoint : topology.endpoints()) {
    const ConnectedParts::Place place = parts.of(endpoint);
    if (!place.has_way_out) continue;
    if (!common) {
      common.emplace(place.parts.begin(), place.parts.end());
    } else {
      std::vector<std::uint32_t> both;
      std::ranges::set_intersection(*common, place.parts, std::back_inserter(both));
      common = std::move(both);
    }
    if (common->empty()) return true;
  }
  return false;
}

ConnectedParts::ConnectedParts(const Topology& topology, const std::vector<bool>& is_out, bool relay)
    : topology_(topology),
      is_out_(is_out),
      relay_(relay),
      parts_of_nodes_(topology.node_count()),
      seen_(topology.node_count(), UINT32_MAX) {
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    const Link& link = topology.link(LinkId(i));
    const NodeKind from = topology.node(link.source).kind;
    const NodeKind to = topology.node(link.destination).kind;
    if (is_out[i] || !is_outside(from) || !is_outside(to) || (!relay && from != to)) continue;
    parts_of_nodes_.join(link.source.index(), link.destination.index());
  }
}

void ConnectedParts::note(LinkId way, NodeId node) {
  has_way_out_ = true;
  if (is_out_[way.index()]) return;
  parts_.push_back(parts_of_nodes_.leader(node.index()));
  if (relay_ || topology_.node(node).kind != NodeKind::nic) return;
  for (const LinkId link : topology_.out_links(node)) {
    const NodeId next = topology_.link(link).destination;
    if (topology_.node(next).kind == NodeKind::packet_switch && !is_out_[link.index()])
      parts_.push_back(parts_of_nodes_.leader(next.index()));
  }
}

ConnectedParts::Place ConnectedParts::of(NodeId endpoint) {
  has_way_out_ = false;
  parts_.clear();
  open_.assign(1, endpoint);
  seen_[endpoint.index()] = endpoint.index();
  while (!open_.empty()) {
    const NodeId node = open_.back();
    open_.pop_back();
    for (const LinkId link : topology_.out_links(node)) {
      const NodeId next = topology_.link(link).destination;
      const NodeKind kind = topology_.node(next).kind;
      if (is_outside(kind)) note(link, next);
      if (kind != NodeKind::pcie_switch || seen_[next.index()] == endpoint.index()) continue;
      seen_[next.index()] = endpoint.index();
      open_.push_back(next);
    }
  }
  std::ranges::sort(parts_);
  parts_.erase(std::unique(parts_.begin(), parts_.end()), parts_.end());
  return {has_way_out_, parts_};
}

}  // namespace weft
