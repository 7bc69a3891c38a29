// SPDX-License-Identifier: Apache-2.0
#include "topologies/topology_file.hpp"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/textproto.hpp"
#include "core/text/textproto_settings.hpp"
#include "topologies/builders.hpp"
#include "topologies/link_limits.hpp"
#include "topologies/topology.pb.h"

namespace weft {

namespace {

BuilderOfFile builder_of(const topology_file::TopologyFile& file, const FieldPlaces& places, Diagnostics& diagnostics) {
  for (const char* field : {"name", "buffer_class", "host", "switch", "link", "assumption"}) {
    const auto* descriptor = file.GetDescriptor()->FindFieldByName(field);
    const auto* reflection = file.GetReflection();
    const bool given = descriptor->is_repeated() ? reflection->FieldSize(file, descriptor) > 0 : !file.name().empty();
    if (given) {
      diagnostics.error("topology-source", "a topology has either a builder or nodes of its own, not both", places.of(file, field),
                        fmt::format("drop the builder, or drop \"{}\"", field));
    }
  }
  const auto& module = find_module(topology_builders(), file.builder(), places.of(file, "builder"));
  ParamSet params(std::string(module.info.name), module.info.params);
  for_each_setting(file, places, diagnostics, [&](const std::string& name, const std::string& value, const SourcePlace& place) {
    params.set(name, value, place);
  });
  diagnostics.throw_if_errors();
  return {&module, std::move(params), places.of(file, "builder")};
}

/// Builds the graph of a file that gives every node and link.
class ExplicitTopology {
 public:
  ExplicitTopology(const topology_file::TopologyFile& file, const FieldPlaces& places, Diagnostics& diagnostics)
      : file_(file), places_(places), diagnostics_(diagnostics), builder_(file.name().empty() ? "topology" : file.name()) {}

  std::shared_ptr<const Topology> build(const SourcePlace& whole_file) && {
    read_buffer_classes();
    for (int i = 0; i < file_.host_size(); ++i) read_host(file_.host(i), i);
    for (int i = 0; i < file_.switch__size(); ++i) read_switch(file_.switch_(i), i);
    for (int i = 0; i < file_.link_size(); ++i) read_link(file_.link(i), i);
    diagnostics_.throw_if_errors();
    for (const std::string& assumption : file_.assumption()) builder_.add_assumption(assumption);
    return std::move(builder_).build(nullptr, whole_file);
  }

 private:
  struct Named {
    NodeId node;
    int line;
  };

  /// True if `name` may be given to the next node; an error is added otherwise.
  bool claim(const std::string& name, const SourcePlace& place, const std::string& what) {
    if (name.empty()) {
      diagnostics_.error("missing-field", fmt::format("the {} has an empty name", what), place, "give it a name of its own");
      return false;
    }
    const auto [first, is_new] = names_.emplace(name, Named{NodeId(static_cast<std::uint32_t>(builder_.node_count())), place.line});
    if (!is_new) {
      diagnostics_.error("duplicate-name", fmt::format("there are two nodes called {}", in_quotes(name)), place,
                         fmt::format("the first is at line {}; rename one of them", first->second.line));
    }
    return is_new;
  }

  void read_buffer_classes() {
    constexpr int classes_max = 1024;
    if (file_.buffer_class_size() > classes_max) {
      diagnostics_.error("out-of-range", fmt::format("there are {} buffer classes", file_.buffer_class_size()),
                         places_.of(file_, "buffer_class", classes_max), fmt::format("at most {}", classes_max));
      return;
    }
    for (int i = 0; i < file_.buffer_class_size(); ++i) {
      const topology_file::BufferClass& given = file_.buffer_class(i);
      const FieldPlaces inside = places_.inside(file_, "buffer_class", i);
      const SourcePlace whole = places_.of(file_, "buffer_class", i);
      if (given.name().empty() || given.size().empty()) {
        diagnostics_.error("missing-field", "a buffer class needs a name and a size", whole,
                           "write buffer_class { name: \"deep\" size: \"32MB\" }");
        continue;
      }
      const ParsedQuantity<Bytes> size = parse_bytes(given.size());
      if (!size.value) {
        diagnostics_.error("bad-value", size.error.message, inside.of(given, "size"), size.error.help);
        continue;
      }
      if (*size.value <= Bytes::zero()) {
        diagnostics_.error("out-of-range", "a buffer needs a size above zero", inside.of(given, "size"), "for example \"32MB\"");
        continue;
      }
      if (!buffer_classes_.emplace(given.name(), static_cast<std::uint16_t>(buffer_classes_.size())).second) {
        diagnostics_.error("duplicate-name", fmt::format("there are two buffer classes called {}", in_quotes(given.name())),
                           inside.of(given, "name"), "rename one of them");
        continue;
      }
      builder_.add_buffer_class({given.name(), *size.value});
    }
  }

  void read_host(const topology_file::Host& given, int index) {
    const SourcePlace whole = places_.of(file_, "host", index);
    const FieldPlaces inside = places_.inside(file_, "host", index);
    if (given.gpu_size() == 0 && given.port().empty()) {
      diagnostics_.error("host-without-endpoint", "the host has neither a GPU nor a port", whole,
                         "give it gpu: \"...\" for each GPU, or port: \"...\" if GPUs do not matter");
      return;
    }
    if (given.gpu_size() > 0 && !given.port().empty()) {
      diagnostics_.error("host-kind", "the host has GPUs and a port", inside.of(given, "port"),
                         "transfers begin and end at GPUs where a host has some: drop the port");
      return;
    }
    const HostId host = builder_.add_host();
    bool any = false;
    if (!given.port().empty() && claim(given.port(), inside.of(given, "port"), "port")) {
      builder_.add_endpoint(host, NodeKind::host, given.port());
      any = true;
    }
    for (int i = 0; i < given.gpu_size(); ++i) {
      if (!claim(given.gpu(i), inside.of(given, "gpu", i), "GPU")) continue;
      builder_.add_endpoint(host, NodeKind::gpu, given.gpu(i));
      any = true;
    }
    if (!any) return;
    for (int i = 0; i < given.nic_size(); ++i) {
      if (claim(given.nic(i), inside.of(given, "nic", i), "NIC")) builder_.add_inside(host, NodeKind::nic, given.nic(i));
    }
    for (int i = 0; i < given.nvswitch_size(); ++i) {
      if (claim(given.nvswitch(i), inside.of(given, "nvswitch", i), "NVSwitch")) {
        builder_.add_inside(host, NodeKind::nvswitch, given.nvswitch(i));
      }
    }
    for (int i = 0; i < given.pcie_switch_size(); ++i) {
      if (claim(given.pcie_switch(i), inside.of(given, "pcie_switch", i), "PCIe switch")) {
        builder_.add_inside(host, NodeKind::pcie_switch, given.pcie_switch(i));
      }
    }
  }

  void read_switch(const topology_file::Switch& given, int index) {
    const SourcePlace whole = places_.of(file_, "switch", index);
    const FieldPlaces inside = places_.inside(file_, "switch", index);
    std::uint16_t buffer_class = 0;
    if (!given.buffer_class().empty()) {
      const auto found = buffer_classes_.find(given.buffer_class());
      if (found == buffer_classes_.end()) {
        std::vector<std::string> known;
        for (const auto& [name, number] : buffer_classes_) known.push_back(name);
        diagnostics_.error("unknown-buffer-class", fmt::format("there is no buffer class {}", in_quotes(given.buffer_class())),
                           inside.of(given, "buffer_class"), suggestion(given.buffer_class(), known, "buffer class"));
      } else {
        buffer_class = found->second;
      }
    }
    if (!topology_file::Level_IsValid(given.level())) {
      diagnostics_.error("out-of-range", fmt::format("there is no level {}", static_cast<int>(given.level())),
                         inside.of(given, "level"), "known: LEAF, AGGREGATION, SPINE");
    }
    if (claim(given.name(), given.name().empty() ? whole : inside.of(given, "name"), "switch")) {
      builder_.add_switch(static_cast<std::uint8_t>(given.level()), given.name(), buffer_class);
    }
  }

  std::optional<NodeId> end_of(const topology_file::Link& given, const FieldPlaces& inside, const char* field,
                               const std::string& name, const SourcePlace& whole) {
    if (name.empty()) {
      diagnostics_.error("missing-field", fmt::format("the link has no end \"{}\"", field), whole,
                         "a link joins two nodes: a: \"...\" b: \"...\"");
      return std::nullopt;
    }
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second.node;
    std::string help;
    // Comparing with every name is slow; errors that will not be shown need no suggestion.
    if (diagnostics_.error_count() < Diagnostics::kept_errors_max) {
      std::vector<std::string> known;
      for (const auto& [known_name, node] : names_) known.push_back(known_name);
      const std::string best = closest(name, known);
      help = best.empty() ? "nodes are the names given to GPUs, ports, NICs, NVSwitches, PCIe switches and switches"
                          : fmt::format("did you mean {}? it is defined at line {}", in_quotes(best), names_.at(best).line);
    }
    diagnostics_.error("unknown-node", fmt::format("there is no node {}", in_quotes(name)), inside.of(given, field), help);
    return std::nullopt;
  }

  void read_link(const topology_file::Link& given, int index) {
    const FieldPlaces inside = places_.inside(file_, "link", index);
    const SourcePlace whole = places_.of(file_, "link", index);
    const std::optional<NodeId> a = end_of(given, inside, "a", given.a(), whole);
    const std::optional<NodeId> b = end_of(given, inside, "b", given.b(), whole);
    const std::optional<Bandwidth> rate = rate_of(given, inside, whole);
    const std::optional<Bandwidth> back =
        given.rate_back().empty() ? rate : read_link_rate(given.rate_back(), inside.of(given, "rate_back"), diagnostics_);
    const std::optional<Duration> delay = delay_of(given, inside, whole);
    const std::optional<WideAreaLine> line = line_of(given, inside, whole, "wide_area");
    const std::optional<WideAreaLine> line_back =
        given.has_wide_area_back() ? line_of(given, inside, whole, "wide_area_back") : line;
    if (!a || !b || !check_ends(*a, *b, given, inside, whole)) return;
    if (!rate || !back || !delay || diagnostics_.has_errors()) return;
    for (std::uint32_t i = std::max(given.cables(), 1U); i > 0; --i) {
      const LinkId cable = builder_.add_cable(*a, *b, *rate, *back, *delay);
      if (line) builder_.set_wide_area(cable, *line, *line_back);
    }
  }

  std::optional<Bandwidth> rate_of(const topology_file::Link& given, const FieldPlaces& inside, const SourcePlace& whole) {
    constexpr std::uint32_t cables_max = 1024;
    if (given.cables() > cables_max) {
      diagnostics_.error("out-of-range", fmt::format("a link of {} cables is too wide", given.cables()), inside.of(given, "cables"),
                         fmt::format("at most {}", cables_max));
    }
    if (given.rate().empty()) {
      diagnostics_.error("missing-field", "the link has no rate", whole, "write rate: \"400Gbps\"");
      return std::nullopt;
    }
    return read_link_rate(given.rate(), inside.of(given, "rate"), diagnostics_);
  }

  /// Nothing where the link is no line between sites, or one with an error.
  std::optional<WideAreaLine> line_of(const topology_file::Link& given, const FieldPlaces& outside, const SourcePlace& whole,
                                      const char* field) {
    const bool is_back = std::string_view(field) == "wide_area_back";
    if (!given.has_wide_area()) {
      if (is_back) {
        diagnostics_.error("missing-field", "the link is a line between sites only on its way back", whole,
                           "write wide_area { }, too: both directions of a line are");
      }
      return std::nullopt;
    }
    const topology_file::WideArea& area = is_back ? given.wide_area_back() : given.wide_area();
    const FieldPlaces inside = outside.inside(given, field);
    WideAreaLine line;
    if (!(area.loss() >= 0 && area.loss() < 1)) {
      diagnostics_.error("out-of-range", fmt::format("a loss of {} is no share of the packets", area.loss()),
                         inside.of(area, "loss"), "from 0 to below 1, such as 0.001 for one packet in a thousand");
    } else {
      line.loss = area.loss();
    }
    if (!area.jitter().empty()) {
      if (const auto jitter = read_link_delay(area.jitter(), inside.of(area, "jitter"), diagnostics_)) line.jitter = *jitter;
    }
    return line;
  }

  std::optional<Duration> delay_of(const topology_file::Link& given, const FieldPlaces& inside, const SourcePlace& whole) {
    if (!given.delay().empty() && !given.fibre().empty()) {
      diagnostics_.error("conflicting-fields", "the link has a delay and a length of fibre", inside.of(given, "fibre"),
                         "keep one of them; a fibre counts 5 ns per metre");
      return std::nullopt;
    }
    if (!given.delay().empty()) return read_link_delay(given.delay(), inside.of(given, "delay"), diagnostics_);
    if (!given.fibre().empty()) return read_fibre_delay(given.fibre(), inside.of(given, "fibre"), diagnostics_);
    diagnostics_.error("missing-field", "the link has no delay", whole,
                       "write delay: \"500ns\", or fibre: \"30m\" at 5 ns per metre");
    return std::nullopt;
  }

  bool check_ends(NodeId a, NodeId b, const topology_file::Link& given, const FieldPlaces& inside, const SourcePlace& whole) {
    if (a == b) {
      diagnostics_.error("self-link", fmt::format("the link joins {} with itself", in_quotes(given.a())), inside.of(given, "b"),
                         "name the other end");
      return false;
    }
    const auto [first, is_new] = link_lines_.emplace(std::minmax(a, b), whole.line);
    if (!is_new) {
      diagnostics_.error("duplicate-link",
                         fmt::format("the link between {} and {} is given twice", in_quotes(given.a()), in_quotes(given.b())),
                         whole, fmt::format("the first is at line {}; parallel cables are one link with cables: 2", first->second));
      return false;
    }
    const Node& from = builder_.node(a);
    const Node& to = builder_.node(b);
    if ((stays_inside(from.kind) || stays_inside(to.kind)) && from.host != to.host) {
      const bool nvswitch = from.kind == NodeKind::nvswitch || to.kind == NodeKind::nvswitch;
      diagnostics_.error(nvswitch ? "nvswitch-leaves-host" : "pcie-leaves-host",
                         fmt::format("the link between {} and {} takes {} out of its host", in_quotes(given.a()),
                                     in_quotes(given.b()), nvswitch ? "an NVSwitch" : "a PCIe switch"),
                         whole,
                         nvswitch ? "an NVSwitch joins the GPUs of one host; put them into one host, or use a switch"
                                  : "a PCIe switch joins GPUs and NICs of one host; put a NIC between it and the fabric");
      return false;
    }
    return true;
  }

  const topology_file::TopologyFile& file_;
  FieldPlaces places_;
  Diagnostics& diagnostics_;
  TopologyBuilder builder_;
  std::map<std::string, Named, std::less<>> names_;
  std::map<std::string, std::uint16_t> buffer_classes_;
  std::map<std::pair<NodeId, NodeId>, int> link_lines_;
};

}  // namespace

TopologyOrBuilder read_topology_file(const SourceText& source) {
  topology_file::TopologyFile file;
  Diagnostics diagnostics;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  const FieldPlaces places = document.places();
  if (!file.builder().empty()) return builder_of(file, places, diagnostics);
  if (file.set_size() > 0) {
    diagnostics.error("topology-source", "there are settings but no builder to take them", places.of(file, "set", 0),
                      "name the builder, such as builder: \"clos\"");
  } else if (file.host_size() == 0) {
    diagnostics.error("empty-topology", "the topology has neither a builder nor a host", source.whole_file(),
                      "write builder: \"clos\" with settings, or hosts, switches and links");
  }
  diagnostics.throw_if_errors();
  return ExplicitTopology(file, places, diagnostics).build(source.whole_file());
}

}  // namespace weft
