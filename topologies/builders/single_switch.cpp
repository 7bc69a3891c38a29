#include "topologies/builders/single_switch.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 5> kSingleSwitchOwnParams = {{
    {"hosts", ParamKind::integer, "16", "1", "1000000", "", "Number of hosts.", "the 16 ranks of ASTRA-sim's example traces"},
    {"gpus_per_host", ParamKind::integer, "1", "1", "1024", "", "GPUs in a host.", "one GPU per host keeps closed forms simple"},
    {"nics_per_host", ParamKind::integer, "1", "1", "1024", "", "NICs that the GPUs of a host share evenly.", "one port per host"},
    {"fibre", ParamKind::length, "2m", "0m", "100000km", "", "Length of the cable from a NIC to the switch, at 5 ns per metre.",
     "assumption: a cable inside a rack"},
    {"buffer", ParamKind::bytes, default_switch_buffer, "1B", "", "", "Shared packet memory of the switch.", switch_buffer_origin},
}};
constexpr auto kSingleSwitchParams = join_params(kSingleSwitchOwnParams, servers_params);

std::shared_ptr<const Topology> make_single_switch(const ParamSet& params, const SourcePlace& place) {
  return build_fabrics("single_switch", single_switch_shape(params, place), {}, place);
}

}  // namespace

ClosShape single_switch_shape(const ParamSet& params, const SourcePlace& place) {
  ClosShape shape;
  const auto hosts = static_cast<std::uint32_t>(params.integer("hosts"));
  shape.servers = read_servers(params, hosts, place);
  shape.hosts_per_group = hosts;
  shape.nic_delay = propagation_delay(params.length("fibre"));
  shape.leaf_buffer = params.bytes("buffer");
  shape.spine_buffer = shape.leaf_buffer;
  check_shape(shape, {}, params.module(), place);
  return shape;
}

Module<TopologyFactory> single_switch_module() {
  return {{"topology", "single_switch",
           "Every host on one non-blocking switch. With one GPU per host a host is just that GPU with one cable to the switch, "
           "which makes "
           "transfer times easy to derive by hand.",
           kSingleSwitchParams},
          make_single_switch};
}

}  // namespace weft
