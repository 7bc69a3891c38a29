// SPDX-License-Identifier: Apache-2.0
// Reader of NCCL's topology files (format "nccl"): the inside of one server.
//
//   <system version="1">
//     <cpu numaid="0" arch="x86_64" ...>
//       <pci busid="0000:01:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
//         <gpu dev="0" sm="90" rank="0"> <nvlink target="0000:0f:00.0" count="18" .../> </gpu>
//       ...
//
// Where it sits: called by topology_reader. NCCL writes such files (NCCL_TOPO_DUMP_FILE) and reads
// them (NCCL_TOPO_FILE).
//
// The model is the graph that src/graph/topo.cc of NCCL builds, with its rates of links: each <cpu>
// and each other <pci> is a PCIe switch, each <gpu> a GPU and each <net> a NIC. NVLinks to
// NVSwitches lead to one NVSwitch that stands for all. NICs are cabled to one packet switch
// "network". GPUs are in the order of `dev`. docs/internals/topology_readers.md has the whole
// table, the rates, the delays and what is not read. Files of several servers (host_hash) are
// refused.
// Thread safety: pure function.
#pragma once

#include <memory>

#include "core/text/source_text.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// Throws InputError with every error of the file: those of xml_file, [bad-version],
/// [unknown-class], [bad-link-speed], [bad-number], [out-of-range], [duplicate-device],
/// [unknown-target], [nvlink-mismatch], [no-gpus], [several-hosts].
std::shared_ptr<const Topology> import_nccl_topology(const SourceText& source);

}  // namespace weft
