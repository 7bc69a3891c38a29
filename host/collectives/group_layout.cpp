// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/group_layout.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/check.hpp"

namespace weft {

namespace {

bool has_cable(const Topology& topology, NodeId from, NodeId to) {
  const std::span<const LinkId> links = topology.out_links(from);
  return std::any_of(links.begin(), links.end(), [&](LinkId link) { return topology.link(link).destination == to; });
}

/// Of endpoints of one host.
InsideLinks links_among(const Topology& topology, std::span<const NodeId> members) {
  if (members.size() < 2) return InsideLinks::none;
  for (const LinkId link : topology.out_links(members.front())) {
    const NodeId next = topology.link(link).destination;
    if (topology.node(next).kind != NodeKind::nvswitch) continue;
    if (std::all_of(members.begin(), members.end(), [&](NodeId member) { return has_cable(topology, member, next); })) {
      return InsideLinks::nvswitch;
    }
  }
  for (std::size_t a = 0; a < members.size(); ++a) {
    for (std::size_t b = a + 1; b < members.size(); ++b) {
      if (!has_cable(topology, members[a], members[b])) return InsideLinks::pcie;
    }
  }
  return InsideLinks::full_mesh;
}

bool joins_gpus(NodeKind kind) { return kind == NodeKind::nvswitch || is_endpoint(kind); }

/// Where an endpoint's traffic to other hosts goes through: its NIC, or itself where its ports are
/// its own.
NodeId nic_of(const Topology& topology, NodeId endpoint) {
  for (const LinkId link : topology.out_links(endpoint)) {
    const NodeId next = topology.link(link).destination;
    if (topology.node(next).kind == NodeKind::nic) return next;
  }
  return endpoint;
}

/// Those of endpoints, each once.
std::vector<NodeId> nics_of(const Topology& topology, std::span<const NodeId> endpoints) {
  std::vector<NodeId> nics;
  for (const NodeId endpoint : endpoints) {
    const NodeId nic = nic_of(topology, endpoint);
    if (std::find(nics.begin(), nics.end(), nic) == nics.end()) nics.push_back(nic);
  }
  return nics;
}

/// The cables of a NIC that leave its host.
std::vector<LinkId> ports_of(const Topology& topology, NodeId nic) {
  std::vector<LinkId> ports;
  for (const LinkId link : topology.out_links(nic)) {
    const Node& next = topology.node(topology.link(link).destination);
    if (next.host != topology.node(nic).host) ports.push_back(link);
  }
  return ports;
}

std::int64_t rate_bps(const Topology& topology, std::span<const LinkId> links) {
  std::int64_t sum = 0;
  for (const LinkId link : links) sum += topology.link(link).rate.in_bps();
  return sum;
}

/// What the switch has below over what it has above, at least 1; 1 where nothing is above.
double oversubscription_of(const Topology& topology, NodeId leaf) {
  std::int64_t below = 0;
  std::int64_t above = 0;
  for (const LinkId link : topology.out_links(leaf)) {
    const Node& next = topology.node(topology.link(link).destination);
    const bool is_up = next.kind == NodeKind::packet_switch && next.level > topology.node(leaf).level;
    (is_up ? above : below) += topology.link(link).rate.in_bps();
  }
  return above == 0 ? 1 : std::max(1.0, static_cast<double>(below) / static_cast<double>(above));
}

/// `hosts` are the members of each, by rail.
HostHardware hardware_of(const Topology& topology, std::span<const std::vector<NodeId>> hosts) {
  HostHardware hardware;
  hardware.machine = topology.machine();
  const NodeId first = hosts.front().front();
  hardware.gpus = static_cast<std::uint32_t>(topology.endpoints_of(topology.node(first).host).size());
  std::vector<LinkId> nvlinks;
  for (const LinkId link : topology.out_links(first)) {
    const Node& next = topology.node(topology.link(link).destination);
    if (next.host == topology.node(first).host && joins_gpus(next.kind)) nvlinks.push_back(link);
  }
  hardware.nvlink_bps = rate_bps(topology, nvlinks);
  std::vector<NodeId> nics = nics_of(topology, hosts.front());
  hardware.nic_bps = rate_bps(topology, ports_of(topology, nics.front()));
  // GPUs that share all NICs of their host lead to none directly.
  if (hardware.nic_bps == 0 && hosts.size() > 1) {
    nics.clear();
    for (const LinkId link : topology.out_links(first)) {
      const NodeId hub = topology.link(link).destination;
      if (topology.node(hub).kind != NodeKind::pcie_switch) continue;
      for (const LinkId down : topology.out_links(hub)) {
        const NodeId next = topology.link(down).destination;
        if (topology.node(next).kind == NodeKind::nic) nics.push_back(next);
      }
    }
    if (nics.empty()) return hardware;
    hardware.nic_bps = rate_bps(topology, ports_of(topology, nics.front()));
  }
  hardware.nics = static_cast<std::uint32_t>(nics.size());
  for (const std::vector<NodeId>& members : hosts) {
    const std::vector<NodeId> of_host = nics_of(topology, members);
    const std::int64_t bps = rate_bps(topology, ports_of(topology, of_host.front()));
    if (bps == 0) continue;
    hardware.nics = std::min(hardware.nics, static_cast<std::uint32_t>(of_host.size()));
    hardware.nic_bps = std::min(hardware.nic_bps, bps);
  }
  const auto leaf_of = [&](NodeId nic) {
    const std::vector<LinkId> cables = ports_of(topology, nic);
    return cables.empty() ? NodeId::none() : topology.link(cables.front()).destination;
  };
  const NodeId leaf = leaf_of(nics.front());
  if (leaf.is_none() || topology.node(leaf).kind != NodeKind::packet_switch) return hardware;
  hardware.oversubscription = oversubscription_of(topology, leaf);
  if (nics.size() > 1 && hosts.size() > 1) {
    hardware.rails_meet = leaf_of(nics[1]) != leaf && leaf_of(nic_of(topology, hosts[1].front())) == leaf;
  }
  return hardware;
}

}  // namespace

std::string_view to_text(InsideLinks links) {
  switch (links) {
    case InsideLinks::none:
      return "none";
    case InsideLinks::nvswitch:
      return "nvswitch";
    case InsideLinks::full_mesh:
      return "full_mesh";
    case InsideLinks::pcie:
      return "pcie";
  }
  return "";
}

GroupLayout::GroupLayout(const Topology& topology, std::span<const NodeId> endpoints) {
  std::unordered_map<std::uint32_t, std::uint32_t> number_of_host;
  for (const NodeId endpoint : endpoints) {
    const HostId host = topology.node(endpoint).host;
    const std::span<const NodeId> of_host = topology.endpoints_of(host);
    const auto rail = static_cast<std::uint32_t>(std::find(of_host.begin(), of_host.end(), endpoint) - of_host.begin());
    const auto number = static_cast<std::uint32_t>(number_of_host.size());
    seats_.push_back({number_of_host.try_emplace(host.index(), number).first->second, rail});
  }
  divide();
  std::vector<std::vector<NodeId>> members(host_count_);
  for (std::uint32_t host = 0; host < host_count_; ++host) {
    for (std::uint32_t k = 0; k < members_of_host(host); ++k) members[host].push_back(endpoints[member_of_host(host, k)]);
    inside_ = std::max(inside_, links_among(topology, members[host]));
  }
  hardware_ = hardware_of(topology, members);
}

GroupLayout::GroupLayout(std::vector<Seat> seats, InsideLinks inside) : seats_(std::move(seats)) {
  divide();
  if (host_count_ < ranks()) inside_ = inside;
  for (std::uint32_t host = 0; host < host_count_; ++host) hardware_.gpus = std::max(hardware_.gpus, members_of_host(host));
  hardware_.nics = hardware_.gpus;
  hardware_.nvlink_bps = 3'600'000'000'000;
  hardware_.nic_bps = 400'000'000'000;
  hardware_.rails_meet = hardware_.nics > 1 && host_count_ > 1;
}

GroupLayout GroupLayout::one_per_host(std::uint32_t ranks) { return blocks(ranks, 1); }

GroupLayout GroupLayout::blocks(std::uint32_t hosts, std::uint32_t ranks_per_host) {
  std::vector<Seat> seats;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    for (std::uint32_t rail = 0; rail < ranks_per_host; ++rail) seats.push_back({host, rail});
  }
  return GroupLayout(std::move(seats));
}

std::vector<std::uint32_t> GroupLayout::chain_of_host(std::uint32_t host, std::uint32_t start, bool backwards) const {
  const std::uint32_t members = members_of_host(host);
  std::vector<std::uint32_t> chain;
  for (std::int64_t k = 0; k < members; ++k) {
    const std::int64_t step = inside_ == InsideLinks::full_mesh ? zigzag(k) : k;
    chain.push_back(member_of_host(host, wrapped(backwards ? start - step : start + step, members)));
  }
  return chain;
}

void GroupLayout::divide() {
  WEFT_CHECK(!seats_.empty(), "a group has members");
  for (const Seat& seat : seats_) host_count_ = std::max(host_count_, seat.host + 1);
  std::vector<std::vector<std::uint32_t>> members(host_count_);
  for (std::uint32_t position = 0; position < ranks(); ++position) members[seats_[position].host].push_back(position);
  for (std::vector<std::uint32_t>& of_host : members) {
    std::stable_sort(of_host.begin(), of_host.end(), [this](auto a, auto b) { return seats_[a].rail < seats_[b].rail; });
  }
  hosts_ = std::make_shared<const Subgroups>(ranks(), members);
  for (const std::vector<std::uint32_t>& of_host : members) some_member_.push_back(of_host.front());
  const std::size_t first = members.front().size();
  if (std::any_of(members.begin(), members.end(), [first](const auto& of_host) { return of_host.size() != first; })) return;
  ranks_per_host_ = static_cast<std::uint32_t>(first);
  std::vector<std::vector<std::uint32_t>> rails(ranks_per_host_);
  for (const std::vector<std::uint32_t>& of_host : members) {
    for (std::uint32_t k = 0; k < ranks_per_host_; ++k) rails[k].push_back(of_host[k]);
  }
  rails_ = std::make_shared<const Subgroups>(ranks(), rails);
}

bool holds_more(const Topology& topology, std::span<const NodeId> endpoints, Bytes bytes) {
  HostId looked_at = topology.node(endpoints.front()).host;
  std::vector<LinkId> next;
  for (const NodeId endpoint : endpoints) {
    if (topology.node(endpoint).host == looked_at) continue;
    looked_at = topology.node(endpoint).host;
    Bandwidth slowest = Bandwidth::bps(INT64_MAX);
    Duration one_way;
    for (NodeId at = endpoints.front(); at != endpoint; at = topology.link(next.front()).destination) {
      topology.routes().next_hops(topology, at, endpoint, next);
      const Link& link = topology.link(next.front());
      slowest = std::min(slowest, link.rate);
      one_way += link.propagation_delay;
    }
    if (static_cast<double>(slowest.in_bps()) * 2 * one_way.in_s() > bytes.in_bits()) return true;
  }
  return false;
}

}  // namespace weft
