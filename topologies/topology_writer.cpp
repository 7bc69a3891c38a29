// SPDX-License-Identifier: Apache-2.0
#include "topologies/topology_writer.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/formats/dot.hpp"

namespace weft {

namespace {

/// A string literal of protobuf text format.
std::string quoted(const std::string& text) {
  constexpr std::string_view octal = "01234567";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += '\\';
      out += octal[byte >> 6U];
      out += octal[(byte >> 3U) & 7U];
      out += octal[byte & 7U];
    } else {
      out += c;
    }
  }
  return out + '"';
}

[[noreturn]] void fail_to_write(const std::string& format, const std::string& reason, const SourcePlace& place,
                                const std::string& help) {
  fail("not-expressible", fmt::format("this topology cannot be written as {}: {}", format, reason), place, help);
}

struct Cable {
  NodeId a;
  NodeId b;
  Bandwidth rate;
  Bandwidth rate_back;
  Duration delay;
  std::optional<WideAreaLine> line = {};
  std::optional<WideAreaLine> line_back = {};
  std::uint32_t count = 1;
};

Cable cable_at(const Topology& topology, LinkId at) {
  const Link& link = topology.link(at);
  const LinkId back = topology.reverse(at);
  Cable cable{link.source, link.destination, link.rate, topology.link(back).rate, link.propagation_delay};
  if (const WideAreaLine* const line = topology.wide_area(at)) {
    cable.line = *line;
    cable.line_back = *topology.wide_area(back);
  }
  return cable;
}

/// Requires: the same ends.
bool are_alike(const Cable& one, const Cable& other) {
  const bool turned = one.a != other.a;
  return one.rate == (turned ? other.rate_back : other.rate) && one.rate_back == (turned ? other.rate : other.rate_back) &&
         one.line == (turned ? other.line_back : other.line) && one.line_back == (turned ? other.line : other.line_back) &&
         one.delay == other.delay;
}

/// Cables in link order; equal parallel ones are one Cable with a count. Throws [not-expressible]
/// for parallel ones that differ.
std::vector<Cable> cables_of(const Topology& topology, const std::string& format, const SourcePlace& place) {
  std::vector<Cable> cables;
  std::map<std::pair<NodeId, NodeId>, std::size_t> index;
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    const Link& link = topology.link(LinkId(i));
    const auto [first, is_new] = index.emplace(std::minmax(link.source, link.destination), cables.size());
    if (is_new) {
      cables.push_back(cable_at(topology, LinkId(i)));
      continue;
    }
    Cable& cable = cables[first->second];
    if (!are_alike(cable, cable_at(topology, LinkId(i)))) {
      fail_to_write(format, fmt::format("parallel cables of {} differ in rate or delay", topology.link_name(LinkId(i))), place,
                    "make them alike, or put a switch into one of them");
    }
    ++cable.count;
  }
  return cables;
}

/// A field of a line between sites.
std::string wide_area_text(std::string_view field, const WideAreaLine& line) {
  std::string inside;
  if (line.loss > 0) inside += fmt::format(" loss: {}", line.loss);
  if (line.jitter > Duration::zero()) inside += fmt::format(" jitter: \"{}\"", to_text(line.jitter));
  return fmt::format(" {} {{{} }}", field, inside);
}

std::string write_weft(const Topology& topology, const SourcePlace& place) {
  struct Parts {
    std::array<std::vector<std::string>, 5> names;  ///< per NodeKind inside a host
  };
  std::vector<Parts> hosts(topology.host_count());
  std::string switches;
  constexpr std::array<std::string_view, 4> levels = {"", "LEAF", "AGGREGATION", "SPINE"};
  const auto classes = topology.buffer_classes();
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    const Node& node = topology.node(NodeId(i));
    if (node.kind != NodeKind::packet_switch) {
      hosts[node.host.index()].names[static_cast<std::size_t>(node.kind)].push_back(quoted(topology.node_name(NodeId(i))));
      continue;
    }
    switches += fmt::format("switch {{ name: {}", quoted(topology.node_name(NodeId(i))));
    if (node.level > 0 && node.level < levels.size()) switches += fmt::format(" level: {}", levels[node.level]);
    if (node.buffer_class > 0) switches += fmt::format(" buffer_class: {}", quoted(classes[node.buffer_class].name));
    switches += " }\n";
  }

  std::string out = fmt::format("name: {}\n", quoted(topology.name()));
  for (const std::string& assumption : topology.assumptions()) out += fmt::format("assumption: {}\n", quoted(assumption));
  for (const BufferClass& buffer_class : classes) {
    out += fmt::format("buffer_class {{ name: {} size: \"{}\" }}\n", quoted(buffer_class.name), to_text(buffer_class.size));
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto& names = hosts[i].names;
    const auto list = [&](std::string_view field, NodeKind kind) {
      const auto& members = names[static_cast<std::size_t>(kind)];
      if (members.empty()) return;
      out += members.size() == 1 ? fmt::format(" {}: {}", field, members.front())
                                 : fmt::format(" {}: [{}]", field, fmt::join(members, ", "));
    };
    const std::size_t ports = names[static_cast<std::size_t>(NodeKind::host)].size();
    if (ports > 1 || (ports == 1 && !names[static_cast<std::size_t>(NodeKind::gpu)].empty())) {
      fail_to_write("weft", fmt::format("host {} has several ports, or a port besides GPUs", i), place,
                    "give every port a host of its own");
    }
    out += "host {";
    list("gpu", NodeKind::gpu);
    list("port", NodeKind::host);
    list("nic", NodeKind::nic);
    list("nvswitch", NodeKind::nvswitch);
    list("pcie_switch", NodeKind::pcie_switch);
    out += " }\n";
  }
  out += switches;
  for (const Cable& cable : cables_of(topology, "weft", place)) {
    out += fmt::format("link {{ a: {} b: {} rate: \"{}\" delay: \"{}\"", quoted(topology.node_name(cable.a)),
                       quoted(topology.node_name(cable.b)), to_text(cable.rate), to_text(cable.delay));
    if (cable.rate_back != cable.rate) out += fmt::format(" rate_back: \"{}\"", to_text(cable.rate_back));
    if (cable.count > 1) out += fmt::format(" cables: {}", cable.count);
    if (cable.line) out += wide_area_text("wide_area", *cable.line);
    if (cable.line_back != cable.line) out += wide_area_text("wide_area_back", *cable.line_back);
    out += " }\n";
  }
  return out;
}

/// The graph without NICs.
struct FoldedGraph {
  std::vector<bool> is_gone;  ///< per node: a NIC that was folded
  std::vector<Cable> cables;
};

bool is_own_endpoint(const Topology& topology, NodeId nic, NodeId other) {
  return is_endpoint(topology.node(other).kind) && topology.node(other).host == topology.node(nic).host;
}

/// The link of a NIC to the one endpoint it serves. Throws [not-expressible] if it does more than
/// carry one endpoint's cable on.
LinkId link_to_served(const Topology& topology, NodeId nic, const std::string& format, const SourcePlace& place) {
  LinkId served = LinkId::none();
  std::size_t own = 0;
  bool on_nvswitch = false;
  for (const LinkId link : topology.out_links(nic)) {
    const NodeId to = topology.link(link).destination;
    on_nvswitch = on_nvswitch || topology.node(to).kind == NodeKind::nvswitch;
    if (!is_own_endpoint(topology, nic, to)) continue;
    served = link;
    ++own;
  }
  const std::size_t cables = topology.out_links(nic).size();
  if (own != 1 || cables != 2 || on_nvswitch) {
    fail_to_write(format,
                  fmt::format("NIC \"{}\" serves {} over {}, and the format has no NICs", topology.node_name(nic),
                              counted(own, "GPU", "GPUs"), counted(cables, "cable", "cables")),
                  place, "only a NIC between one GPU and one cable can be left out; give every GPU its own NIC (nics_per_host)");
  }
  return served;
}

/// Throws [not-expressible] for a cable whose directions differ.
void check_rate_back(const Topology& topology, const std::string& format, NodeId a, NodeId b, Bandwidth rate, Bandwidth back,
                     const SourcePlace& place) {
  if (rate == back) return;
  fail_to_write(format,
                fmt::format("the cable between \"{}\" and \"{}\" has {} one way and {} the other, and the format has one rate",
                            topology.node_name(a), topology.node_name(b), to_text(rate), to_text(back)),
                place, "write weft or dot, which have both");
}

FoldedGraph fold_nics(const Topology& topology, const std::string& format, const SourcePlace& place) {
  FoldedGraph graph;
  graph.is_gone.assign(topology.node_count(), false);
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    if (topology.node(NodeId(i)).kind != NodeKind::pcie_switch) continue;
    fail_to_write(format, fmt::format("\"{}\" is a PCIe switch, which the format has not", topology.node_name(NodeId(i))), place,
                  "write weft or dot, which have");
  }
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) graph.is_gone[i] = topology.node(NodeId(i)).kind == NodeKind::nic;
  std::set<std::pair<NodeId, NodeId>> pairs;
  for (const Cable& given : cables_of(topology, format, place)) {
    const bool inner = (graph.is_gone[given.a.index()] && is_own_endpoint(topology, given.a, given.b)) ||
                       (graph.is_gone[given.b.index()] && is_own_endpoint(topology, given.b, given.a));
    // A NIC's inner cable is taken in by its outer one.
    if (inner) continue;
    Cable cable = given;
    check_rate_back(topology, format, cable.a, cable.b, cable.rate, cable.rate_back, place);
    for (NodeId* end : {&cable.a, &cable.b}) {
      if (!graph.is_gone[end->index()]) continue;
      const LinkId served_at = link_to_served(topology, *end, format, place);
      const Link& served = topology.link(served_at);
      const Bandwidth back = topology.link(topology.reverse(served_at)).rate;
      check_rate_back(topology, format, *end, served.destination, served.rate, back, place);
      *end = served.destination;
      cable.rate = std::min(cable.rate, served.rate);
      cable.delay += served.propagation_delay;
    }
    if (cable.count > 1 || !pairs.insert(std::minmax(cable.a, cable.b)).second) {
      fail_to_write(format,
                    fmt::format("\"{}\" and \"{}\" have parallel cables", topology.node_name(cable.a), topology.node_name(cable.b)),
                    place, "the format holds one link per pair: use one cable of their rate together");
    }
    graph.cables.push_back(cable);
  }
  return graph;
}

/// The foreign simulators know rates up to Gbps.
std::string rate_text(Bandwidth rate) {
  constexpr std::int64_t giga = 1'000'000'000;
  return rate.in_bps() % giga == 0 ? fmt::format("{}Gbps", rate.in_bps() / giga) : fmt::format("{}bps", rate.in_bps());
}

std::string cable_rows(const std::vector<Cable>& cables, const std::vector<std::uint32_t>& number) {
  std::string out;
  for (const Cable& cable : cables) {
    out += fmt::format("{} {} {} {} 0\n", number[cable.a.index()], number[cable.b.index()], rate_text(cable.rate),
                       to_text(cable.delay));
  }
  return out;
}

std::string id_row(const std::vector<std::uint32_t>& ids) { return fmt::format("{}\n", fmt::join(ids, " ")); }

std::string write_hpcc(const Topology& topology, const SourcePlace& place) {
  for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
    const auto endpoints = topology.endpoints_of(HostId(host));
    if (endpoints.size() > 1) {
      fail_to_write("hpcc",
                    fmt::format("the host of \"{}\" has {}, and the format has no servers", topology.node_name(endpoints[0]),
                                counted(endpoints.size(), "GPU", "GPUs")),
                    place, "use simai, which has, or hosts with one GPU");
    }
  }
  const FoldedGraph graph = fold_nics(topology, "hpcc", place);
  std::vector<std::uint32_t> number(topology.node_count());
  std::vector<std::uint32_t> switches;
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    if (graph.is_gone[i]) continue;
    const NodeKind kind = topology.node(NodeId(i)).kind;
    if (kind == NodeKind::nvswitch) {
      fail_to_write("hpcc", fmt::format("\"{}\" is an NVSwitch, which the format has not", topology.node_name(NodeId(i))), place,
                    "use simai, which has");
    }
    if (kind == NodeKind::packet_switch) switches.push_back(next);
    number[i] = next++;
  }
  return fmt::format("{} {} {}\n{}{}", next, switches.size(), graph.cables.size(), id_row(switches),
                     cable_rows(graph.cables, number));
}

std::string write_simai(const Topology& topology, const SourcePlace& place) {
  const std::size_t per_host = topology.endpoints_of(HostId(0)).size();
  for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
    const auto endpoints = topology.endpoints_of(HostId(host));
    if (endpoints.size() != per_host) {
      fail_to_write("simai",
                    fmt::format("the host of \"{}\" has {}, the first host has {}", topology.node_name(endpoints[0]),
                                counted(endpoints.size(), "GPU", "GPUs"), per_host),
                    place, "the format has one number of GPUs for all servers");
    }
  }
  const FoldedGraph graph = fold_nics(topology, "simai", place);
  std::vector<std::uint32_t> number(topology.node_count());
  std::vector<std::uint32_t> ids;
  std::uint32_t next = 0;
  for (const NodeId endpoint : topology.endpoints()) number[endpoint.index()] = next++;
  std::size_t nvswitches = 0;
  for (const NodeKind kind : {NodeKind::nvswitch, NodeKind::packet_switch}) {
    for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
      if (topology.node(NodeId(i)).kind != kind) continue;
      ids.push_back(next);
      number[i] = next++;
    }
    if (kind == NodeKind::nvswitch) nvswitches = ids.size();
  }
  // The simulator knows types of GPU by name; a Topology does not, which lost_in_format() tells.
  constexpr std::string_view gpu_type = "NONE";
  return fmt::format("{} {} {} {} {} {}\n{}{}", next, per_host, nvswitches, ids.size() - nvswitches, graph.cables.size(), gpu_type,
                     id_row(ids), cable_rows(graph.cables, number));
}

std::string draw(const Topology& topology, const SourcePlace&) { return write_dot(topology); }
std::string draw_overview(const Topology& topology, const SourcePlace&) { return write_dot_overview(topology); }

constexpr std::array<TopologyFormat, 5> written_formats = {{
    {"weft", "Weft's own protobuf text with every host, switch and link, or an error that names what it cannot hold."},
    {"hpcc", "topology.txt of the ns-3 RDMA simulators; for hosts with one port or GPU."},
    {"simai", "SimAI's topology; for hosts with equal numbers of GPUs."},
    {"dot", "A picture for Graphviz of every node: dot -Tsvg net.dot -o net.svg."},
    {"dot-overview", "A picture for Graphviz with one box for all hosts or switches that are alike; for large fabrics."},
}};

/// In the order of `written_formats`.
constexpr std::array<std::string (*)(const Topology&, const SourcePlace&), written_formats.size()> writers = {
    write_weft, write_hpcc, write_simai, draw, draw_overview};

}  // namespace

std::span<const TopologyFormat> topology_output_formats() { return written_formats; }

std::vector<std::string> lost_in_format(const Topology& topology, const std::string& format) {
  std::vector<std::string> lost;
  if (format != "hpcc" && format != "simai") return lost;
  std::uint64_t nics = 0;
  std::uint64_t named = 0;
  std::uint64_t levels = 0;
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    const Node& node = topology.node(NodeId(i));
    if (node.kind == NodeKind::nic) ++nics;
    if (topology.node_name(NodeId(i)) != fmt::format("{}", i)) ++named;
    if (node.level > 0) ++levels;
  }
  if (nics > 0) {
    lost.push_back(fmt::format("{} folded into {}: least rate, sum of delays", counted(nics, "NIC is", "NICs are"),
                               nics == 1 ? "its cable" : "their cables"));
  }
  if (named > 0) lost.emplace_back("nodes are numbered: endpoints and switches have no names in the format");
  if (levels > 0) lost.push_back(fmt::format("the level of {} is not in the format", counted(levels, "switch", "switches")));
  if (!topology.buffer_classes().empty()) lost.emplace_back("buffer sizes of switches are not in the format");
  if (format == "hpcc" && topology.node(topology.endpoints()[0]).kind == NodeKind::gpu) {
    lost.emplace_back("GPUs became hosts with one port: the format knows no GPUs");
  }
  if (format == "simai") {
    lost.emplace_back("the header names no type of GPU (NONE): topologies hold none");
    if (topology.node(topology.endpoints()[0]).kind == NodeKind::host)
      lost.emplace_back("ports of hosts became GPUs: the format knows no others");
  }
  if (topology.has_wide_area()) lost.emplace_back("loss and jitter of lines between sites are not in the format");
  if (!topology.assumptions().empty()) lost.emplace_back("what was assumed of the source is not in the format");
  return lost;
}

std::string write_topology(const Topology& topology, const std::string& format, const SourcePlace& place) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < written_formats.size(); ++i) {
    if (written_formats[i].name == format) return writers[i](topology, place);
    names.emplace_back(written_formats[i].name);
  }
  fail("unknown-format", fmt::format("there is no topology format \"{}\" to write", format), place,
       suggestion(format, names, "format"));
}

}  // namespace weft
