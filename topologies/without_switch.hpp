// Without a switch: what is left of a topology when one of its switches is taken out of service.
//
// Where it sits: `weft predict --drain=` asks it.
//
// Thread safety: pure function.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "topologies/topology.hpp"

namespace weft {

/// The node of that name; none() if there is none.
NodeId node_called(const Topology& topology, std::string_view name);

struct ReducedTopology {
  /// Hosts that have no way to most others without the switch, ascending.
  std::vector<HostId> cut_off;
  /// The same nodes without the switch's cables, with routes that were searched; null if hosts are cut off, as endpoints of a topology reach each other.
  std::shared_ptr<const Topology> topology;
  std::vector<LinkId> link;  ///< there, by link of the whole topology; none() for those of the switch
};

/// Requires: the node is a packet switch.
ReducedTopology without_switch(const Topology& topology, NodeId packet_switch);

}  // namespace weft
