#include "host/transport/packet_network.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "core/values/units.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

constexpr Bytes kDefaultBuffer = Bytes::of(32'000'000);
const Bandwidth kEcnRate = Bandwidth::gbps(100);  // of the port that ecn_kmin and ecn_kmax are given for

Bandwidth scaled(Bandwidth rate, double factor) {
  return Bandwidth::bps(std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(rate.in_bps()) * factor)));
}

Bytes largest_packet_of(const FlowSettings& flow) {
  const Bytes largest = flow.wire_format.full_packet();
  if (largest > Bytes::of(UINT16_MAX)) {
    fail("mtu-too-large",
         "packets of " + to_text(largest) + " with their headers are larger than packet mode holds, " +
             to_text(Bytes::of(UINT16_MAX)),
         SourcePlace::named("flow.mtu"), "take a smaller one; Ethernet's jumbo frames have 9000B");
  }
  // Answers are packets as well.
  return std::max(largest, Bytes::of(notification_wire_bytes));
}

}  // namespace

PacketNetwork::PacketNetwork(const Topology& topology, const FlowSettings& flow, const PacketSettings& packet,
                             const PacketTraffic& traffic, std::uint64_t seed)
    : topology_(topology),
      flow_(flow),
      packet_(packet),
      nodes_(topology, flow.path_rule),
      staging_(topology, flow),
      seed_(seed),
      largest_packet_(largest_packet_of(flow)),
      hosts_start_(!traffic.is_known),
      queue_pairs_(nodes_.host_count()),
      versions_(topology, flow.path_rule.weights),
      routes_(nodes_.node_count(), versions_.fetch(0)) {
  Diagnostics diagnostics;
  if (flow_.routing == Routing::adaptive_global) {
    diagnostics.error("not-in-packet-mode", "flow.routing = adaptive_global, and switches that pass on packets know of no others",
                      SourcePlace::named("flow.routing"), "take ecmp, spray or adaptive, or --mode=flow");
  }
  if (sprays() && packet_.congestion->measures().telemetry) {
    diagnostics.error("needs-one-way",
                      "hpcc compares what switches tell of the same ports, and with flow.routing = " +
                          std::string(flow_.routing == Routing::spray ? "spray" : "adaptive") +
                          " every packet of a queue pair goes by others",
                      SourcePlace::named("packet.congestion_control"), "take flow.routing=ecmp, or swift, dctcp or dcqcn");
  }
  if (hosts_start_ && flow_.wqe_latency == Duration::zero()) {
    diagnostics.error("zero-lookahead",
                      "flow.wqe_latency is zero, and packet mode needs some time there: it goes on in windows of the least delay",
                      SourcePlace::named("flow.wqe_latency"), "give it some hundred nanoseconds");
  }
  const std::uint32_t classes = flow_.priorities == Priorities::none ? 1 : traffic.priorities;
  classes_.assign(classes, PacketClass{true, true, 0});
  answer_priority_ = std::min<std::uint32_t>(classes, packet_classes_max - 1);
  if (!packet_.answers_with_data && classes < packet_classes_max) classes_.push_back({false, false, 0});
  const auto class_called = [&](const char* param, std::uint32_t priority) -> PacketClass* {
    if (priority < classes) return &classes_[priority];
    diagnostics.error("unknown-priority",
                      std::string(param) + " names priority " + std::to_string(priority) + ", and this run's transfers have " +
                          (classes == 1 ? "0 only" : "0 to " + std::to_string(classes - 1)),
                      SourcePlace::named(param), "leave it out");
    return nullptr;
  };
  for (const std::uint32_t priority : packet_.lossy) {
    if (PacketClass* const c = class_called("packet.lossy", priority)) *c = {false, !packet_.drops_early, 0, packet_.drops_early};
  }
  for (const auto& [priority, weight] : packet_.weights) {
    if (PacketClass* const c = class_called("packet.weights", priority))
      c->weight = weight * static_cast<std::uint32_t>(largest_packet_.count());
  }
  for (PacketClass& c : classes_) {
    c.alpha = packet_.alpha;
    c.queue_alpha = packet_.lossy_alpha;
  }
  if (packet_.resume_offset && *packet_.resume_offset < largest_packet_) {
    diagnostics.error("bad-threshold",
                      "packet.resume_offset = " + to_text(*packet_.resume_offset) + " is less than a packet of " +
                          to_text(largest_packet_) + ": a pause would be let go by the packet that it was asked for",
                      SourcePlace::named("packet.resume_offset"), "take auto, or two packets");
  }
  check_profiles(packet_.profiles, topology, static_cast<std::uint32_t>(classes_.size()), "packet.profiles", diagnostics);
  check_defects(packet_.slow_hosts, topology, "packet.slow_hosts", diagnostics);
  check_defects(packet_.pausing_hosts, topology, "packet.pausing_hosts", diagnostics);
  check_delays(diagnostics);
  diagnostics.throw_if_errors();
  for (std::uint32_t node = nodes_.host_count(); node < nodes_.node_count() && !diagnostics.has_errors(); ++node) {
    check_switch(node, diagnostics);
  }
  diagnostics.throw_if_errors();
}

// --- Settings of nodes
// ------------------------------------------------------------------------------------------------------------

Bytes PacketNetwork::buffer_of(std::uint32_t node) const {
  // The last one that says so stands.
  for (auto profile = packet_.profiles.rbegin(); profile != packet_.profiles.rend(); ++profile) {
    if (profile->buffer && selects(*profile, topology_, nodes_.switch_of(node))) return *profile->buffer;
  }
  const std::span<const BufferClass> known = topology_.buffer_classes();
  const std::uint16_t buffer_class = topology_.node(nodes_.switch_of(node)).buffer_class;
  const bool is_border = buffer_class < known.size() && known[buffer_class].name == border_buffer_class;
  if (packet_.buffer && !is_border) return *packet_.buffer;
  return buffer_class < known.size() ? known[buffer_class].size : kDefaultBuffer;
}

std::vector<PacketClass> PacketNetwork::classes_of(std::uint32_t node) const {
  std::vector<PacketClass> classes = classes_;
  for (const SwitchProfile& profile : packet_.profiles) {
    if ((!profile.alpha && !profile.lossy_alpha) || !selects(profile, topology_, nodes_.switch_of(node))) continue;
    for (std::uint32_t priority = 0; priority < classes.size(); ++priority) {
      if (!profile.is_for(priority)) continue;
      if (profile.alpha) classes[priority].alpha = profile.alpha;
      if (profile.lossy_alpha) classes[priority].queue_alpha = profile.lossy_alpha;
    }
  }
  return classes;
}

EcnCurve PacketNetwork::curve_of(std::uint32_t node, std::uint32_t priority) const {
  EcnCurve curve{packet_.ecn_kmin.count(), packet_.ecn_kmax.count(), packet_.ecn_pmax};
  for (const SwitchProfile& profile : packet_.profiles) {
    if (!profile.is_for(priority) || !selects(profile, topology_, nodes_.switch_of(node))) continue;
    if (profile.ecn_kmin) curve.queue_min = profile.ecn_kmin->count();
    if (profile.ecn_kmax) curve.queue_max = profile.ecn_kmax->count();
    if (profile.ecn_pmax) curve.probability_max = *profile.ecn_pmax;
  }
  return curve;
}

Duration PacketNetwork::delay(const PacketTopology::Port& port) const {
  const Duration inside = nodes_.is_host(port.peer_node) ? packet_.card_delay : flow_.switching_delay;
  return topology_.link(port.out).propagation_delay + inside;
}

/// Per lossless priority, what may come in by a port after a pause was asked for.
Bytes PacketNetwork::headroom_needed(std::uint32_t node, const PacketTopology::Port& port) const {
  const Link& in = topology_.link(topology_.reverse(port.out));
  const Duration round_trip = delay(port) + delay({topology_.reverse(port.out), node, 0});
  const auto priorities = static_cast<std::uint32_t>(classes_.size());
  const Bytes needed = headroom_bytes(in.rate, round_trip, largest_packet_, priorities);
  // Where the pause itself leaves more slowly, it waits longer.
  const double slower = static_cast<double>(in.rate.in_bps()) / static_cast<double>(topology_.link(port.out).rate.in_bps());
  const Bytes before_it = largest_packet_ + Bytes::of(pfc_frame_wire_bytes) * priorities;
  return slower <= 1 ? needed : needed + Bytes::of(std::llround(std::ceil(static_cast<double>(before_it.count()) * (slower - 1))));
}

bool PacketNetwork::has_pfc(const PacketTopology::Port& port) const {
  return topology_.link(topology_.reverse(port.out)).propagation_delay <= packet_.pfc_reach;
}

std::int64_t PacketNetwork::headroom(std::uint32_t node, const PacketTopology::Port& port) const {
  if (!has_pfc(port)) return 0;
  return packet_.headroom ? std::max<std::int64_t>(1, packet_.headroom->count()) : headroom_needed(node, port).count();
}

void PacketNetwork::check_delays(Diagnostics& diagnostics) const {
  std::size_t without = 0;
  LinkId first;
  for (std::uint32_t node = 0; node < nodes_.node_count(); ++node) {
    for (const PacketTopology::Port& port : nodes_.ports(node)) {
      if (delay(port) == Duration::zero() && ++without == 1) first = port.out;
    }
  }
  if (without == 0) return;
  const bool to_host = !topology_.node(topology_.link(first).destination).host.is_none();
  diagnostics.error("zero-lookahead",
                    "nothing delays what link " + topology_.link_name(first) +
                        " brings, and packet mode goes on in windows of the least delay" +
                        (without == 1 ? "" : "; nor what " + std::to_string(without - 1) + " others bring"),
                    SourcePlace::named(topology_.name()),
                    std::string("give it a propagation delay, such as 5ns for a metre of fibre, or ") +
                        (to_host ? "packet.card_delay" : "flow.switching_delay") + " some nanoseconds");
}

void PacketNetwork::check_switch(std::uint32_t node, Diagnostics& diagnostics) const {
  const std::string name = topology_.node_name(nodes_.switch_of(node));
  const Bytes buffer = buffer_of(node);
  const PacketSwitchSettings settings = switch_settings(node);
  if (settings.buffer.pool < largest_packet_.count()) {
    const std::size_t ports = nodes_.ports(node).size();
    std::int64_t headrooms = 0;
    for (const PacketTopology::Port& port : nodes_.ports(node)) {
      headrooms += headroom(node, port) * std::ranges::count_if(classes_, &PacketClass::lossless);
    }
    const std::int64_t reserved = buffer.count() - settings.buffer.pool - headrooms;
    diagnostics.error("headroom-above-buffer",
                      name + " has " + to_text(buffer) + " of packet memory, of which " + to_text(Bytes::of(headrooms)) +
                          " would be headroom of its " + std::to_string(ports) + " ports and " + to_text(Bytes::of(reserved)) +
                          " reserved: nothing is left to share",
                      SourcePlace::named("packet.buffer"),
                      "give it more, make packet.reserved smaller, cables shorter, on which headroom depends, or packet.pfc_reach");
    return;
  }
  double alpha = std::numeric_limits<double>::max();
  for (const PacketClass& c : settings.classes) alpha = std::min(alpha, c.lossless ? *c.alpha : *c.queue_alpha);
  const double first = static_cast<double>(settings.buffer.reserved) + alpha * static_cast<double>(settings.buffer.pool);
  if (first < static_cast<double>(largest_packet_.count())) {
    diagnostics.error("mtu-above-queue",
                      "a packet of " + to_text(largest_packet_) + " is more than a port of " + name +
                          " may hold while nothing else is there, " + to_text(Bytes::of(static_cast<std::int64_t>(first))),
                      SourcePlace::named("packet.alpha"), "make packet.reserved or packet.alpha larger, or flow.mtu smaller");
    return;
  }
  for (std::uint32_t priority = 0; priority < classes_.size(); ++priority) {
    const EcnCurve curve = curve_of(node, priority);
    if (curve.queue_min <= curve.queue_max) continue;
    diagnostics.error("bad-threshold",
                      "packet.profiles: " + name + " marks priority " + std::to_string(priority) +
                          " from ecn_kmin = " + to_text(Bytes::of(curve.queue_min)) +
                          " on, and all of it above ecn_kmax = " + to_text(Bytes::of(curve.queue_max)) + ", which is less",
                      SourcePlace::named("packet.profiles"), "set both in the same profile");
    return;
  }
  for (const PacketTopology::Port& port : nodes_.ports(node)) {
    const Link& out = topology_.link(port.out);
    const Bytes needed = headroom_needed(node, port);
    const bool has_lossless = std::ranges::any_of(classes_, &PacketClass::lossless);
    if (has_lossless && has_pfc(port) && !packet_.is_unsafe && packet_.headroom && *packet_.headroom < needed) {
      diagnostics.error("bad-threshold",
                        "packet.headroom = " + to_text(*packet_.headroom) + " is less than what can come by " +
                            topology_.link_name(topology_.reverse(port.out)) + " after a pause was asked for, " + to_text(needed),
                        SourcePlace::named("packet.headroom"),
                        "take auto, which gives every port what it needs, or packet.unsafe = true to see what is lost");
      return;
    }
    const Duration shortest = pause_time_min(out.rate, largest_packet_, static_cast<std::uint32_t>(classes_.size()));
    if (packet_.pause_time > Duration::zero() && packet_.pause_time < shortest) {
      diagnostics.error("short-pause",
                        "packet.pause_time = " + to_text(packet_.pause_time) + " runs out before it can be sent again on " +
                            topology_.link_name(port.out),
                        SourcePlace::named("packet.pause_time"), "at least " + to_text(shortest) + ", or 0ns: until resumed");
      return;
    }
  }
}

PacketSwitchSettings PacketNetwork::switch_settings(std::uint32_t node) const {
  PacketSwitchSettings settings;
  settings.classes = classes_of(node);
  settings.marks_at_dequeue = packet_.marks_at_dequeue;
  if (sprays()) {
    settings.port_choice.ports_to = [this, node](NodeId endpoint, std::vector<std::uint16_t>& ports,
                                                 std::vector<std::int64_t>& weights) {
      nodes_.ports_to(*routes_[node], node, endpoint, ports, weights);
    };
    settings.port_choice.adaptive = flow_.routing == Routing::adaptive;
    settings.port_choice.adaptive_band = packet_.adaptive_band;
    settings.port_choice.seed = mix64(flow_.path_rule.seed + (std::uint64_t{node} << 32));
  }
  settings.pause_time = packet_.pause_time;
  settings.watchdog = packet_.watchdog;
  settings.keeps_pauses = keeps_pauses_;
  settings.may_overflow = packet_.is_unsafe;
  settings.writes_telemetry = packet_.congestion->measures().telemetry;
  settings.largest_packet = largest_packet_;
  settings.seed = mix64(seed_ + (std::uint64_t{node} << 32));
  settings.buffer.reserved = packet_.reserved.count();
  settings.buffer.resume_offset = packet_.resume_offset.value_or(largest_packet_ * 2).count();
  settings.buffer.pool = buffer_of(node).count();
  const std::span<const PacketTopology::Port> ports = nodes_.ports(node);
  // What comes by cables without PFC is charged to egress queues, which then have accounts of their
  // own.
  const bool has_lossy_cables = std::ranges::any_of(ports, [this](const PacketTopology::Port& port) { return !has_pfc(port); });
  for (const PacketTopology::Port& port : ports) {
    for (const PacketClass& c : classes_) {
      const std::int64_t accounts = c.lossless && has_lossy_cables ? 2 : 1;
      settings.buffer.pool -= accounts * packet_.reserved.count() + (c.lossless ? headroom(node, port) : 0);
    }
  }
  return settings;
}

EgressPort PacketNetwork::egress(std::uint32_t node, const PacketTopology::Port& port) const {
  return {full_rate(node, port.out), delay(port), entity_of_node_[port.peer_node], port.peer_port};
}

/// At which a node sends over a link.
Bandwidth PacketNetwork::full_rate(std::uint32_t node, LinkId link) const {
  const Bandwidth rate = topology_.link(link).rate;
  return nodes_.is_host(node) ? scaled(rate, flow_.network_efficiency) : rate;
}

NicSettings PacketNetwork::nic_settings() const {
  NicSettings settings{flow_.wire_format};
  settings.queue_pairs = flow_.queue_pairs;
  settings.ack_interval = packet_.ack_interval;
  settings.retransmission_timeout = packet_.retransmission_timeout;
  settings.retries = expects_failures_ ? 0 : packet_.retries;
  settings.slow_restart = packet_.slow_restart;
  for (std::uint32_t priority = 0; priority < packet_classes_max; ++priority) {
    const bool is_lossy = std::ranges::count(packet_.lossy, priority) > 0;
    const bool adapts = packet_.adaptive_retransmission == PacketSettings::Adaptive::on ||
                        (packet_.adaptive_retransmission == PacketSettings::Adaptive::lossy && is_lossy);
    if (adapts) settings.adapts_timeout |= static_cast<std::uint8_t>(1U << priority);
  }
  settings.pause_time = packet_.pause_time;
  if (!packet_.answers_with_data) settings.answer_priority = answer_priority_;
  settings.keeps_early = packet_.selective_repeat || sprays();
  settings.reports_gaps = !sprays();
  settings.window_follows_rate = packet_.window_follows_rate;
  settings.uses_priorities = flow_.priorities == Priorities::strict;
  settings.congestion = packet_.congestion;
  settings.receive_latency = std::max(flow_.receive_latency, packet_.card_delay) - packet_.card_delay;
  settings.completion_latency = flow_.completion_latency;
  settings.receive_buffer = packet_.receive_buffer;
  for (std::size_t priority = 0; priority < classes_.size(); ++priority) {
    if (classes_[priority].lossless) settings.lossless |= static_cast<std::uint8_t>(1U << priority);
  }
  settings.keeps_pauses = keeps_pauses_;
  return settings;
}

// --- Assembly
// ---------------------------------------------------------------------------------------------------------------------

void PacketNetwork::declare(EngineBuilder& builder) {
  WEFT_CHECK(entity_of_node_.empty(), "nodes are declared once");
  for (std::uint32_t node = 0; node < nodes_.node_count(); ++node) {
    entity_of_node_.push_back(builder.declare(nodes_.is_host(node) ? "cards of host" + std::to_string(node)
                                                                   : topology_.node_name(nodes_.switch_of(node))));
  }
}

void PacketNetwork::add_to(EngineBuilder& builder, const std::vector<EntityId>& entity_of_host) {
  if (entity_of_node_.empty()) declare(builder);
  entity_of_host_ = entity_of_host;
  const NicSettings nic = nic_settings();
  NicWiring wiring;
  wiring.host_of = [this](NodeId endpoint) { return entity_of_host_[topology_.node(endpoint).host.index()]; };
  wiring.delivered = &delivered_;
  wiring.fabric = fabric_;
  wiring.fabric_delay = flow_.wqe_latency;
  for (std::uint32_t node = 0; node < nodes_.node_count(); ++node) {
    const auto take_routes = [this, node](std::uint32_t version) { routes_[node] = versions_.fetch(version); };
    if (nodes_.is_host(node)) {
      std::vector<EgressPort> ports;
      for (const PacketTopology::Port& port : nodes_.ports(node)) ports.push_back(egress(node, port));
      wiring.plan = [this, node](const Transfer& transfer, std::uint32_t part) { return plan(node, transfer, part); };
      wiring.take_routes = take_routes;
      NicSettings of_host = nic;
      for (const HostDefect& defect : packet_.slow_hosts) {
        if (concerns(defect, topology_, HostId(node))) of_host.drain_rate = defect.drain_rate;
      }
      if (const std::optional<Time> from = pauses_from(HostId(node))) {
        builder.post_initial(entity_of_node_[node], *from, EventClass::message, pauses_for_good);
      }
      builder.define(entity_of_node_[node], std::make_unique<Nic>(of_host, ports, node, queue_pairs_, wiring));
      continue;
    }
    std::vector<PacketSwitch::Cable> cables;
    std::vector<EcnCurve> curves;
    for (std::uint32_t priority = 0; priority < (packet_.profiles.empty() ? 1 : classes_.size()); ++priority) {
      curves.push_back(curve_of(node, priority));
    }
    for (const PacketTopology::Port& port : nodes_.ports(node)) {
      const double share = static_cast<double>(topology_.link(port.out).rate.in_bps()) / static_cast<double>(kEcnRate.in_bps());
      const auto scaled_to_port = [share](EcnCurve curve) {
        curve.queue_min = static_cast<std::int64_t>(static_cast<double>(curve.queue_min) * share);
        curve.queue_max = static_cast<std::int64_t>(static_cast<double>(curve.queue_max) * share);
        return curve;
      };
      cables.push_back({egress(node, port), headroom(node, port), scaled_to_port(curves.front())});
      if (curves.size() > 1) std::ranges::transform(curves, std::back_inserter(cables.back().ecn_of_priority), scaled_to_port);
    }
    PacketSwitchSettings settings = switch_settings(node);
    settings.port_choice.take_routes = take_routes;
    builder.define(entity_of_node_[node], std::make_unique<PacketSwitch>(settings, cables, queue_pairs_));
  }
  for (std::uint32_t node = 0; node < nodes_.node_count(); ++node) {
    for (const PacketTopology::Port& port : nodes_.ports(node)) {
      builder.connect(entity_of_node_[node], entity_of_node_[port.peer_node], delay(port));
    }
  }
  for (std::uint32_t node = 0; node < nodes_.node_count() && !fabric_.is_none(); ++node) {
    const EntityId id = entity_of_node_[node];
    builder.connect(fabric_, id, flow_.wqe_latency);
    if (nodes_.is_host(node)) builder.connect(id, fabric_, flow_.wqe_latency);
  }
  for (std::uint32_t host = 0; host < nodes_.host_count(); ++host) {
    const EntityId card = entity_of_node_[host];
    if (hosts_start_) builder.connect(entity_of_host[host], card, flow_.wqe_latency);
    builder.connect(card, entity_of_host[host], std::min(nic.receive_latency, nic.completion_latency));
  }
}

std::optional<Time> PacketNetwork::pauses_from(HostId host) const {
  std::optional<Time> from;
  for (const HostDefect& defect : packet_.pausing_hosts) {
    if (concerns(defect, topology_, host)) from = defect.pauses_from;
  }
  return from;
}

void PacketNetwork::tell_of_load(const FlowLoads::LinkLoad& load, double capacity_bps, EventContext& context) const {
  if (!nodes_.is_cable(load.link)) return;
  const PacketTopology::CableEnd end = nodes_.begin_of(load.link);
  const double told_bps = std::min(static_cast<double>(load.load.in_bps()), capacity_bps * (1 - packet_.beside_flows_min));
  const double scale =
      static_cast<double>(full_rate(end.node, load.link).in_bps()) / static_cast<double>(topology_.link(load.link).rate.in_bps());
  context.send(entity_of_node_[end.node], flow_.wqe_latency, flow_load_changes,
               FlowLoadChanges{end.port, static_cast<std::int64_t>(told_bps * scale)});
}

void PacketNetwork::watch_cables(EngineBuilder& builder, EntityId teller, Duration delay, Duration reroute) {
  std::vector<EntityId> choosers;
  for (std::uint32_t node = 0; node < nodes_.node_count(); ++node) {
    const EntityId id = entity_of_node_[node];
    builder.connect(teller, id, delay);
    if (nodes_.is_host(node) || sprays()) choosers.push_back(id);
  }
  route_manager_ =
      builder.add_entity(std::make_unique<RouteManager>(topology_, reroute, delay, choosers, versions_), "route manager");
  builder.connect(teller, route_manager_, delay);
  for (const EntityId node : choosers) builder.connect(route_manager_, node, delay);
}

void PacketNetwork::tell_of_cable(LinkId cable, double share, Duration delay, EventContext& context) const {
  for (const LinkId link : {cable, topology_.reverse(cable)}) {
    const PacketTopology::CableEnd end = nodes_.begin_of(link);
    const Bandwidth rate = full_rate(end.node, link);
    const std::int64_t rate_bps = share == 0 ? 0 : scaled(rate, share).in_bps();
    context.send(entity_of_node_[end.node], delay, port_changes, PortChanges{end.port, rate_bps});
  }
  context.send(route_manager_, delay, cable_changes, CableChanges{cable, share});
}

Bandwidth PacketNetwork::rate_max(const PacketTopology::Route& route, const Transfer& transfer) const {
  Bandwidth rate = route.inside_rate;
  if (flow_.queue_pair_rate_max) rate = std::min(rate, *flow_.queue_pair_rate_max);
  if (!staging_.is_on()) return rate;
  const double staged_bps = staging_.cap_bps(transfer.source, transfer.destination) * flow_.network_efficiency / flow_.queue_pairs;
  return staged_bps < static_cast<double>(rate.in_bps()) ? Bandwidth::bps(static_cast<std::int64_t>(staged_bps)) : rate;
}

/// From being handed over until the card may send.
Duration PacketNetwork::entry_latency(const Transfer& transfer) const {
  return flow_.wqe_latency + staging_.delay(transfer.source);
}

/// Cards leave some of the first link idle.
Bandwidth PacketNetwork::rate_of(const PacketTopology::Route& route, std::size_t hop) const {
  const Bandwidth rate = topology_.link(route.links[hop]).rate;
  return hop == 0 ? scaled(rate, flow_.network_efficiency) : rate;
}

/// From a packet's first bit on its first cable until the card at the end has it.
Duration PacketNetwork::alone(const PacketTopology::Route& route, Bytes packet) const {
  Duration all = packet_.card_delay + flow_.switching_delay * (static_cast<std::int64_t>(route.links.size()) - 1);
  for (std::size_t hop = 0; hop < route.links.size(); ++hop) {
    all += transmit_time(packet, rate_of(route, hop)) + topology_.link(route.links[hop]).propagation_delay;
  }
  return all;
}

Bandwidth PacketNetwork::slowest(const PacketTopology::Route& there, NodeId destination, Bandwidth rate_max) const {
  if (sprays() && weighs_paths() && there.links.size() > 1) {
    const Bandwidth onwards = nodes_.capacity(topology_.link(there.links.front()).destination, destination);
    return std::min({rate_max, rate_of(there, 0), onwards});
  }
  for (std::size_t hop = 0; hop < there.links.size(); ++hop) rate_max = std::min(rate_max, rate_of(there, hop));
  return rate_max;
}

/// What a queue pair may have under way, so that it is as fast as its way if nothing else is there.
/// Requires: plan.rate_max and plan.round_trip are known.
std::optional<Bytes> PacketNetwork::window(Bandwidth slowest, const PacketTopology::Route& back, const QueuePairPlan& plan) const {
  if (!packet_.window.is_limited || packet_.window.bytes) return packet_.window.bytes;
  const Bytes full = flow_.wire_format.full_packet();
  Duration until_answered = plan.round_trip;
  // Answers go first, but wait for the packet that is on its way into the cable.
  for (std::size_t hop = 0; hop < back.links.size(); ++hop) until_answered += transmit_time(full, rate_of(back, hop));
  // Where packets overtake each other, an acknowledgement of all before one waits for the slowest.
  if (sprays()) until_answered = until_answered * 2;
  const double held_bytes = static_cast<double>(slowest.in_bps()) / 8 * until_answered.in_s();
  const auto held = static_cast<std::int64_t>(held_bytes / static_cast<double>(full.count())) + 1;
  const std::int64_t between_answers = std::clamp<std::int64_t>(held / 4, 1, packet_.ack_interval);
  return full * (held + between_answers + 1);
}

QueuePairPlan PacketNetwork::plan(std::uint32_t card, const Transfer& transfer, std::uint32_t queue_pair) const {
  const AvailableRoutes& routes = *routes_[card];
  const auto [source, destination] = std::pair(transfer.source, transfer.destination);
  std::optional<PacketTopology::Route> around = nodes_.reroute(routes, source, destination, transfer.connection, queue_pair);
  std::optional<PacketTopology::Route> back_around = nodes_.reroute(routes, destination, source, transfer.connection, queue_pair);
  QueuePairPlan plan;
  plan.is_cut_off = !around || !back_around;
  const auto own = [&](NodeId from, NodeId to) { return nodes_.route(from, to, transfer.connection, queue_pair); };
  const PacketTopology::Route there = plan.is_cut_off ? own(source, destination) : std::move(*around);
  const PacketTopology::Route back = plan.is_cut_off ? own(destination, source) : std::move(*back_around);
  plan.route.there = there.ports;
  if (sprays() && there.links.size() > 1) QueuePairs::set_destination(plan.route.there, destination);
  plan.route.back = back.ports;
  plan.rate_max = rate_max(there, transfer);
  plan.source_rate = there.source_rate;
  plan.round_trip = alone(there, flow_.wire_format.full_packet()) + alone(back, Bytes::of(ack_wire_bytes));
  const Bandwidth way_rate = slowest(there, destination, plan.rate_max);
  plan.window = window(way_rate, back, plan);
  if (packet_.paces_by_route) plan.rate_max = way_rate;
  plan.switches = static_cast<std::uint32_t>(there.links.size()) - 1;
  plan.inside_hosts = there.inside_hosts + staging_.delay(destination);
  return plan;
}

// --- Results
// ----------------------------------------------------------------------------------------------------------------------

/// The least that a transfer takes: every queue pair's packets follow each other as close as the
/// slowest link so far lets them, and no link carries what all queue pairs send over it in less
/// than its time. Alone it takes just that, but for windows that are too small, congestion control,
/// ways that are not the best of those that it is sprayed over, and a tick per link where a packet
/// is not a whole number of them.
Duration PacketNetwork::ideal(const Transfer& transfer) const {
  struct Load {
    Bytes bytes;
    Duration rest_min = Duration::max();  ///< from there to the destination, for the last packet of a queue pair
  };
  std::map<LinkId, Load> loads;
  const auto parts = static_cast<std::uint32_t>(std::clamp<std::int64_t>(transfer.size.count(), 1, flow_.queue_pairs));
  Duration longest;
  Duration inside;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const PacketTrain train = flow_.wire_format.train(part_of(transfer.size, flow_.queue_pairs, i));
    const PacketTopology::Route route = nodes_.route(transfer.source, transfer.destination, transfer.connection, i);
    inside = route.inside_hosts;
    Bandwidth rate = rate_max(route, transfer);
    if (packet_.paces_by_route) rate = slowest(route, transfer.destination, rate);
    const auto add = [&](LinkId link, Duration rest) {
      Load& load = loads[link];
      load.bytes += train.full * (train.packets - 1) + train.last;
      load.rest_min = std::min(load.rest_min, rest);
    };
    const auto cable = [&](LinkId link) { return topology_.link(link).propagation_delay; };
    if (sprays() && route.links.size() > 1) {
      const PacketTopology::LeastRoute onward = onward_of(route, transfer.destination, train.last);
      longest = std::max(longest, sprayed_ideal(train, route, transfer.destination, rate, onward));
      add(route.links.front(), cable(route.links.front()) + onward.cost);
      if (!onward.last.is_none()) add(onward.last, cable(onward.last));
      continue;
    }
    longest = std::max(longest, ideal(train, route, rate));
    Duration rest;
    for (std::size_t hop = route.links.size(); hop-- > 0;) {
      rest += cable(route.links[hop]);
      add(route.links[hop], rest);
      rest += EgressPort::least_time(train.last, rate_of(route, hop)) + flow_.switching_delay;
    }
  }
  for (const auto& [link, load] : loads)
    longest = std::max(longest, EgressPort::least_time(load.bytes, topology_.link(link).rate) + load.rest_min);
  return entry_latency(transfer) + longest + inside + staging_.delay(transfer.destination) +
         std::max(flow_.receive_latency, packet_.card_delay);
}

/// How close a card lets packets follow each other, if it paces a queue pair that is slower than
/// its port.
Duration PacketNetwork::spacing(const PacketTrain& train, const PacketTopology::Route& route, Bandwidth rate_max) const {
  if (rate_max >= rate_of(route, 0)) return Duration::zero();
  return Duration::from_seconds(train.full.in_bits() / static_cast<double>(rate_max.in_bps()));
}

/// Of a queue pair's packets on one way, until all have come to its end.
Duration PacketNetwork::ideal(const PacketTrain& train, const PacketTopology::Route& route, Bandwidth rate_max) const {
  const bool is_many = train.packets > 1;
  const std::int64_t between = is_many ? train.packets - 2 : 0;
  const Duration spaced = spacing(train, route, rate_max);
  Duration first;                                // until the first full packet has come to the hop
  Duration last = spaced * (train.packets - 1);  // until the last packet has
  Duration behind = spaced * between;            // what those between them take at the slowest hop so far
  for (std::size_t hop = 0; hop < route.links.size(); ++hop) {
    const Bandwidth rate = rate_of(route, hop);
    first += EgressPort::least_time(train.full, rate);
    behind = std::max(behind, EgressPort::least_time(train.full * between, rate));
    if (is_many) last = std::max(last, first + behind);
    last += EgressPort::least_time(train.last, rate);
    const bool is_end = hop + 1 == route.links.size();
    const Duration onward =
        topology_.link(route.links[hop]).propagation_delay + (is_end ? Duration::zero() : flow_.switching_delay);
    first += onward;
    last += onward;
  }
  return last;
}

/// From a packet's coming to the first switch until the card at the end has it, by the best of all
/// ways.
PacketTopology::LeastRoute PacketNetwork::onward_of(const PacketTopology::Route& route, NodeId destination, Bytes packet) const {
  return nodes_.least_route(topology_.link(route.links.front()).destination, destination, [&](LinkId link) {
    return flow_.switching_delay + EgressPort::least_time(packet, topology_.link(link).rate) +
           topology_.link(link).propagation_delay;
  });
}

/// Of a queue pair's packets that are sprayed: between the first link and the last each may have
/// the best way for itself, and overtake larger ones. All have come when the last has, when the
/// last full one has, and when the last link has carried all.
Duration PacketNetwork::sprayed_ideal(const PacketTrain& train, const PacketTopology::Route& route, NodeId destination,
                                      Bandwidth rate_max, const PacketTopology::LeastRoute& onward) const {
  const bool is_many = train.packets > 1;
  const std::int64_t between = is_many ? train.packets - 2 : 0;
  const Duration spaced = spacing(train, route, rate_max);
  const Bandwidth rate = rate_of(route, 0);
  const Duration cable = topology_.link(route.links.front()).propagation_delay;
  const Duration first = EgressPort::least_time(train.full, rate);
  const Duration last_full = first + std::max(spaced * between, EgressPort::least_time(train.full * between, rate));
  Duration last = spaced * (train.packets - 1);
  if (is_many) last = std::max(last, last_full);
  last += EgressPort::least_time(train.last, rate);
  if (!is_many) return last + cable + onward.cost;
  const PacketTopology::LeastRoute of_full = onward_of(route, destination, train.full);
  const Duration all = std::max(last + onward.cost, last_full + of_full.cost) + cable;
  if (onward.last.is_none()) return all;
  const Bandwidth end_rate = topology_.link(onward.last).rate;
  const Duration begun = std::min(first + of_full.cost - EgressPort::least_time(train.full, end_rate),
                                  last + onward.cost - EgressPort::least_time(train.last, end_rate));
  return std::max(all, cable + begun + EgressPort::least_time(train.full * (train.packets - 1) + train.last, end_rate));
}

std::vector<FinishedTransfer> PacketNetwork::finished(const Engine& engine) const {
  std::vector<FinishedTransfer> finished;
  std::map<std::tuple<NodeId, NodeId, std::uint32_t, Bytes>, Duration> ideals;
  for (std::uint32_t host = 0; host < nodes_.host_count(); ++host) {
    for (const DeliveredTransfer& delivered : engine.entity_as<Nic>(entity_of_node_[host]).delivered()) {
      const Transfer& transfer = delivered.transfer;
      const auto [known, is_new] =
          ideals.try_emplace({transfer.source, transfer.destination, transfer.connection, transfer.size}, Duration::zero());
      if (is_new) known->second = ideal(transfer);
      finished.push_back(
          {FlowId::none(), transfer, delivered.entered - entry_latency(transfer), delivered.delivered, known->second});
    }
  }
  return finished;
}

std::vector<UnfinishedTransfer> PacketNetwork::unfinished(const Engine& engine) const {
  std::vector<UnfinishedTransfer> unfinished;
  for (std::uint32_t host = 0; host < nodes_.host_count(); ++host) {
    for (UnfinishedTransfer transfer : engine.entity_as<Nic>(entity_of_node_[host]).unfinished()) {
      transfer.start = transfer.start - entry_latency(transfer.transfer);
      unfinished.push_back(transfer);
    }
  }
  return unfinished;
}

std::uint64_t PacketNetwork::drops_of(const Engine& engine, std::uint32_t node) const {
  std::uint64_t drops = 0;
  for (std::uint32_t port = 0; port < nodes_.ports(node).size(); ++port) {
    const PacketPortCounters counters = engine.entity_as<PacketSwitch>(entity_of_node_[node]).counters(port, Time::zero());
    drops += counters.drops + counters.queue_drops;
  }
  return drops;
}

std::vector<StoppedQueuePair> PacketNetwork::given_up(const Engine& engine) const {
  std::vector<StoppedQueuePair> all;
  for (std::uint32_t host = 0; host < nodes_.host_count(); ++host) {
    for (const GivenUp& given_up : engine.entity_as<Nic>(entity_of_node_[host]).given_up())
      all.push_back({given_up.transfer, given_up.time, given_up.time - given_up.progress_at});
  }
  std::ranges::stable_sort(all, {}, &StoppedQueuePair::time);
  return all;
}

WorstSwitch PacketNetwork::worst_switch(const Engine& engine, const Transfer& transfer) const {
  WorstSwitch worst;
  for (std::uint32_t part = 0; part < flow_.queue_pairs; ++part) {
    const PacketTopology::Route route = nodes_.route(transfer.source, transfer.destination, transfer.connection, part);
    for (std::size_t hop = 1; hop < route.links.size(); ++hop) {
      const std::uint32_t node = nodes_.begin_of(route.links[hop]).node;
      const std::uint64_t drops = drops_of(engine, node);
      if (drops > worst.drops) worst = {nodes_.switch_of(node), drops};
    }
  }
  return worst;
}

std::optional<std::uint64_t> PacketNetwork::repeats_max() const {
  if (packet_.repeats_max == 0 || packet_.retries > 0) return std::nullopt;
  return packet_.repeats_max;
}

std::vector<std::uint64_t> PacketNetwork::repeats(const Engine& engine) const {
  std::vector<std::uint64_t> by_host;
  for (std::uint32_t host = 0; host < nodes_.host_count(); ++host)
    by_host.push_back(engine.entity_as<Nic>(entity_of_node_[host]).counters().data_repeated);
  return by_host;
}

std::optional<NarrowWindow> PacketNetwork::narrowest_window(const Engine& engine) const {
  std::optional<NarrowWindow> narrowest;
  if (!packet_.window.bytes) return narrowest;
  const Bytes window = *packet_.window.bytes * flow_.queue_pairs;
  std::set<std::tuple<NodeId, NodeId, std::uint32_t>> looked_at;
  for (std::uint32_t host = 0; host < nodes_.host_count(); ++host) {
    for (const DeliveredTransfer& delivered : engine.entity_as<Nic>(entity_of_node_[host]).delivered()) {
      const Transfer& transfer = delivered.transfer;
      const auto [source, destination] = std::pair(transfer.source, transfer.destination);
      if (transfer.size <= window || !looked_at.emplace(source, destination, transfer.connection).second) continue;
      const PacketTopology::Route there = nodes_.route(source, destination, transfer.connection, 0);
      const PacketTopology::Route back = nodes_.route(destination, source, transfer.connection, 0);
      const Duration round_trip = alone(there, flow_.wire_format.full_packet()) + alone(back, Bytes::of(ack_wire_bytes));
      const Bandwidth own = rate_max(there, transfer);
      const Bandwidth rate =
          slowest(there, destination, own.in_bps() > INT64_MAX / flow_.queue_pairs ? own : own * flow_.queue_pairs);
      const auto held = Bytes::of(static_cast<std::int64_t>(static_cast<double>(rate.in_bps()) / 8 * round_trip.in_s()));
      if (held <= window || (narrowest && held <= narrowest->held)) continue;
      narrowest = NarrowWindow{transfer, window, rate, round_trip, held};
    }
  }
  return narrowest;
}

std::optional<ShortHeadroom> PacketNetwork::shortest_headroom(std::span<const LinkUsage> usage) const {
  std::optional<ShortHeadroom> shortest;
  if (!packet_.headroom || std::ranges::none_of(classes_, &PacketClass::lossless)) return shortest;
  std::size_t links = 0;
  for (std::uint32_t node = nodes_.host_count(); node < nodes_.node_count(); ++node) {
    for (const PacketTopology::Port& port : nodes_.ports(node)) {
      const LinkId in = topology_.reverse(port.out);
      const Bytes needed = headroom_needed(node, port);
      if (!has_pfc(port) || *packet_.headroom >= needed || usage[in.index()].bytes == Bytes::zero()) continue;
      ++links;
      if (!shortest || needed > shortest->needed) shortest = ShortHeadroom{in, *packet_.headroom, needed};
    }
  }
  if (shortest) shortest->more_links = links - 1;
  return shortest;
}

Time PacketNetwork::last_data(const Engine& engine) const {
  Time last;
  for (std::uint32_t node = 0; node < nodes_.node_count(); ++node) {
    if (nodes_.is_host(node)) last = std::max(last, engine.entity_as<Nic>(entity_of_node_[node]).counters().last_data);
  }
  return last;
}

PacketCounters PacketNetwork::counters(const Engine& engine, Time end) const {
  PacketCounters sum;
  for (std::uint32_t node = 0; node < nodes_.node_count(); ++node) {
    const EntityId id = entity_of_node_[node];
    if (nodes_.is_host(node)) {
      const NicCounters& of_node = engine.entity_as<Nic>(id).counters();
      sum.data_packets += of_node.data_sent;
      sum.data_repeated += of_node.data_repeated;
      sum.data_received += of_node.data_received;
      sum.acks += of_node.acks_sent;
      sum.notifications += of_node.notifications_sent;
      sum.sending += of_node.sending;
      sum.sending_again += of_node.sending_again;
      for (std::uint32_t port = 0; port < nodes_.ports(node).size(); ++port) {
        const HoldupTimes& holdups = engine.entity_as<Nic>(id).port_counters(port, end).holdups;
        sum.held_by_pauses += holdups.of(Holdup::pause);
        sum.held_by_congestion_control += holdups.of(Holdup::congestion_control);
        sum.held_by_acknowledgements += holdups.of(Holdup::acknowledgements);
      }
      continue;
    }
    const auto& packet_switch = engine.entity_as<PacketSwitch>(id);
    sum.pauses += packet_switch.pauses_sent();
    sum.pause_storms += packet_switch.storms().size();
    for (std::uint32_t port = 0; port < nodes_.ports(node).size(); ++port) {
      const PacketPortCounters of_port = packet_switch.counters(port, end);
      sum.waiting += of_port.waiting;
      sum.ecn_marks += of_port.ecn_marks;
      sum.drops += of_port.drops + of_port.queue_drops;
      sum.lossless_drops += of_port.headroom_drops;
    }
  }
  return sum;
}

std::vector<LinkPause> PacketNetwork::pauses(const Engine& engine, Time end) const {
  std::vector<LinkPause> all;
  for (std::uint32_t node = 0; node < nodes_.node_count(); ++node) {
    const EntityId id = entity_of_node_[node];
    const std::span<const PacketTopology::Port> ports = nodes_.ports(node);
    for (std::uint32_t port = 0; port < ports.size(); ++port) {
      const std::vector<PauseSpan> spans =
          nodes_.is_host(node) ? engine.entity_as<Nic>(id).pauses(port, end) : engine.entity_as<PacketSwitch>(id).pauses(port, end);
      for (const PauseSpan& span : spans) all.push_back({ports[port].out, span});
    }
  }
  return all;
}

std::vector<LinkStorm> PacketNetwork::storms(const Engine& engine) const {
  std::vector<LinkStorm> all;
  for (std::uint32_t node = nodes_.host_count(); node < nodes_.node_count(); ++node) {
    for (const PauseStorm& storm : engine.entity_as<PacketSwitch>(entity_of_node_[node]).storms()) {
      all.push_back({nodes_.ports(node)[storm.port].out, storm});
    }
  }
  std::ranges::sort(all, {},
                    [](const LinkStorm& of_link) { return std::tuple(of_link.storm.found, of_link.link, of_link.storm.priority); });
  return all;
}

std::vector<LinkId> PacketNetwork::deadlock(const Engine& engine) const {
  // What came by a link waits for room behind others.
  using Place = std::pair<LinkId, std::uint32_t>;  // and priority
  std::map<Place, std::vector<Place>> waits_for;
  for (std::uint32_t node = nodes_.host_count(); node < nodes_.node_count(); ++node) {
    const std::span<const PacketTopology::Port> ports = nodes_.ports(node);
    for (const PacketSwitch::Blocked& blocked : engine.entity_as<PacketSwitch>(entity_of_node_[node]).blocked()) {
      waits_for[{topology_.reverse(ports[blocked.from].out), blocked.priority}].emplace_back(ports[blocked.to].out,
                                                                                             blocked.priority);
    }
  }
  // Depth first: a place that is met again on the way to itself closes the circle.
  std::set<Place> done;
  std::vector<Place> route;
  const std::function<std::vector<LinkId>(Place)> search = [&](Place at) -> std::vector<LinkId> {
    const auto met = std::find(route.begin(), route.end(), at);
    if (met != route.end()) {
      std::vector<LinkId> circle;
      for (auto place = met; place != route.end(); ++place) circle.push_back(place->first);
      return circle;
    }
    const auto next = waits_for.find(at);
    if (next == waits_for.end() || !done.insert(at).second) return {};
    route.push_back(at);
    for (const Place& place : next->second) {
      std::vector<LinkId> circle = search(place);
      if (!circle.empty()) return circle;
    }
    route.pop_back();
    return {};
  };
  for (const auto& [place, others] : waits_for) {
    std::vector<LinkId> circle = search(place);
    if (!circle.empty()) return circle;
  }
  return {};
}

void PacketNetwork::add_usage(const Engine& engine, Time begin, Time end, Time now, std::vector<LinkUsage>& usage) const {
  for (std::uint32_t node = 0; node < nodes_.node_count(); ++node) {
    const EntityId id = entity_of_node_[node];
    const std::span<const PacketTopology::Port> ports = nodes_.ports(node);
    for (std::uint32_t port = 0; port < ports.size(); ++port) {
      LinkUsage& out = usage[ports[port].out.index()];
      if (nodes_.is_host(node)) {
        const NicPortCounters counters = engine.entity_as<Nic>(id).port_counters(port, now);
        out.bytes += Bytes::of(static_cast<std::int64_t>(counters.bytes));
        out.paused = counters.paused;
      } else {
        const PacketPortCounters counters = engine.entity_as<PacketSwitch>(id).counters(port, now);
        out.bytes += Bytes::of(static_cast<std::int64_t>(counters.bytes));
        out.paused = counters.paused;
        out.queue = Bytes::of(static_cast<std::int64_t>(counters.queue));
        out.queue_peak = Bytes::of(static_cast<std::int64_t>(counters.queue_peak));
        out.ecn_marks = counters.ecn_marks;
        out.drops += counters.queue_drops;
        usage[topology_.reverse(ports[port].out).index()].drops += counters.drops;
      }
      const double span_s = (end - begin).in_s();
      const auto rate_bps = static_cast<double>(topology_.link(ports[port].out).rate.in_bps());
      out.mean_utilization = span_s > 0 ? out.bytes.in_bits() / (rate_bps * span_s) : 0;
    }
  }
}

// --- The hosts' door
// --------------------------------------------------------------------------------------------------------------

PacketNetworkPort::PacketNetworkPort(const Topology& topology, const FlowSettings& settings, EntityId fabric,
                                     std::span<const EntityId> cards, const JobTable* attempts)
    : topology_(topology),
      inside_host_(topology),
      staging_(topology, settings),
      wqe_latency_(settings.wqe_latency),
      nvlink_latency_(settings.nvlink_latency),
      fabric_(fabric),
      cards_(cards),
      attempts_(attempts) {}

void PacketNetworkPort::start(const Transfer& transfer, EventContext& context) const {
  const Entry to = entry(transfer);
  context.send(to.node, to.latency, transfer_start, transfer);
  if (attempts_ != nullptr && to.node != fabric_ && transfer.size > Bytes::zero())
    context.send(fabric_, to.latency, packets_start, transfer);
}

bool PacketNetworkPort::is_flow(const Transfer& transfer) const {
  return attempts_ != nullptr && attempts_->at(transfer.attempt).is_in_flow_mode;
}

void PacketNetworkPort::stop(AttemptId attempt, HostId host, EventContext& context) const {
  context.send(cards_[host.index()], wqe_latency_, attempt_stopped, AttemptStopped{attempt});
}

PacketNetworkPort::Entry PacketNetworkPort::entry(const Transfer& transfer) const {
  if (SwitchOperationName::is_one(transfer.destination) || inside_host_.joins(transfer.source, transfer.destination)) {
    return {fabric_, nvlink_latency_};
  }
  const Duration latency = wqe_latency_ + staging_.delay(transfer.source);
  if (is_flow(transfer)) return {fabric_, latency};
  return {cards_[topology_.node(transfer.source).host.index()], latency};
}

}  // namespace weft
