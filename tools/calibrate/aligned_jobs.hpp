// SPDX-License-Identifier: Apache-2.0
// Aligned jobs: what a profile's alignment makes of the iterations of a run, beside what was
// simulated.
//
// Where it sits: `weft run --profile --align`; a sink beside that of the folder.
// Threads: as ResultSink.
#pragma once

#include <cstdint>
#include <string>

#include "calibration/profile.hpp"
#include "tools/results/folder_sink.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// All GPUs of the scenario's cluster, which the paper calls N_g.
std::uint64_t cluster_gpus(const Scenario& scenario);

/// The profile's alignment. Throws InputError [no-alignment] if it has none.
const Alignment& alignment_of(const CalibrationProfile& profile, const std::string& file);

class AlignedJobs final : public ResultSink {
 public:
  /// Keeps a reference to the folder, which has the table aligned_jobs.csv.
  AlignedJobs(const Alignment& alignment, const Scenario& scenario, FolderSink& folder);

  void begin() override;
  void add_job(const JobRow& row) override;

  /// Mean over all iterations of all jobs, in s; 0 without any.
  double mean_iteration_s() const { return iterations_ == 0 ? 0 : sum_s_ / static_cast<double>(iterations_); }

 private:
  Alignment alignment_;
  std::uint64_t cluster_gpus_;
  FolderSink& folder_;
  std::uint64_t iterations_ = 0;
  double sum_s_ = 0;
};

}  // namespace weft
