// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/direct_fabric.hpp"

#include <utility>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/builders/size_limit.hpp"

namespace weft {

namespace {

class DirectRoutes final : public Routes {
 public:
  DirectRoutes(const DirectShape& shape, std::unique_ptr<const RouterGraph> graph)
      : servers_(shape.servers),
        hosts_per_router_(shape.servers.host_count() / shape.routers),
        routers_begin_(static_cast<std::uint32_t>(shape.servers.node_count())),
        graph_(std::move(graph)) {}

  void next_hops(const Topology& topology, NodeId at, NodeId destination, std::vector<LinkId>& out) const override {
    out.clear();
    WEFT_CHECK(destination.index() < routers_begin_, "routes lead to endpoints");
    const Servers::Place target = servers_.locate(destination.index());
    WEFT_CHECK(target.offset < target.shape->gpus, "routes lead to endpoints");
    const std::span<const LinkId> ports = topology.out_links(at);
    if (at.index() < routers_begin_) {
      const Servers::Place place = servers_.locate(at.index());
      server_next_hops(*place.shape, ports, place.offset, place.host == target.host, target.offset, out);
      return;
    }
    const std::uint32_t router = at.index() - routers_begin_;
    const std::uint32_t home = target.host / hosts_per_router_;
    const std::uint32_t nics_before = servers_.nics_before(router * hosts_per_router_);
    if (router == home) {
      out.push_back(ports[servers_.nics_before(target.host) - nics_before + target.offset / target.shape->gpus_per_nic()]);
      return;
    }
    const std::uint32_t distance = graph_->distance(router, home);
    for (const LinkId link : ports.subspan(servers_.nics_before((router + 1) * hosts_per_router_) - nics_before)) {
      const std::uint32_t neighbour = topology.link(link).destination.index() - routers_begin_;
      if (graph_->distance(neighbour, home) + 1 == distance) out.push_back(link);
    }
  }

 private:
  Servers servers_;
  std::uint32_t hosts_per_router_;
  std::uint32_t routers_begin_;
  std::unique_ptr<const RouterGraph> graph_;
};

}  // namespace

DirectShape read_direct(const ParamSet& params, std::uint64_t routers, std::uint64_t hosts_per_router, const SourcePlace& place) {
  check_size(params.module(), routers + routers * hosts_per_router, routers * hosts_per_router, place);
  DirectShape shape;
  shape.routers = static_cast<std::uint32_t>(routers);
  shape.servers = read_servers(params, static_cast<std::uint32_t>(routers * hosts_per_router), place);
  const auto settings = filled<DirectSettings>(params);
  shape.nic_delay = propagation_delay(settings.host_fibre);
  shape.buffer = settings.buffer;
  return shape;
}

void check_direct_size(const DirectShape& shape, std::uint64_t router_cables, std::string_view builder, const SourcePlace& place) {
  check_size(builder, shape.servers.node_count() + shape.routers, shape.servers.cable_count() + router_cables, place);
}

std::shared_ptr<const Topology> build_direct_fabric(const std::string& name, const DirectShape& shape,
                                                    const std::vector<RouterCable>& cables,
                                                    std::unique_ptr<const RouterGraph> graph, const SourcePlace& place) {
  WEFT_CHECK(shape.servers.host_count() % shape.routers == 0, "every router has as many hosts");
  const std::uint32_t hosts_per_router = shape.servers.host_count() / shape.routers;
  const auto routers_begin = static_cast<std::uint32_t>(shape.servers.node_count());
  TopologyBuilder builder(name);
  const std::uint16_t buffer = builder.add_buffer_class({"router", shape.buffer});
  shape.servers.add_to(builder);
  for (std::uint32_t router = 0; router < shape.routers; ++router) builder.add_switch(0, {}, buffer);
  for (std::uint32_t host = 0; host < shape.servers.host_count(); ++host) {
    const ServerShape& server = shape.servers.of(host);
    const NodeId router(routers_begin + host / hosts_per_router);
    for (std::uint32_t nic = 0; nic < server.nics; ++nic) {
      builder.add_cable(NodeId(shape.servers.first_node(host) + server.port_offset(nic)), router, server.nic_rate, shape.nic_delay);
    }
  }
  for (const RouterCable& cable : cables) {
    builder.add_cable(NodeId(routers_begin + cable.a), NodeId(routers_begin + cable.b), cable.shape.rate, cable.shape.delay);
  }
  if (shape.servers.have_any_nic()) return std::move(builder).build(nullptr, place);
  return std::move(builder).build(std::make_unique<DirectRoutes>(shape, std::move(graph)), place);
}

}  // namespace weft
