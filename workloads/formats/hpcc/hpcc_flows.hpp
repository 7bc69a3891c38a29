// SPDX-License-Identifier: Apache-2.0
// hpcc flows: the flow list of the ns-3 RDMA simulators (flow.txt of HPCC, Li et al., SIGCOMM 2019)
// -> FlowList.
//
//   2
//   0 1 3 100 1000000 2.0
//   1 0 3 100 1000000 2.001
//
// Line 1 is the number of flows; then one line each: source, destination, priority, destination
// port, bytes, start in seconds. Sources and destinations are node numbers of the topology file;
// whether they exist is checked where the topology is known. Blank lines are skipped. The priority
// names one of the eight priority groups of a port (0 to 7). As in those simulators (BEgressQueue),
// group 0 goes strictly first; the others take turns packet by packet there and are one class here.
// Variants that leave a column out (some drop the port) are refused, since their columns cannot be
// told apart.
// Errors: [bad-count], [count-mismatch], [wrong-field-count], [bad-value], [out-of-range],
// [negative-duration], [self-flow].
// Thread safety: pure functions.
#pragma once

#include <string>

#include "core/text/source_text.hpp"
#include "workloads/formats/flow_list.hpp"

namespace weft {

/// Throws InputError.
FlowList import_hpcc_flows(const SourceText& source);
FlowList import_hpcc_flows(const std::string& path);

}  // namespace weft
