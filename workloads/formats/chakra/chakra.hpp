// Chakra import: a set of MLCommons Chakra execution traces, PREFIX.0.et ... PREFIX.N-1.et (each
// may be .et.gz) -> Workload. A set without such files may be in JSON form: PREFIX.0.json ...
// PREFIX.N-1.json (or .json.gz).
//
// Where it sits: format "chakra" of workload_reader. One file is read by chakra_trace; ranks whose
// DAGs are equal share one role.
//
// Model
//   - Rank r runs PREFIX.r.et. A set with a gap is an error that names the missing files. With
//     `ranks` given, a set of one file is replayed on that many ranks, all alike: a group of all
//     recorded ranks is everyone, a regular one (start, stride) is repeated over the ranks, any
//     other is taken to be everyone, and the user may let groups grow (formats/group_growth); peers
//     of messages become offsets from the own rank.
//   - Process groups come from metadata nodes or from a JSON file {"1": [0, 1, 2, 3], ...}; "" and
//     "0" are everyone, as in ASTRA-sim; a JSON file that lists them otherwise is refused. Groups
//     that share no rank and have one size are put into one communicator, in order of first use.
//   - comm_size is the input of one rank: the whole buffer (of a scatter the root's), for an
//     all-gather or a gather its own shard. A barrier needs none and moves nothing. The format
//     names no root: it is taken to be position 0.
//   - Collectives are simulated, so their recorded durations are dropped, unless
//     `collectives_as_recorded` asks for the trace as it was measured: then they are compute ops
//     with that duration.
//   - Collectives that are CPU calls (no comm_type) cost what they cost the CPU: launching.
// What the format leaves open is written into Workload::assumptions. Errors: see chakra_trace.hpp,
// and [no-file], [prefix-expected], [missing-rank], [duplicate-rank], [rank-conflict],
// [unknown-process-group], [bad-process-groups], [not-a-member], [peer-out-of-range], and those of
// formats/group_growth and check_workload().
// Not modelled: device speed (nodes with num_ops and no duration take no time), memory bandwidth
// (memory nodes without a duration take no time), processors: compute nodes without a lane run as
// soon as their dependencies allow, where ASTRA-sim runs one per processor at a time.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/text/option_names.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/formats/group_growth.hpp"

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
