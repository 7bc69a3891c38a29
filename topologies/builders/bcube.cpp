// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/bcube.hpp"

#include <utility>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "topologies/builders/clos_fabric.hpp"
#include "topologies/builders/server.hpp"
#include "topologies/builders/size_limit.hpp"

namespace weft {

namespace {

struct BcubeSettings {
  std::uint32_t n;
  std::uint32_t k;
  Length fibre;
  Bytes buffer;
};

constexpr std::array bcube_own_params = {
    param<&BcubeSettings::n>({.name = "n",
                              .default_text = "4",
                              .minimum = "2",
                              .maximum = "1024",
                              .meaning = "Ports of a switch.",
                              .origin = "Guo et al., figure 1: n = 4"}),
    param<&BcubeSettings::k>({.name = "k",
                              .default_text = "1",
                              .minimum = "0",
                              .maximum = "15",
                              .meaning = "Levels above level 0; a server has k+1 ports.",
                              .origin = "Guo et al., figure 1: BCube_1"}),
    param<&ServerShape::gpus>({.name = "gpus_per_host",
                               .default_text = "1",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "GPUs in a host; they share its NIC of k+1 ports.",
                               .origin = "one GPU per host keeps closed forms simple"}),
    param<&BcubeSettings::fibre>({.name = "fibre",
                                  .default_text = "2m",
                                  .minimum = "0m",
                                  .maximum = "100000km",
                                  .meaning = "Length of a cable from a NIC to a switch, at 5 ns per metre.",
                                  .origin = "assumption: a modular data center in a container"}),
    param<&BcubeSettings::buffer>({.name = "buffer",
                                   .default_text = default_switch_buffer,
                                   .minimum = "1B",
                                   .meaning = "Shared packet memory of a switch.",
                                   .origin = switch_buffer_origin}),
};
constexpr auto bcube_params = join_params(bcube_own_params, join_params(nic_rate_param, inside_params));

/// Numbers of a BCube.
struct BcubeShape {
  ServerShape server;
  std::uint32_t ports;                ///< n
  std::vector<std::uint32_t> powers;  ///< n^0 .. n^(k+1)

  std::uint32_t levels() const { return static_cast<std::uint32_t>(powers.size()) - 1; }
  std::uint32_t servers() const { return powers.back(); }
  std::uint32_t switches_per_level() const { return powers[powers.size() - 2]; }
  std::uint32_t switches_begin() const { return servers() * server.node_count(); }
  std::uint32_t digit(std::uint32_t address, std::uint32_t level) const { return address / powers[level] % ports; }
  /// The switch of a level that joins a server: its address without that digit.
  std::uint32_t switch_of(std::uint32_t address, std::uint32_t level) const {
    const std::uint32_t below = address % powers[level];
    return level * switches_per_level() + address / powers[level + 1] * powers[level] + below;
  }
  NodeId nic(std::uint32_t address) const { return NodeId(address * server.node_count() + server.port_offset(0)); }
};

class BcubeRoutes final : public Routes {
 public:
  explicit BcubeRoutes(BcubeShape shape) : shape_(std::move(shape)) {}

  void next_hops(const Topology& topology, NodeId at, NodeId destination, std::vector<LinkId>& out) const override {
    out.clear();
    const std::uint32_t stride = shape_.server.node_count();
    const std::uint32_t target = destination.index() / stride;
    const std::uint32_t gpu = destination.index() % stride;
    WEFT_CHECK(destination.index() < shape_.switches_begin() && gpu < shape_.server.gpus, "routes lead to endpoints");
    const std::span<const LinkId> ports = topology.out_links(at);
    if (at.index() >= shape_.switches_begin()) {
      const std::uint32_t level = (at.index() - shape_.switches_begin()) / shape_.switches_per_level();
      out.push_back(ports[shape_.digit(target, level)]);
      return;
    }
    const std::uint32_t host = at.index() / stride;
    if (host == target || at != shape_.nic(host)) {
      server_next_hops(shape_.server, ports, at.index() % stride, host == target, gpu, out);
      return;
    }
    for (std::uint32_t level = 0; level < shape_.levels(); ++level) {
      if (shape_.digit(host, level) != shape_.digit(target, level)) out.push_back(ports[shape_.server.gpus + level]);
    }
  }

 private:
  BcubeShape shape_;
};

BcubeShape read_shape(const ParamSet& params, const BcubeSettings& settings, const SourcePlace& place) {
  BcubeShape shape;
  shape.server = read_server(params, place);
  shape.server.relays = true;
  shape.ports = settings.n;
  const std::uint32_t levels = settings.k + 1;
  shape.server.nic_ports = levels;
  std::uint64_t power = 1;
  shape.powers.push_back(1);
  for (std::uint32_t level = 0; level < levels; ++level) {
    power *= shape.ports;
    const std::uint64_t switches = levels * (power / shape.ports);
    check_size(params.module(), power * shape.server.node_count() + switches,
               power * (std::uint64_t{shape.server.cable_count()} + levels), place);
    shape.powers.push_back(static_cast<std::uint32_t>(power));
  }
  return shape;
}

std::shared_ptr<const Topology> make_bcube(const ParamSet& params, const SourcePlace& place) {
  const auto settings = filled<BcubeSettings>(params);
  BcubeShape shape = read_shape(params, settings, place);
  const Duration delay = propagation_delay(settings.fibre);
  TopologyBuilder builder("bcube");
  const std::uint16_t buffer = builder.add_buffer_class({"switch", settings.buffer});
  for (std::uint32_t server = 0; server < shape.servers(); ++server) add_server(builder, shape.server);
  for (std::uint32_t i = 0; i < shape.levels() * shape.switches_per_level(); ++i) builder.add_switch(0, {}, buffer);
  for (std::uint32_t server = 0; server < shape.servers(); ++server) {
    for (std::uint32_t level = 0; level < shape.levels(); ++level) {
      builder.add_cable(shape.nic(server), NodeId(shape.switches_begin() + shape.switch_of(server, level)), shape.server.nic_rate,
                        delay);
    }
  }
  return std::move(builder).build(std::make_unique<BcubeRoutes>(std::move(shape)), place);
}

}  // namespace

Module<TopologyFactory> bcube_module() {
  return {{"topology", "bcube",
           "BCube_k: n^(k+1) servers with k+1 ports each and k+1 levels of n-port switches. Switches are joined by servers only, "
           "which relay: each server's NIC passes foreign traffic from one of its ports to another.",
           bcube_params},
          make_bcube};
}

}  // namespace weft
