// SPDX-License-Identifier: Apache-2.0
// htsim import: a connection matrix (formats/htsim_matrix) -> Workload.
//
// Where it sits: format "htsim" of workload_reader.
//
// Each node is a rank; a connection is a send at its source, after an op of its start time, and a
// receive at its destination. Triggers start connections when others are done: the node where one
// is activated tells the node where a connection starts by an empty message. Which activation of a
// multishot comes first is decided as if each connection had 100 Gb/s, htsim's default link speed,
// to itself. prio is the priority of sends. docs/internals/workload_readers.md has the rules.
//
// Assumptions are written into Workload::assumptions. Errors: see htsim_matrix.hpp, and
// [rank-conflict], [never-starts], [fires-twice], [trigger-count], [too-many-roles].
// Not modelled: failure lines (break the links in the topology), connections without end (size 0).
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/text/option_names.hpp"
#include "workloads/dag/dag_fwd.hpp"

namespace weft {

/// `ranks` must agree with the file. Throws InputError.
Workload import_htsim(const std::string& path, std::optional<std::uint32_t> ranks, const OptionNames& names = {});

}  // namespace weft
