// SPDX-License-Identifier: Apache-2.0
// Reduced topology: what is left of a topology when one of its switches is taken out of service, or
// when cables are out or slow.
//
// Where it sits: `weft predict` asks it: of what was out when a snapshot was taken, and of what
// --drain takes away.
//
// Thread safety: pure function.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "topologies/topology.hpp"

namespace weft {

/// The node of that name; none() if there is none.
NodeId node_called(const Topology& topology, std::string_view name);

/// Hosts that are cut off (topologies/cut_off) without the switch, ascending. Requires: the node is
/// a packet switch.
std::vector<HostId> hosts_cut_off_without(const Topology& topology, NodeId packet_switch);

struct ReducedTopology {
  /// The same nodes without the switch's cables, with routes that were searched. Of these cables
  /// stay, as endpoints of a topology reach each other, those to hosts that are cut off, and one
  /// that joins them to the rest, which nobody else goes by.
  std::shared_ptr<const Topology> topology;
  /// There, by link of the whole topology; none() for those that are gone.
  std::vector<LinkId> link;
};

/// A cable that carries less than it could.
struct CableShare {
  LinkId cable;      ///< its first direction
  double share = 0;  ///< of its speed: from 0, out, to below 1
  friend bool operator==(const CableShare&, const CableShare&) = default;
};

/// The same nodes with slower cables, and without those that are out. Of these stay, as endpoints
/// of a topology reach each other, all of hosts that are cut off (topologies/cut_off), which are
/// out of service; those that are the only way to some switches; and all of hosts if two of these
/// would have no plane of the network in common. Numbers of links change if cables are left out.
std::shared_ptr<const Topology> with_less(const Topology& topology, std::span<const CableShare> cables);

/// Requires: the node is a packet switch.
ReducedTopology without_switch(const Topology& topology, NodeId packet_switch);

}  // namespace weft
