// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/single_switch.hpp"

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"

namespace weft {

namespace {

struct SingleSwitchSettings {
  std::uint32_t hosts;
  Length fibre;
  Bytes buffer;
};

constexpr std::array single_switch_own_params = {
    param<&SingleSwitchSettings::hosts>({.name = "hosts",
                                         .default_text = "16",
                                         .minimum = "1",
                                         .maximum = "1000000",
                                         .meaning = "Number of hosts.",
                                         .origin = "the 16 ranks of ASTRA-sim's example traces"}),
    param<&ServerShape::gpus>({.name = "gpus_per_host",
                               .default_text = "1",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "GPUs in a host.",
                               .origin = "one GPU per host keeps closed forms simple"}),
    param<&ServerShape::nics>({.name = "nics_per_host",
                               .default_text = "1",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "NICs that the GPUs of a host share evenly.",
                               .origin = "one port per host"}),
    param<&SingleSwitchSettings::fibre>({.name = "fibre",
                                         .default_text = "2m",
                                         .minimum = "0m",
                                         .maximum = "100000km",
                                         .meaning = "Length of the cable from a NIC to the switch, at 5 ns per metre.",
                                         .origin = "assumption: a cable inside a rack"}),
    param<&SingleSwitchSettings::buffer>({.name = "buffer",
                                          .default_text = default_switch_buffer,
                                          .minimum = "1B",
                                          .meaning = "Shared packet memory of the switch.",
                                          .origin = switch_buffer_origin}),
};
constexpr auto single_switch_params = join_params(single_switch_own_params, servers_params);

std::shared_ptr<const Topology> make_single_switch(const ParamSet& params, const SourcePlace& place) {
  return build_fabrics("single_switch", single_switch_shape(params, place), {}, place);
}

}  // namespace

ClosShape single_switch_shape(const ParamSet& params, const SourcePlace& place) {
  ClosShape shape;
  const auto settings = filled<SingleSwitchSettings>(params);
  shape.servers = read_servers(params, settings.hosts, place);
  shape.hosts_per_group = settings.hosts;
  shape.nic_delay = propagation_delay(settings.fibre);
  shape.leaf_buffer = settings.buffer;
  shape.spine_buffer = shape.leaf_buffer;
  check_shape(shape, {}, params.module(), place);
  return shape;
}

Module<TopologyFactory> single_switch_module() {
  return {{"topology", "single_switch",
           "Every host on one non-blocking switch. With one GPU per host a host is just that GPU with one cable to the switch, "
           "which makes "
           "transfer times easy to derive by hand.",
           single_switch_params},
          make_single_switch};
}

}  // namespace weft
