// SPDX-License-Identifier: Apache-2.0
#include "host/transport/ideal_transfer_time.hpp"

#include <algorithm>
#include <map>

namespace weft {

Duration IdealTransferTime::of(const Transfer& transfer) const {
  struct Load {
    Bytes bytes;
    /// From there to the destination, for the last packet of a queue pair.
    Duration rest_min = Duration::max();
  };
  std::map<LinkId, Load> loads;
  const auto parts = static_cast<std::uint32_t>(std::clamp<std::int64_t>(transfer.size.count(), 1, model_.flow.queue_pairs));
  Duration longest;
  Duration inside;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const PacketTrain train = model_.flow.wire_format.train(part_of(transfer.size, model_.flow.queue_pairs, i));
    const PacketTopology::Route route = model_.nodes.route(transfer.source, transfer.destination, transfer.connection, i);
    inside = route.inside_hosts;
    Bandwidth rate = planner_.rate_max(route, transfer);
    if (model_.packet.paces_by_route) rate = planner_.bottleneck(route, transfer.destination, rate);
    const auto add = [&](LinkId link, Duration rest) {
      Load& load = loads[link];
      load.bytes += train.full * (train.packets - 1) + train.last;
      load.rest_min = std::min(load.rest_min, rest);
    };
    const auto cable = [&](LinkId link) { return model_.topology.link(link).propagation_delay; };
    if (model_.sprays() && route.links.size() > 1) {
      const PacketTopology::LeastRoute onward = onward_of(route, transfer.destination, train.last);
      longest = std::max(longest, sprayed(train, route, transfer.destination, rate, onward));
      add(route.links.front(), cable(route.links.front()) + onward.cost);
      if (!onward.last.is_none()) add(onward.last, cable(onward.last));
      continue;
    }
    longest = std::max(longest, on_one_route(train, route, rate));
    Duration rest;
    for (std::size_t hop = route.links.size(); hop-- > 0;) {
      rest += cable(route.links[hop]);
      add(route.links[hop], rest);
      rest += EgressPort::least_time(train.last, planner_.rate_of(route, hop)) + model_.flow.switching_delay;
    }
  }
  for (const auto& [link, load] : loads)
    longest = std::max(longest, EgressPort::least_time(load.bytes, model_.topology.link(link).rate) + load.rest_min);
  return planner_.entry_latency(transfer) + longest + inside + model_.staging.delay(transfer.destination) +
         std::max(model_.flow.receive_latency, model_.packet.card_delay);
}

Duration IdealTransferTime::spacing(const PacketTrain& train, const PacketTopology::Route& route, Bandwidth rate_max) const {
  if (rate_max >= planner_.rate_of(route, 0)) return Duration::zero();
  return Duration::from_seconds(train.full.in_bits() / static_cast<double>(rate_max.in_bps()));
}

Duration IdealTransferTime::on_one_route(const PacketTrain& train, const PacketTopology::Route& route, Bandwidth rate_max) const {
  const bool is_many = train.packets > 1;
  const std::int64_t between = is_many ? train.packets - 2 : 0;
  const Duration spaced = spacing(train, route, rate_max);
  Duration first;                                // until the first full packet has come to the hop
  Duration last = spaced * (train.packets - 1);  // until the last packet has
  // What those between them take at the slowest hop so far
  Duration behind = spaced * between;
  for (std::size_t hop = 0; hop < route.links.size(); ++hop) {
    const Bandwidth rate = planner_.rate_of(route, hop);
    first += EgressPort::least_time(train.full, rate);
    behind = std::max(behind, EgressPort::least_time(train.full * between, rate));
    if (is_many) last = std::max(last, first + behind);
    last += EgressPort::least_time(train.last, rate);
    const bool is_end = hop + 1 == route.links.size();
    const Duration onward =
        model_.topology.link(route.links[hop]).propagation_delay + (is_end ? Duration::zero() : model_.flow.switching_delay);
    first += onward;
    last += onward;
  }
  return last;
}

PacketTopology::LeastRoute IdealTransferTime::onward_of(const PacketTopology::Route& route, NodeId destination,
                                                        Bytes packet) const {
  return model_.nodes.least_route(model_.topology.link(route.links.front()).destination, destination, [&](LinkId link) {
    return model_.flow.switching_delay + EgressPort::least_time(packet, model_.topology.link(link).rate) +
           model_.topology.link(link).propagation_delay;
  });
}

Duration IdealTransferTime::sprayed(const PacketTrain& train, const PacketTopology::Route& route, NodeId destination,
                                    Bandwidth rate_max, const PacketTopology::LeastRoute& onward) const {
  const bool is_many = train.packets > 1;
  const std::int64_t between = is_many ? train.packets - 2 : 0;
  const Duration spaced = spacing(train, route, rate_max);
  const Bandwidth rate = planner_.rate_of(route, 0);
  const Duration cable = model_.topology.link(route.links.front()).propagation_delay;
  const Duration first = EgressPort::least_time(train.full, rate);
  const Duration last_full = first + std::max(spaced * between, EgressPort::least_time(train.full * between, rate));
  Duration last = spaced * (train.packets - 1);
  if (is_many) last = std::max(last, last_full);
  last += EgressPort::least_time(train.last, rate);
  if (!is_many) return last + cable + onward.cost;
  const PacketTopology::LeastRoute of_full = onward_of(route, destination, train.full);
  const Duration all = std::max(last + onward.cost, last_full + of_full.cost) + cable;
  if (onward.last.is_none()) return all;
  const Bandwidth end_rate = model_.topology.link(onward.last).rate;
  const Duration begun = std::min(first + of_full.cost - EgressPort::least_time(train.full, end_rate),
                                  last + onward.cost - EgressPort::least_time(train.last, end_rate));
  return std::max(all, cable + begun + EgressPort::least_time(train.full * (train.packets - 1) + train.last, end_rate));
}

}  // namespace weft
