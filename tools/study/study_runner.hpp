// SPDX-License-Identifier: Apache-2.0
// Study runner: carries out the runs of a study, several at a time, and keeps what each came to.
//
// Where it sits: `weft study`; runs are those of tools/simulation/run, in this process.
// Model: each run is a function of the study and its number alone. One that fails leaves what was
// wrong as its record, and the others go on. Cores: runs go beside each other, one thread each;
// where there are fewer runs than threads, each takes its share of them.
// Threads: one caller; takes others inside.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/study/study.hpp"
#include "tools/study/study_folder.hpp"
#include "tools/study/study_points.hpp"

namespace weft {

struct StudyProgress {
  std::uint64_t done = 0;    ///< of `total`, those of earlier calls among them
  std::uint64_t before = 0;  ///< of earlier calls
  std::uint64_t total = 0;
  std::uint64_t failed = 0;
};

struct StudyOptions {
  std::string out;  ///< folder
  StudyFolder::Earlier earlier = StudyFolder::Earlier::refused;
  /// Only runs whose number leaves `share - 1` when divided by `shares`.
  std::uint32_t share = 1;
  std::uint32_t shares = 1;
  std::uint32_t threads = 0;  ///< 0: all cores
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const StudyProgress&)> progress;  ///< from one thread at a time
};

struct StudyResult {
  std::vector<StudyPoint> points;
  /// By point; none: another share's that is not there yet, or interrupted.
  std::vector<std::optional<StudyRecord>> records;

  std::uint64_t failed() const;
  std::uint64_t missing() const;
};

/// study.csv is written once no record is missing. Throws InputError of StudyFolder.
/// Requires: 1 <= share <= shares.
StudyResult run_study(const Study& study, const StudyOptions& options);

}  // namespace weft
