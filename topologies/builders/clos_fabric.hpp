// Clos fabric: servers below one, two or three tiers of switches, and next hops by arithmetic. The
// common core of most builders.
//
// Where it sits: single_switch, fat_tree, clos, rail_optimized, dual_plane_rail read their
// parameters into a ClosShape; multi_site joins several of them. build_fabrics() makes the graph
// and its structural Routes together, because the routes rest on its numbering.
//
// Model
//   Hosts h are dealt in order to groups of hosts_per_group; a group has `rails` leafs for each
//   port of a NIC
//     rails = 1      port p of every NIC of a host goes to the group's leaf p
//     rails = N > 1  port p of NIC j of every host of the group goes to the group's leaf p*N + j. A
//                    leaf whose NIC number no host of the group has stays empty
//   Leafs are dealt in order to pods of leafs_per_pod. Each leaf has a cable to each of its pod's
//   aggs_per_pod second-tier switches. With planes = P, it has cables to those of its port's plane
//   only: leafs of port p belong with switches p*A/P .. (p+1)*A/P - 1 of a pod's A.
//   Second-tier switch a of every pod belongs to spine plane a, with spines/aggs_per_pod spines,
//   and has a cable to each of them.
//   A site may be joined to others: border router b has a cable to each switch of the top tier, and
//   a WAN cable to border router b of every other site.
//   aggs_per_pod = 0: one tier (then there is one leaf); spines = 0: two tiers (then there is one
//   pod).
//
// Numbering: per site servers in order, leafs, second tier pod by pod, spines plane by plane,
// border routers; cables so that a switch's links come in the order "down by child, then up by
// parent". The next hops towards a destination are one port down or all ports up.
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

/// How sites are joined. One site needs none of it.
struct WanShape {
  std::uint32_t sites = 1;
  std::uint32_t borders_per_site = 0;
  CableShape border;  ///< top tier to border router
  Bytes border_buffer;
  std::vector<CableShape> pairs;  ///< per pair of sites (0,1), (0,2), ..., (1,2), ...
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
