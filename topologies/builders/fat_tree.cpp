// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/fat_tree.hpp"

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "topologies/builders/builder_error.hpp"

namespace weft {

namespace {

struct FatTreeSettings {
  std::uint32_t k;
  Bandwidth fabric_rate;
  Length host_fibre;
  Length leaf_fibre;
  Length agg_fibre;
  Bytes leaf_buffer;
  Bytes agg_buffer;
  Bytes spine_buffer;
};

constexpr std::array fat_tree_own_params = {
    param<&FatTreeSettings::k>({.name = "k",
                                .default_text = "8",
                                .minimum = "2",
                                .maximum = "256",
                                .meaning = "Ports of every switch, an even number; there are k^3/4 hosts.",
                                .origin = "the k=8 fat tree of 128 hosts that packet simulators are compared on"}),
    param<&ServerShape::gpus>({.name = "gpus_per_host",
                               .default_text = "1",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "GPUs in a host; more than one share the host's single NIC.",
                               .origin = "one port per host, as in the fat-tree paper"}),
    param<&FatTreeSettings::fabric_rate>({.name = "fabric_rate",
                                          .default_text = "400Gbps",
                                          .minimum = "1bps",
                                          .maximum = "1000Tbps",
                                          .meaning = "Rate of a cable between switches, each way.",
                                          .origin = "equal to nic_rate: full bisection bandwidth"}),
    param<&FatTreeSettings::host_fibre>({.name = "host_fibre",
                                         .default_text = "2m",
                                         .minimum = "0m",
                                         .maximum = "100000km",
                                         .meaning = "Length of the cable from a host to its leaf, at 5 ns per metre.",
                                         .origin = "assumption: a cable inside a rack"}),
    param<&FatTreeSettings::leaf_fibre>({.name = "leaf_fibre",
                                         .default_text = "30m",
                                         .minimum = "0m",
                                         .maximum = "100000km",
                                         .meaning = "Length of the fibre from a leaf to the second tier.",
                                         .origin = "assumption: within a row"}),
    param<&FatTreeSettings::agg_fibre>({.name = "agg_fibre",
                                        .default_text = "100m",
                                        .minimum = "0m",
                                        .maximum = "100000km",
                                        .meaning = "Length of the fibre from the second tier to a spine.",
                                        .origin = "assumption: within a hall; 100 m is the reach of short-range optics"}),
    param<&FatTreeSettings::leaf_buffer>({.name = "leaf_buffer",
                                          .default_text = default_switch_buffer,
                                          .minimum = "1B",
                                          .meaning = "Shared packet memory of a leaf.",
                                          .origin = switch_buffer_origin}),
    param<&FatTreeSettings::agg_buffer>({.name = "agg_buffer",
                                         .default_text = default_switch_buffer,
                                         .minimum = "1B",
                                         .meaning = "Shared packet memory of a second-tier switch.",
                                         .origin = switch_buffer_origin}),
    param<&FatTreeSettings::spine_buffer>({.name = "spine_buffer",
                                           .default_text = default_switch_buffer,
                                           .minimum = "1B",
                                           .meaning = "Shared packet memory of a spine.",
                                           .origin = switch_buffer_origin}),
};
constexpr auto fat_tree_params = join_params(fat_tree_own_params, servers_params);

std::shared_ptr<const Topology> make_fat_tree(const ParamSet& params, const SourcePlace& place) {
  return build_fabrics("fat_tree", fat_tree_shape(params, place), {}, place);
}

}  // namespace

ClosShape fat_tree_shape(const ParamSet& params, const SourcePlace& place) {
  const auto settings = filled<FatTreeSettings>(params);
  const std::uint32_t k = settings.k;
  if (k % 2 != 0) {
    fail_builder(params.module(), "odd-k", fmt::format("k = {} is odd", k), place,
                 fmt::format("half of a switch's ports go up and half down: use k = {}", k + 1));
  }
  const std::uint32_t half = k / 2;
  ClosShape shape;
  shape.servers = read_servers(params, k * half * half, place);
  shape.hosts_per_group = half;
  shape.leafs_per_pod = half;
  shape.aggs_per_pod = half;
  shape.spines = half * half;
  shape.nic_delay = propagation_delay(settings.host_fibre);
  shape.leaf_up = {settings.fabric_rate, propagation_delay(settings.leaf_fibre)};
  shape.agg_up = {settings.fabric_rate, propagation_delay(settings.agg_fibre)};
  shape.leaf_buffer = settings.leaf_buffer;
  shape.agg_buffer = settings.agg_buffer;
  shape.spine_buffer = settings.spine_buffer;
  check_shape(shape, {}, params.module(), place);
  return shape;
}

Module<TopologyFactory> fat_tree_module() {
  return {{"topology", "fat_tree",
           "The k-ary fat tree: k pods of k/2 leafs and k/2 aggregation switches, (k/2)^2 spines, k^3/4 hosts, all switches alike. "
           "Full "
           "bisection bandwidth when fabric_rate equals nic_rate.",
           fat_tree_params},
          make_fat_tree};
}

}  // namespace weft
