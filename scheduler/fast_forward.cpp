#include "scheduler/fast_forward.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace weft {

void FastForward::start(JobId job, bool has_waited) {
  double& risk_s = jobs_[job.index()].risk_s;
  if (has_waited) risk_s = std::max(risk_s, risk_max_s_);
}

void FastForward::begin_epoch(JobId job, bool under_way) {
  Job& entry = jobs_[job.index()];
  settle(entry);
  entry.periods = {};
  entry.is_under_way = under_way;
}

/// A period that is no longer what the job coasted at: up to one iteration may have taken the one or the other.
void FastForward::settle(Job& job) {
  if (!job.coasted_at || job.periods.count == 0) return;
  job.risk_s += std::abs((job.periods.mean() - *job.coasted_at).in_s());
  job.coasted_at.reset();
}

void FastForward::add(JobId job, Duration period) {
  ++report_.simulated;
  Job& entry = jobs_[job.index()];
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

void FastForward::skip(JobId job, std::uint64_t iterations) {
  Job& entry = jobs_[job.index()];
  const Duration period = entry.periods.mean();
  const Duration deviation = std::max(period - entry.periods.least, entry.periods.most - period);
  const double relative = period > Duration::zero() ? deviation.in_s() / period.in_s() : 0;
  const auto count = static_cast<double>(iterations);
  report_.skipped += iterations;
  report_.deviation_max = std::max(report_.deviation_max, relative);
  deviations_ += relative * count;
  settle(entry);
  entry.risk_s += deviation.in_s() * count;
  entry.coasted_at = period;
  entry.periods = {};
}

void FastForward::end(JobId job) {
  Job& entry = jobs_[job.index()];
  settle(entry);
  entry.periods = {};
  ++ended_;
  risk_s_ += entry.risk_s;
  risk_max_s_ = std::max(risk_max_s_, entry.risk_s);
}

FastForwardReport FastForward::report() const {
  FastForwardReport report = report_;
  if (report.skipped > 0) report.deviation_mean = deviations_ / static_cast<double>(report.skipped);
  if (ended_ > 0) report.jct_risk_mean_s = risk_s_ / static_cast<double>(ended_);
  return report;
}

}  // namespace weft
