// SPDX-License-Identifier: Apache-2.0
// Kineto import: traces of PyTorch's profiler, one file per rank -> Workload (format "kineto").
//
// PATH is one file, a folder (all its .json and .json.gz files), or the beginning of the names of
// several files. A file's rank is distributedInfo's, else the last number in its name.
//
// The model, each part in a header of its own
//   kineto_trace          what is read of a file
//   kineto_iterations     one iteration is cut out, the same on all ranks: the one asked for, or a
//                         typical one. Its kernels take their mean over the iterations of the rank
//                         that launch the same sequence. A trace without iterations is one
//   kineto_replay         who waited for whom; what lies in earlier iterations is dropped
//   kineto_communication  what a kernel moves; the recorded durations of collectives are dropped
//   kineto_groups         which ranks take part, kineto_placement the ops that they become
//   kineto_split_join     how all-to-alls of uneven sizes divide
//
// A set must hold every rank of the world, or be one file that is replayed on `ranks` ranks. As
// recorded, nothing is simulated and nothing averaged, and missing ranks do not matter.
// What the format leaves open is counted in Workload::assumptions (kineto_notes).
// Errors: those of these headers, [no-file], [missing-rank], [duplicate-rank], [unknown-rank],
// [rank-conflict], [out-of-range], [no-such-iteration], [too-many-streams], [contradictory-times],
// and those of formats/group_growth and check_workload().
// Not modelled: several processes in one file; other accelerators than CUDA and HIP devices.
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

struct KinetoOptions {
  /// Replay a single file on so many ranks; otherwise must be the number of files.
  std::optional<std::uint32_t> ranks;
  std::optional<std::uint32_t> iteration;  ///< from 0, among those that all ranks have
  std::string process_groups_path;         ///< JSON; empty if there is none
  bool as_recorded = false;
  std::vector<GroupSize> group_sizes = {};  ///< of groups that grow where one file is replayed
  OptionNames names = {};                   ///< as the user gave them
};

/// Throws InputError.
Workload import_kineto(const std::string& path, const KinetoOptions& options);

}  // namespace weft
