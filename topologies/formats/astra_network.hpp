// Reader of ASTRA-sim's analytical network descriptions (format "astrasim-network").
//
//   topology: [ Ring, FullyConnected, Switch ]    # a building block per dimension, the innermost
//                                                 first
//   npus_count: [ 4, 2, 8 ]                       # NPUs along each dimension
//   bandwidth: [ 50.0, 50.0, 25.0 ]               # GB/s of a link, each way
//   latency: [ 500, 500, 1000 ]                   # ns of a link
//
// Where it sits: called by topology_reader; yaml-cpp parses.
//
// Model (as common/NetworkParser, NetworkFunction and the basic topologies of
// astra-network-analytical)
//   NPU i has coordinate i mod n0 along dimension 0, (i / n0) mod n1 along dimension 1, and so on.
//   NPUs that differ in one coordinate only form a group of that dimension:
//     Ring             a cable between neighbours, the last and the first too (two NPUs: one cable)
//     FullyConnected   a cable per pair
//     Switch           a switch, a cable per NPU: from NPU to NPU the latency counts twice, as in
//                      ASTRA-sim
//   No path passes an endpoint, but NPUs of rings and of several dimensions pass traffic on: such
//   an NPU gets a router of its own (a switch "npu3/router") by a cable that is as fast as all of
//   the router's others together and takes no time. Every NPU "npuI" is a GPU in a host of its own:
//   the format knows no servers.
//   1 GB/s is 2^30 B/s: that is what ASTRA-sim computes with (bw_GBps_to_Bpns), 7.4 % above 10^9.
//
// What it does not hold: traffic between dimensions takes any path of fewest links, ASTRA-sim's
// takes none (its collectives work along one dimension at a time). Both assumptions are listed.
// Thread safety: pure function.
#pragma once

#include <memory>

#include "core/text/source_text.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// Throws InputError with every error of the file: [bad-yaml], [unknown-key], [duplicate-key],
/// [missing-key], [bad-value], [unknown-block], [length-mismatch], [out-of-range], [too-large].
std::shared_ptr<const Topology> import_astra_network(const SourceText& source);

}  // namespace weft
