// SPDX-License-Identifier: Apache-2.0
// GOAL text: the schedules of LogGOPSim (Hoefler, Schneider, Lumsdaine, "LogGOPSim", LSAP 2010),
// rank by rank, as arrays.
//
//   num_ranks 2
//   rank 0 {
//     l1: calc 1500 cpu 0            // ns
//     l2: send 1024b to 1 tag 7 nic 0
//     l2 requires l1
//   }
//   rank 1 { a: recv 1024b from 0 tag 7 }
//
// Where it sits: formats/goal reads it and turns each rank into a role.
//
// docs/internals/workload_readers.md has the grammar that is accepted. The file is read in one pass
// without holding it; only the rank that is being read is in memory.
//
// Errors, all with their place: [empty-file], [not-text], [missing-field], [syntax],
// [unknown-keyword], [bad-value], [out-of-range], [peer-out-of-range], [duplicate-option],
// [duplicate-label], [unknown-label], [duplicate-rank], [missing-rank], [truncated-file], [no-ops].
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/values/units.hpp"
#include "workloads/dag/op_kinds.hpp"

namespace weft {

/// Of receives: from whoever sends.
constexpr std::uint32_t goal_any_source = UINT32_MAX;

/// One op as written.
struct GoalOp {
  std::int64_t amount = 0;  ///< calc: ticks; others: bytes
  std::uint32_t peer = 0;   ///< rank, or goal_any_source
  std::uint32_t tag = 0;
  std::uint16_t cpu = 0;
  OpKind kind = OpKind::compute;
  bool any_tag = false;

  bool is_wildcard() const { return kind == OpKind::receive && (any_tag || peer == goal_any_source); }
};

/// Where an op stands, for messages.
struct GoalOrigin {
  std::string label;
  int line = 0;
};

struct GoalRank {
  std::uint32_t rank = 0;
  std::uint32_t rank_count = 0;  ///< of the whole file
  int line = 0;                  ///< of its first line
  std::vector<GoalOp> ops;
  /// (dependency, op) of `op requires dependency`.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> after_end;
  /// (dependency, op) of `op irequires dependency`.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> after_start;
  std::vector<GoalOrigin> origins;  ///< per op, if asked for
  /// Ops that ask for another NIC than number 0.
  std::uint64_t nic_choices = 0;
};

struct GoalTextOptions {
  std::int64_t ticks_per_unit = Duration::ticks_per_ns;  ///< of the durations of calc
  bool keep_origins = false;
};

/// Reads a file and hands over each rank once it is complete, in the order of the file; `visit` may
/// take the arrays. Returns the number of ranks. Throws InputError with all errors of the file.
std::uint32_t read_goal_text(const std::string& path, const GoalTextOptions& options, const std::function<void(GoalRank&)>& visit);

}  // namespace weft
