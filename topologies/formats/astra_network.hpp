// SPDX-License-Identifier: Apache-2.0
// Reader of ASTRA-sim's analytical network descriptions (format "astrasim-network").
//
//   topology: [ Ring, FullyConnected, Switch ]    # a block per dimension, the innermost first
//   npus_count: [ 4, 2, 8 ]                       # NPUs along each dimension
//   bandwidth: [ 50.0, 50.0, 25.0 ]               # GB/s of a link, each way
//   latency: [ 500, 500, 1000 ]                   # ns of a link
//
// Where it sits: called by topology_reader; yaml-cpp parses.
//
// NPUs that differ in one coordinate only form a group of that dimension, which its building block
// joins, as in astra-network-analytical. Every NPU "npuI" is a GPU in a host of its own; one that
// passes traffic on has a router "npuI/router". 1 GB/s is 2^30 B/s, as ASTRA-sim computes.
// docs/internals/topology_readers.md has the model and what it assumes.
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
