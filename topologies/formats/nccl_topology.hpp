// Reader of NCCL's topology files (format "nccl"): the inside of one server.
//
//   <system version="1">
//     <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
//       <pci busid="0000:00:01.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
//         <pci busid="0000:01:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
//           <gpu dev="0" sm="90" rank="0">
//             <nvlink target="0000:0f:00.0" count="18" tclass="0x068000"/>
//           </gpu>
//         </pci>
//         <pci busid="0000:02:00.0" class="0x020700" ...>
//           <nic> <net name="mlx5_0" dev="0" speed="400000"/> </nic>
//         </pci>
//       ...
//
// Where it sits: called by topology_reader. NCCL writes such files (NCCL_TOPO_DUMP_FILE) and reads
// them (NCCL_TOPO_FILE).
//
// Model, as src/graph/topo.cc of NCCL builds its graph
//   <cpu>               a PCIe switch "numaN"; all of them are joined with each other at NCCL's
//                       rate between CPUs
//   <pci> with <gpu>    (or of class 0x03....) a GPU "gpuDEV"; without <gpu>, GPUs are counted in
//                       file order
//   <pci> with <nic>    (or of class 0x02....) a NIC per <net>, named after it; several ports of
//                       one slot share a PCIe switch
//   other <pci>         a PCIe switch "pcie BUSID"
//   PCIe cable          lanes x 1.5, 3, 6, 12, 24, 48 Gb/s for 2.5, 5, 8, 16, 32, 64 GT/s, e.g. 48
//                       GB/s for 32 GT/s x16: the payload that NCCL counts on, three quarters of
//                       the wire
//   NVLink              to GPUs (tclass 0x03....) a cable between the two; to NVSwitches (0x068000)
//                       a cable to one NVSwitch that stands for all; to the CPU (0x068001) a cable
//                       to its PCIe switch. Rate = count x NCCL's constant for the GPU's sm in GB/s
//                       each way: 60: 18, 70 and 80: 20, 86: 12, 90: 20.6, 100: 40.1
//   <c2c>               a cable to the CPU of count x bw MB/s
//   NICs are cabled to one packet switch "network" at the speed of the <net>: the format ends at
//   the NIC.
// GPUs are in the order of `dev`. Delays are not in the format: 25 ns per NVLink cable and 50 ns
// per PCIe cable, so that a GPU and a NIC below one switch are 100 ns apart as in Weft's own
// servers (builders/server). Not read: GPUDirect flags, CPU affinities, GUIDs, in-network
// reduction. Files of several servers (host_hash) are refused.
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
