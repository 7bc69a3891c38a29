// SPDX-License-Identifier: Apache-2.0
// Study runner: carries out the runs of a study, several at a time, and keeps what each came to.
//
// Where it sits: `weft study`; runs are those of tools/simulation/run, in this process, or
// projections of study_projection.
// Model: each run is a function of the study and its number alone. One that fails leaves what was
// wrong as its record, and the others go on. Cores: runs go beside each other, one thread each;
// where there are fewer runs than threads, each takes its share of them, and where the machine is
// measured one run has them all. Under a stopping rule runs
// that may turn out not to count keep threads busy that would have none; they are left out then.
// Threads: one caller; takes others inside.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/study/study.hpp"
#include "tools/study/study_folder.hpp"
#include "tools/study/study_points.hpp"

namespace weft {

struct StudyProgress {
  std::uint64_t done = 0;    ///< of `total`, those of earlier calls among them
  std::uint64_t before = 0;  ///< of earlier calls
  std::uint64_t total = 0;   ///< with a stopping rule: that may come to count
  bool is_total_known = true;
  std::uint64_t failed = 0;
};

struct StudyOptions {
  std::string out;  ///< folder
  StudyFolder::Earlier earlier = StudyFolder::Earlier::refused;
  /// Only runs whose number leaves `share - 1` when divided by `shares`; with a stopping rule,
  /// points.
  std::uint32_t share = 1;
  std::uint32_t shares = 1;
  std::uint32_t threads = 0;  ///< 0: all cores
  /// No run begins later than this after the call; 0: whenever.
  std::chrono::duration<double> time_limit{0};
  bool only_collects = false;  ///< no run begins: what the folder has is collected
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const StudyProgress&)> progress;  ///< from one thread at a time
  /// Of studies that measure the machine: carries out a run, of as many as there are, in a process
  /// of its own, with the folder and so many threads; returns how it ended where it left no record.
  std::function<std::string(std::size_t run, std::size_t runs)> run_alone;
};

struct StudyResult {
  std::vector<StudyPoint> points;
  /// By run; none: it does not count, it is another share's that is not there yet, or
  /// time was up.
  std::vector<std::optional<StudyRecord>> records;
  std::vector<bool> counts;  ///< by run, as far as is known
  bool is_out_of_time = false;
  std::uint64_t repeated = 0;  ///< runs that were there, whose inputs have changed since

  std::uint64_t failed() const;
  std::uint64_t missing() const;
  std::uint64_t ended() const;
};

/// To which of `shares` a run belongs, from 1; under a stopping rule all runs of a point do to one.
std::uint32_t share_of(const Study& study, std::size_t run, std::uint32_t shares);

/// study.csv is written once no record is missing, and of those that are there when time is up.
/// A share of a single run measures the machine itself. Throws InputError of StudyFolder, and
/// [bad-value] of shares of a study with a budget of runs and where the machine is measured without
/// run_alone.
/// Requires: 1 <= share <= shares.
StudyResult run_study(const Study& study, const StudyOptions& options);

}  // namespace weft
