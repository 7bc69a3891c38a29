// SPDX-License-Identifier: Apache-2.0
#include "host/transport/packet_results.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "host/transport/nic.hpp"
#include "host/transport/pause_circle.hpp"

namespace weft {

std::vector<FinishedTransfer> PacketResults::finished(const Engine& engine) const {
  std::vector<FinishedTransfer> finished;
  std::map<std::tuple<NodeId, NodeId, std::uint32_t, Bytes>, Duration> ideals;
  for (std::uint32_t host = 0; host < model_.nodes.host_count(); ++host) {
    for (const DeliveredTransfer& delivered : engine.entity_as<Nic>(entities_[host]).delivered()) {
      const Transfer& transfer = delivered.transfer;
      const auto [known, is_new] =
          ideals.try_emplace({transfer.source, transfer.destination, transfer.connection, transfer.size}, Duration::zero());
      if (is_new) known->second = ideal_.of(transfer);
      finished.push_back(
          {FlowId::none(), transfer, delivered.entered - planner_.entry_latency(transfer), delivered.delivered, known->second});
    }
  }
  return finished;
}

std::vector<UnfinishedTransfer> PacketResults::unfinished(const Engine& engine) const {
  std::vector<UnfinishedTransfer> unfinished;
  for (std::uint32_t host = 0; host < model_.nodes.host_count(); ++host) {
    for (UnfinishedTransfer transfer : engine.entity_as<Nic>(entities_[host]).unfinished()) {
      transfer.start = transfer.start - planner_.entry_latency(transfer.transfer);
      unfinished.push_back(transfer);
    }
  }
  return unfinished;
}

std::uint64_t PacketResults::drops_of(const Engine& engine, std::uint32_t node) const {
  std::uint64_t drops = 0;
  for (std::uint32_t port = 0; port < model_.nodes.ports(node).size(); ++port) {
    const PacketPortCounters counters = engine.entity_as<PacketSwitch>(entities_[node]).counters(port, Time::zero());
    drops += counters.drops + counters.queue_drops;
  }
  return drops;
}

std::vector<StoppedQueuePair> PacketResults::given_up(const Engine& engine) const {
  std::vector<StoppedQueuePair> all;
  for (std::uint32_t host = 0; host < model_.nodes.host_count(); ++host) {
    for (const GivenUp& given_up : engine.entity_as<Nic>(entities_[host]).given_up())
      all.push_back({given_up.transfer, given_up.time, given_up.time - given_up.progress_at});
  }
  std::ranges::stable_sort(all, {}, &StoppedQueuePair::time);
  return all;
}

WorstSwitch PacketResults::worst_switch(const Engine& engine, const Transfer& transfer) const {
  WorstSwitch worst;
  for (std::uint32_t part = 0; part < model_.flow.queue_pairs; ++part) {
    const PacketTopology::Route route = model_.nodes.route(transfer.source, transfer.destination, transfer.connection, part);
    for (std::size_t hop = 1; hop < route.links.size(); ++hop) {
      const std::uint32_t node = model_.nodes.begin_of(route.links[hop]).node;
      const std::uint64_t drops = drops_of(engine, node);
      if (drops > worst.drops) worst = {model_.nodes.switch_of(node), drops};
    }
  }
  return worst;
}

std::optional<std::uint64_t> PacketResults::repeats_max() const {
  if (model_.packet.repeats_max == 0 || model_.packet.retries > 0) return std::nullopt;
  return model_.packet.repeats_max;
}

std::vector<std::uint64_t> PacketResults::repeats(const Engine& engine) const {
  std::vector<std::uint64_t> by_host;
  for (std::uint32_t host = 0; host < model_.nodes.host_count(); ++host)
    by_host.push_back(engine.entity_as<Nic>(entities_[host]).counters().data_repeated);
  return by_host;
}

std::optional<NarrowWindow> PacketResults::narrowest_window(const Engine& engine) const {
  std::optional<NarrowWindow> narrowest;
  if (!model_.packet.window.bytes) return narrowest;
  const Bytes window = *model_.packet.window.bytes * model_.flow.queue_pairs;
  std::set<std::tuple<NodeId, NodeId, std::uint32_t>> looked_at;
  for (std::uint32_t host = 0; host < model_.nodes.host_count(); ++host) {
    for (const DeliveredTransfer& delivered : engine.entity_as<Nic>(entities_[host]).delivered()) {
      const Transfer& transfer = delivered.transfer;
      const auto [source, destination] = std::pair(transfer.source, transfer.destination);
      if (transfer.size <= window || !looked_at.emplace(source, destination, transfer.connection).second) continue;
      const PacketTopology::Route there = model_.nodes.route(source, destination, transfer.connection, 0);
      const PacketTopology::Route back = model_.nodes.route(destination, source, transfer.connection, 0);
      const Duration round_trip = planner_.unloaded_time(there, model_.flow.wire_format.full_packet()) +
                                  planner_.unloaded_time(back, Bytes::of(ack_wire_bytes));
      const Bandwidth own = planner_.rate_max(there, transfer);
      const Bandwidth rate = planner_.bottleneck(
          there, destination, own.in_bps() > INT64_MAX / model_.flow.queue_pairs ? own : own * model_.flow.queue_pairs);
      const auto held = Bytes::of(static_cast<std::int64_t>(static_cast<double>(rate.in_bps()) / 8 * round_trip.in_s()));
      if (held <= window || (narrowest && held <= narrowest->held)) continue;
      narrowest = NarrowWindow{transfer, window, rate, round_trip, held};
    }
  }
  return narrowest;
}

WideAreaUse PacketResults::wide_area_use(const Engine& engine) const {
  WideAreaUse use;
  if (!model_.wide_area.act()) return use;
  std::map<std::tuple<NodeId, NodeId, std::uint32_t>, std::optional<WideAreaRate>> rates;
  for (std::uint32_t host = 0; host < model_.nodes.host_count(); ++host) {
    for (const DeliveredTransfer& delivered : engine.entity_as<Nic>(entities_[host]).delivered()) {
      const Transfer& transfer = delivered.transfer;
      if (is_control(transfer) || transfer.size == Bytes::zero()) continue;
      const auto [rate, is_new] = rates.try_emplace({transfer.source, transfer.destination, transfer.connection});
      if (is_new) {
        const auto route = model_.nodes.route(transfer.source, transfer.destination, transfer.connection, 0);
        rate->second = planner_.wide_area_rate(route, transfer);
      }
      if (rate->second) use.count(*rate->second, model_.flow.queue_pairs, transfer, 1);
    }
  }
  return use;
}

std::optional<ShortHeadroom> PacketResults::shortest_headroom(std::span<const LinkUsage> usage) const {
  std::optional<ShortHeadroom> shortest;
  if (!model_.packet.headroom || std::ranges::none_of(settings_.classes(), &PacketClass::lossless)) return shortest;
  std::size_t links = 0;
  for (std::uint32_t node = model_.nodes.host_count(); node < model_.nodes.node_count(); ++node) {
    for (const PacketTopology::Port& port : model_.nodes.ports(node)) {
      const LinkId in = model_.topology.reverse(port.out);
      const Bytes needed = settings_.headroom_needed(node, port);
      if (!settings_.has_pfc(port) || *model_.packet.headroom >= needed || usage[in.index()].bytes == Bytes::zero()) continue;
      ++links;
      if (!shortest || needed > shortest->needed) shortest = ShortHeadroom{in, *model_.packet.headroom, needed};
    }
  }
  if (shortest) shortest->more_links = links - 1;
  return shortest;
}

Time PacketResults::last_data(const Engine& engine) const {
  Time last;
  for (std::uint32_t node = 0; node < model_.nodes.node_count(); ++node) {
    if (model_.nodes.is_host(node)) last = std::max(last, engine.entity_as<Nic>(entities_[node]).counters().last_data);
  }
  return last;
}

PacketCounters PacketResults::counters(const Engine& engine, Time end) const {
  PacketCounters sum;
  for (std::uint32_t node = 0; node < model_.nodes.node_count(); ++node) {
    const EntityId id = entities_[node];
    if (model_.nodes.is_host(node)) {
      const NicCounters& of_node = engine.entity_as<Nic>(id).counters();
      sum.data_packets += of_node.data_sent;
      sum.data_repeated += of_node.data_repeated;
      sum.data_received += of_node.data_received;
      sum.acks += of_node.acks_sent;
      sum.notifications += of_node.notifications_sent;
      sum.sending += of_node.sending;
      sum.sending_again += of_node.sending_again;
      for (std::uint32_t port = 0; port < model_.nodes.ports(node).size(); ++port) {
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
    for (std::uint32_t port = 0; port < model_.nodes.ports(node).size(); ++port) {
      const PacketPortCounters of_port = packet_switch.counters(port, end);
      sum.waiting += of_port.waiting;
      sum.ecn_marks += of_port.ecn_marks;
      sum.drops += of_port.drops + of_port.queue_drops;
      sum.lossless_drops += of_port.headroom_drops;
    }
  }
  return sum;
}

std::vector<LinkPause> PacketResults::pauses(const Engine& engine, Time end) const {
  std::vector<LinkPause> all;
  for (std::uint32_t node = 0; node < model_.nodes.node_count(); ++node) {
    const EntityId id = entities_[node];
    const std::span<const PacketTopology::Port> ports = model_.nodes.ports(node);
    for (std::uint32_t port = 0; port < ports.size(); ++port) {
      const std::vector<PauseSpan> spans = model_.nodes.is_host(node) ? engine.entity_as<Nic>(id).pauses(port, end)
                                                                      : engine.entity_as<PacketSwitch>(id).pauses(port, end);
      for (const PauseSpan& span : spans) all.push_back({ports[port].out, span});
    }
  }
  return all;
}

std::vector<LinkStorm> PacketResults::storms(const Engine& engine) const {
  std::vector<LinkStorm> all;
  for (std::uint32_t node = model_.nodes.host_count(); node < model_.nodes.node_count(); ++node) {
    for (const PauseStorm& storm : engine.entity_as<PacketSwitch>(entities_[node]).storms()) {
      all.push_back({model_.nodes.ports(node)[storm.port].out, storm});
    }
  }
  std::ranges::sort(all, {},
                    [](const LinkStorm& of_link) { return std::tuple(of_link.storm.found, of_link.link, of_link.storm.priority); });
  return all;
}

void PacketResults::add_usage(const Engine& engine, Time begin, Time end, Time now, std::vector<LinkUsage>& usage) const {
  for (std::uint32_t node = 0; node < model_.nodes.node_count(); ++node) {
    const EntityId id = entities_[node];
    const std::span<const PacketTopology::Port> ports = model_.nodes.ports(node);
    for (std::uint32_t port = 0; port < ports.size(); ++port) {
      LinkUsage& out = usage[ports[port].out.index()];
      if (model_.nodes.is_host(node)) {
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
        usage[model_.topology.reverse(ports[port].out).index()].drops += counters.drops;
      }
      const double span_s = (end - begin).in_s();
      const auto rate_bps = static_cast<double>(model_.topology.link(ports[port].out).rate.in_bps());
      out.mean_utilization = span_s > 0 ? out.bytes.in_bits() / (rate_bps * span_s) : 0;
    }
  }
}

std::vector<QueueBlame> PacketResults::queue_blame(const Engine& engine) const {
  std::vector<QueueBlame> all;
  const auto ledger_of = [&](std::uint32_t node) { return engine.entity_as<PacketSwitch>(entities_[node]).ledger(); };
  for (std::uint32_t node = model_.nodes.host_count(); node < model_.nodes.node_count(); ++node) {
    const std::span<const PacketTopology::Port> ports = model_.nodes.ports(node);
    for (std::uint32_t port = 0; port < ports.size(); ++port) {
      // How often the other end asked for a pause, by the port before which most waited then.
      const PacketTopology::Port& to = ports[port];
      std::vector<std::pair<LinkId, double>> causes;
      double asked = 0;
      if (!model_.nodes.is_host(to.peer_node)) {
        for (const auto& [ends, times] : ledger_of(to.peer_node)->asked()) {
          if (ends.first != to.peer_port) continue;
          causes.emplace_back(model_.nodes.ports(to.peer_node)[ends.second].out, static_cast<double>(times));
          asked += static_cast<double>(times);
        }
      }
      if (causes.empty()) {
        causes.emplace_back(LinkId::none(), 1);
        asked = 1;
      }
      for (const auto& [who, waits] : ledger_of(node)->waits(port)) {
        if (waits.for_others_s > 0) all.push_back({to.out, who.first, who.second, LinkId::none(), false, waits.for_others_s});
        if (waits.for_pauses_s <= 0) continue;
        for (const auto& [link, times] : causes)
          all.push_back({to.out, who.first, who.second, link, true, waits.for_pauses_s * times / asked});
      }
    }
  }
  return all;
}

std::vector<LinkId> PacketResults::deadlock(const Engine& engine) const {
  // What came by a link waits for room behind others.
  PauseGraph waits_for;
  for (std::uint32_t node = model_.nodes.host_count(); node < model_.nodes.node_count(); ++node) {
    const std::span<const PacketTopology::Port> ports = model_.nodes.ports(node);
    for (const PacketSwitch::Blocked& blocked : engine.entity_as<PacketSwitch>(entities_[node]).blocked()) {
      waits_for[{model_.topology.reverse(ports[blocked.from].out), blocked.priority}].emplace_back(ports[blocked.to].out,
                                                                                                   blocked.priority);
    }
  }
  return find_pause_circle(waits_for);
}

}  // namespace weft
