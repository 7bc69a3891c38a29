// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/dual_plane_rail.hpp"

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "topologies/builders/builder_error.hpp"

namespace weft {

namespace {

struct DualPlaneRailSettings {
  std::uint32_t hosts;
  std::uint32_t tors;
  std::uint32_t planes;
  std::uint32_t hosts_per_segment;
  std::uint32_t segments_per_pod;
  std::uint32_t aggs_per_plane;
  std::uint32_t cores_per_agg;
  Bandwidth leaf_uplink_rate;
  Bandwidth agg_uplink_rate;
  Length host_fibre;
  Length leaf_fibre;
  Length agg_fibre;
  Bytes leaf_buffer;
  Bytes agg_buffer;
};

constexpr std::array dual_plane_rail_own_params = {
    param<&DualPlaneRailSettings::hosts>({.name = "hosts",
                                          .default_text = "128",
                                          .minimum = "1",
                                          .maximum = "1000000",
                                          .meaning = "Number of hosts.",
                                          .origin = "HPN: a segment of 1,024 GPUs"}),
    param<&ServerShape::gpus>({.name = "gpus_per_host",
                               .default_text = "8",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "GPUs in a host.",
                               .origin = "HPN"}),
    param<&ServerShape::nics>({.name = "nics_per_host",
                               .default_text = "8",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "NICs of a host and so rails; the GPUs share them evenly.",
                               .origin = "HPN: a NIC of 2 x 200 Gb/s per GPU"}),
    param<&ServerShape::nic_rate>({.name = "nic_rate",
                                   .default_text = "200Gbps",
                                   .minimum = "1bps",
                                   .maximum = "1000Tbps",
                                   .meaning = "Rate of one port of a NIC, each way.",
                                   .origin = "HPN: 2 x 200 Gb/s"}),
    param<&DualPlaneRailSettings::tors>({.name = "tors",
                                         .default_text = "2",
                                         .minimum = "1",
                                         .maximum = "8",
                                         .meaning = "ToRs of a rail in a segment, and so ports of a NIC.",
                                         .origin = "HPN: dual ToR"}),
    param<&DualPlaneRailSettings::planes>(
        {.name = "planes",
         .default_text = "2",
         .minimum = "1",
         .maximum = "8",
         .meaning = "Planes of aggregation switches: as many as tors, or 1 for all ToRs together.",
         .origin = "HPN: dual plane"}),
    param<&DualPlaneRailSettings::hosts_per_segment>({.name = "hosts_per_segment",
                                                      .default_text = "128",
                                                      .minimum = "1",
                                                      .maximum = "1000000",
                                                      .meaning = "Hosts that share the ToRs of a segment.",
                                                      .origin = "HPN: 128 active hosts, 1,024 GPUs"}),
    param<&DualPlaneRailSettings::segments_per_pod>({.name = "segments_per_pod",
                                                     .default_text = "15",
                                                     .minimum = "1",
                                                     .maximum = "1000",
                                                     .meaning = "Segments below the aggregation switches of a pod.",
                                                     .origin = "HPN: 15 segments, 15,360 GPUs"}),
    param<&DualPlaneRailSettings::aggs_per_plane>(
        {.name = "aggs_per_plane",
         .default_text = "60",
         .minimum = "1",
         .maximum = "10000",
         .meaning = "Aggregation switches of a plane in a pod.",
         .origin = "HPN: 60 uplinks of 400 Gb/s per ToR, one to each; so has SimAI's AlibabaHPN topology"}),
    param<&DualPlaneRailSettings::cores_per_agg>(
        {.name = "cores_per_agg",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1000",
         .meaning = "Core switches above an aggregation switch; 0 leaves the third tier out and needs a single pod.",
         .origin = "one pod of HPN"}),
    param<&DualPlaneRailSettings::leaf_uplink_rate>({.name = "leaf_uplink_rate",
                                                     .default_text = "400Gbps",
                                                     .minimum = "1bps",
                                                     .maximum = "1000Tbps",
                                                     .meaning = "Rate of a cable from ToR to aggregation switch, each way.",
                                                     .origin = "HPN: 60 x 400 Gb/s up for 128 x 200 Gb/s down"}),
    param<&DualPlaneRailSettings::agg_uplink_rate>({.name = "agg_uplink_rate",
                                                    .default_text = "400Gbps",
                                                    .minimum = "1bps",
                                                    .maximum = "1000Tbps",
                                                    .meaning = "Rate of a cable from aggregation to core switch, each way.",
                                                    .origin = "equal to leaf_uplink_rate"}),
    param<&DualPlaneRailSettings::host_fibre>(
        {.name = "host_fibre",
         .default_text = "10m",
         .minimum = "0m",
         .maximum = "100000km",
         .meaning = "Length of the cable from a NIC to its ToR, at 5 ns per metre.",
         .origin = "assumption: ToRs stand at the end of the row, since rails join many racks"}),
    param<&DualPlaneRailSettings::leaf_fibre>({.name = "leaf_fibre",
                                               .default_text = "50m",
                                               .minimum = "0m",
                                               .maximum = "100000km",
                                               .meaning = "Length of the fibre from ToR to aggregation switch.",
                                               .origin = "assumption: within a hall"}),
    param<&DualPlaneRailSettings::agg_fibre>({.name = "agg_fibre",
                                              .default_text = "200m",
                                              .minimum = "0m",
                                              .maximum = "100000km",
                                              .meaning = "Length of the fibre from aggregation to core switch.",
                                              .origin = "assumption: cores stand in another room of the building"}),
    param<&DualPlaneRailSettings::leaf_buffer>({.name = "leaf_buffer",
                                                .default_text = default_switch_buffer,
                                                .minimum = "1B",
                                                .meaning = "Shared packet memory of a ToR.",
                                                .origin = switch_buffer_origin}),
    param<&DualPlaneRailSettings::agg_buffer>({.name = "agg_buffer",
                                               .default_text = default_switch_buffer,
                                               .minimum = "1B",
                                               .meaning = "Shared packet memory of an aggregation or core switch.",
                                               .origin = switch_buffer_origin}),
};
constexpr auto dual_plane_rail_params =
    join_params(join_params(dual_plane_rail_own_params, inside_params), join_params(nic_model_params, host_groups_param));

std::shared_ptr<const Topology> make_dual_plane_rail(const ParamSet& params, const SourcePlace& place) {
  return build_fabrics("dual_plane_rail", dual_plane_rail_shape(params, place), {}, place);
}

}  // namespace

ClosShape dual_plane_rail_shape(const ParamSet& params, const SourcePlace& place) {
  const auto settings = filled<DualPlaneRailSettings>(params);
  const auto fail = [&](const std::string& message, const std::string& help) {
    fail_builder(params.module(), "bad-shape", message, place, help);
  };
  ClosShape shape;
  shape.servers = read_servers(params, settings.hosts, place);
  shape.hosts_per_group = settings.hosts_per_segment;
  shape.rails = shape.servers.nics_max();
  shape.nic_ports = settings.tors;
  shape.servers.set_nic_ports(shape.nic_ports);
  shape.planes = settings.planes;
  if (shape.planes != 1 && shape.planes != shape.nic_ports) {
    fail(fmt::format("{} planes do not fit {} ToRs per rail", shape.planes, shape.nic_ports),
         fmt::format("set planes to {}, a plane per ToR, or to 1", shape.nic_ports));
  }
  shape.leafs_per_pod = settings.segments_per_pod * shape.leafs_per_group();
  shape.aggs_per_pod = settings.aggs_per_plane * shape.planes;
  shape.spines = settings.cores_per_agg * shape.aggs_per_pod;
  if (shape.spines == 0 && shape.groups() > settings.segments_per_pod) {
    fail(fmt::format("{} segments are more than a pod's {}, and there is no core to join pods", shape.groups(),
                     settings.segments_per_pod),
         fmt::format("set cores_per_agg above 0, or segments_per_pod to {}", shape.groups()));
  }
  shape.nic_delay = propagation_delay(settings.host_fibre);
  shape.leaf_up = {settings.leaf_uplink_rate, propagation_delay(settings.leaf_fibre)};
  shape.agg_up = {settings.agg_uplink_rate, propagation_delay(settings.agg_fibre)};
  shape.leaf_buffer = settings.leaf_buffer;
  shape.agg_buffer = settings.agg_buffer;
  shape.spine_buffer = shape.agg_buffer;
  check_shape(shape, {}, params.module(), place);
  return shape;
}

Module<TopologyFactory> dual_plane_rail_module() {
  return {
      {"topology", "dual_plane_rail",
       "Rails with two ToRs each: every NIC has a port to both, and the two ToRs belong to separate planes of aggregation "
       "switches, as in Alibaba HPN; or share them (planes=1). Segments of hosts, pods of segments, and core switches above them.",
       dual_plane_rail_params},
      make_dual_plane_rail};
}

}  // namespace weft
