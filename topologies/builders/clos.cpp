#include "topologies/builders/clos.hpp"

#include "topologies/builders/oversubscription.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 17> kClosOwnParams = {{
    {"hosts", ParamKind::integer, "4096", "1", "1000000", "", "Number of hosts.", "paper, section 8.1"},
    {"gpus_per_host", ParamKind::integer, "8", "1", "1024", "", "GPUs in a host.", "paper, section 8.1: GrandTeton with 8 H100"},
    {"nics_per_host", ParamKind::integer, "1", "1", "1024", "",
     "NICs that the GPUs of a host share evenly; all of them go to the host's leaf.", "paper, section 8.1: one NIC of 400 Gb/s"},
    {"hosts_per_leaf", ParamKind::integer, "1", "1", "1000000", "", "Hosts below a leaf.", "paper, section 9.1: a leaf per host"},
    {"leafs_per_pod", ParamKind::integer, "32", "1", "1000000", "", "Leafs of a pod.", "paper, section 9.1: ratio 1:8:32"},
    {"aggs_per_pod", ParamKind::integer, "8", "1", "100000", "", "Aggregation switches of a pod.",
     "paper, section 9.1: ratio 1:8:32"},
    {"spines", ParamKind::integer, "128", "0", "1000000", "",
     "Spines, a multiple of aggs_per_pod; 0 leaves the third tier out and needs a single pod.", "paper, section 8.1"},
    {"leaf_uplink_rate", ParamKind::bandwidth, "400Gbps", "1bps", "1000Tbps", "",
     "Rate of a cable from leaf to aggregation, each way.", "paper, section 9.2: 400 Gb/s links"},
    {"leaf_oversubscription", ParamKind::real, "0", "0", "1000000", "",
     "Rate from hosts over rate to aggregation at a leaf; sets leaf_uplink_rate; 0 = leaf_uplink_rate is given.", "off"},
    {"agg_uplink_rate", ParamKind::bandwidth, "400Gbps", "1bps", "1000Tbps", "",
     "Rate of a cable from aggregation to spine, each way.", "paper, section 9.2: 400 Gb/s links"},
    {"agg_oversubscription", ParamKind::real, "0", "0", "1000000", "",
     "Rate from leafs over rate to spines at an aggregation switch; sets agg_uplink_rate; 0 = agg_uplink_rate is given.", "off"},
    {"host_fibre", ParamKind::length, "2m", "0m", "100000km", "", "Length of the cable from a NIC to its leaf, at 5 ns per metre.",
     "assumption: a cable inside a rack"},
    {"leaf_fibre", ParamKind::length, "30m", "0m", "100000km", "", "Length of the fibre from leaf to aggregation.",
     "assumption: within a row"},
    {"agg_fibre", ParamKind::length, "200m", "0m", "100000km", "", "Length of the fibre from aggregation to spine.",
     "assumption: spines stand in another room of the building"},
    {"leaf_buffer", ParamKind::bytes, default_switch_buffer, "1B", "", "", "Shared packet memory of a leaf.", switch_buffer_origin},
    {"agg_buffer", ParamKind::bytes, default_switch_buffer, "1B", "", "", "Shared packet memory of an aggregation switch.",
     switch_buffer_origin},
    {"spine_buffer", ParamKind::bytes, default_switch_buffer, "1B", "", "", "Shared packet memory of a spine.",
     switch_buffer_origin},
}};
constexpr auto kClosParams = join_params(kClosOwnParams, servers_params);

std::shared_ptr<const Topology> make_clos(const ParamSet& params, const SourcePlace& place) {
  return build_fabrics("clos", clos_shape(params, place), {}, place);
}

}  // namespace

ClosShape clos_shape(const ParamSet& params, const SourcePlace& place) {
  const auto count = [&](std::string_view name) { return static_cast<std::uint32_t>(params.integer(name)); };
  ClosShape shape;
  shape.servers = read_servers(params, count("hosts"), place);
  shape.hosts_per_group = count("hosts_per_leaf");
  shape.leafs_per_pod = count("leafs_per_pod");
  shape.aggs_per_pod = count("aggs_per_pod");
  shape.spines = count("spines");
  shape.nic_delay = propagation_delay(params.length("host_fibre"));
  shape.leaf_buffer = params.bytes("leaf_buffer");
  shape.agg_buffer = params.bytes("agg_buffer");
  shape.spine_buffer = params.bytes("spine_buffer");
  check_shape(shape, {}, params.module(), place);
  shape.leaf_up = {uplink_rate(params, "leaf_uplink_rate", "leaf_oversubscription", shape.servers.usual().nic_rate,
                               std::uint64_t{shape.hosts_per_group} * shape.servers.usual().nics, shape.aggs_per_pod, place),
                   propagation_delay(params.length("leaf_fibre"))};
  shape.agg_up = {uplink_rate(params, "agg_uplink_rate", "agg_oversubscription", shape.leaf_up.rate, shape.leafs_per_pod,
                              shape.spines_per_plane(), place),
                  propagation_delay(params.length("agg_fibre"))};
  return shape;
}

Module<TopologyFactory> clos_module() {
  return {{"topology", "clos",
           "Three tiers: pods of leafs and aggregation switches, all joined, and planes of spines above them. Numbers of switches, "
           "rates, "
           "oversubscription and fibre lengths are free. The defaults are the 32,768-GPU cluster of the paper's section 8.1 with "
           "spine:aggregation:leaf = 1:8:32.",
           kClosParams},
          make_clos};
}

}  // namespace weft
