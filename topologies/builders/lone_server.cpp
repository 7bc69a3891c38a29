// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/lone_server.hpp"

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "topologies/builders/server.hpp"

namespace weft {

namespace {

constexpr std::array lone_server_own_params = {
    param<&ServerShape::gpus>({.name = "gpus_per_host",
                               .default_text = "8",
                               .minimum = "2",
                               .maximum = "1024",
                               .meaning = "GPUs of the server.",
                               .origin = "DGX and HGX servers"}),
};
constexpr auto lone_server_params = join_params(lone_server_own_params, inside_params);

class ServerRoutes final : public Routes {
 public:
  explicit ServerRoutes(const ServerShape& shape) : shape_(shape) {}
  void next_hops(const Topology& topology, NodeId at, NodeId destination, std::vector<LinkId>& out) const override {
    WEFT_CHECK(destination.index() < shape_.gpus, "routes lead to endpoints");
    server_next_hops(shape_, topology.out_links(at), at.index(), true, destination.index(), out);
  }

 private:
  ServerShape shape_;
};

std::shared_ptr<const Topology> make_lone_server(const ParamSet& params, const SourcePlace& place) {
  ServerShape shape = read_server(params, place);
  shape.nics = 0;
  TopologyBuilder builder("lone_server");
  add_server(builder, shape);
  return std::move(builder).build(std::make_unique<ServerRoutes>(shape), place);
}

}  // namespace

Module<TopologyFactory> lone_server_module() {
  return {{"topology", "lone_server",
           "One server without a network: GPUs around an NVSwitch, cabled to each other without a switch (full mesh, or the hybrid "
           "cube mesh of the DGX-1), or on PCIe only.",
           lone_server_params},
          make_lone_server};
}

}  // namespace weft
