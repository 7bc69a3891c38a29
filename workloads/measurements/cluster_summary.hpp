// SPDX-License-Identifier: Apache-2.0
// Cluster summaries: aggregates per cluster as the Helios (Hu et al., SC 2021) and Acme (Hu et al.,
// NSDI 2024) data sets publish them.
//
// One row per cluster: id, job_num, cpu_job_num, gpu_job_num, avg_run_time_gpu and avg_que_time_gpu
// (seconds), avg_gpu_num, complete_gpu_time, cancel_gpu_time and fail_gpu_time (GPU-seconds),
// complete_rate_gpu, cancel_rate_gpu and fail_rate_gpu (shares of the GPU jobs); Helios has
// gpu_num, the GPUs of the cluster, and a row "total". Other columns are ignored. A field may be
// empty.
// Such a table holds no jobs: it is not a job trace and none is made up from it. It is read for
// `weft check`, which prints it, checked, so that a synthetic or replayed trace can be held against
// it.
// Errors: as a CSV table's, and [contradiction]: rates that do not add up to 1 within their
// rounding, a total that is not the sum of its rows, more jobs of CPUs and GPUs than jobs. Jobs
// that are of neither kind are noted.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/text/source_text.hpp"

namespace weft {

struct ClusterSummary {
  std::string id;
  std::optional<std::uint64_t> gpus;
  std::uint64_t jobs = 0;
  std::uint64_t cpu_jobs = 0;
  std::uint64_t gpu_jobs = 0;
  double mean_run_s = 0;
  double mean_queue_s = 0;
  double mean_gpus = 0;
  std::optional<double> gpu_time_s;
  int line = 0;
};

/// Throws InputError.
std::vector<ClusterSummary> read_cluster_summaries(const SourceText& source);

/// The same, checked and as text.
std::string describe_cluster_summaries(const SourceText& source);

}  // namespace weft
