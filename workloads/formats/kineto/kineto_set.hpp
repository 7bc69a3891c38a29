// SPDX-License-Identifier: Apache-2.0
// Kineto set: the traces of all ranks of a job on their way into a workload.
// Where it sits: formats/kineto fills it from the files; formats/kineto_placement turns its
// communication into ops of the DAG.
// Thread safety: belongs to one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/source_text.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/formats/group_growth.hpp"
#include "workloads/formats/kineto/kineto_communication.hpp"
#include "workloads/formats/rank_set.hpp"

namespace weft {

/// The ops of one rank.
struct KinetoRank {
  std::uint32_t number = 0;
  std::string path;
  std::vector<Op> ops;
  std::vector<std::uint32_t> op_names;  ///< per op: index of `names`
  std::vector<std::string> names;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  ///< (dependency, op)
};

/// A communication whose communicator is known only once all files are read.
struct KinetoExchange {
  std::size_t rank = 0;  ///< number of the rank
  std::uint32_t op = 0;  ///< index of KinetoRank::ops
  KinetoVerb verb = KinetoVerb::all_reduce;
  KinetoCommunication communication;
};

struct KinetoSet {
  std::vector<KinetoRank> ranks;  ///< sorted by number once all files are read
  std::vector<KinetoExchange> exchanges;
  std::uint32_t rank_count = 0;  ///< ranks of the workload
  /// One file stands for all ranks.
  bool replayed = false;
  /// The largest that a file declares.
  std::uint32_t world_size = 1;
  /// Some file declares a world size.
  bool declares_world = false;
  /// Of the file that the user gave.
  std::vector<ProcessGroup> given_groups;
  /// Likewise of groups that grow, if one file stands for all ranks.
  std::vector<GroupSize> group_sizes;
  std::map<std::uint32_t, std::vector<ProcessGroup>> declared_groups;  ///< of the traces, by rank

  /// Number of ranks of the job that was recorded, as far as the files declare it.
  std::uint32_t recorded_world() const { return declares_world ? world_size : rank_count; }

  /// Requires: `ranks` is sorted and has a rank of this number.
  KinetoRank& rank_of_number(std::size_t number) {
    return *std::lower_bound(ranks.begin(), ranks.end(), number,
                             [](const KinetoRank& a, std::size_t wanted) { return a.number < wanted; });
  }
};

/// Errors of a set. Every further kernel would repeat a mistake, so each kind of mistake is
/// reported once.
struct KinetoErrors {
  Diagnostics diagnostics;
  std::set<std::string> reported;

  bool is_new(const std::string& mistake) { return reported.insert(mistake).second; }
};

/// Where the file names the collective. Reads the file again: its text is not kept, and errors are
/// rare.
inline SourcePlace kineto_place_of(const std::string& path, const KinetoCommunication& communication) {
  return SourceText::read(path).at_offset(communication.offset,
                                          static_cast<int>(std::min<std::size_t>(communication.collective.size() + 2, 60)));
}

}  // namespace weft
