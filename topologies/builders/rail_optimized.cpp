#include "topologies/builders/rail_optimized.hpp"

#include <algorithm>

#include "topologies/builders/oversubscription.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 11> kRailOptimizedOwnParams = {{
    {"hosts", ParamKind::integer, "16", "1", "1000000", "", "Number of hosts.", "128 GPUs"},
    {"gpus_per_host", ParamKind::integer, "8", "1", "1024", "", "GPUs in a host.", "DGX/HGX H100"},
    {"nics_per_host", ParamKind::integer, "8", "1", "1024", "", "NICs of a host and so rails; the GPUs share them evenly.",
     "DGX/HGX H100: one NIC of 400 Gb/s per GPU"},
    {"hosts_per_leaf_group", ParamKind::integer, "16", "1", "1000000", "", "Hosts that share a leaf per rail.",
     "assumption: half of a 32-port group; 64-port leafs take 32 hosts without oversubscription"},
    {"spines", ParamKind::integer, "16", "0", "1000000", "", "Spines; every leaf has a cable to each of them.",
     "as many as hosts_per_leaf_group: no oversubscription"},
    {"leaf_uplink_rate", ParamKind::bandwidth, "400Gbps", "1bps", "1000Tbps", "", "Rate of a cable from leaf to spine, each way.",
     "equal to nic_rate"},
    {"oversubscription", ParamKind::real, "0", "0", "1000000", "",
     "Rate from hosts over rate to spines at a leaf; sets leaf_uplink_rate; 0 = leaf_uplink_rate is given.", "off"},
    {"host_fibre", ParamKind::length, "10m", "0m", "100000km", "", "Length of the cable from a NIC to its leaf, at 5 ns per metre.",
     "assumption: leafs stand at the end of the row, since rails join many racks"},
    {"leaf_fibre", ParamKind::length, "50m", "0m", "100000km", "", "Length of the fibre from leaf to spine.",
     "assumption: within a hall"},
    {"leaf_buffer", ParamKind::bytes, default_switch_buffer, "1B", "", "", "Shared packet memory of a leaf.", switch_buffer_origin},
    {"spine_buffer", ParamKind::bytes, default_switch_buffer, "1B", "", "", "Shared packet memory of a spine.",
     switch_buffer_origin},
}};
constexpr auto kRailOptimizedParams = join_params(kRailOptimizedOwnParams, servers_params);

std::shared_ptr<const Topology> make_rail_optimized(const ParamSet& params, const SourcePlace& place) {
  return build_fabrics("rail_optimized", rail_optimized_shape(params, place), {}, place);
}

}  // namespace

ClosShape rail_optimized_shape(const ParamSet& params, const SourcePlace& place) {
  const auto count = [&](std::string_view name) { return static_cast<std::uint32_t>(params.integer(name)); };
  ClosShape shape;
  shape.servers = read_servers(params, count("hosts"), place);
  shape.hosts_per_group = count("hosts_per_leaf_group");
  shape.rails = shape.servers.nics_max();
  shape.aggs_per_pod = count("spines");
  shape.second_tier_level = 3;
  shape.nic_delay = propagation_delay(params.length("host_fibre"));
  shape.leaf_buffer = params.bytes("leaf_buffer");
  shape.spine_buffer = params.bytes("spine_buffer");
  // Two tiers: all leafs are in one pod. Before check_shape() the number of leafs may not fit 32 bits.
  const std::uint64_t leafs = std::uint64_t{shape.groups()} * shape.rails;
  shape.leafs_per_pod = static_cast<std::uint32_t>(std::min<std::uint64_t>(leafs, UINT32_MAX));
  check_shape(shape, {}, params.module(), place);
  shape.leaf_up = {uplink_rate(params, "leaf_uplink_rate", "oversubscription", shape.servers.usual().nic_rate,
                               shape.hosts_per_group, shape.aggs_per_pod, place),
                   propagation_delay(params.length("leaf_fibre"))};
  return shape;
}

Module<TopologyFactory> rail_optimized_module() {
  return {{"topology", "rail_optimized",
           "A leaf per rail: NIC j of every host of a group goes to the group's leaf j, so GPUs of equal number are one switch "
           "apart; spines "
           "join rails and groups. Hosts have 8 GPUs and 8 NICs unless told otherwise.",
           kRailOptimizedParams},
          make_rail_optimized};
}

}  // namespace weft
