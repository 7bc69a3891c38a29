// SPDX-License-Identifier: Apache-2.0
// Least attained service, as in Tiresias (Gu et al., NSDI 2019, section 3: discretized
// two-dimensional LAS), with preemption.
//
// Model: a job's service is the time that it has held GPUs times their number. `queues` hold jobs
// by their service: the first those below the first threshold, and so on, each threshold `growth`
// times the one before; a job that passes a threshold falls to the end of the next queue. Jobs of
// earlier queues go first. Inside a queue come those that run, in order of when they began to run
// in it, so that jobs of one queue do not stop each other; then those that were stopped, the last
// first; then those that have joined it since, in order. A pass is due when a running job comes to
// a threshold. Jobs that have waited for long are not promoted. This is how the simulator of
// Tiresias's authors orders jobs, and how the cluster of Muri's measurements did
// (tests/validation/muri_test.cpp).
// Thread safety: called from the scheduler's logical process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/policies/job_order.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

class Tiresias final : public SchedulingPolicy {
 public:
  /// Of GPU time, ascending.
  explicit Tiresias(std::vector<Duration> thresholds) : thresholds_(std::move(thresholds)) {}
  void schedule(SchedulingPass& pass) override;
  bool preempts() const override { return true; }

 private:
  std::size_t queue_of(const JobView& job) const;
  /// How long a job of so many GPUs holds them until it leaves the queue; max() if the clock ends
  /// before.
  Duration queue_limit(std::size_t queue, std::uint32_t gpus) const;

  enum class Group : std::uint8_t { runs, was_stopped, has_joined };
  /// In what queue, in what group of it, and where in that by ticks.
  using Key = std::tuple<std::size_t, Group, std::int64_t>;
  struct Standing {
    std::uint64_t pass = 0;  ///< number of the last pass after which it ran
    std::size_t queue = 0;
    Time since;  ///< when it began to run in that queue
  };
  Key key_of(const JobView& job, Time now) const;
  /// Null if it did not run after the pass before this one.
  const Standing* standing_before(JobId job) const;

  std::vector<Duration> thresholds_;
  JobOrder<Key> order_;
  std::vector<Standing> standing_;  ///< by JobId
  std::uint64_t pass_ = 1;
};

Module<SchedulingPolicyFactory> tiresias_module();

}  // namespace weft
