// SPDX-License-Identifier: Apache-2.0
// Study stop: which runs a study needs, given what those that have ended came to.
//
// Where it sits: study_runner asks it what to carry out next, study.csv has a row for each run that
// counts.
// Model: without a rule every run counts. With one, a point has runs until each metric's interval
// (core/values/mean_interval) is narrow, `replicates_min` at least and `replicates` at most. A
// budget of runs is dealt in rounds, a run to each point that is not done, so that all points are
// known about equally well when it is spent. What counts is a function of the study and of the
// runs' results, not of the order in which they end.
// Threads: pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tools/study/study.hpp"
#include "tools/study/study_folder.hpp"

namespace weft {

struct NeededRuns {
  std::vector<bool> counts;          ///< by run
  std::vector<std::size_t> missing;  ///< count, and have no record; points take turns
  std::uint64_t runs_max = 0;        ///< that may come to count, those that do among them
};

/// Requires: records has all runs. `is_own`: runs that are looked at; with a rule it takes all runs
/// of a point or none.
NeededRuns needed_runs(const Study& study, const std::vector<std::optional<StudyRecord>>& records,
                       const std::function<bool(std::size_t run)>& is_own);

}  // namespace weft
