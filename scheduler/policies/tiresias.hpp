// Least attained service, as in Tiresias (Gu et al., NSDI 2019, section 3: discretized two-dimensional LAS), with preemption.
//
// Model: a job's service is the time that it has held GPUs times their number. `queues` hold jobs by their service: the first those below the
// first threshold, and so on, each threshold `growth` times the one before; a job that passes a threshold falls to the next queue. Jobs of earlier
// queues go first, inside a queue those that started first, and those that never did by submission behind them. A pass is due when a running job
// comes to a threshold. Jobs that have waited for long are not promoted, as they were not in Muri's runs of it.
// Thread safety: called from the scheduler's logical process.
#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/policies/job_order.hpp"
#include "scheduler/policy.hpp"

namespace weft {

class Tiresias final : public SchedulingPolicy {
 public:
  /// Of GPU-seconds, ascending.
  explicit Tiresias(std::vector<double> thresholds) : thresholds_(std::move(thresholds)) {}
  void schedule(SchedulingPass& pass) override;
  bool preempts() const override { return true; }

 private:
  std::size_t queue_of(const JobView& job) const;
  /// How long a job of so many GPUs holds them until it leaves the queue; max() if the clock ends before.
  Duration stay(std::size_t queue, std::uint32_t gpus) const;

  std::vector<double> thresholds_;
  JobOrder<std::tuple<std::size_t, bool, Time>> order_;  ///< queue, whether it never started, first start or submission
};

Module<SchedulingPolicyFactory> tiresias_module();

}  // namespace weft
