// Reader of SimGrid's platform files (format "simgrid"), XML of version 4 and 4.1.
//
//   <platform version="4.1">
//     <zone id="world" routing="Full">
//       <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
//       <link id="l1" bandwidth="125MBps" latency="50us"/>
//       <route src="a" dst="b"> <link_ctn id="l1"/> </route>
//       <cluster id="c" prefix="c-" suffix="" radical="0-15" speed="1Gf" bw="125MBps" lat="50us"
//                topology="TORUS" topo_parameters="4,4"/>
//     </zone>
//   </platform>
//
// Where it sits: called by topology_reader; xml_file parses, simgrid_units reads quantities,
// simgrid_cluster expands clusters, route_graph finds out what links join, platform_graph makes the
// Topology.
//
// Model
//   Hosts are endpoints of one port each (NodeKind::host), routers are switches. Names are the
//   file's ids, which are unique across zones in SimGrid too. Speeds and cores are not used: op
//   times come from workloads.
//   Zones of routing Full, Floyd, Dijkstra, DijkstraCache, None and Empty may nest. A route says
//   which links lie between two hosts or routers; a zoneRoute between two gateways. All of them
//   together give the graph (route_graph). Zones of routing Cluster with host_link and backbone are
//   stars as a FLAT cluster. sharing_policy SHARED and SPLITDUPLEX are full-duplex cables, FATPIPE
//   one that never limits in sum.
//
// What differs from SimGrid, each listed as an assumption where it occurs
//   - Weft routes over the fewest links and uses all such paths; SimGrid takes the listed route.
//     Where the two differ is counted.
//   - A SHARED link carries both directions over one capacity there, each direction has its own
//     here.
//   - Backbones and other links that all their users cross (buses) cap every flow, not all flows
//     together.
//   - Bypass routes, availability profiles, limiters and loopbacks are left out.
// SimGrid's default network model multiplies rates by 0.97 and latencies by 13.01 (TCP over
// Ethernet); the file's own numbers are used here, as SimGrid does under --cfg=network/model:CM02
// with factors of 1. Its switches take no time: --set=flow.switching_delay=0ns.
//
// Refused: routing Vivaldi, WIFI and Star, <peer>, <include>, <random>, links of policy WIFI.
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
