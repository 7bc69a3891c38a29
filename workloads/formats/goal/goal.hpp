// SPDX-License-Identifier: Apache-2.0
// GOAL import: a schedule in GOAL text (formats/goal_text) -> Workload.
//
// Where it sits: format "goal" of workload_reader.
//
// Each rank is a role; equal ranks share one. send and recv match by (source, destination, tag),
// the n-th with the n-th in the order in which they are issued, as in LogGOPSim. `a requires b`: a
// starts after the end of b; `a irequires b`: after its start. Calcs of one cpu that become ready
// at the same instant are put in file order. docs/internals/workload_readers.md says how each of
// these is carried over, and what LogGOPSim does otherwise.
//
// What was assumed is written into Workload::assumptions. Errors: see goal_text.hpp, and
// [rank-conflict], [bad-value] (time unit), [cycle], [too-many-roles], [unmatched-receive] and the
// others of check_workload(); ops are named by label and line, which are read again for that.
// Not modelled: nic N (the topology decides), CPU time of messages, one-at-a-time of calcs that
// become ready at different times.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/text/option_names.hpp"
#include "workloads/dag/dag_fwd.hpp"

namespace weft {

struct GoalOptions {
  std::optional<std::uint32_t> ranks;  ///< must agree with the file
  std::string time_unit;               ///< of calc; "ns", "us", "ms"; empty: ns
  /// Ranks whose ops get their label and line as a name, and so a role of their own. Op ids are the
  /// same with names and without.
  std::vector<std::uint32_t> named_ranks = {};
  OptionNames names = {};  ///< as the user gave them
};

/// Throws InputError.
Workload import_goal(const std::string& path, const GoalOptions& options);

}  // namespace weft
