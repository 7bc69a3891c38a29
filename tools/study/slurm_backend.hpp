// SPDX-License-Identifier: Apache-2.0
// Slurm backend: the runs of a study as a job array, on the nodes of a cluster that share a folder.
//
// Where it sits: `weft study --backend=slurm`. Each task of the array is `weft study --points=I/N`
// with the same folder; this process submits, waits and collects.
//
// Model
//   - Tasks are not requeued by Slurm. When all of an array are over and runs are missing, their
//     shares are submitted again, which repeats only runs without a record; rounds_max times in
//     all, and no further once a round brings nothing.
//   - A task first looks for a file that was written here, so that a folder which its node does not
//     share is told apart from other mistakes.
//   - The queue is asked every one to fifteen seconds, less often the longer it takes. A controller
//     that does not answer is asked again, for ten minutes.
// Folder: slurm/ in that of the study has the script and the logs of the tasks.
// Threads: belongs to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "tools/study/study.hpp"
#include "tools/study/study_runner.hpp"

namespace weft {

struct SlurmProgress {
  std::uint64_t done = 0;  ///< of `total` runs
  std::uint64_t total = 0;
  std::uint64_t running = 0;  ///< tasks
  std::uint64_t waiting = 0;
  std::string reason;       ///< why the first of these waits
  std::string array;        ///< its id
  std::uint32_t round = 1;  ///< of submissions
};

struct SlurmOptions {
  static constexpr std::uint32_t rounds_max = 4;

  std::string out;  ///< folder
  StudyFolder::Earlier earlier = StudyFolder::Earlier::refused;
  std::uint32_t tasks = 0;    ///< 0: one per run, at most 16
  std::uint32_t threads = 1;  ///< and cores, of each
  std::string arguments;      ///< of sbatch: "--partition=short --time=1:00:00"
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const SlurmProgress&)> progress;
};

/// Where it is interrupted, the array is cancelled. Throws InputError: what run_study() does,
/// [program-failed] without sbatch, [slurm-refused], [slurm-unreachable], [folder-not-shared],
/// [slurm-tasks-died].
StudyResult run_study_on_slurm(const Study& study, const SlurmOptions& options);

/// "--partition=short --comment='two words'" as words. Throws InputError [bad-value].
std::vector<std::string> slurm_words(const std::string& text);

}  // namespace weft
