// SPDX-License-Identifier: Apache-2.0
// Cluster usage: how the cluster stood over time, as samples for the observer and as sums over the
// run.
//
// Where it sits: JobAccounts hands it the state that has lasted up to an event, before the event
// changes the state. JobCounters get the sums.
//
// Model: what lasts no time counts for nothing. GPU-seconds are GPUs times seconds of simulated
// time; a GPU is stranded while it is free and a job waits.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <optional>

#include "core/values/units.hpp"
#include "scheduler/lifecycle/job_record.hpp"

namespace weft {

class ClusterUsage {
 public:
  /// `observer` outlives it and may be null. Nothing before `begin` counts.
  ClusterUsage(JobObserver* observer, Time begin) : observer_(observer), up_to_(begin) {}

  /// Everything up to here is counted.
  Time up_to() const { return up_to_; }
  /// The cluster has stood so since up_to(). Requires: now > up_to().
  void advance(Time now, const ClusterSample& state);
  /// The observer is to know how it stands, unless it does; advance() tells it, too.
  void tell(const ClusterSample& state);

  double busy_gpu_s() const { return busy_gpu_s_; }
  double stranded_gpu_s() const { return stranded_gpu_s_; }
  double out_gpu_s() const { return out_gpu_s_; }
  double draining_gpu_s() const { return draining_gpu_s_; }
  /// Means from time 0 to up_to(); 0 at 0.
  double gpus_busy_mean() const { return mean(busy_gpu_s_); }
  double queue_length_mean() const { return mean(queued_job_s_); }

 private:
  double mean(double sum) const { return up_to_ > Time::zero() ? sum / up_to_.in_s() : 0; }

  JobObserver* observer_;
  Time up_to_;
  std::optional<ClusterSample> told_;  ///< last
  double busy_gpu_s_ = 0;
  double stranded_gpu_s_ = 0;
  double out_gpu_s_ = 0;
  double draining_gpu_s_ = 0;
  double queued_job_s_ = 0;
};

}  // namespace weft
