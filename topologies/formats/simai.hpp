// SPDX-License-Identifier: Apache-2.0
// Reader of SimAI's topology files (format "simai").
//
//   nodes gpus_per_server nvswitches switches links gpu_type
//   id id id ...                       the NVSwitches, then the switches
//   src dst rate delay error           per link, full duplex, e.g. "0 32 2880Gbps 0.000025ms 0"
//
// Where it sits: called by topology_reader.
//
// Node n of the file is NodeId(n), and its name is its number. GPUs are nodes 0 ..
// nodes-nvswitches-switches-1 and belong to hosts of gpus_per_server in order; GPUs are cabled to
// switches directly, there are no NICs. An NVSwitch belongs to the host whose GPUs it joins. Switch
// levels are unknown (0). The type of GPU is not used: op times come from the workload. Error rates
// other than 0 are refused.
// Thread safety: pure function.
#pragma once

#include <memory>

#include "core/text/source_text.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// Throws InputError with every error of the file: those of numbered_rows, [no-endpoints],
/// [disconnected], and of NVSwitches [nvswitch-without-gpus], [nvswitch-spans-hosts],
/// [nvswitch-leaves-host].
std::shared_ptr<const Topology> import_simai(const SourceText& source);

}  // namespace weft
