#include "topologies/builders/torus.hpp"

#include <algorithm>

#include "topologies/builders/dimensions.hpp"
#include "topologies/builders/direct_fabric.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 7> kTorusOwnParams = {{
    {"dimensions", ParamKind::text, "4x4x4", "", "", "", "Routers in each dimension, such as 8x8 or 4x4x8.",
     "the cube that TPU v4 pods are made of (Jouppi et al., ISCA 2023)"},
    {"wraparound", ParamKind::boolean, "true", "", "", "", "Whether the ends of each dimension are joined; a mesh otherwise.",
     "a torus"},
    {"hosts_per_router", ParamKind::integer, "1", "1", "1024", "", "Hosts at a router.", "chips that have a router each"},
    {"link_rate", ParamKind::bandwidth, "400Gbps", "1bps", "1000Tbps", "", "Rate of a cable between routers, each way.",
     "TPU v4: six links of 50 GB/s each way (Jouppi et al., ISCA 2023)"},
    {"link_fibre", ParamKind::length, "2m", "0m", "100000km", "", "Length of a cable between routers, at 5 ns per metre.",
     "assumption: a cable inside a rack"},
    {"nic_rate", ParamKind::bandwidth, "2400Gbps", "1bps", "1000Tbps", "",
     "Rate between a NIC, or a chip, and its router, each way.", "a chip drives its six links at once"},
    {"host_fibre", ParamKind::length, "0m", "0m", "100000km", "",
     "Length of the cable from a NIC, or a chip, to its router, at 5 ns per metre.", "the router is on the chip"},
}};
constexpr auto kTorusParams = join_params(join_params(kTorusOwnParams, direct_params),
                                          join_params(join_params(inside_params, nic_model_params), host_groups_param));

class TorusGraph final : public RouterGraph {
 public:
  TorusGraph(Dimensions sizes, bool wraparound) : sizes_(std::move(sizes)), wraparound_(wraparound) {}

  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const override {
    std::uint32_t sum = 0;
    for_each_coordinate(sizes_, from, to, [&](std::size_t dimension, std::uint32_t a, std::uint32_t b) {
      const std::uint32_t straight = a > b ? a - b : b - a;
      sum += wraparound_ ? std::min(straight, sizes_[dimension] - straight) : straight;
    });
    return sum;
  }

 private:
  Dimensions sizes_;
  bool wraparound_;
};

std::shared_ptr<const Topology> make_torus(const ParamSet& params, const SourcePlace& place) {
  const Dimensions sizes = read_dimensions(params, "dimensions", place);
  const bool wraparound = params.boolean("wraparound");
  const std::uint32_t routers = places(sizes);
  const DirectShape shape = read_direct(params, routers, static_cast<std::uint64_t>(params.integer("hosts_per_router")), place);
  check_direct_size(shape, std::uint64_t{routers} * sizes.size(), params.module(), place);

  const CableShape link{params.bandwidth("link_rate"), propagation_delay(params.length("link_fibre"))};
  std::vector<RouterCable> cables;
  for (std::uint32_t router = 0; router < routers; ++router) {
    std::uint32_t stride = 1;
    for_each_coordinate(sizes, router, router, [&](std::size_t dimension, std::uint32_t at, std::uint32_t /*same*/) {
      const std::uint32_t size = sizes[dimension];
      if (at + 1 < size) cables.push_back({router, router + stride, link});
      if (at + 1 == size && size > 2 && wraparound) cables.push_back({router, router - at * stride, link});
      stride *= size;
    });
  }
  return build_direct_fabric("torus", shape, cables, std::make_unique<TorusGraph>(sizes, wraparound), place);
}

}  // namespace

Module<TopologyFactory> torus_module() {
  return {
      {"topology", "torus",
       "Routers in a grid of two, three or more dimensions, each joined to the next in every dimension, with or without "
       "wraparound. Hosts sit at routers; with one host of one GPU per router it is a torus of chips, such as a TPU slice. Paths "
       "are minimal in every dimension.",
       kTorusParams},
      make_torus};
}

}  // namespace weft
