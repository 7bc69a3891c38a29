// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/aligned_jobs.hpp"

#include "core/text/diagnostics.hpp"

namespace weft {

std::uint64_t cluster_gpus(const Scenario& scenario) { return empty_cluster(scenario).gpu_count(); }

const Alignment& alignment_of(const CalibrationProfile& profile, const std::string& file) {
  if (profile.alignment) return *profile.alignment;
  fail("no-alignment", "the profile has no alignment", SourcePlace::named(file),
       "`weft calibrate --align` fits one to measured times of iterations");
}

AlignedJobs::AlignedJobs(const Alignment& alignment, const Scenario& scenario, FolderSink& folder)
    : alignment_(alignment), cluster_gpus_(cluster_gpus(scenario)), folder_(folder) {}

void AlignedJobs::begin() {
  iterations_ = 0;
  sum_s_ = 0;
}

void AlignedJobs::add_job(const JobRow& row) {
  if (!row.mean_iteration || row.iterations == 0) return;
  const std::uint64_t gpus = alignment_.counted == AlignedGpus::cluster ? cluster_gpus_ : row.gpus;
  const double aligned_s = alignment_.corrected_s(row.mean_iteration->in_s(), static_cast<double>(gpus));
  folder_.add_aligned_job({row.job, gpus, *row.mean_iteration, Duration::from_seconds(aligned_s)});
  iterations_ += row.iterations;
  sum_s_ += static_cast<double>(row.iterations) * aligned_s;
}

}  // namespace weft
