// SPDX-License-Identifier: Apache-2.0
#include "host/projections/network_formula.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "host/collectives/collective_request.hpp"

namespace weft {

NetworkFormula::NetworkFormula(const Topology& topology, const ParamSet& nccl, FlowSettings flow)
    : topology_(topology), tuner_(nccl), flow_(std::move(flow)), link_delays_(topology, flow_.switching_delay, flow_.forwarding) {}

bool NetworkFormula::stays_below_leafs(const GroupLayout& layout, const std::vector<NodeId>& members) const {
  std::map<std::uint32_t, NodeId> last_of_rail;
  std::vector<LinkId> next;
  for (std::uint32_t i = 0; i < layout.ranks(); ++i) {
    const auto [last, is_first] = last_of_rail.try_emplace(layout.seat(i).rail, members[i]);
    const NodeId from = std::exchange(last->second, members[i]);
    if (is_first) continue;
    std::size_t switches = 0;
    for (NodeId at = from; at != members[i]; at = topology_.link(next.front()).destination) {
      topology_.routes().next_hops(topology_, at, members[i], next);
      WEFT_CHECK(!next.empty(), "ranks reach each other");
      if (topology_.node(at).kind == NodeKind::packet_switch && ++switches > 1) return false;
    }
  }
  return true;
}

template <class Visit>
void NetworkFormula::visit_groups(const StridedGroup& group, const Visit& visit) const {
  const std::uint64_t span = group.size * group.stride;
  // First and last stage are a group of which only the ends lie in the cluster.
  const std::uint64_t reach = (group.size - 1) * group.stride;
  WEFT_CHECK(reach < ranks_max(), "a group fits the cluster");
  std::vector<NodeId> members(group.size, NodeId::none());
  for (std::uint64_t block = 0; block + reach < ranks_max(); block += span) {
    for (std::uint64_t first = block; first < block + group.stride && first + reach < ranks_max(); ++first) {
      for (std::uint64_t i = 0; i < group.size; ++i) members[i] = topology_.endpoints()[first + i * group.stride];
      visit(members);
    }
  }
}

const std::vector<GroupLayout>& NetworkFormula::layouts(const StridedGroup& group) {
  if (const auto found = layouts_.find(group); found != layouts_.end()) return found->second;
  std::vector<GroupLayout> distinct;
  visit_groups(group, [&](const std::vector<NodeId>& members) {
    GroupLayout layout(topology_, members);
    if (layout.hardware().oversubscription > 1 && stays_below_leafs(layout, members)) {
      HostHardware hardware = layout.hardware();
      hardware.oversubscription = 1;
      layout.set_hardware(hardware);
    }
    if (std::find(distinct.begin(), distinct.end(), layout) == distinct.end()) distinct.push_back(std::move(layout));
  });
  return layouts_.emplace(group, std::move(distinct)).first->second;
}

Duration NetworkFormula::collective(const StridedGroup& group, CollectiveType type, Bytes input) {
  if (group.size <= 1) return Duration::zero();
  const std::tuple question = {group, type, input.count()};
  if (const auto found = collectives_.find(question); found != collectives_.end()) return found->second;
  double most_us = 0;
  for (const GroupLayout& layout : layouts(group)) {
    const std::vector<NcclChoice> choices = tuner_.choices({.type = type, .bytes = input, .layout = &layout});
    most_us = std::max(most_us, choices.front().time_us);
  }
  return collectives_.emplace(question, Duration::from_seconds(most_us * 1e-6)).first->second;
}

bool NetworkFormula::stays_inside(const StridedGroup& group) {
  return std::ranges::all_of(layouts(group), [](const GroupLayout& layout) {
    return layout.host_count() == 1 && (layout.inside() == InsideLinks::nvswitch || layout.inside() == InsideLinks::full_mesh);
  });
}

NetworkFormula::Way NetworkFormula::way(NodeId from, NodeId to) const {
  Way way;
  way.rate = Bandwidth::bps(INT64_MAX);
  way.is_inside_host = topology_.node(from).host == topology_.node(to).host;
  std::vector<LinkId> next;
  for (NodeId at = from; at != to;) {
    topology_.routes().next_hops(topology_, at, to, next);
    WEFT_CHECK(!next.empty(), "ranks reach each other");
    way.delay += link_delays_.of(next.front());
    way.rate = std::min(way.rate, topology_.link(next.front()).rate);
    at = topology_.link(next.front()).destination;
  }
  return way;
}

const std::vector<NetworkFormula::Way>& NetworkFormula::ways(const StridedGroup& group) {
  if (const auto found = ways_.find(group); found != ways_.end()) return found->second;
  std::vector<Way> distinct;
  WEFT_CHECK(group.size > 1, "a message has another end");
  visit_groups(group, [&](const std::vector<NodeId>& members) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Way one = way(members[i], members[(i + 1) % members.size()]);
      if (std::find(distinct.begin(), distinct.end(), one) == distinct.end()) distinct.push_back(one);
    }
  });
  return ways_.emplace(group, std::move(distinct)).first->second;
}

Duration NetworkFormula::time_on(const Way& way, Bytes bytes) const {
  const double wire_bits = flow_.wire_bytes(bytes, way.is_inside_host).in_bits();
  const Duration time = Duration::from_seconds(wire_bits / static_cast<double>(way.rate.in_bps()));
  if (way.is_inside_host) return time + flow_.nvlink_latency + flow_.completion_latency + way.delay.fixed;
  return time + flow_.wqe_latency + flow_.receive_latency + way.delay.of(flow_.wire_format.train(bytes));
}

Duration NetworkFormula::message(const StridedGroup& group, Bytes bytes) {
  Duration most;
  for (const Way& one : ways(group)) most = std::max(most, time_on(one, bytes));
  return most;
}

Duration NetworkFormula::message_between(std::uint64_t from, std::uint64_t to, Bytes bytes) const {
  WEFT_CHECK(from < ranks_max() && to < ranks_max() && from != to, "two ranks of the cluster");
  return time_on(way(topology_.endpoints()[from], topology_.endpoints()[to]), bytes);
}

}  // namespace weft
