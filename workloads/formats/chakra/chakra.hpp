// SPDX-License-Identifier: Apache-2.0
// Chakra import: a set of MLCommons Chakra execution traces, PREFIX.0.et ... PREFIX.N-1.et (each
// may be .et.gz) -> Workload. A set without such files may be in JSON form: PREFIX.0.json ...
// PREFIX.N-1.json (or .json.gz).
//
// Where it sits: format "chakra" of workload_reader. One file is read by chakra_trace; ranks whose
// DAGs are equal share one role.
//
// Rank r runs PREFIX.r.et; with `ranks` given, a set of one file is replayed on that many ranks,
// all alike, and the user may let groups grow (formats/group_growth). Process groups come from
// metadata nodes or from a JSON file {"1": [0, 1, 2, 3], ...}. comm_size is the input of one rank.
// Collectives are simulated, so their recorded durations are dropped, unless
// `collectives_as_recorded` asks for the trace as it was measured.
// docs/internals/workload_readers.md has the details and what is not modelled.
//
// What the format leaves open is written into Workload::assumptions. Errors: see chakra_trace.hpp,
// and [no-file], [prefix-expected], [missing-rank], [duplicate-rank], [rank-conflict],
// [unknown-process-group], [bad-process-groups], [not-a-member], [peer-out-of-range], and those of
// formats/group_growth and check_workload().
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/text/option_names.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/formats/group_size.hpp"

namespace weft {

struct ChakraOptions {
  /// Replay a single file on so many ranks; otherwise must be the number of files.
  std::optional<std::uint32_t> ranks;
  std::string process_groups_path;  ///< JSON; empty if there is none
  bool collectives_as_recorded = false;
  std::vector<GroupSize> group_sizes = {};  ///< of groups that grow where one file is replayed
  OptionNames names = {};                   ///< as the user gave them
};

/// Throws InputError.
Workload import_chakra(const std::string& prefix, const ChakraOptions& options);

/// The files of a set, from rank 0 on.
std::vector<std::string> chakra_files(const std::string& prefix);

}  // namespace weft
