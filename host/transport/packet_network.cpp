// SPDX-License-Identifier: Apache-2.0
#include "host/transport/packet_network.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "host/transport/nic.hpp"
#include "host/transport/packet_network_checks.hpp"

namespace weft {

PacketNetwork::PacketNetwork(const Topology& topology, const FlowSettings& flow, const PacketSettings& packet,
                             const PacketTraffic& traffic, std::uint64_t seed)
    : model_(topology, flow, packet),
      settings_(model_, seed),
      planner_(model_),
      hosts_start_(!traffic.is_known),
      queue_pairs_(model_.nodes.host_count()),
      versions_(topology, flow.path_rule.weights),
      routes_(model_.nodes.node_count(), versions_.fetch(0)),
      results_(model_, settings_, planner_, entity_of_node_) {
  Diagnostics diagnostics;
  check_packet_choices(model_, hosts_start_, diagnostics);
  settings_.assign_classes(traffic, diagnostics);
  check_packet_nodes(model_, settings_, diagnostics);
  diagnostics.throw_if_errors();
  check_packet_switches(model_, settings_, diagnostics);
  diagnostics.throw_if_errors();
}

PacketSwitchSettings PacketNetwork::switch_settings(std::uint32_t node) const {
  PacketSwitchSettings settings = settings_.of_switch(node, keeps_pauses_);
  settings.keeps_ledger = keeps_ledgers_;
  if (model_.sprays()) {
    settings.port_choice.ports_to = [this, node](NodeId endpoint, std::vector<std::uint16_t>& ports,
                                                 std::vector<std::int64_t>& weights) {
      model_.nodes.ports_to(*routes_[node], node, endpoint, ports, weights);
    };
  }
  return settings;
}

EgressPort PacketNetwork::egress(std::uint32_t node, const PacketTopology::Port& port) const {
  return {settings_.full_rate(node, port.out), settings_.delay(port), entity_of_node_[port.peer_node], port.peer_port};
}

void PacketNetwork::declare(EngineBuilder& builder) {
  WEFT_CHECK(entity_of_node_.empty(), "nodes are declared once");
  for (std::uint32_t node = 0; node < model_.nodes.node_count(); ++node) {
    entity_of_node_.push_back(builder.declare(model_.nodes.is_host(node)
                                                  ? fmt::format("cards of host{}", node)
                                                  : model_.topology.node_name(model_.nodes.switch_of(node))));
  }
}

void PacketNetwork::add_to(EngineBuilder& builder, const std::vector<EntityId>& entity_of_host) {
  if (entity_of_node_.empty()) declare(builder);
  entity_of_host_ = entity_of_host;
  const NicSettings nic = settings_.of_cards(keeps_pauses_, expects_failures_);
  NicWiring wiring;
  wiring.host_of = [this](NodeId endpoint) { return entity_of_host_[model_.topology.node(endpoint).host.index()]; };
  wiring.delivered = &delivered_;
  wiring.fabric = fabric_;
  wiring.fabric_delay = model_.flow.wqe_latency;
  for (std::uint32_t node = 0; node < model_.nodes.node_count(); ++node) {
    const auto take_routes = [this, node](std::uint32_t version) { routes_[node] = versions_.fetch(version); };
    if (model_.nodes.is_host(node)) {
      std::vector<EgressPort> ports;
      for (const PacketTopology::Port& port : model_.nodes.ports(node)) ports.push_back(egress(node, port));
      wiring.plan = [this, node](const Transfer& transfer, std::uint32_t part) {
        return planner_.plan(*routes_[node], transfer, part);
      };
      wiring.take_routes = take_routes;
      NicSettings of_host = nic;
      for (const HostDefect& defect : model_.packet.slow_hosts) {
        if (concerns(defect, model_.topology, HostId(node))) of_host.drain_rate = defect.drain_rate;
      }
      if (const std::optional<Time> from = pauses_from(HostId(node))) {
        builder.post_initial(entity_of_node_[node], *from, EventClass::message, pauses_for_good);
      }
      builder.define(entity_of_node_[node], std::make_unique<Nic>(of_host, ports, node, queue_pairs_, wiring));
      continue;
    }
    std::vector<PacketSwitch::Cable> cables;
    std::vector<EcnCurve> curves;
    for (std::uint32_t priority = 0; priority < (model_.packet.profiles.empty() ? 1 : settings_.classes().size()); ++priority) {
      curves.push_back(settings_.curve_of(node, priority));
    }
    for (const PacketTopology::Port& port : model_.nodes.ports(node)) {
      const auto scaled_to_port = [&](const EcnCurve& curve) {
        return settings_.curve_at(curve, model_.topology.link(port.out).rate);
      };
      cables.push_back({egress(node, port), settings_.headroom(node, port), scaled_to_port(curves.front())});
      if (curves.size() > 1) std::ranges::transform(curves, std::back_inserter(cables.back().ecn_of_priority), scaled_to_port);
    }
    PacketSwitchSettings settings = switch_settings(node);
    settings.port_choice.take_routes = take_routes;
    builder.define(entity_of_node_[node], std::make_unique<PacketSwitch>(settings, cables, queue_pairs_));
  }
  for (std::uint32_t node = 0; node < model_.nodes.node_count(); ++node) {
    for (const PacketTopology::Port& port : model_.nodes.ports(node)) {
      builder.connect(entity_of_node_[node], entity_of_node_[port.peer_node], settings_.delay(port));
    }
  }
  for (std::uint32_t node = 0; node < model_.nodes.node_count() && !fabric_.is_none(); ++node) {
    const EntityId id = entity_of_node_[node];
    builder.connect(fabric_, id, model_.flow.wqe_latency);
    if (model_.nodes.is_host(node)) builder.connect(id, fabric_, model_.flow.wqe_latency);
  }
  for (std::uint32_t host = 0; host < model_.nodes.host_count(); ++host) {
    const EntityId card = entity_of_node_[host];
    if (hosts_start_) builder.connect(entity_of_host[host], card, model_.flow.wqe_latency);
    builder.connect(card, entity_of_host[host], std::min(nic.receive_latency, nic.completion_latency));
  }
}

std::optional<Time> PacketNetwork::pauses_from(HostId host) const {
  std::optional<Time> from;
  for (const HostDefect& defect : model_.packet.pausing_hosts) {
    if (concerns(defect, model_.topology, host)) from = defect.pauses_from;
  }
  return from;
}

void PacketNetwork::tell_of_load(const FlowLoads::LinkLoad& load, double capacity_bps, EventContext& context) const {
  if (!model_.nodes.is_cable(load.link)) return;
  const PacketTopology::CableEnd end = model_.nodes.begin_of(load.link);
  const double told_bps = std::min(static_cast<double>(load.load.in_bps()), capacity_bps * (1 - model_.packet.beside_flows_min));
  const double scale = static_cast<double>(settings_.full_rate(end.node, load.link).in_bps()) /
                       static_cast<double>(model_.topology.link(load.link).rate.in_bps());
  context.send(entity_of_node_[end.node], model_.flow.wqe_latency, flow_load_changes,
               FlowLoadChanges{end.port, static_cast<std::int64_t>(told_bps * scale)});
}

void PacketNetwork::watch_cables(EngineBuilder& builder, EntityId teller, Duration delay, Duration reroute) {
  std::vector<EntityId> choosers;
  for (std::uint32_t node = 0; node < model_.nodes.node_count(); ++node) {
    const EntityId id = entity_of_node_[node];
    builder.connect(teller, id, delay);
    if (model_.nodes.is_host(node) || model_.sprays()) choosers.push_back(id);
  }
  route_manager_ =
      builder.add_entity(std::make_unique<RouteManager>(model_.topology, reroute, delay, choosers, versions_), "route manager");
  builder.connect(teller, route_manager_, delay);
  for (const EntityId node : choosers) builder.connect(route_manager_, node, delay);
}

void PacketNetwork::tell_of_cable(LinkId cable, double share, Duration delay, EventContext& context) const {
  for (const LinkId link : {cable, model_.topology.reverse(cable)}) {
    const PacketTopology::CableEnd end = model_.nodes.begin_of(link);
    const Bandwidth rate = settings_.full_rate(end.node, link);
    const std::int64_t rate_bps = share == 0 ? 0 : scaled_rate(rate, share).in_bps();
    context.send(entity_of_node_[end.node], delay, port_changes, PortChanges{end.port, rate_bps});
  }
  context.send(route_manager_, delay, cable_changes, CableChanges{cable, share});
}

}  // namespace weft
