// SPDX-License-Identifier: Apache-2.0
// Cut off: which endpoints have no way to the rest of the network while some of its cables are out.
//
// Where it sits: scheduler/failures/network_service asks it whenever a switch or a cable fails or
// works again.
//
// Model: an endpoint is at the parts of the network (topologies/connected_parts) that a way inside
// its host leads to, perhaps at several. The network is the part with most endpoints, of equal ones
// the one with the first of them, and whatever other part has more than half of all. An endpoint at
// none of these is cut off. Who never was at any part, as its host has no NIC, is not.
// Where the network is to stay where it is, most endpoints are most of those that were not cut off
// before, only of equal ones most of all; and a part without any of those stays cut off, however
// large it has become.
// Left out: two endpoints that are each at one of several such parts, and have none in common, do
// not count as cut off.
//
// Thread safety: pure function.
#pragma once

#include <vector>

#include "topologies/topology.hpp"

namespace weft {

/// By place in Topology::endpoints(). `is_out` is by LinkId, alike in both directions; `relay`: as
/// nics_relay() says. `before`: who was cut off before, where the network is to stay;
/// empty: it need not.
std::vector<bool> cut_off_endpoints(const Topology& topology, const std::vector<bool>& is_out, bool relay,
                                    const std::vector<bool>& before = {});

}  // namespace weft
