// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/network_parts.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"

namespace weft {

NetworkParts::NetworkParts(std::shared_ptr<const Topology> topology) : topology_(std::move(topology)) {
  for (std::uint32_t node = 0; node < topology_->node_count(); ++node) {
    if (topology_->node(NodeId(node)).kind == NodeKind::packet_switch) switches_.emplace_back(node);
  }
  for (std::uint32_t link = 0; link < topology_->link_count(); link += 2) {
    const HostId from = topology_->node(topology_->link(LinkId(link)).source).host;
    const HostId to = topology_->node(topology_->link(LinkId(link)).destination).host;
    if (from.is_none() || to.is_none() || from != to) cables_.emplace_back(link);
  }
}

std::vector<LinkId> NetworkParts::cables_of(const Part& part) const {
  if (part.kind == PartKind::link) return {cables_[part.index]};
  WEFT_CHECK(part.kind == PartKind::packet_switch, "a part of the network is a switch or a link");
  std::vector<LinkId> cables;
  for (const LinkId link : topology_->out_links(switches_[part.index])) cables.push_back(std::min(link, topology_->reverse(link)));
  return cables;
}

std::string NetworkParts::name(const Part& part) const {
  return part.kind == PartKind::link ? topology_->link_name(cables_[part.index]) : topology_->node_name(switches_[part.index]);
}

std::map<std::string, Part, std::less<>> NetworkParts::names() const {
  std::map<std::string, Part, std::less<>> names;
  for (std::uint32_t i = 0; i < switches_.size(); ++i)
    names.emplace(topology_->node_name(switches_[i]), Part{PartKind::packet_switch, i});
  for (std::uint32_t i = 0; i < cables_.size(); ++i) {
    names.emplace(topology_->link_name(cables_[i]), Part{PartKind::link, i});
    names.emplace(topology_->link_name(topology_->reverse(cables_[i])), Part{PartKind::link, i});
  }
  return names;
}

}  // namespace weft
