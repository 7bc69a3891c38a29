#include "topologies/builders/hyperx.hpp"

#include "topologies/builders/dimensions.hpp"
#include "topologies/builders/direct_fabric.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 6> kHyperxOwnParams = {{
    {"dimensions", ParamKind::text, "4x4", "", "", "", "Switches in each dimension, such as 8 or 4x4.",
     "the smallest square of more than one mesh"},
    {"hosts_per_switch", ParamKind::integer, "4", "1", "1024", "", "Hosts at a switch, T.",
     "as many as switches in a line: half of the hosts can send across the middle at full rate"},
    {"cables", ParamKind::integer, "1", "1", "64", "", "Cables between two switches of a line, K.", "the simplest HyperX"},
    {"link_rate", ParamKind::bandwidth, "400Gbps", "1bps", "1000Tbps", "", "Rate of a cable between switches, each way.",
     "equal to nic_rate"},
    {"link_fibre", ParamKind::length, "30m", "0m", "100000km", "", "Length of a cable between switches, at 5 ns per metre.",
     "assumption: within a row"},
    {"host_fibre", ParamKind::length, "2m", "0m", "100000km", "",
     "Length of the cable from a NIC to its switch, at 5 ns per metre.", "assumption: a cable inside a rack"},
}};
constexpr auto kHyperxParams = join_params(join_params(kHyperxOwnParams, direct_params), servers_params);

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
  const Dimensions sizes = read_dimensions(params, "dimensions", place);
  const std::uint32_t switches = places(sizes);
  const auto multiplicity = static_cast<std::uint32_t>(params.integer("cables"));
  const DirectShape shape = read_direct(params, switches, static_cast<std::uint64_t>(params.integer("hosts_per_switch")), place);
  std::uint64_t ports = 0;
  for (const std::uint32_t size : sizes) ports += size - 1;
  check_direct_size(shape, switches * ports * multiplicity / 2, params.module(), place);

  const CableShape link{params.bandwidth("link_rate"), propagation_delay(params.length("link_fibre"))};
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
           kHyperxParams},
          make_hyperx};
}

}  // namespace weft
