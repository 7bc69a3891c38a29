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
  std::vector<NodeId> members;
  for (std::uint32_t host = 0; host < host_count_; ++host) {
    members.clear();
    for (std::uint32_t k = 0; k < members_of_host(host); ++k) members.push_back(endpoints[member_of_host(host, k)]);
    inside_ = std::max(inside_, links_among(topology, members));
  }
}

GroupLayout::GroupLayout(std::vector<Seat> seats, InsideLinks inside) : seats_(std::move(seats)) {
  divide();
  if (host_count_ < ranks()) inside_ = inside;
}

GroupLayout GroupLayout::one_per_host(std::uint32_t ranks) { return blocks(ranks, 1); }

GroupLayout GroupLayout::blocks(std::uint32_t hosts, std::uint32_t ranks_per_host) {
  std::vector<Seat> seats;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    for (std::uint32_t rail = 0; rail < ranks_per_host; ++rail) seats.push_back({host, rail});
  }
  return GroupLayout(std::move(seats));
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

}  // namespace weft
