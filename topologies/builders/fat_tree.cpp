#include "topologies/builders/fat_tree.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 9> kFatTreeOwnParams = {{
    {"k", ParamKind::integer, "8", "2", "256", "", "Ports of every switch, an even number; there are k^3/4 hosts.",
     "the k=8 fat tree of 128 hosts that packet simulators are compared on"},
    {"gpus_per_host", ParamKind::integer, "1", "1", "1024", "", "GPUs in a host; more than one share the host's single NIC.",
     "one port per host, as in the fat-tree paper"},
    {"fabric_rate", ParamKind::bandwidth, "400Gbps", "1bps", "1000Tbps", "", "Rate of a cable between switches, each way.",
     "equal to nic_rate: full bisection bandwidth"},
    {"host_fibre", ParamKind::length, "2m", "0m", "100000km", "", "Length of the cable from a host to its leaf, at 5 ns per metre.",
     "assumption: a cable inside a rack"},
    {"leaf_fibre", ParamKind::length, "30m", "0m", "100000km", "", "Length of the fibre from a leaf to the second tier.",
     "assumption: within a row"},
    {"agg_fibre", ParamKind::length, "100m", "0m", "100000km", "", "Length of the fibre from the second tier to a spine.",
     "assumption: within a hall; 100 m is the reach of short-range optics"},
    {"leaf_buffer", ParamKind::bytes, default_switch_buffer, "1B", "", "", "Shared packet memory of a leaf.", switch_buffer_origin},
    {"agg_buffer", ParamKind::bytes, default_switch_buffer, "1B", "", "", "Shared packet memory of a second-tier switch.",
     switch_buffer_origin},
    {"spine_buffer", ParamKind::bytes, default_switch_buffer, "1B", "", "", "Shared packet memory of a spine.",
     switch_buffer_origin},
}};
constexpr auto kFatTreeParams = join_params(kFatTreeOwnParams, servers_params);

std::shared_ptr<const Topology> make_fat_tree(const ParamSet& params, const SourcePlace& place) {
  return build_fabrics("fat_tree", fat_tree_shape(params, place), {}, place);
}

}  // namespace

ClosShape fat_tree_shape(const ParamSet& params, const SourcePlace& place) {
  const auto k = static_cast<std::uint32_t>(params.integer("k"));
  if (k % 2 != 0) {
    fail("odd-k", params.module() + ": k = " + std::to_string(k) + " is odd", place,
         "half of a switch's ports go up and half down: use k = " + std::to_string(k + 1));
  }
  const std::uint32_t half = k / 2;
  ClosShape shape;
  shape.servers = read_servers(params, k * half * half, place);
  shape.hosts_per_group = half;
  shape.leafs_per_pod = half;
  shape.aggs_per_pod = half;
  shape.spines = half * half;
  shape.nic_delay = propagation_delay(params.length("host_fibre"));
  shape.leaf_up = {params.bandwidth("fabric_rate"), propagation_delay(params.length("leaf_fibre"))};
  shape.agg_up = {params.bandwidth("fabric_rate"), propagation_delay(params.length("agg_fibre"))};
  shape.leaf_buffer = params.bytes("leaf_buffer");
  shape.agg_buffer = params.bytes("agg_buffer");
  shape.spine_buffer = params.bytes("spine_buffer");
  check_shape(shape, {}, params.module(), place);
  return shape;
}

Module<TopologyFactory> fat_tree_module() {
  return {{"topology", "fat_tree",
           "The k-ary fat tree: k pods of k/2 leafs and k/2 aggregation switches, (k/2)^2 spines, k^3/4 hosts, all switches alike. "
           "Full "
           "bisection bandwidth when fabric_rate equals nic_rate.",
           kFatTreeParams},
          make_fat_tree};
}

}  // namespace weft
