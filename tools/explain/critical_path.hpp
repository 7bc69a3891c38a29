// SPDX-License-Identifier: Apache-2.0
// Critical path: the chain of ops and transfers that ended an iteration of a job.
//
// Where it sits: tools/explain/explanation asks for one iteration of each job.
//
// Model: from the event that ended the iteration at its last rank, each event leads back to the
// one whose handling made it: the last thing waited for. The path ends where the iteration before
// it ended at its last rank (the first begins when the job's ranks do), so that its pieces add up
// to the iteration's time. A piece lost to contention is what the path's transfers took longer
// than alone on their links.
// Beside it stands where all ranks spent the iteration: computing; in collectives with no compute
// op running; likewise in sends and receives, which is what a pipeline's bubble looks like; in
// none of them.
// Threads: pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/explain/flow_blame.hpp"
#include "tools/explain/recorded_run.hpp"

namespace weft {

class Topology;

struct PathPiece {
  /// "compute", a collective's type, "send", "slots", "launch", "take over", ...
  std::string kind;
  std::string what;   ///< the op, or nothing
  std::string where;  ///< "rank 3", or "rank 3 -> rank 4"
  Time begin;
  Time end;
  double contention_s = 0;  ///< of it
  double seconds() const { return (end - begin).in_s(); }
};

/// Mean over ranks.
struct RankTimes {
  double computing_s = 0;
  double exposed_collectives_s = 0;
  double exposed_sends_s = 0;
  double idle_s = 0;
};

struct CriticalPath {
  std::uint64_t iteration = 0;
  Time begin;
  Time end;
  std::vector<PathPiece> pieces;  ///< in order of time, without gaps
  RankTimes ranks;
};

/// Of a job's iteration; its last one has the highest number. Requires: the job has run, and
/// has that iteration.
CriticalPath critical_path(const TapedRun& run, const FlowBlame& blame, const ExplainedJob& job, std::uint64_t iteration);

/// Of the job's last attempt.
std::uint64_t last_iteration(const TapedRun& run, const ExplainedJob& job);
std::uint64_t first_iteration(const TapedRun& run, const ExplainedJob& job);

/// Pieces of a kind together, the longest first.
struct PathShare {
  std::string kind;
  std::size_t pieces = 0;
  double seconds = 0;
  double contention_s = 0;
};
std::vector<PathShare> shares_of(const CriticalPath& path);

}  // namespace weft
