// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/congestion_periods.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "core/check.hpp"

namespace weft {

namespace {

/// The span into which a job went that was last seen on the link, or last slowed, at `seen`; none
/// if it was not within `gap` of it, or was simulated again since.
std::optional<FastForwardSpan> span_after(const FastForwardSpans& fast_forwards, JobId job, Time seen, Duration gap) {
  const auto of_job = fast_forwards.find(job);
  if (of_job == fast_forwards.end()) return std::nullopt;
  const auto next = std::ranges::lower_bound(of_job->second, seen, {}, &FastForwardSpan::begin);
  if (next == of_job->second.end() || next->begin - seen > gap) return std::nullopt;
  return *next;
}

/// Where jobs of the period were in it when they began to be fast-forwarded, it and they go on.
void extend(CongestionPeriod& period, const FastForwardSpans& fast_forwards, Duration gap) {
  for (JobInCongestion& slowed : period.jobs) {
    if (!slowed.since) continue;
    const std::optional<FastForwardSpan> own = span_after(fast_forwards, slowed.job, slowed.until, gap);
    if (!own) continue;
    Time until = own->end;
    if (period.cause == CongestionCause::others) {
      until = Time::zero();
      for (const JobInCongestion& other : period.jobs) {
        if (other.job == slowed.job) continue;
        const std::optional<FastForwardSpan> too = span_after(fast_forwards, other.job, other.last, gap);
        if (too && too->begin < own->end && own->begin < too->end) until = std::max(until, std::min(own->end, too->end));
      }
    }
    slowed.until = std::max(slowed.until, until);
    period.end = std::max(period.end, until);
  }
}

/// The time that the spans cover from `from` until `until`.
Duration covered(std::vector<FastForwardSpan>& spans, Time from, Time until) {
  std::ranges::sort(spans, {}, &FastForwardSpan::begin);
  Duration sum;
  for (const FastForwardSpan& span : spans) {
    const Time begin = std::max(span.begin, from);
    const Time end = std::min(span.end, until);
    if (end <= begin) continue;
    sum += end - begin;
    from = end;
  }
  return sum;
}

void set_fast_forwarded(CongestionPeriod& period, const FastForwardSpans& fast_forwards) {
  std::vector<FastForwardSpan> spans;
  for (const JobId job : period.slowed()) {
    const auto of_job = fast_forwards.find(job);
    if (of_job != fast_forwards.end()) spans.insert(spans.end(), of_job->second.begin(), of_job->second.end());
  }
  period.fast_forwarded = covered(spans, period.begin, period.end);
}

void add_job(CongestionPeriod& to, const JobInCongestion& added) {
  const auto known = std::ranges::find(to.jobs, added.job, &JobInCongestion::job);
  if (known == to.jobs.end()) {
    to.jobs.push_back(added);
    return;
  }
  known->last = std::max(known->last, added.last);
  if (!known->since) known->since = added.since;
  known->until = std::max(known->until, added.until);
  known->congested += added.congested;
  known->lost_bits += added.lost_bits;
  known->possible_bits += added.possible_bits;
}

auto place_of(const CongestionPeriod& period) { return std::tuple(period.link, period.cause, period.begin); }

}  // namespace

const char* to_text(CongestionCause cause) { return cause == CongestionCause::others ? "others" : "own"; }

double CongestionPeriod::congested_share() const {
  const Duration simulated = duration() - fast_forwarded;
  return simulated > Duration::zero() ? congested.in_s() / simulated.in_s() : 0;
}

double CongestionPeriod::lost_share() const {
  JobInCongestion all;
  for (const JobInCongestion& job : jobs) {
    all.lost_bits += job.lost_bits;
    all.possible_bits += job.possible_bits;
  }
  return all.lost_share();
}

std::vector<JobId> CongestionPeriod::slowed() const {
  std::vector<JobId> slowed;
  for (const JobInCongestion& job : jobs) {
    if (job.since) slowed.push_back(job.job);
  }
  return slowed;
}

std::vector<CongestionPeriod> join_periods(std::vector<CongestionPeriod> periods, const FastForwardSpans& fast_forwards,
                                           Duration gap) {
  std::ranges::stable_sort(periods, {}, place_of);
  std::vector<CongestionPeriod> joined;
  for (CongestionPeriod& next : periods) {
    CongestionPeriod* before = joined.empty() ? nullptr : &joined.back();
    const bool is_same = before != nullptr && before->link == next.link && before->cause == next.cause;
    extend(next, fast_forwards, gap);
    if (!is_same || next.begin - before->end > gap) {
      joined.push_back(std::move(next));
      continue;
    }
    before->end = std::max(before->end, next.end);
    before->congested += next.congested;
    for (const JobInCongestion& job : next.jobs) add_job(*before, job);
  }
  for (CongestionPeriod& period : joined) set_fast_forwarded(period, fast_forwards);
  std::ranges::stable_sort(joined, {}, [](const CongestionPeriod& p) { return std::tuple(p.begin, p.link, p.cause); });
  return joined;
}

JobId trigger_of(const CongestionPeriod& period, const JobStarts& starts) {
  WEFT_CHECK(!period.jobs.empty(), "somebody is slowed in a period");
  const auto started = [&](JobId job) {
    const std::vector<Time>& of_job = starts.at(job);
    const auto after = std::ranges::upper_bound(of_job, period.begin);
    WEFT_CHECK(after != of_job.begin(), "a job that uses a link has started");
    return *std::prev(after);
  };
  std::pair<Time, JobId> latest(started(period.jobs.front().job), period.jobs.front().job);
  for (const JobInCongestion& job : period.jobs) {
    if (job.first == period.begin) latest = std::max(latest, std::pair(started(job.job), job.job));
  }
  return latest.second;
}

Duration time_in_periods(JobId job, std::span<const CongestionPeriod> periods) {
  std::vector<FastForwardSpan> spans;
  for (const CongestionPeriod& period : periods) {
    for (const JobInCongestion& in : period.jobs) {
      if (in.job == job && in.since) spans.push_back({*in.since, in.until});
    }
  }
  return covered(spans, Time::zero(), Time::max());
}

}  // namespace weft
