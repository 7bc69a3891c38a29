// SPDX-License-Identifier: Apache-2.0
// Reader of SimGrid's platform files (format "simgrid"), XML of version 4 and 4.1.
//
//   <platform version="4.1">
//     <zone id="world" routing="Full">
//       <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
//       <link id="l1" bandwidth="125MBps" latency="50us"/>
//       <route src="a" dst="b"> <link_ctn id="l1"/> </route>
//     </zone>
//   </platform>
//
// Where it sits: called by topology_reader; xml_file parses, simgrid_units reads quantities,
// simgrid_cluster expands clusters, route_graph finds out what links join, platform_graph makes the
// Topology.
//
// Hosts are endpoints of one port each (NodeKind::host), routers are switches, and the routes of
// all zones together give the graph. Weft routes over the fewest links where SimGrid takes the
// listed route; that and whatever else differs is an assumption where it occurs.
// docs/internals/topology_readers.md has the model, the differences and what is refused.
// Thread safety: pure function.
#pragma once

#include <memory>

#include "core/text/source_text.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// Throws InputError with every error of the file: those of xml_file, simgrid_units and
/// simgrid_cluster, [bad-version], [unsupported], [unknown-routing], [unknown-policy],
/// [unknown-shape], [bad-radical], [duplicate-name], [duplicate-route], [unknown-link],
/// [unknown-node], [empty-route], [bad-value], [too-large], [no-hosts], [disconnected].
std::shared_ptr<const Topology> import_simgrid(const SourceText& source);

}  // namespace weft
