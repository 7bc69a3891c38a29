// SPDX-License-Identifier: Apache-2.0
#include "topologies/topology_summary.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "core/text/counted.hpp"

namespace weft {

namespace {

constexpr std::uint32_t unknown = TopologySummary::no_tier;

}  // namespace

std::vector<std::uint32_t> tiers_of(const Topology& topology) {
  std::vector<std::uint32_t> tier(topology.node_count(), unknown);
  std::vector<NodeId> frontier;
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    if (topology.node(NodeId(i)).kind == NodeKind::packet_switch) continue;
    tier[i] = 0;
    frontier.push_back(NodeId(i));
  }
  for (std::size_t next = 0; next < frontier.size(); ++next) {
    for (const LinkId link : topology.out_links(frontier[next])) {
      const NodeId to = topology.link(link).destination;
      if (tier[to.index()] != unknown) continue;
      tier[to.index()] = tier[frontier[next].index()] + 1;
      frontier.push_back(to);
    }
  }
  return tier;
}

namespace {

/// Distances in links over the fabric from one endpoint.
class FabricDistances {
 public:
  explicit FabricDistances(const Topology& topology) : topology_(topology), distance_(topology.node_count()) {}

  /// The farthest endpoint and its distance. Endpoints of the same host count too, by their way
  /// inside where there is one.
  std::pair<NodeId, std::uint32_t> farthest_from(NodeId start) {
    std::fill(distance_.begin(), distance_.end(), unknown);
    distance_[start.index()] = 0;
    frontier_.assign(1, start);
    std::pair<NodeId, std::uint32_t> farthest(start, 0);
    for (std::size_t next = 0; next < frontier_.size(); ++next) {
      const NodeId at = frontier_[next];
      const NodeKind kind = topology_.node(at).kind;
      if (is_endpoint(kind) && at != start) {
        if (topology_.node(at).host != topology_.node(start).host) farthest = {at, distance_[at.index()]};
        continue;
      }
      if (at != start && !forwards(kind)) continue;
      for (const LinkId link : topology_.out_links(at)) {
        const NodeId to = topology_.link(link).destination;
        if (distance_[to.index()] != unknown) continue;
        // PCIe switches of other hosts lead to their endpoints, not out again.
        const bool leaves = kind == NodeKind::pcie_switch && topology_.node(to).kind == NodeKind::nic;
        if (leaves && topology_.node(at).host != topology_.node(start).host) continue;
        distance_[to.index()] = distance_[at.index()] + 1;
        frontier_.push_back(to);
      }
    }
    return farthest;
  }

  /// The longest way between endpoints of one host that stays inside; what has no such way is not
  /// counted.
  std::uint32_t longest_inside(HostId host) {
    std::uint32_t longest = 0;
    for (const NodeId start : topology_.endpoints_of(host)) {
      // NVLink goes before PCIe, even where it is the longer way.
      std::map<NodeId, std::uint32_t> ways = endpoints_over(NodeKind::pcie_switch, start);
      for (const auto& [endpoint, links] : endpoints_over(NodeKind::nvswitch, start)) ways[endpoint] = links;
      for (const auto& [endpoint, links] : ways) longest = std::max(longest, links);
    }
    return longest;
  }

 private:
  /// Links to each endpoint of the same host that direct cables or switches of one kind lead to.
  std::map<NodeId, std::uint32_t> endpoints_over(NodeKind over, NodeId start) {
    std::map<NodeId, std::uint32_t> endpoints;
    std::map<NodeId, std::uint32_t> seen{{start, 0}};
    frontier_.assign(1, start);
    for (std::size_t next = 0; next < frontier_.size(); ++next) {
      const NodeId at = frontier_[next];
      const NodeKind kind = topology_.node(at).kind;
      if (is_endpoint(kind)) endpoints[at] = seen[at];
      if (at != start && kind != over) continue;
      for (const LinkId link : topology_.out_links(at)) {
        const NodeId to = topology_.link(link).destination;
        if (topology_.node(to).host == topology_.node(start).host && seen.emplace(to, seen[at] + 1).second) frontier_.push_back(to);
      }
    }
    return endpoints;
  }

  const Topology& topology_;
  std::vector<std::uint32_t> distance_;
  std::vector<NodeId> frontier_;
};

void measure_diameter(const Topology& topology, TopologySummary& summary) {
  constexpr std::size_t steps_max = 200'000'000;
  FabricDistances distances(topology);
  const auto endpoints = topology.endpoints();
  summary.diameter_is_exact = endpoints.size() * (topology.link_count() + topology.node_count()) <= steps_max;
  if (summary.diameter_is_exact) {
    for (const NodeId endpoint : endpoints) {
      summary.diameter_links = std::max(summary.diameter_links, distances.farthest_from(endpoint).second);
    }
    for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
      summary.diameter_links = std::max(summary.diameter_links, distances.longest_inside(HostId(host)));
    }
  } else {
    const NodeId far = distances.farthest_from(endpoints[0]).first;
    summary.diameter_links = distances.farthest_from(far).second;
  }
}

std::string place_name(const Topology& topology, const std::vector<std::uint32_t>& tier, NodeId node) {
  if (topology.node(node).kind != NodeKind::packet_switch) return std::string(to_text(topology.node(node).kind));
  return tier[node.index()] == unknown ? "switch" : fmt::format("tier {}", tier[node.index()]);
}

void measure_tiers(const Topology& topology, const std::vector<std::uint32_t>& tier, TopologySummary& summary) {
  std::map<std::uint32_t, TopologySummary::Tier> tiers;
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    if (topology.node(NodeId(i)).kind != NodeKind::packet_switch || tier[i] == unknown) continue;
    const auto ports = static_cast<std::uint32_t>(topology.out_links(NodeId(i)).size());
    auto [entry, is_new] = tiers.try_emplace(tier[i]);
    TopologySummary::Tier& of = entry->second;
    of.tier = tier[i];
    ++of.switches;
    of.ports_min = is_new ? ports : std::min(of.ports_min, ports);
    of.ports_max = std::max(of.ports_max, ports);
    for (const LinkId link : topology.out_links(NodeId(i))) {
      const std::uint32_t other = tier[topology.link(link).destination.index()];
      const auto rate = static_cast<double>(topology.link(link).rate.in_bps());
      (other < tier[i] ? of.rate_down_bps : other > tier[i] ? of.rate_up_bps : of.rate_same_bps) += rate;
    }
  }
  for (const auto& [number, of] : tiers) summary.tiers.push_back(of);
}

/// Cables of one class are alike in all of it.
using CableKey = std::tuple<std::string, std::string, Bandwidth, Bandwidth, Duration, double, double, Duration, Duration>;

void classify_cables(const Topology& topology, const std::vector<std::uint32_t>& tier, TopologySummary& summary) {
  std::map<CableKey, TopologySummary::CableClass> classes;
  std::map<CableKey, TopologySummary::CableClass> lines;
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    const Link& link = topology.link(LinkId(i));
    const Link& back = topology.link(topology.reverse(LinkId(i)));
    TopologySummary::CableClass cable{place_name(topology, tier, link.source), place_name(topology, tier, link.destination),
                                      link.rate, back.rate, link.propagation_delay};
    const WideAreaLine* const line = topology.wide_area(LinkId(i));
    if (line == nullptr) {
      const bool up = tier[link.source.index()] < tier[link.destination.index()] ||
                      (tier[link.source.index()] == tier[link.destination.index()] && cable.from <= cable.to);
      if (!up) {
        std::swap(cable.from, cable.to);
        std::swap(cable.rate, cable.rate_back);
      }
      const CableKey key{cable.from, cable.to, cable.rate, cable.rate_back, cable.delay, 0, 0, Duration(), Duration()};
      ++classes.try_emplace(key, cable).first->second.count;
      continue;
    }
    cable.line = *line;
    cable.line_back = *topology.wide_area(topology.reverse(LinkId(i)));
    const CableKey key{cable.from,
                       cable.to,
                       cable.rate,
                       cable.rate_back,
                       cable.delay,
                       cable.line->loss,
                       cable.line_back->loss,
                       cable.line->jitter,
                       cable.line_back->jitter};
    cable.from = topology.node_name(link.source);
    cable.to = topology.node_name(link.destination);
    ++lines.try_emplace(key, cable).first->second.count;
  }
  for (const auto& [key, cable] : classes) summary.cable_classes.push_back(cable);
  for (const auto& [key, cable] : lines) summary.cable_classes.push_back(cable);
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return {text.data(), static_cast<std::size_t>(length)};
}

/// Of slow networks a sum of rates would be 0.00 Tb/s.
std::string rate_text(double bps) {
  constexpr double tera = 1e12;
  constexpr double giga = 1e9;
  return bps < tera / 10 ? fmt::format("{} Gb/s", fixed(bps / giga, 2)) : fmt::format("{} Tb/s", fixed(bps / tera, 2));
}

std::string range(std::uint32_t low, std::uint32_t high) {
  return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
}

/// "least to most", or what both are.
template <class Value, class Read, class Text>
std::string span_of(std::span<const TopologySummary::CableClass> cables, Read read, Text text) {
  Value least = read(cables.front());
  Value most = least;
  for (const TopologySummary::CableClass& cable : cables) {
    least = std::min(least, read(cable));
    most = std::max(most, read(cable));
  }
  return least == most ? text(least) : fmt::format("{} to {}", text(least), text(most));
}

/// Exact where that is short: rates and delays of lines may be drawn.
std::string short_text(Bandwidth rate) {
  constexpr std::int64_t mega = 1'000'000;
  if (rate.in_bps() % mega == 0 || rate.in_bps() < mega) return to_text(rate);
  return fmt::format("{:.4g}Mbps", static_cast<double>(rate.in_bps()) / mega);
}
std::string short_text(Duration delay) {
  if (delay.in_ticks() % (Duration::ticks_per_ms / 1000) == 0) return to_text(delay);
  return fmt::format("{:.4g}ms", delay.in_s() * 1e3);
}

/// What wide-area lines of one or more classes are like.
std::string lines_text(std::span<const TopologySummary::CableClass> lines) {
  using Class = TopologySummary::CableClass;
  const auto rate_text_of = [](Bandwidth rate) { return short_text(rate); };
  const auto delay_text = [](Duration delay) { return short_text(delay); };
  const auto loss_text = [](double loss) { return fmt::format("{:.4g} %", loss * 100); };
  const auto joined = [](const std::string& there, const std::string& back) {
    return there == back ? there : fmt::format("{} (back {})", there, back);
  };
  std::uint32_t count = 0;
  bool is_lossy = false;
  bool is_jittery = false;
  for (const Class& line : lines) {
    count += line.count;
    is_lossy = is_lossy || line.line->loss > 0 || line.line_back->loss > 0;
    is_jittery = is_jittery || line.line->jitter > Duration() || line.line_back->jitter > Duration();
  }
  std::string out =
      fmt::format("{} {} {} - {}: {}, {}, wide area", count, count == 1 ? "x" : "like", lines.front().from, lines.front().to,
                  joined(span_of<Bandwidth>(
                             lines, [](const Class& c) { return c.rate; }, rate_text_of),
                         span_of<Bandwidth>(
                             lines, [](const Class& c) { return c.rate_back; }, rate_text_of)),
                  span_of<Duration>(
                      lines, [](const Class& c) { return c.delay; }, delay_text));
  if (is_lossy) {
    out += ", loss " + joined(span_of<double>(
                                  lines, [](const Class& c) { return c.line->loss; }, loss_text),
                              span_of<double>(
                                  lines, [](const Class& c) { return c.line_back->loss; }, loss_text));
  }
  if (is_jittery) {
    out += ", jitter " + joined(span_of<Duration>(
                                    lines, [](const Class& c) { return c.line->jitter; }, delay_text),
                                span_of<Duration>(
                                    lines, [](const Class& c) { return c.line_back->jitter; }, delay_text));
  }
  return out;
}

/// Wide-area lines may all differ; more classes than this are told as ranges.
constexpr std::size_t line_classes_max = 8;

}  // namespace

TopologySummary summarize(const Topology& topology) {
  TopologySummary summary;
  summary.name = topology.name();
  summary.hosts = static_cast<std::uint32_t>(topology.host_count());
  summary.cables = static_cast<std::uint32_t>(topology.link_count() / 2);
  summary.assumptions.assign(topology.assumptions().begin(), topology.assumptions().end());
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    switch (topology.node(NodeId(i)).kind) {
      case NodeKind::gpu:
        ++summary.gpus;
        break;
      case NodeKind::host:
        ++summary.ports;
        break;
      case NodeKind::nvswitch:
        ++summary.nvswitches;
        break;
      case NodeKind::nic:
        ++summary.nics;
        break;
      case NodeKind::pcie_switch:
        ++summary.pcie_switches;
        break;
      case NodeKind::packet_switch:
        ++summary.switches;
        break;
    }
  }
  for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
    const auto endpoints = static_cast<std::uint32_t>(topology.endpoints_of(HostId(host)).size());
    summary.gpus_per_host_min = host == 0 ? endpoints : std::min(summary.gpus_per_host_min, endpoints);
    summary.gpus_per_host_max = std::max(summary.gpus_per_host_max, endpoints);
  }
  const std::vector<std::uint32_t> tier = tiers_of(topology);
  measure_tiers(topology, tier, summary);
  classify_cables(topology, tier, summary);
  measure_diameter(topology, summary);
  return summary;
}

std::string to_text(const TopologySummary& summary) {
  std::string out = fmt::format("{}\n", summary.name);
  out += fmt::format("  hosts      {} with {}{}{} each, {} in all\n", summary.hosts,
                     range(summary.gpus_per_host_min, summary.gpus_per_host_max), summary.gpus > 0 ? " GPU" : " port",
                     summary.gpus_per_host_max == 1 ? "" : "s", summary.gpus + summary.ports);
  out += fmt::format("  inside     {}, {}", counted(summary.nvswitches, "NVSwitch", "NVSwitches"),
                     counted(summary.nics, "NIC", "NICs"));
  if (summary.pcie_switches > 0) out += fmt::format(", {}", counted(summary.pcie_switches, "PCIe switch", "PCIe switches"));
  out += fmt::format("\n  fabric     {}, {} with those inside hosts\n", counted(summary.switches, "switch", "switches"),
                     counted(summary.cables, "cable", "cables"));
  out += fmt::format("  diameter   {}{}{}", summary.diameter_is_exact ? "" : "at least ", summary.diameter_links,
                     summary.diameter_links == 1 ? " link\n" : " links\n");
  for (const TopologySummary::Tier& tier : summary.tiers) {
    out +=
        fmt::format("  tier {}     {} of {}{}, down {}", tier.tier, counted(tier.switches, "switch", "switches"),
                    range(tier.ports_min, tier.ports_max), tier.ports_max == 1 ? " port" : " ports", rate_text(tier.rate_down_bps));
    if (tier.rate_same_bps > 0) out += fmt::format(", sideways {}", rate_text(tier.rate_same_bps));
    if (tier.rate_up_bps > 0) {
      out += fmt::format(", up {}, oversubscription {}\n", rate_text(tier.rate_up_bps),
                         fixed(tier.rate_down_bps / tier.rate_up_bps, 3));
    } else {
      out += "\n";
    }
  }
  const std::span<const TopologySummary::CableClass> classes(summary.cable_classes);
  const auto first_line = std::ranges::find_if(classes, [](const auto& cables) { return cables.line.has_value(); });
  const auto inner = static_cast<std::size_t>(first_line - classes.begin());
  for (const TopologySummary::CableClass& cables : classes.first(inner)) {
    out += fmt::format("  cables     {} x {} - {}: {}{}, {}\n", cables.count, cables.from, cables.to, to_text(cables.rate),
                       cables.rate == cables.rate_back ? "" : fmt::format(" (back {})", to_text(cables.rate_back)),
                       to_text(cables.delay));
  }
  const auto lines = classes.subspan(inner);
  if (lines.size() > line_classes_max) {
    out += fmt::format("  cables     {}\n", lines_text(lines));
  } else {
    for (std::size_t i = 0; i < lines.size(); ++i) out += fmt::format("  cables     {}\n", lines_text(lines.subspan(i, 1)));
  }
  for (const std::string& assumption : summary.assumptions) out += fmt::format("  assumed    {}\n", assumption);
  return out;
}

}  // namespace weft
