// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/rail_optimized.hpp"

#include <algorithm>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "topologies/builders/oversubscription.hpp"

namespace weft {

namespace {

struct RailOptimizedSettings {
  std::uint32_t hosts;
  std::uint32_t hosts_per_leaf_group;
  std::uint32_t spines;
  Bandwidth leaf_uplink_rate;
  double oversubscription;
  Length host_fibre;
  Length leaf_fibre;
  Bytes leaf_buffer;
  Bytes spine_buffer;
};

constexpr std::array rail_optimized_own_params = {
    param<&RailOptimizedSettings::hosts>({.name = "hosts",
                                          .default_text = "16",
                                          .minimum = "1",
                                          .maximum = "1000000",
                                          .meaning = "Number of hosts.",
                                          .origin = "128 GPUs"}),
    param<&ServerShape::gpus>({.name = "gpus_per_host",
                               .default_text = "8",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "GPUs in a host.",
                               .origin = "DGX/HGX H100"}),
    param<&ServerShape::nics>({.name = "nics_per_host",
                               .default_text = "8",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "NICs of a host and so rails; the GPUs share them evenly.",
                               .origin = "DGX/HGX H100: one NIC of 400 Gb/s per GPU"}),
    param<&RailOptimizedSettings::hosts_per_leaf_group>(
        {.name = "hosts_per_leaf_group",
         .default_text = "16",
         .minimum = "1",
         .maximum = "1000000",
         .meaning = "Hosts that share a leaf per rail.",
         .origin = "assumption: half of a 32-port group; 64-port leafs take 32 hosts without oversubscription"}),
    param<&RailOptimizedSettings::spines>({.name = "spines",
                                           .default_text = "0",
                                           .minimum = "0",
                                           .maximum = "1000000",
                                           .meaning = "Spines; every leaf has a cable to each of them. 0 = as many as "
                                                      "oversubscription asks for.",
                                           .origin = "off"}),
    param<&RailOptimizedSettings::leaf_uplink_rate>({.name = "leaf_uplink_rate",
                                                     .default_text = "0bps",
                                                     .minimum = "0bps",
                                                     .maximum = "1000Tbps",
                                                     .meaning = "Rate of a cable from leaf to spine, each way; 0 = nic_rate.",
                                                     .origin = "switches have ports of one speed"}),
    param<&RailOptimizedSettings::oversubscription>(
        {.name = "oversubscription",
         .default_text = "1",
         .minimum = "0.001",
         .maximum = "1000000",
         .meaning = "Rate from hosts over rate to spines at a full leaf; sets how many spines there are, rounded up.",
         .origin = "fabrics of training clusters do not block"}),
    param<&RailOptimizedSettings::host_fibre>(
        {.name = "host_fibre",
         .default_text = "10m",
         .minimum = "0m",
         .maximum = "100000km",
         .meaning = "Length of the cable from a NIC to its leaf, at 5 ns per metre.",
         .origin = "assumption: leafs stand at the end of the row, since rails join many racks"}),
    param<&RailOptimizedSettings::leaf_fibre>({.name = "leaf_fibre",
                                               .default_text = "50m",
                                               .minimum = "0m",
                                               .maximum = "100000km",
                                               .meaning = "Length of the fibre from leaf to spine.",
                                               .origin = "assumption: within a hall"}),
    param<&RailOptimizedSettings::leaf_buffer>({.name = "leaf_buffer",
                                                .default_text = default_switch_buffer,
                                                .minimum = "1B",
                                                .meaning = "Shared packet memory of a leaf.",
                                                .origin = switch_buffer_origin}),
    param<&RailOptimizedSettings::spine_buffer>({.name = "spine_buffer",
                                                 .default_text = default_switch_buffer,
                                                 .minimum = "1B",
                                                 .meaning = "Shared packet memory of a spine.",
                                                 .origin = switch_buffer_origin}),
};
constexpr auto rail_optimized_params = join_params(rail_optimized_own_params, servers_params);

std::shared_ptr<const Topology> make_rail_optimized(const ParamSet& params, const SourcePlace& place) {
  return build_fabrics("rail_optimized", rail_optimized_shape(params, place), {}, place);
}

}  // namespace

ClosShape rail_optimized_shape(const ParamSet& params, const SourcePlace& place) {
  const auto settings = filled<RailOptimizedSettings>(params);
  ClosShape shape;
  shape.servers = read_servers(params, settings.hosts, place);
  shape.hosts_per_group = settings.hosts_per_leaf_group;
  shape.rails = shape.servers.nics_max();
  const Bandwidth nic_rate = shape.servers.usual().nic_rate;
  const Bandwidth uplink_rate = settings.leaf_uplink_rate > Bandwidth() ? settings.leaf_uplink_rate : nic_rate;
  const std::uint64_t hosts_below = std::min(shape.hosts_per_group, shape.servers.host_count());
  if (settings.spines > 0) refuse_both(params, "spines", "oversubscription", place);
  shape.aggs_per_pod = settings.spines > 0
                           ? settings.spines
                           : uplinks_for(params, {"oversubscription", settings.oversubscription, "leaf_uplink_rate", uplink_rate},
                                         nic_rate, hosts_below, place);
  shape.second_tier_level = 3;
  shape.nic_delay = propagation_delay(settings.host_fibre);
  shape.leaf_buffer = settings.leaf_buffer;
  shape.spine_buffer = settings.spine_buffer;
  // Two tiers: all leafs are in one pod. Before check_shape() the number of leafs may not fit 32
  // bits.
  const std::uint64_t leafs = std::uint64_t{shape.groups()} * shape.rails;
  shape.leafs_per_pod = static_cast<std::uint32_t>(std::min<std::uint64_t>(leafs, UINT32_MAX));
  check_shape(shape, {}, params.module(), place);
  shape.leaf_up = {uplink_rate, propagation_delay(settings.leaf_fibre)};
  return shape;
}

Module<TopologyFactory> rail_optimized_module() {
  return {{"topology", "rail_optimized",
           "A leaf per rail: NIC j of every host of a group goes to the group's leaf j, so GPUs of equal number are one switch "
           "apart; spines "
           "join rails and groups. Hosts have 8 GPUs and 8 NICs unless told otherwise.",
           rail_optimized_params},
          make_rail_optimized};
}

}  // namespace weft
