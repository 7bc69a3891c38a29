// GOAL import: a schedule in GOAL text (formats/goal_text) -> Workload.
//
// Where it sits: format "goal" of workload_reader.
//
// Model
//   - Each rank is a role; equal ranks share one. Peers are kept as offsets from the own rank, so
//     that all ranks of a ring are one role; a rank that reads word for word like another one keeps
//     them absolute, so that all leaves of a gather are one. Labels order ops, but are not kept as
//     names, since they often count through the whole file.
//   - send and recv match by (source, destination, tag), the n-th with the n-th in the order in
//     which they are issued, as in LogGOPSim. Where dependencies leave that order open
//     (formats/goal_order), it is the one that a run with messages that take no time shows; such
//     messages are counted. A send is done when its last byte has left, a recv when its message is
//     here. What LogGOPSim adds to them - L, o, g, G, O, S - is not part of a schedule; the network
//     of the run takes its place, and messages cost no CPU time.
//   - `a requires b`: a starts after the end of b. `a irequires b`: a starts after the start of b.
//     Nothing but b's own dependencies decides when b starts, so an op of no duration is put
//     between them and b, and a waits for that op: exact, at one op per such b.
//   - cpu C: LogGOPSim runs the calcs of one cpu one at a time, whichever is ready first. Calcs
//     that become ready at the same instant, because they wait for nothing or for the same single
//     op, are put in file order. Others are left to their dependencies: in schedules made from
//     traces those order them. A calc that the one before it on its cpu does not precede may
//     overlap with it; such calcs are counted.
//   - recv from -1 or with tag -1 takes the message that would come first if messages took no time
//     (formats/goal_matching).
//   - Labels and lines are read again from the file for those ops that a message names.
// What was assumed is written into Workload::assumptions. Errors: see goal_text.hpp, and
// [rank-conflict], [bad-value] (time unit), [cycle], [too-many-roles], [unmatched-receive] and the
// others of check_workload(); ops are named by label and line.
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
