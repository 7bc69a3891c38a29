// SPDX-License-Identifier: Apache-2.0
// Kineto notes: what the import of a trace had to assume, counted while it runs and told as
// Workload::assumptions.
// Where it sits: formats/kineto and its placement of communication count; the notes are written at
// the end.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/values/units.hpp"

namespace weft {

struct KinetoFindings {
  std::set<std::string> told;  ///< whole sentences
  std::set<std::string> repeated_groups;
  std::set<std::string> continued_groups;
  std::set<std::string> watchers;                           ///< threads that are left out
  std::map<std::string, std::uint64_t> unknown_categories;  ///< events by category
  std::uint64_t averaged = 0;                               ///< iterations
  std::uint64_t communications = 0;
  std::uint64_t undescribed = 0;
  std::uint64_t unnamed_groups = 0;
  std::uint64_t sized_groups = 0;
  std::uint64_t cut_groups = 0;
  std::uint64_t widened_groups = 0;
  std::uint64_t misfits = 0;
  std::uint64_t messages = 0;
  std::uint64_t broadcasts = 0;
  std::uint64_t rooted = 0;
  std::uint64_t repeated_splits = 0;
  std::uint64_t split_misfits = 0;
  std::uint64_t unused_splits = 0;
  std::uint64_t uneven = 0;
  std::uint64_t handovers = 0;
  std::uint64_t guessed_syncs = 0;
  std::uint64_t guessed_waits = 0;
  std::uint64_t unlaunched = 0;
  std::uint64_t overlapping = 0;
  std::uint64_t unexplained = 0;  ///< delays that no event of the trace explains
  Duration unexplained_time;      ///< their sum
};

/// How the set was imported.
struct KinetoImportKind {
  bool replayed = false;  ///< one file stands for all ranks
  bool as_recorded = false;
  std::uint32_t rank_count = 0;
  std::uint32_t partner_distance = 0;  ///< between the ranks of a pair; 0 if all ranks are alike
};

/// Appends one note per kind of finding.
void add_kineto_notes(const KinetoFindings& findings, const KinetoImportKind& kind, std::vector<std::string>& notes);

}  // namespace weft
