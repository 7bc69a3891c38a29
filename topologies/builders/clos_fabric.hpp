// SPDX-License-Identifier: Apache-2.0
// Clos fabric: servers below one, two or three tiers of switches, and next hops by arithmetic. The
// common core of most builders.
//
// Where it sits: single_switch, fat_tree, clos, rail_optimized, dual_plane_rail read their
// parameters into a ClosShape; multi_site joins several of them. build_fabrics() makes the graph
// and its structural Routes together, because the routes rest on its numbering.
//
// Hosts are dealt in order to groups, whose leafs are one per port of a NIC and rail. Leafs are
// dealt in order to pods, in which they have a cable to each second-tier switch (of their plane).
// Second-tier switch a of every pod has a cable to each spine of plane a. Border routers join a
// site's top tier to other sites. docs/internals/topology_readers.md says it number by number.
//
// Numbering: per site servers in order, leafs, second tier pod by pod, spines plane by plane,
// border routers; a hub last, its hosts and then its switch. Cables so that a switch's links come
// in the order "down by child, then up by parent", a hub's to its hosts, then to the sites. The
// next hops towards a destination are one port down or all ports up.
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "topologies/builders/servers.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// A kind of cable.
struct CableShape {
  Bandwidth rate;
  Duration delay;
};

struct ClosShape {
  Servers servers{{}, 1};
  std::uint32_t hosts_per_group = 1;
  std::uint32_t rails = 1;      ///< 1 or servers.nics_max()
  std::uint32_t nic_ports = 1;  ///< of every NIC, as in `servers`
  /// 1 or nic_ports; then leafs_per_pod and aggs_per_pod are multiples of it.
  std::uint32_t planes = 1;
  std::uint32_t leafs_per_pod = 1;
  std::uint32_t aggs_per_pod = 0;
  std::uint32_t spines = 0;
  std::uint8_t second_tier_level = 2;  ///< 3 where the second tier is called spine

  Duration nic_delay;  ///< between NIC and leaf
  CableShape leaf_up;
  CableShape agg_up;
  Bytes leaf_buffer;
  Bytes agg_buffer;
  Bytes spine_buffer;

  std::uint32_t groups() const { return (servers.host_count() + hosts_per_group - 1) / hosts_per_group; }
  std::uint32_t leafs_per_group() const { return rails * nic_ports; }
  std::uint32_t leafs() const { return groups() * leafs_per_group(); }
  std::uint32_t pods() const { return (leafs() + leafs_per_pod - 1) / leafs_per_pod; }
  std::uint32_t aggs() const { return pods() * aggs_per_pod; }
  std::uint32_t spines_per_plane() const { return aggs_per_pod == 0 ? 0 : spines / aggs_per_pod; }
  /// Switches of the uppermost tier.
  std::uint32_t tops() const { return spines > 0 ? spines : aggs_per_pod > 0 ? aggs() : leafs(); }
};

/// A line between two sites, or from a site to the hub.
struct WanLine {
  Bandwidth there;
  Bandwidth back;
  Duration delay;  ///< one way
  WideAreaLine line_there;
  WideAreaLine line_back;
};

/// How sites are joined. One site needs none of it.
struct WanShape {
  std::uint32_t sites = 1;
  std::uint32_t borders_per_site = 0;
  CableShape border;  ///< top tier to border router
  Bytes border_buffer;
  /// A core switch that every border router has a line to; else border routers of the same number
  /// have lines to each other.
  bool has_hub = false;
  /// By pair of sites (0,1), (0,2), ..., (1,2), ...; with a hub by site.
  std::vector<WanLine> lines;
  std::uint32_t hub_hosts = 0;  ///< one GPU each, at the core switch
  CableShape hub_host;

  std::size_t line_count() const { return has_hub ? sites : std::size_t{sites} * (sites - 1) / 2; }
};

/// Buffer sizes of switches: taken by every builder.
inline constexpr std::string_view default_switch_buffer = "32MB";
inline constexpr std::string_view switch_buffer_origin = "the RDMA simulators' preset \"hpcc\": 32 MB shared";

/// Checks that a shape is consistent and small enough: every switch tier connects all below it.
/// Throws InputError [bad-shape], [too-large] at `place`.
void check_shape(const ClosShape& shape, const WanShape& wan, std::string_view builder, const SourcePlace& place);

/// Equal sites of one shape. Requires: check_shape() passed.
std::shared_ptr<const Topology> build_fabrics(const std::string& name, const ClosShape& shape, const WanShape& wan,
                                              const SourcePlace& place);

}  // namespace weft
