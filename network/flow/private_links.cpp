// SPDX-License-Identifier: Apache-2.0
#include "network/flow/private_links.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "core/check.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

bool is_private(const Topology& topology, const Link& link) {
  const Node& from = topology.node(link.source);
  const Node& to = topology.node(link.destination);
  if (from.host.is_none() || from.host != to.host || link.rate == Bandwidth::zero()) return false;
  // A link between two NVSwitches is of all endpoints of its host.
  const auto is_of_inside = [](NodeKind kind) { return kind == NodeKind::nvswitch || is_endpoint(kind); };
  return is_of_inside(from.kind) && is_of_inside(to.kind) && (is_endpoint(from.kind) || is_endpoint(to.kind));
}

/// None where there is a choice, or a link that others take as well.
std::optional<std::vector<LinkId>> only_way(const Topology& topology, NodeId from, NodeId to) {
  std::vector<LinkId> way;
  std::vector<LinkId> hops;
  for (NodeId at = from; at != to; at = topology.link(way.back()).destination) {
    topology.routes().next_hops(topology, at, to, hops);
    if (hops.size() != 1 || !is_private(topology, topology.link(hops.front()))) return std::nullopt;
    way.push_back(hops.front());
  }
  return way;
}

}  // namespace

std::shared_ptr<const PrivateLinks> PrivateLinks::among(const Topology& topology, const LinkDelays& delays,
                                                        std::vector<NodeId> endpoints) {
  std::shared_ptr<PrivateLinks> made(new PrivateLinks);
  made->endpoints_ = std::move(endpoints);
  made->ways_.resize(made->endpoints_.size() * made->endpoints_.size());
  for (std::size_t from = 0; from < made->endpoints_.size(); ++from) {
    for (std::size_t to = 0; to < made->endpoints_.size(); ++to) {
      if (from == to) continue;
      const auto links = only_way(topology, made->endpoints_[from], made->endpoints_[to]);
      if (!links) return nullptr;
      PrivateWay& way = made->ways_[from * made->endpoints_.size() + to];
      way.inside_host = true;
      way.slowest_bps = std::numeric_limits<double>::infinity();
      for (const LinkId link : *links) {
        auto known = std::ranges::find(made->links_, link);
        if (known == made->links_.end()) {
          known = made->links_.insert(known, link);
          made->capacities_bps_.push_back(static_cast<double>(topology.link(link).rate.in_bps()));
        }
        way.links.emplace_back(static_cast<std::uint32_t>(std::distance(made->links_.begin(), known)));
        way.delay += delays.of(link);
        way.slowest_bps = std::min(way.slowest_bps, static_cast<double>(topology.link(link).rate.in_bps()));
      }
    }
  }
  return made;
}

std::size_t PrivateLinks::place_of(NodeId endpoint) const {
  const auto found = std::ranges::find(endpoints_, endpoint);
  WEFT_CHECK(found != endpoints_.end(), "the endpoint is one of those whose links these are");
  return static_cast<std::size_t>(std::distance(endpoints_.begin(), found));
}

}  // namespace weft
