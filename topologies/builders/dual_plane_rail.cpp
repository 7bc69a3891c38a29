#include "topologies/builders/dual_plane_rail.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 17> kDualPlaneRailOwnParams = {{
    {"hosts", ParamKind::integer, "128", "1", "1000000", "", "Number of hosts.", "HPN: a segment of 1,024 GPUs"},
    {"gpus_per_host", ParamKind::integer, "8", "1", "1024", "", "GPUs in a host.", "HPN"},
    {"nics_per_host", ParamKind::integer, "8", "1", "1024", "", "NICs of a host and so rails; the GPUs share them evenly.",
     "HPN: a NIC of 2 x 200 Gb/s per GPU"},
    {"nic_rate", ParamKind::bandwidth, "200Gbps", "1bps", "1000Tbps", "", "Rate of one port of a NIC, each way.",
     "HPN: 2 x 200 Gb/s"},
    {"tors", ParamKind::integer, "2", "1", "8", "", "ToRs of a rail in a segment, and so ports of a NIC.", "HPN: dual ToR"},
    {"planes", ParamKind::integer, "2", "1", "8", "",
     "Planes of aggregation switches: as many as tors, or 1 for all ToRs together.", "HPN: dual plane"},
    {"hosts_per_segment", ParamKind::integer, "128", "1", "1000000", "", "Hosts that share the ToRs of a segment.",
     "HPN: 128 active hosts, 1,024 GPUs"},
    {"segments_per_pod", ParamKind::integer, "15", "1", "1000", "", "Segments below the aggregation switches of a pod.",
     "HPN: 15 segments, 15,360 GPUs"},
    {"aggs_per_plane", ParamKind::integer, "60", "1", "10000", "", "Aggregation switches of a plane in a pod.",
     "HPN: 60 uplinks of 400 Gb/s per ToR, one to each; so has SimAI's AlibabaHPN topology"},
    {"cores_per_agg", ParamKind::integer, "0", "0", "1000", "",
     "Core switches above an aggregation switch; 0 leaves the third tier out and needs a single pod.", "one pod of HPN"},
    {"leaf_uplink_rate", ParamKind::bandwidth, "400Gbps", "1bps", "1000Tbps", "",
     "Rate of a cable from ToR to aggregation switch, each way.", "HPN: 60 x 400 Gb/s up for 128 x 200 Gb/s down"},
    {"agg_uplink_rate", ParamKind::bandwidth, "400Gbps", "1bps", "1000Tbps", "",
     "Rate of a cable from aggregation to core switch, each way.", "equal to leaf_uplink_rate"},
    {"host_fibre", ParamKind::length, "10m", "0m", "100000km", "", "Length of the cable from a NIC to its ToR, at 5 ns per metre.",
     "assumption: ToRs stand at the end of the row, since rails join many racks"},
    {"leaf_fibre", ParamKind::length, "50m", "0m", "100000km", "", "Length of the fibre from ToR to aggregation switch.",
     "assumption: within a hall"},
    {"agg_fibre", ParamKind::length, "200m", "0m", "100000km", "", "Length of the fibre from aggregation to core switch.",
     "assumption: cores stand in another room of the building"},
    {"leaf_buffer", ParamKind::bytes, default_switch_buffer, "1B", "", "", "Shared packet memory of a ToR.", switch_buffer_origin},
    {"agg_buffer", ParamKind::bytes, default_switch_buffer, "1B", "", "", "Shared packet memory of an aggregation or core switch.",
     switch_buffer_origin},
}};
constexpr auto kDualPlaneRailParams =
    join_params(join_params(kDualPlaneRailOwnParams, inside_params), join_params(nic_model_params, host_groups_param));

std::shared_ptr<const Topology> make_dual_plane_rail(const ParamSet& params, const SourcePlace& place) {
  return build_fabrics("dual_plane_rail", dual_plane_rail_shape(params, place), {}, place);
}

}  // namespace

ClosShape dual_plane_rail_shape(const ParamSet& params, const SourcePlace& place) {
  const auto count = [&](std::string_view name) { return static_cast<std::uint32_t>(params.integer(name)); };
  const auto fail = [&](const std::string& message, const std::string& help) {
    weft::fail("bad-shape", params.module() + ": " + message, place, help);
  };
  ClosShape shape;
  shape.servers = read_servers(params, count("hosts"), place);
  shape.hosts_per_group = count("hosts_per_segment");
  shape.rails = shape.servers.nics_max();
  shape.nic_ports = count("tors");
  shape.servers.set_nic_ports(shape.nic_ports);
  shape.planes = count("planes");
  if (shape.planes != 1 && shape.planes != shape.nic_ports) {
    fail(std::to_string(shape.planes) + " planes do not fit " + std::to_string(shape.nic_ports) + " ToRs per rail",
         "set planes to " + std::to_string(shape.nic_ports) + ", a plane per ToR, or to 1");
  }
  shape.leafs_per_pod = count("segments_per_pod") * shape.leafs_per_group();
  shape.aggs_per_pod = count("aggs_per_plane") * shape.planes;
  shape.spines = count("cores_per_agg") * shape.aggs_per_pod;
  if (shape.spines == 0 && shape.groups() > count("segments_per_pod")) {
    fail(std::to_string(shape.groups()) + " segments are more than a pod's " + std::to_string(count("segments_per_pod")) +
             ", and there is no core to join pods",
         "set cores_per_agg above 0, or segments_per_pod to " + std::to_string(shape.groups()));
  }
  shape.nic_delay = propagation_delay(params.length("host_fibre"));
  shape.leaf_up = {params.bandwidth("leaf_uplink_rate"), propagation_delay(params.length("leaf_fibre"))};
  shape.agg_up = {params.bandwidth("agg_uplink_rate"), propagation_delay(params.length("agg_fibre"))};
  shape.leaf_buffer = params.bytes("leaf_buffer");
  shape.agg_buffer = params.bytes("agg_buffer");
  shape.spine_buffer = shape.agg_buffer;
  check_shape(shape, {}, params.module(), place);
  return shape;
}

Module<TopologyFactory> dual_plane_rail_module() {
  return {
      {"topology", "dual_plane_rail",
       "Rails with two ToRs each: every NIC has a port to both, and the two ToRs belong to separate planes of aggregation "
       "switches, as in Alibaba HPN; or share them (planes=1). Segments of hosts, pods of segments, and core switches above them.",
       kDualPlaneRailParams},
      make_dual_plane_rail};
}

}  // namespace weft
