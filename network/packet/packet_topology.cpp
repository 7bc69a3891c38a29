// SPDX-License-Identifier: Apache-2.0
#include "network/packet/packet_topology.hpp"

#include <set>

#include <map>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/engine/port_message.hpp"
#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

constexpr std::uint16_t inside_host_links = UINT16_MAX;
constexpr const char* in_flow_mode = "take --mode=flow for this topology";

}  // namespace

PacketTopology::PacketTopology(const Topology& topology, const PathRule& rule)
    : topology_(topology),
      rule_(rule),
      own_(topology, rule.weights),
      host_count_(static_cast<std::uint32_t>(topology.host_count())),
      node_of_switch_(topology.node_count()),
      port_of_link_(topology.link_count(), inside_host_links) {
  const auto node_of = [&](NodeId id) {
    const Node& node = topology.node(id);
    return node.host.is_none() ? node_of_switch_[id.index()] : node.host.index();
  };
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    if (!topology.node(NodeId(i)).host.is_none()) continue;
    node_of_switch_[i] = host_count_ + static_cast<std::uint32_t>(switches_.size());
    switches_.push_back(NodeId(i));
  }
  const auto is_between = [&](const Link& link) {
    const HostId host = topology.node(link.source).host;
    return host.is_none() || host != topology.node(link.destination).host;
  };
  std::vector<std::vector<LinkId>> links_of(host_count_ + switches_.size());
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(LinkId(i));
    if (!is_between(link)) continue;
    std::vector<LinkId>& links = links_of[node_of(link.source)];
    port_of_link_[i] = static_cast<std::uint16_t>(links.size());
    links.push_back(LinkId(i));
    if (links.size() == message_ports_max) {
      fail("too-many-ports",
           fmt::format("{} has more cables than packet mode counts, {}", topology.node_name(link.source), message_ports_max - 1),
           SourcePlace::named(topology.name()), in_flow_mode);
    }
  }
  ports_begin_.push_back(0);
  for (const std::vector<LinkId>& links : links_of) {
    for (const LinkId link : links) {
      ports_.push_back({link, node_of(topology.link(link).destination), port_of_link_[topology.reverse(link).index()]});
    }
    ports_begin_.push_back(static_cast<std::uint32_t>(ports_.size()));
  }
}

PacketTopology::Route PacketTopology::route(NodeId source, NodeId destination, std::uint32_t connection,
                                            std::uint32_t queue_pair) const {
  Followed followed = follow(own_.between(source, destination), source, destination, connection, queue_pair);
  const auto refuse = [&](const char* code, const std::string& why, const char* with_routes) {
    std::string hint = in_flow_mode;
    if (rule_.routes != nullptr) hint += std::string(", or ") + with_routes;
    fail(code, fmt::format("the way from {} to {} {}", topology_.node_name(source), topology_.node_name(destination), why),
         SourcePlace::named(topology_.name()), hint);
  };
  if (!followed.relay.is_none()) {
    refuse("relaying-host", fmt::format("leads through host{}, and packet mode has no hosts that relay", followed.relay.index()),
           "lead flow.routes past the host");
  }
  if (followed.is_too_long) {
    refuse("long-path", fmt::format("has more than {}", counted(QueuePairs::hops_max, "hop", "hops")), "shorten flow.routes");
  }
  return std::move(followed.route);
}

std::optional<PacketTopology::Route> PacketTopology::reroute(const AvailableRoutes& routes, NodeId source, NodeId destination,
                                                             std::uint32_t connection, std::uint32_t queue_pair) const {
  if (!routes.connects(source, destination)) return std::nullopt;
  Followed followed = follow(routes.between(source, destination), source, destination, connection, queue_pair);
  if (!followed.relay.is_none() || followed.is_too_long) return std::nullopt;
  return std::move(followed.route);
}

PacketTopology::Followed PacketTopology::follow(const WeighedRoutes& routes, NodeId source, NodeId destination,
                                                std::uint32_t connection, std::uint32_t queue_pair) const {
  Followed followed;
  Route& route = followed.route;
  for (const LinkId id : ecmp_path(topology_, routes, rule_, source, destination, connection, queue_pair)) {
    const Link& link = topology_.link(id);
    if (port_of_link_[id.index()] == inside_host_links) {
      route.inside_hosts += link.propagation_delay;
      route.inside_rate = std::min(route.inside_rate, link.rate);
      if (route.links.empty()) route.source_rate = route.inside_rate;
      continue;
    }
    const HostId from = topology_.node(link.source).host;
    if (!route.links.empty() && !from.is_none()) {
      followed.relay = from;
      return followed;
    }
    followed.is_too_long = route.links.size() == QueuePairs::hops_max;
    if (followed.is_too_long) return followed;
    route.ports[route.links.size()] = port_of_link_[id.index()];
    route.links.push_back(id);
  }
  return followed;
}

void PacketTopology::ports_to(const AvailableRoutes& routes, std::uint32_t node, NodeId endpoint, std::vector<std::uint16_t>& ports,
                              std::vector<std::int64_t>& weights) const {
  const std::size_t before = ports.size();
  const WeighedRoutes around = routes.between(switch_of(node), endpoint);
  HostId relay = add_ports(around, node, endpoint, ports, weights);
  if (relay.is_none() || &around.routes != &topology_.routes()) {
    if (ports.size() > before) return;
    relay = add_ports(own_.between(switch_of(node), endpoint), node, endpoint, ports, weights);
    if (relay.is_none()) return;
  }
  fail("relaying-host",
       fmt::format("a way to {} leads through host{}, and packet mode has no hosts that relay", topology_.node_name(endpoint),
                   relay.index()),
       SourcePlace::named(topology_.name()), in_flow_mode);
}

PacketTopology::LeastRoute PacketTopology::least_route(NodeId from, NodeId endpoint,
                                                       const std::function<Duration(LinkId)>& cost) const {
  std::map<NodeId, Duration> known;
  std::set<LinkId> lasts;
  const auto least = [&](const auto& self, NodeId at) -> Duration {
    if (const auto found = known.find(at); found != known.end()) return found->second;
    std::vector<LinkId> hops;
    own_.between(at, endpoint).routes.next_hops(topology_, at, endpoint, hops);
    Duration best = Duration::max();
    for (const LinkId hop : hops) {
      const NodeId next = topology_.link(hop).destination;
      const bool is_end = !topology_.node(next).host.is_none();
      if (is_end) lasts.insert(hop);
      const Duration onward = is_end ? Duration::zero() : self(self, next);
      if (onward < Duration::max()) best = std::min(best, cost(hop) + onward);
    }
    known.emplace(at, best);
    return best;
  };
  const Duration best = least(least, from);
  return {best, lasts.size() == 1 ? *lasts.begin() : LinkId::none()};
}

HostId PacketTopology::add_ports(const WeighedRoutes& by, std::uint32_t node, NodeId endpoint, std::vector<std::uint16_t>& ports,
                                 std::vector<std::int64_t>& weights) const {
  HostId relay = HostId::none();
  std::vector<LinkId> hops;
  by.routes.next_hops(topology_, switch_of(node), endpoint, hops);
  std::vector<std::int64_t> weights_of_hops;
  if (by.weights != nullptr && !hops.empty()) by.weights->weigh(switch_of(node), endpoint, hops, weights_of_hops);
  for (std::size_t i = 0; i < hops.size(); ++i) {
    const HostId host = topology_.node(topology_.link(hops[i]).destination).host;
    if (!host.is_none() && host != topology_.node(endpoint).host) {
      relay = host;
    } else {
      ports.push_back(port_of_link_[hops[i].index()]);
      if (by.weights != nullptr) weights.push_back(weights_of_hops[i]);
    }
  }
  return relay;
}

bool PacketTopology::is_cable(LinkId link) const { return port_of_link_[link.index()] != inside_host_links; }

PacketTopology::CableEnd PacketTopology::begin_of(LinkId link) const {
  const NodeId id = topology_.link(link).source;
  const HostId host = topology_.node(id).host;
  WEFT_CHECK(port_of_link_[link.index()] != inside_host_links, "a cable is not inside a host");
  return {host.is_none() ? node_of_switch_[id.index()] : host.index(), port_of_link_[link.index()]};
}

}  // namespace weft
