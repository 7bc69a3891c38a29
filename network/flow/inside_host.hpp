// SPDX-License-Identifier: Apache-2.0
// Inside host: which pairs of endpoints are joined by links of their own server.
//
// Where it sits: hosts' network ports and the flow fabric ask it, since such transfers are NVLink
// or PCIe copies: no NIC, no headers.
//
// Model: two endpoints of one host are joined if a cable connects them or both touch the same
// connected set of the host's inner nodes (NVSwitches, PCIe switches, NICs). That is the rule by
// which Routes keeps their traffic inside (topologies/topology).
// Threads: immutable after construction.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/ids.hpp"

namespace weft {

class Topology;

class InsideHost {
 public:
  /// Keeps a reference to the topology.
  explicit InsideHost(const Topology& topology);

  /// Requires: a and b are endpoints.
  bool joins(NodeId a, NodeId b) const;

 private:
  const Topology& topology_;
  std::vector<std::uint32_t> first_of_node_;  ///< CSR by node over groups_
  /// ascending: the sets of inner nodes that an endpoint touches.
  std::vector<std::uint32_t> groups_;
};

}  // namespace weft
