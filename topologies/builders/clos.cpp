// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/clos.hpp"

#include <algorithm>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "topologies/builders/oversubscription.hpp"

namespace weft {

namespace {

struct ClosSettings {
  std::uint32_t hosts;
  std::uint32_t hosts_per_leaf;
  std::uint32_t leafs_per_pod;
  std::uint32_t aggs_per_pod;
  std::uint32_t spines;
  Bandwidth leaf_uplink_rate;
  double leaf_oversubscription;
  Bandwidth agg_uplink_rate;
  double agg_oversubscription;
  Length host_fibre;
  Length leaf_fibre;
  Length agg_fibre;
  Bytes leaf_buffer;
  Bytes agg_buffer;
  Bytes spine_buffer;
};

constexpr std::array clos_own_params = {
    param<&ClosSettings::hosts>({.name = "hosts",
                                 .default_text = "4096",
                                 .minimum = "1",
                                 .maximum = "1000000",
                                 .meaning = "Number of hosts.",
                                 .origin = "paper, section 8.1"}),
    param<&ServerShape::gpus>({.name = "gpus_per_host",
                               .default_text = "8",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "GPUs in a host.",
                               .origin = "paper, section 8.1: GrandTeton with 8 H100"}),
    param<&ServerShape::nics>({.name = "nics_per_host",
                               .default_text = "1",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "NICs that the GPUs of a host share evenly; all of them go to the host's leaf.",
                               .origin = "paper, section 8.1: one NIC of 400 Gb/s"}),
    param<&ClosSettings::hosts_per_leaf>({.name = "hosts_per_leaf",
                                          .default_text = "1",
                                          .minimum = "1",
                                          .maximum = "1000000",
                                          .meaning = "Hosts below a leaf.",
                                          .origin = "paper, section 9.1: a leaf per host"}),
    param<&ClosSettings::leafs_per_pod>({.name = "leafs_per_pod",
                                         .default_text = "32",
                                         .minimum = "1",
                                         .maximum = "1000000",
                                         .meaning = "Leafs of a pod.",
                                         .origin = "paper, section 9.1: ratio 1:8:32"}),
    param<&ClosSettings::aggs_per_pod>({.name = "aggs_per_pod",
                                        .default_text = "8",
                                        .minimum = "1",
                                        .maximum = "100000",
                                        .meaning = "Aggregation switches of a pod.",
                                        .origin = "paper, section 9.1: ratio 1:8:32"}),
    param<&ClosSettings::spines>(
        {.name = "spines",
         .default_text = "128",
         .minimum = "0",
         .maximum = "1000000",
         .meaning = "Spines, a multiple of aggs_per_pod; 0 leaves the third tier out and needs a single pod.",
         .origin = "paper, section 8.1"}),
    param<&ClosSettings::leaf_uplink_rate>({.name = "leaf_uplink_rate",
                                            .default_text = "400Gbps",
                                            .minimum = "1bps",
                                            .maximum = "1000Tbps",
                                            .meaning = "Rate of a cable from leaf to aggregation, each way.",
                                            .origin = "paper, section 9.2: 400 Gb/s links"}),
    param<&ClosSettings::leaf_oversubscription>(
        {.name = "leaf_oversubscription",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1000000",
         .meaning = "Rate from hosts over rate to aggregation at a full leaf; sets aggs_per_pod, rounded up, with as many spines "
                    "for each as by default unless they are given; 0 = aggs_per_pod stands.",
         .origin = "off"}),
    param<&ClosSettings::agg_uplink_rate>({.name = "agg_uplink_rate",
                                           .default_text = "400Gbps",
                                           .minimum = "1bps",
                                           .maximum = "1000Tbps",
                                           .meaning = "Rate of a cable from aggregation to spine, each way.",
                                           .origin = "paper, section 9.2: 400 Gb/s links"}),
    param<&ClosSettings::agg_oversubscription>(
        {.name = "agg_oversubscription",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1000000",
         .meaning = "Rate from leafs over rate to spines at an aggregation switch of a full pod; sets spines; 0 = spines stands.",
         .origin = "off"}),
    param<&ClosSettings::host_fibre>({.name = "host_fibre",
                                      .default_text = "2m",
                                      .minimum = "0m",
                                      .maximum = "100000km",
                                      .meaning = "Length of the cable from a NIC to its leaf, at 5 ns per metre.",
                                      .origin = "assumption: a cable inside a rack"}),
    param<&ClosSettings::leaf_fibre>({.name = "leaf_fibre",
                                      .default_text = "30m",
                                      .minimum = "0m",
                                      .maximum = "100000km",
                                      .meaning = "Length of the fibre from leaf to aggregation.",
                                      .origin = "assumption: within a row"}),
    param<&ClosSettings::agg_fibre>({.name = "agg_fibre",
                                     .default_text = "200m",
                                     .minimum = "0m",
                                     .maximum = "100000km",
                                     .meaning = "Length of the fibre from aggregation to spine.",
                                     .origin = "assumption: spines stand in another room of the building"}),
    param<&ClosSettings::leaf_buffer>({.name = "leaf_buffer",
                                       .default_text = default_switch_buffer,
                                       .minimum = "1B",
                                       .meaning = "Shared packet memory of a leaf.",
                                       .origin = switch_buffer_origin}),
    param<&ClosSettings::agg_buffer>({.name = "agg_buffer",
                                      .default_text = default_switch_buffer,
                                      .minimum = "1B",
                                      .meaning = "Shared packet memory of an aggregation switch.",
                                      .origin = switch_buffer_origin}),
    param<&ClosSettings::spine_buffer>({.name = "spine_buffer",
                                        .default_text = default_switch_buffer,
                                        .minimum = "1B",
                                        .meaning = "Shared packet memory of a spine.",
                                        .origin = switch_buffer_origin}),
};
constexpr auto clos_params = join_params(clos_own_params, servers_params);

std::shared_ptr<const Topology> make_clos(const ParamSet& params, const SourcePlace& place) {
  return build_fabrics("clos", clos_shape(params, place), {}, place);
}

}  // namespace

ClosShape clos_shape(const ParamSet& params, const SourcePlace& place) {
  const auto settings = filled<ClosSettings>(params);
  ClosShape shape;
  shape.servers = read_servers(params, settings.hosts, place);
  shape.hosts_per_group = settings.hosts_per_leaf;
  shape.leafs_per_pod = settings.leafs_per_pod;
  const std::uint32_t hosts = shape.servers.host_count();
  shape.aggs_per_pod = settings.aggs_per_pod;
  shape.spines = settings.spines;
  if (settings.leaf_oversubscription > 0) {
    const std::uint64_t nics_below = std::uint64_t{std::min(settings.hosts_per_leaf, hosts)} * shape.servers.usual().nics;
    refuse_both(params, "aggs_per_pod", "leaf_oversubscription", place);
    shape.aggs_per_pod = uplinks_for(
        params, {"leaf_oversubscription", settings.leaf_oversubscription, "leaf_uplink_rate", settings.leaf_uplink_rate},
        shape.servers.usual().nic_rate, nics_below, place);
    if (!params.is_given("spines")) shape.spines = settings.spines / settings.aggs_per_pod * shape.aggs_per_pod;
  }
  if (settings.agg_oversubscription > 0) {
    const std::uint32_t leafs = (hosts + settings.hosts_per_leaf - 1) / settings.hosts_per_leaf;
    refuse_both(params, "spines", "agg_oversubscription", place);
    const std::uint32_t spines_of_plane =
        uplinks_for(params, {"agg_oversubscription", settings.agg_oversubscription, "agg_uplink_rate", settings.agg_uplink_rate},
                    settings.leaf_uplink_rate, std::min(settings.leafs_per_pod, leafs), place);
    // What does not fit is refused below as too large.
    const std::uint64_t spines = std::uint64_t{spines_of_plane} * shape.aggs_per_pod;
    shape.spines = static_cast<std::uint32_t>(std::min<std::uint64_t>(spines, UINT32_MAX));
  }
  shape.nic_delay = propagation_delay(settings.host_fibre);
  shape.leaf_buffer = settings.leaf_buffer;
  shape.agg_buffer = settings.agg_buffer;
  shape.spine_buffer = settings.spine_buffer;
  check_shape(shape, {}, params.module(), place);
  shape.leaf_up = {settings.leaf_uplink_rate, propagation_delay(settings.leaf_fibre)};
  shape.agg_up = {settings.agg_uplink_rate, propagation_delay(settings.agg_fibre)};
  return shape;
}

Module<TopologyFactory> clos_module() {
  return {{"topology", "clos",
           "Three tiers: pods of leafs and aggregation switches, all joined, and planes of spines above them. Numbers of switches, "
           "rates, "
           "oversubscription and fibre lengths are free. The defaults are the 32,768-GPU cluster of the paper's section 8.1 with "
           "spine:aggregation:leaf = 1:8:32.",
           clos_params},
          make_clos};
}

}  // namespace weft
