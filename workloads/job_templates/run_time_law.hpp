// SPDX-License-Identifier: Apache-2.0
// Run-time law: how long jobs run, from the mean, the median and the maximum of their run times and
// from the GPU time of those that completed, were cancelled and failed.
//
// Where it sits: fitted_jobs draws the run times of its jobs from it.
//
// Model: a job with G GPUs that ends in state s runs for
//   R = min(run_max, exp(mu_s + size_exponent ln G + sigma N)),   N standard normal;
// the maximum is a limit at which jobs are ended. Size and state are independent of each other.
// Five published numbers determine the five parameters:
//   for each s    E[G R | s] = GPU time of its jobs / their number -> mu_s (rises with mu_s)
//   over all      E[R] = mean run time -> size_exponent (falls with it: more of the GPU time is
//                 that of large jobs)
//   over all      P(R <= median) = 1/2 -> sigma (rises with it: the mean stands, the median falls)
// The mean of a capped log-normal is closed: E[min(X, L)] = e^(mu + sigma^2/2) Phi(z - sigma) + L
// Phi(-z), z = (ln L - mu) / sigma. So each parameter is the root of a function of one variable, in
// which those further up are roots again. Parameters are rounded to 1e-6, so that a trace does not
// depend on the last bits of a machine's mathematical library.
// Thread safety: values and pure functions.
#pragma once

#include <array>
#include <cstddef>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/random.hpp"
#include "workloads/job_templates/size_law.hpp"

namespace weft {

/// How a job ended.
enum class JobEnd : std::size_t { completed, cancelled, failed };
inline constexpr std::size_t job_end_count = 3;

struct RunTimeAggregates {
  double mean_s = 0;
  double median_s = 0;
  double max_s = 0;
  std::array<double, job_end_count> shares{};      ///< of the jobs; they add up to 1
  std::array<double, job_end_count> gpu_time_s{};  ///< mean of G R over the jobs that ended so
};

struct RunTimeLaw {
  double sigma = 0;
  double size_exponent = 0;
  std::array<double, job_end_count> mu{};
  double max_s = 0;

  /// In seconds, of a job with 2^k GPUs.
  double draw(std::size_t k, JobEnd end, RandomStream& stream) const;
};

/// A state without jobs has no law: its mu is 0. Throws InputError [no-fit].
RunTimeLaw fit_run_time_law(const RunTimeAggregates& aggregates, const SizeLaw& sizes, const SourcePlace& place);

}  // namespace weft
