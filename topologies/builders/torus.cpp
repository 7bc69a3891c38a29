// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/torus.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "topologies/builders/dimensions.hpp"
#include "topologies/builders/direct_fabric.hpp"

namespace weft {

namespace {

struct TorusSettings {
  std::string dimensions;
  bool wraparound;
  std::uint32_t hosts_per_router;
  Bandwidth link_rate;
  Length link_fibre;
};

constexpr std::array torus_own_params = {
    param<&TorusSettings::dimensions>({.name = "dimensions",
                                       .default_text = "4x4x4",
                                       .meaning = "Routers in each dimension, such as 8x8 or 4x4x8.",
                                       .origin = "the cube that TPU v4 pods are made of (Jouppi et al., ISCA 2023)"}),
    param<&TorusSettings::wraparound>({.name = "wraparound",
                                       .default_text = "true",
                                       .meaning = "Whether the ends of each dimension are joined; a mesh otherwise.",
                                       .origin = "a torus"}),
    param<&TorusSettings::hosts_per_router>({.name = "hosts_per_router",
                                             .default_text = "1",
                                             .minimum = "1",
                                             .maximum = "1024",
                                             .meaning = "Hosts at a router.",
                                             .origin = "chips that have a router each"}),
    param<&TorusSettings::link_rate>({.name = "link_rate",
                                      .default_text = "400Gbps",
                                      .minimum = "1bps",
                                      .maximum = "1000Tbps",
                                      .meaning = "Rate of a cable between routers, each way.",
                                      .origin = "TPU v4: six links of 50 GB/s each way (Jouppi et al., ISCA 2023)"}),
    param<&TorusSettings::link_fibre>({.name = "link_fibre",
                                       .default_text = "2m",
                                       .minimum = "0m",
                                       .maximum = "100000km",
                                       .meaning = "Length of a cable between routers, at 5 ns per metre.",
                                       .origin = "assumption: a cable inside a rack"}),
    param<&ServerShape::nic_rate>({.name = "nic_rate",
                                   .default_text = "2400Gbps",
                                   .minimum = "1bps",
                                   .maximum = "1000Tbps",
                                   .meaning = "Rate between a NIC, or a chip, and its router, each way.",
                                   .origin = "a chip drives its six links at once"}),
    param<&DirectSettings::host_fibre>({.name = "host_fibre",
                                        .default_text = "0m",
                                        .minimum = "0m",
                                        .maximum = "100000km",
                                        .meaning = "Length of the cable from a NIC, or a chip, to its router, at 5 ns per metre.",
                                        .origin = "the router is on the chip"}),
};
constexpr auto torus_params = join_params(join_params(torus_own_params, direct_params),
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
  const auto settings = filled<TorusSettings>(params);
  const Dimensions sizes = read_dimensions(settings.dimensions, fmt::format("{}.dimensions", params.module()), place);
  const bool wraparound = settings.wraparound;
  const std::uint32_t routers = places(sizes);
  const DirectShape shape = read_direct(params, routers, settings.hosts_per_router, place);
  check_direct_size(shape, std::uint64_t{routers} * sizes.size(), params.module(), place);

  const CableShape link{settings.link_rate, propagation_delay(settings.link_fibre)};
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
       torus_params},
      make_torus};
}

}  // namespace weft
