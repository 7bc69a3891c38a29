// SPDX-License-Identifier: Apache-2.0
// Topology writer: a topology as a file of another format, for `weft topology build` and `convert`.
//
// Where it sits: the tools write the text to a file; topology_reader reads what was written in
// "weft", "hpcc" and "simai" again.
//
// What is kept
//   weft    everything: names, hosts, levels, buffer classes, links. Nodes may get other numbers.
//   hpcc    endpoints and switches by number; every host must have one endpoint, since the format
//           has no servers
//   simai   GPUs, NVSwitches and switches by number; every host must have the same number of
//           endpoints
//   dot, dot-overview    pictures for Graphviz (formats/dot); not read again
// hpcc and simai have no NICs. A NIC between one endpoint and one cable is folded into that cable:
// least rate, sum of delays, which keeps every path's rate and delay. PCIe switches cannot be
// written there; levels, buffers and names are lost (lost_in_format).
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "topologies/topology.hpp"
#include "topologies/topology_reader.hpp"

namespace weft {

/// Formats that write_topology() knows, in the order in which they are printed.
std::span<const TopologyFormat> topology_output_formats();

/// The whole file as text. Throws InputError at `place`: [unknown-format], [not-expressible] with
/// the reason.
std::string write_topology(const Topology& topology, const std::string& format, const SourcePlace& place);

/// What a file of the format will not tell that this topology knows, a sentence each; empty for
/// weft and for pictures.
std::vector<std::string> lost_in_format(const Topology& topology, const std::string& format);

}  // namespace weft
