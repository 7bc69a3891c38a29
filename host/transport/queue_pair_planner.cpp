// SPDX-License-Identifier: Apache-2.0
#include "host/transport/queue_pair_planner.hpp"

#include <algorithm>
#include <utility>

namespace weft {

Bandwidth scaled_rate(Bandwidth rate, double factor) {
  return Bandwidth::bps(std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(rate.in_bps()) * factor)));
}

Bandwidth QueuePairPlanner::rate_max(const PacketTopology::Route& route, const Transfer& transfer) const {
  Bandwidth rate = route.inside_rate;
  if (model_.flow.queue_pair_rate_max) rate = std::min(rate, *model_.flow.queue_pair_rate_max);
  if (const std::optional<WideAreaRate> wide = wide_area_rate(route, transfer)) {
    if (wide->cap_bps < static_cast<double>(rate.in_bps())) rate = scaled_rate(Bandwidth::bps(1), wide->cap_bps);
  }
  if (!model_.staging.is_on()) return rate;
  const double staged_bps =
      model_.staging.cap_bps(transfer.source, transfer.destination) * model_.flow.network_efficiency / model_.flow.queue_pairs;
  return staged_bps < static_cast<double>(rate.in_bps()) ? Bandwidth::bps(static_cast<std::int64_t>(staged_bps)) : rate;
}

std::optional<WideAreaRate> QueuePairPlanner::wide_area_rate(const PacketTopology::Route& route, const Transfer& transfer) const {
  if (!model_.wide_area.act()) return std::nullopt;
  if (!model_.sprayed) return model_.wide_area.rate(route.links, {});
  const SprayedPath all = model_.sprayed->path(transfer.source, transfer.destination);
  return model_.wide_area.rate(all.links, all.loads);
}

Duration QueuePairPlanner::entry_latency(const Transfer& transfer) const {
  return model_.flow.wqe_latency + model_.staging.delay(transfer.source);
}

Bandwidth QueuePairPlanner::rate_of(const PacketTopology::Route& route, std::size_t hop) const {
  const Bandwidth rate = model_.topology.link(route.links[hop]).rate;
  return hop == 0 ? scaled_rate(rate, model_.flow.network_efficiency) : rate;
}

Duration QueuePairPlanner::unloaded_time(const PacketTopology::Route& route, Bytes packet) const {
  Duration all = model_.packet.card_delay + model_.flow.switching_delay * (static_cast<std::int64_t>(route.links.size()) - 1);
  for (std::size_t hop = 0; hop < route.links.size(); ++hop) {
    all += transmit_time(packet, rate_of(route, hop)) + model_.topology.link(route.links[hop]).propagation_delay;
  }
  return all;
}

Bandwidth QueuePairPlanner::bottleneck(const PacketTopology::Route& there, NodeId destination, Bandwidth rate_max) const {
  if (model_.sprayed && there.links.size() > 1) {
    const NodeId first_switch = model_.topology.link(there.links.front()).destination;
    const Bandwidth sent = std::min(rate_max, rate_of(there, 0));
    if (model_.flow.routing == Routing::spray && model_.weighs_paths())
      return std::min(sent, model_.nodes.capacity(first_switch, destination));
    return model_.sprayed->rate(first_switch, destination, sent);
  }
  for (std::size_t hop = 0; hop < there.links.size(); ++hop) rate_max = std::min(rate_max, rate_of(there, hop));
  return rate_max;
}

std::optional<Bytes> QueuePairPlanner::window(Bandwidth route_rate, const PacketTopology::Route& back,
                                              const QueuePairPlan& plan) const {
  if (!model_.packet.window.is_limited || model_.packet.window.bytes) return model_.packet.window.bytes;
  const Bytes full = model_.flow.wire_format.full_packet();
  Duration until_answered = plan.round_trip;
  // Answers go first, but wait for the packet that is on its way into the cable.
  for (std::size_t hop = 0; hop < back.links.size(); ++hop) until_answered += transmit_time(full, rate_of(back, hop));
  // Where packets overtake each other, an acknowledgement of all before one waits for the slowest.
  if (model_.sprays()) until_answered = until_answered * 2;
  const double held_bytes = static_cast<double>(route_rate.in_bps()) / 8 * until_answered.in_s();
  const auto held = static_cast<std::int64_t>(held_bytes / static_cast<double>(full.count())) + 1;
  const std::int64_t between_answers = std::clamp<std::int64_t>(held / 4, 1, model_.packet.ack_interval);
  return full * (held + between_answers + 1);
}

QueuePairPlan QueuePairPlanner::plan(const AvailableRoutes& routes, const Transfer& transfer, std::uint32_t queue_pair) const {
  const auto [source, destination] = std::pair(transfer.source, transfer.destination);
  std::optional<PacketTopology::Route> around = model_.nodes.reroute(routes, source, destination, transfer.connection, queue_pair);
  std::optional<PacketTopology::Route> back_around =
      model_.nodes.reroute(routes, destination, source, transfer.connection, queue_pair);
  QueuePairPlan plan;
  plan.is_cut_off = !around || !back_around;
  const auto own = [&](NodeId from, NodeId to) { return model_.nodes.route(from, to, transfer.connection, queue_pair); };
  const PacketTopology::Route there = plan.is_cut_off ? own(source, destination) : std::move(*around);
  const PacketTopology::Route back = plan.is_cut_off ? own(destination, source) : std::move(*back_around);
  plan.route.there = there.ports;
  if (model_.sprays() && there.links.size() > 1) QueuePairs::set_destination(plan.route.there, destination);
  plan.route.back = back.ports;
  plan.rate_max = rate_max(there, transfer);
  plan.source_rate = there.source_rate;
  plan.round_trip = unloaded_time(there, model_.flow.wire_format.full_packet()) + unloaded_time(back, Bytes::of(ack_wire_bytes));
  const Bandwidth route_rate = bottleneck(there, destination, plan.rate_max);
  plan.window = window(route_rate, back, plan);
  if (model_.packet.paces_by_route) plan.rate_max = route_rate;
  plan.switches = static_cast<std::uint32_t>(there.links.size()) - 1;
  plan.inside_hosts = there.inside_hosts + model_.staging.delay(destination);
  return plan;
}

}  // namespace weft
