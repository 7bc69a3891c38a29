// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fast_forward/fast_forward.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.hpp"

namespace weft {

void FastForward::start(JobId job, bool has_waited) {
  Job& entry = jobs_[job.index()];
  if (has_waited) entry.risk_s += risk_max_s_;
  entry.periods = {};
  entry.forwarded_period.reset();
  entry.exposed = {};
  entry.exposed_iterations = 0;
  entry.exposed_is_old = false;
}

void FastForward::begin_epoch(JobId job, bool under_way) {
  jobs_[job.index()].periods = {};
  jobs_[job.index()].is_under_way = under_way;
  jobs_[job.index()].exposed_is_old = true;
}

void FastForward::add(JobId job, Duration period, Duration exposed) {
  ++report_.simulated;
  Job& entry = jobs_[job.index()];
  if (std::exchange(entry.exposed_is_old, false)) {
    entry.exposed = {};
    entry.exposed_iterations = 0;
  }
  entry.exposed += exposed;
  ++entry.exposed_iterations;
  if (entry.is_under_way) {
    entry.is_under_way = false;
  } else {
    entry.periods.add(period);
  }
}

void FastForward::Periods::add(Duration period) {
  ++count;
  sum += period;
  least = std::min(least, period);
  most = std::max(most, period);
}

Duration FastForward::Periods::mean() const {
  WEFT_CHECK(count > 0, "a period is asked for once it is known");
  const auto divisor = static_cast<std::int64_t>(count);
  return Duration::ticks((sum.in_ticks() + divisor / 2) / divisor);
}

std::optional<Duration> FastForward::estimate(JobId job) const {
  const Job& entry = of(job);
  return entry.periods.count > 0 ? entry.periods.mean() : entry.forwarded_period;
}

void FastForward::begin(JobId job, Duration period) {
  Job& entry = jobs_[job.index()];
  // Up to one iteration may have taken the one or the other.
  if (entry.forwarded_period) entry.risk_s += std::abs((period - *entry.forwarded_period).in_s());
  entry.forwarded_period = period;
  if (entry.periods.count > 0) entry.spread = entry.periods.most - entry.periods.least;
  entry.periods = {};
}

void FastForward::resume(JobId job, const KnownPace& pace) {
  jobs_[job.index()].forwarded_period = pace.period;
  jobs_[job.index()].spread = pace.spread;
}

Duration FastForward::skip(JobId job, std::uint64_t iterations) {
  Job& entry = jobs_[job.index()];
  const Duration period = entry.forwarded_period.value();
  const double relative = period > Duration::zero() ? entry.spread.in_s() / period.in_s() : 0;
  const auto count = static_cast<double>(iterations);
  report_.skipped += iterations;
  report_.spread_max = std::max(report_.spread_max, relative);
  spreads_ += relative * count;
  entry.risk_s += entry.spread.in_s() * count;
  return entry.exposed_iterations == 0 ? Duration::zero() : scaled(entry.exposed, iterations, entry.exposed_iterations);
}

void FastForward::end(JobId job) {
  Job& entry = jobs_[job.index()];
  if (entry.forwarded_period && entry.periods.count > 0)
    entry.risk_s += std::abs((entry.periods.mean() - *entry.forwarded_period).in_s());
  entry.periods = {};
  ++ended_;
  risk_s_ += entry.risk_s;
  risk_max_s_ = std::max(risk_max_s_, entry.risk_s);
}

FastForwardReport FastForward::report() const {
  FastForwardReport report = report_;
  if (report.skipped > 0) report.spread_mean = spreads_ / static_cast<double>(report.skipped);
  if (ended_ > 0) report.jct_risk_mean_s = risk_s_ / static_cast<double>(ended_);
  return report;
}

}  // namespace weft
