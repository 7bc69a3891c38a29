// SPDX-License-Identifier: Apache-2.0
// DAG reader: Weft's own workload files (workload.proto) -> Workload.
//
// Where it sits: format "weft" of workload_reader. Text files are for hands: every mistake is
// reported with its place, all mistakes of a file together. Binary files (ending in .pb or .pb.gz)
// are for large DAGs: they are read front to back in pieces, so memory is that of the result plus
// the builder's arrays - about 80 bytes per op with two edges at the peak, 40 afterwards
// (bench/dag.cpp).
//
// Beyond the schema the readers check: roles cover all ranks once; groups are disjoint; names are
// unique and dependencies known; no cycles (with a stream's written order counted in); durations
// and sizes not negative and within limits.hpp; every rank that uses a communicator is in one of
// its groups, peers and roots inside it; split tables are square; and what check_workload() checks.
// Thread safety: pure functions.
#pragma once

#include <string>

#include "core/text/source_text.hpp"
#include "workloads/dag/dag_fwd.hpp"

namespace weft {

/// Reads a file, binary or text by its ending. Throws InputError.
Workload read_workload(const std::string& path);

/// Reads text.
Workload parse_workload_text(const SourceText& source);

/// Reads a binary file.
Workload read_workload_binary(const std::string& path);

}  // namespace weft
