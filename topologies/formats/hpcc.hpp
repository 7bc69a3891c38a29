// SPDX-License-Identifier: Apache-2.0
// Reader of topology.txt as the ns-3 RDMA simulators use it (format "hpcc").
//
//   nodes switches links
//   id id id ...                       the switches
//   src dst rate delay error           per link, full duplex, e.g. "0 8 100Gbps 1us 0"
//
// Where it sits: called by topology_reader.
//
// Node n of the file is NodeId(n), and its name is its number: a flow list
// (workloads/formats/flow_list) whose flows name nodes of the file names NodeIds. Nodes that are no
// switches are hosts with one port each (NodeKind::host), one host per node, in ascending order.
// Switch levels are unknown (0). Error rates other than 0 are refused, since lossy links are not
// modelled.
// Thread safety: pure function.
#pragma once

#include <memory>

#include "core/text/source_text.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// Throws InputError with every error of the file: those of numbered_rows, [no-endpoints],
/// [disconnected].
std::shared_ptr<const Topology> import_hpcc(const SourceText& source);

}  // namespace weft
