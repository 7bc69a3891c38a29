// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/hyperx.hpp"

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "topologies/builders/dimensions.hpp"
#include "topologies/builders/direct_fabric.hpp"

namespace weft {

namespace {

struct HyperxSettings {
  std::string dimensions;
  std::uint32_t hosts_per_switch;
  std::uint32_t cables;
  Bandwidth link_rate;
  Length link_fibre;
};

constexpr std::array hyperx_own_params = {
    param<&HyperxSettings::dimensions>({.name = "dimensions",
                                        .default_text = "4x4",
                                        .meaning = "Switches in each dimension, such as 8 or 4x4.",
                                        .origin = "the smallest square of more than one mesh"}),
    param<&HyperxSettings::hosts_per_switch>(
        {.name = "hosts_per_switch",
         .default_text = "4",
         .minimum = "1",
         .maximum = "1024",
         .meaning = "Hosts at a switch, T.",
         .origin = "as many as switches in a line: half of the hosts can send across the middle at full rate"}),
    param<&HyperxSettings::cables>({.name = "cables",
                                    .default_text = "1",
                                    .minimum = "1",
                                    .maximum = "64",
                                    .meaning = "Cables between two switches of a line, K.",
                                    .origin = "the simplest HyperX"}),
    param<&HyperxSettings::link_rate>({.name = "link_rate",
                                       .default_text = "400Gbps",
                                       .minimum = "1bps",
                                       .maximum = "1000Tbps",
                                       .meaning = "Rate of a cable between switches, each way.",
                                       .origin = "equal to nic_rate"}),
    param<&HyperxSettings::link_fibre>({.name = "link_fibre",
                                        .default_text = "30m",
                                        .minimum = "0m",
                                        .maximum = "100000km",
                                        .meaning = "Length of a cable between switches, at 5 ns per metre.",
                                        .origin = "assumption: within a row"}),
    param<&DirectSettings::host_fibre>({.name = "host_fibre",
                                        .default_text = "2m",
                                        .minimum = "0m",
                                        .maximum = "100000km",
                                        .meaning = "Length of the cable from a NIC to its switch, at 5 ns per metre.",
                                        .origin = "assumption: a cable inside a rack"}),
};
constexpr auto hyperx_params = join_params(join_params(hyperx_own_params, direct_params), servers_params);

class HyperxGraph final : public RouterGraph {
 public:
  explicit HyperxGraph(Dimensions sizes) : sizes_(std::move(sizes)) {}

  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const override {
    std::uint32_t differing = 0;
    for_each_coordinate(sizes_, from, to, [&](std::size_t /*dimension*/, std::uint32_t a, std::uint32_t b) {
      if (a != b) ++differing;
    });
    return differing;
  }

 private:
  Dimensions sizes_;
};

std::shared_ptr<const Topology> make_hyperx(const ParamSet& params, const SourcePlace& place) {
  const auto settings = filled<HyperxSettings>(params);
  const Dimensions sizes = read_dimensions(settings.dimensions, fmt::format("{}.dimensions", params.module()), place);
  const std::uint32_t switches = places(sizes);
  const std::uint32_t multiplicity = settings.cables;
  const DirectShape shape = read_direct(params, switches, settings.hosts_per_switch, place);
  std::uint64_t ports = 0;
  for (const std::uint32_t size : sizes) ports += size - 1;
  check_direct_size(shape, switches * ports * multiplicity / 2, params.module(), place);

  const CableShape link{settings.link_rate, propagation_delay(settings.link_fibre)};
  std::vector<RouterCable> cables;
  for (std::uint32_t from = 0; from < switches; ++from) {
    std::uint32_t stride = 1;
    for_each_coordinate(sizes, from, from, [&](std::size_t dimension, std::uint32_t at, std::uint32_t /*same*/) {
      for (std::uint32_t other = at + 1; other < sizes[dimension]; ++other) {
        for (std::uint32_t i = 0; i < multiplicity; ++i) cables.push_back({from, from + (other - at) * stride, link});
      }
      stride *= sizes[dimension];
    });
  }
  return build_direct_fabric("hyperx", shape, cables, std::make_unique<HyperxGraph>(sizes), place);
}

}  // namespace

Module<TopologyFactory> hyperx_module() {
  return {{"topology", "hyperx",
           "Switches in a grid, every two of a line joined directly, with hosts at each switch. One dimension is a full mesh of "
           "switches, two are a flattened butterfly. A path corrects one coordinate per hop, in any order.",
           hyperx_params},
          make_hyperx};
}

}  // namespace weft
