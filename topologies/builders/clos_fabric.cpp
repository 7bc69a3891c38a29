// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/clos_fabric.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/builders/builder_error.hpp"
#include "topologies/builders/size_limit.hpp"

namespace weft {

namespace {

/// Node numbers of one site, counted from its first node.
class SiteLayout {
 public:
  SiteLayout(const ClosShape& shape, std::uint32_t borders)
      : leafs_begin_(static_cast<std::uint32_t>(shape.servers.node_count())),
        aggs_begin_(leafs_begin_ + shape.leafs()),
        spines_begin_(aggs_begin_ + shape.aggs()),
        borders_begin_(spines_begin_ + shape.spines),
        end_(borders_begin_ + borders) {}

  std::uint32_t leafs_begin() const { return leafs_begin_; }
  std::uint32_t aggs_begin() const { return aggs_begin_; }
  std::uint32_t spines_begin() const { return spines_begin_; }
  std::uint32_t borders_begin() const { return borders_begin_; }
  std::uint32_t end() const { return end_; }
  std::uint32_t tops_begin(const ClosShape& shape) const {
    return shape.spines > 0 ? spines_begin_ : shape.aggs_per_pod > 0 ? aggs_begin_ : leafs_begin_;
  }

 private:
  std::uint32_t leafs_begin_;
  std::uint32_t aggs_begin_;
  std::uint32_t spines_begin_;
  std::uint32_t borders_begin_;
  std::uint32_t end_;
};

std::uint32_t rail_of(const ClosShape& shape, std::uint32_t nic) { return shape.rails == 1 ? 0 : nic; }

/// Ports that hosts below `host` take at a leaf of this rail, if the leaf joined them all.
std::uint32_t ports_before(const ClosShape& shape, std::uint32_t host, std::uint32_t rail) {
  return shape.rails == 1 ? shape.servers.nics_before(host) : shape.servers.hosts_with_nic_before(host, rail);
}

/// The plane of a leaf, or of a second-tier switch.
std::uint32_t plane_of_leaf(const ClosShape& shape, std::uint32_t leaf) {
  return shape.planes == 1 ? 0 : leaf % shape.leafs_per_group() / shape.rails;
}
std::uint32_t plane_of_agg(const ClosShape& shape, std::uint32_t agg) {
  return agg % shape.aggs_per_pod / (shape.aggs_per_pod / shape.planes);
}

class FabricRoutes final : public Routes {
 public:
  FabricRoutes(const ClosShape& shape, const WanShape& wan)
      : shape_(shape),
        sites_(wan.sites),
        borders_(wan.borders_per_site),
        has_hub_(wan.has_hub),
        hub_hosts_(wan.hub_hosts),
        layout_(shape, wan.borders_per_site) {}

  void next_hops(const Topology& topology, NodeId at, NodeId destination, std::vector<LinkId>& out) const override {
    out.clear();
    const std::span<const LinkId> ports = topology.out_links(at);
    const std::uint32_t hub_begin = sites_ * layout_.end();
    const Target target = destination.index() < hub_begin ? target_of(destination) : hub_target(destination.index() - hub_begin);
    if (at.index() >= hub_begin) {
      at_hub(ports, at.index() - hub_begin, target, out);
      return;
    }
    const std::uint32_t site = at.index() / layout_.end();
    const std::uint32_t local = at.index() % layout_.end();
    const bool here = site == target.site;
    if (local < layout_.leafs_begin()) {
      const Servers::Place place = shape_.servers.locate(local);
      server_next_hops(*place.shape, ports, place.offset, here && place.host == target.host, target.gpu, out);
    } else if (local < layout_.aggs_begin()) {
      at_leaf(ports, local - layout_.leafs_begin(), here, target, out);
    } else if (local < layout_.spines_begin()) {
      at_agg(ports, local - layout_.aggs_begin(), here, target, out);
    } else if (local < layout_.borders_begin()) {
      if (here) {
        out.push_back(ports[target.pod]);
      } else {
        up(ports, shape_.pods(), out);
      }
    } else if (here) {
      const auto tops = ports.first(shape_.tops());
      out.assign(tops.begin(), tops.end());
    } else if (has_hub_) {
      out.push_back(ports[shape_.tops()]);
    } else {
      // A border router's ports: the site's top tier, then the other sites in order.
      out.push_back(ports[shape_.tops() + target.site - (target.site > site ? 1 : 0)]);
    }
  }

 private:
  struct Target {
    std::uint32_t site;
    std::uint32_t host;  ///< inside the site
    std::uint32_t gpu;
    std::uint32_t rail;
    std::uint32_t group;
    std::uint32_t nic;
    std::uint32_t pod;
  };

  Target target_of(NodeId destination) const {
    Target target{};
    target.site = destination.index() / layout_.end();
    const std::uint32_t local = destination.index() % layout_.end();
    WEFT_CHECK(target.site < sites_ && local < layout_.leafs_begin(), "routes lead to endpoints");
    const Servers::Place place = shape_.servers.locate(local);
    WEFT_CHECK(place.offset < place.shape->gpus, "routes lead to endpoints");
    target.host = place.host;
    target.gpu = place.offset;
    target.nic = target.gpu / place.shape->gpus_per_nic();
    target.rail = rail_of(shape_, target.nic);
    target.group = target.host / shape_.hosts_per_group;
    target.pod = target.group * shape_.leafs_per_group() / shape_.leafs_per_pod;
    return target;
  }

  /// At the hub, seen from sites.
  Target hub_target(std::uint32_t local) const {
    WEFT_CHECK(local < hub_hosts_, "routes lead to endpoints");
    Target target{};
    target.site = sites_;
    target.host = local;
    return target;
  }

  /// At a host of the hub, which is its GPU, or at its switch.
  void at_hub(std::span<const LinkId> ports, std::uint32_t local, const Target& target, std::vector<LinkId>& out) const {
    if (local < hub_hosts_) {
      out.push_back(ports.front());
    } else if (target.site == sites_) {
      out.push_back(ports[target.host]);
    } else {
      const auto lines = ports.subspan(hub_hosts_ + target.site * borders_, borders_);
      out.assign(lines.begin(), lines.end());
    }
  }

  void at_leaf(std::span<const LinkId> ports, std::uint32_t leaf, bool here, const Target& target, std::vector<LinkId>& out) const {
    const std::uint32_t group = leaf / shape_.leafs_per_group();
    const std::uint32_t rail = leaf % shape_.rails;
    const std::uint32_t first_host = group * shape_.hosts_per_group;
    const std::uint32_t before = ports_before(shape_, first_host, rail);
    if (here && group == target.group && rail == target.rail) {
      const std::uint32_t nic = shape_.rails == 1 ? target.nic : 0;
      out.push_back(ports[ports_before(shape_, target.host, rail) - before + nic]);
    } else {
      const std::uint32_t end = std::min(first_host + shape_.hosts_per_group, shape_.servers.host_count());
      up(ports, ports_before(shape_, end, rail) - before, out);
    }
  }

  void at_agg(std::span<const LinkId> ports, std::uint32_t agg, bool here, const Target& target, std::vector<LinkId>& out) const {
    const std::uint32_t pod = agg / shape_.aggs_per_pod;
    if (here && pod == target.pod) {
      const std::uint32_t first = target.group * shape_.leafs_per_group() % shape_.leafs_per_pod / shape_.planes + target.rail;
      const std::uint32_t leafs = shape_.planes == 1 ? shape_.nic_ports : 1;
      for (std::uint32_t i = 0; i < leafs; ++i) out.push_back(ports[first + i * shape_.rails]);
    } else {
      const std::uint32_t leafs = std::min(shape_.leafs_per_pod, shape_.leafs() - pod * shape_.leafs_per_pod);
      up(ports, leafs / shape_.planes, out);
    }
  }

  static void up(std::span<const LinkId> ports, std::uint32_t ports_down, std::vector<LinkId>& out) {
    const auto parents = ports.subspan(ports_down);
    out.assign(parents.begin(), parents.end());
  }

  ClosShape shape_;
  std::uint32_t sites_;
  std::uint32_t borders_;
  bool has_hub_;
  std::uint32_t hub_hosts_;
  SiteLayout layout_;
};

struct BufferClasses {
  std::uint16_t leaf;
  std::uint16_t agg;
  std::uint16_t spine;
  std::uint16_t border;
};

void add_site(TopologyBuilder& builder, const ClosShape& shape, const WanShape& wan, std::uint32_t site,
              const BufferClasses& buffers) {
  const auto base = static_cast<std::uint32_t>(builder.node_count());
  const SiteLayout layout(shape, wan.borders_per_site);
  const auto node = [base](std::uint32_t local) { return NodeId(base + local); };
  const auto name = [&](std::string_view kind, std::uint32_t i) {
    return wan.sites == 1 ? std::string() : fmt::format("site{}/{}{}", site, kind, i);
  };
  const bool second_is_spine = shape.second_tier_level == 3;

  shape.servers.add_to(builder);
  for (std::uint32_t i = 0; i < shape.leafs(); ++i) builder.add_switch(1, name("leaf", i), buffers.leaf);
  for (std::uint32_t i = 0; i < shape.aggs(); ++i) {
    builder.add_switch(shape.second_tier_level, name(second_is_spine ? "spine" : "agg", i),
                       second_is_spine ? buffers.spine : buffers.agg);
  }
  for (std::uint32_t i = 0; i < shape.spines; ++i) builder.add_switch(3, name("spine", i), buffers.spine);
  for (std::uint32_t i = 0; i < wan.borders_per_site; ++i) builder.add_switch(0, name("border", i), buffers.border);

  for (std::uint32_t host = 0; host < shape.servers.host_count(); ++host) {
    const ServerShape& server = shape.servers.of(host);
    const std::uint32_t first = shape.servers.first_node(host);
    const std::uint32_t first_leaf = layout.leafs_begin() + host / shape.hosts_per_group * shape.leafs_per_group();
    for (std::uint32_t nic = 0; nic < server.nics; ++nic) {
      for (std::uint32_t port = 0; port < shape.nic_ports; ++port) {
        builder.add_cable(node(first + server.port_offset(nic)), node(first_leaf + port * shape.rails + rail_of(shape, nic)),
                          server.nic_rate, shape.nic_delay);
      }
    }
  }
  for (std::uint32_t leaf = 0; leaf < shape.leafs(); ++leaf) {
    const std::uint32_t first_agg = leaf / shape.leafs_per_pod * shape.aggs_per_pod;
    for (std::uint32_t agg = first_agg; agg < first_agg + shape.aggs_per_pod; ++agg) {
      if (plane_of_leaf(shape, leaf) != plane_of_agg(shape, agg)) continue;
      builder.add_cable(node(layout.leafs_begin() + leaf), node(layout.aggs_begin() + agg), shape.leaf_up.rate,
                        shape.leaf_up.delay);
    }
  }
  for (std::uint32_t agg = 0; agg < shape.aggs() && shape.spines > 0; ++agg) {
    const std::uint32_t plane = agg % shape.aggs_per_pod;
    for (std::uint32_t i = 0; i < shape.spines_per_plane(); ++i) {
      builder.add_cable(node(layout.aggs_begin() + agg), node(layout.spines_begin() + plane * shape.spines_per_plane() + i),
                        shape.agg_up.rate, shape.agg_up.delay);
    }
  }
  for (std::uint32_t top = 0; top < shape.tops(); ++top) {
    for (std::uint32_t border = 0; border < wan.borders_per_site; ++border) {
      builder.add_cable(node(layout.tops_begin(shape) + top), node(layout.borders_begin() + border), wan.border.rate,
                        wan.border.delay);
    }
  }
}

void add_line(TopologyBuilder& builder, NodeId from, NodeId to, const WanLine& line) {
  const LinkId cable = builder.add_cable(from, to, line.there, line.back, line.delay);
  builder.set_wide_area(cable, line.line_there, line.line_back);
}

void add_mesh(TopologyBuilder& builder, const ClosShape& shape, const WanShape& wan) {
  const SiteLayout layout(shape, wan.borders_per_site);
  std::size_t pair = 0;
  for (std::uint32_t a = 0; a < wan.sites; ++a) {
    for (std::uint32_t b = a + 1; b < wan.sites; ++b, ++pair) {
      for (std::uint32_t border = 0; border < wan.borders_per_site; ++border) {
        const std::uint32_t local = layout.borders_begin() + border;
        add_line(builder, NodeId(a * layout.end() + local), NodeId(b * layout.end() + local), wan.lines[pair]);
      }
    }
  }
}

void add_hub(TopologyBuilder& builder, const ClosShape& shape, const WanShape& wan, const BufferClasses& buffers) {
  const SiteLayout layout(shape, wan.borders_per_site);
  std::vector<NodeId> hosts;
  for (std::uint32_t i = 0; i < wan.hub_hosts; ++i) hosts.push_back(builder.add_endpoint(builder.add_host(), NodeKind::gpu));
  const NodeId hub = builder.add_switch(0, "internet", buffers.border);
  for (const NodeId host : hosts) builder.add_cable(host, hub, wan.hub_host.rate, wan.hub_host.delay);
  for (std::uint32_t site = 0; site < wan.sites; ++site) {
    for (std::uint32_t border = 0; border < wan.borders_per_site; ++border)
      add_line(builder, NodeId(site * layout.end() + layout.borders_begin() + border), hub, wan.lines[site]);
  }
}

}  // namespace

void check_shape(const ClosShape& shape, const WanShape& wan, std::string_view builder, const SourcePlace& place) {
  // Sizes as 64-bit numbers first, before any of the 32-bit products below may wrap.
  const std::uint64_t hosts = shape.servers.host_count();
  const std::uint64_t leafs = (hosts + shape.hosts_per_group - 1) / shape.hosts_per_group * shape.rails * shape.nic_ports;
  const std::uint64_t pods = (leafs + shape.leafs_per_pod - 1) / shape.leafs_per_pod;
  const std::uint64_t aggs = pods * shape.aggs_per_pod;
  const std::uint64_t tops = shape.spines > 0 ? shape.spines : shape.aggs_per_pod > 0 ? aggs : leafs;
  const std::uint64_t planes = std::max<std::uint64_t>(shape.aggs_per_pod, 1);
  const std::uint64_t cables = shape.servers.cable_count() + leafs * (shape.aggs_per_pod / shape.planes) +
                               aggs * (shape.spines / planes) + tops * wan.borders_per_site +
                               std::uint64_t{wan.has_hub ? 1 : wan.sites} * wan.borders_per_site;
  const std::uint64_t nodes = shape.servers.node_count() + leafs + aggs + shape.spines + wan.borders_per_site;
  check_size(builder, wan.sites * nodes + wan.hub_hosts + (wan.has_hub ? 1 : 0), wan.sites * cables + wan.hub_hosts, place);

  if (shape.aggs_per_pod == 0 && leafs > 1) {
    fail_builder(builder, "bad-shape", fmt::format("{} leafs have no second tier to join them", leafs), place,
                 "add switches above the leafs, or let one leaf take all hosts");
  }
  if (shape.spines == 0 && pods > 1) {
    fail_builder(builder, "bad-shape", fmt::format("{} pods have no spine to join them", pods), place,
                 fmt::format("set spines to a multiple of {}, or let one pod take all leafs", shape.aggs_per_pod));
  }
  if (shape.aggs_per_pod > 0 && shape.spines % shape.aggs_per_pod != 0) {
    fail_builder(builder, "bad-shape",
                 fmt::format("{} spines cannot be dealt evenly to {} planes", shape.spines, shape.aggs_per_pod), place,
                 fmt::format("set spines to a multiple of {}, the number of second-tier switches of a pod", shape.aggs_per_pod));
  }
}

std::shared_ptr<const Topology> build_fabrics(const std::string& name, const ClosShape& shape, const WanShape& wan,
                                              const SourcePlace& place) {
  WEFT_CHECK(shape.rails == 1 || shape.rails == shape.servers.nics_max(), "a rail is a NIC's number");
  WEFT_CHECK(shape.nic_ports == shape.servers.usual().nic_ports, "a port of every NIC has its leaf");
  WEFT_CHECK(shape.planes == 1 || (shape.planes == shape.nic_ports && shape.aggs_per_pod % shape.planes == 0),
             "a plane is a port's number");
  WEFT_CHECK(shape.pods() <= 1 || shape.leafs_per_pod % shape.leafs_per_group() == 0, "a group is in one pod");
  WEFT_CHECK(wan.lines.size() == wan.line_count(), "every pair of sites has its line, or every site");
  TopologyBuilder builder(name);
  BufferClasses buffers{};
  buffers.leaf = builder.add_buffer_class({"leaf", shape.leaf_buffer});
  buffers.agg = shape.aggs_per_pod > 0 && shape.second_tier_level == 2 ? builder.add_buffer_class({"agg", shape.agg_buffer}) : 0;
  const bool has_spines = shape.spines > 0 || shape.second_tier_level == 3;
  buffers.spine = has_spines ? builder.add_buffer_class({"spine", shape.spine_buffer}) : 0;
  buffers.border = wan.borders_per_site > 0 ? builder.add_buffer_class({std::string(border_buffer_class), wan.border_buffer}) : 0;

  for (std::uint32_t site = 0; site < wan.sites; ++site) add_site(builder, shape, wan, site, buffers);
  if (wan.has_hub) {
    add_hub(builder, shape, wan, buffers);
  } else {
    add_mesh(builder, shape, wan);
  }
  if (shape.servers.have_any_nic()) return std::move(builder).build(nullptr, place);
  return std::move(builder).build(std::make_unique<FabricRoutes>(shape, wan), place);
}

}  // namespace weft
