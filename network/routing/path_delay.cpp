// SPDX-License-Identifier: Apache-2.0
#include "network/routing/path_delay.hpp"

#include <algorithm>
#include <cmath>

#include "topologies/topology.hpp"

namespace weft {

namespace {

constexpr int fraction_bits = 16;

Duration crossing(Bytes packet, std::int64_t per_byte) {
  __extension__ using Wide = __int128;
  const Wide all = static_cast<Wide>(packet.count()) * std::max<std::int64_t>(0, per_byte);
  return Duration::ticks(static_cast<std::int64_t>((all + (Wide{1} << fraction_bits) - 1) >> fraction_bits));
}

std::int64_t per_byte_at(double rate_bps) {
  return std::llround(8.0 * static_cast<double>(Duration::ticks_per_s) / rate_bps * (1 << fraction_bits));
}

}  // namespace

Duration PathDelay::of(const PacketTrain& train) const {
  return fixed + crossing(train.packets > 1 ? train.full : train.last, per_byte - slowest_byte);
}

Duration PathDelay::of_empty(const PacketTrain& train) const { return fixed + crossing(train.last, per_byte); }

void PathDelay::limit_to(double rate_bps) { slowest_byte = std::max(slowest_byte, per_byte_at(rate_bps)); }

LinkDelays::LinkDelays(const Topology& topology, Duration switching_delay, Forwarding forwarding) {
  links_.reserve(topology.link_count());
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(LinkId(i));
    const Node& from = topology.node(link.source);
    const Node& to = topology.node(link.destination);
    PathDelay& delay = links_.emplace_back();
    delay.fixed = link.propagation_delay + (to.kind == NodeKind::packet_switch ? switching_delay : Duration::zero());
    if (forwarding == Forwarding::cut_through) continue;
    delay.slowest_byte = per_byte_at(static_cast<double>(link.rate.in_bps()));
    const bool is_inside_host = from.host == to.host && !from.host.is_none();
    if (!is_inside_host) delay.per_byte = delay.slowest_byte;
  }
}

PathDelay LinkDelays::of(LinkId link, double load) const {
  PathDelay delay = of(link);
  if (load != 1) delay.slowest_byte = std::llround(static_cast<double>(delay.slowest_byte) * load);
  return delay;
}

}  // namespace weft
