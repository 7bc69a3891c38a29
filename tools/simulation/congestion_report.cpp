// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/congestion_report.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "network/flow/transfer_folding.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

/// How many links fared as this one did, itself included.
std::uint64_t links_alike(const CongestionPeriod& period) {
  if (period.folding == nullptr) return 1;
  const auto stands_for = [&period](const std::pair<LinkId, LinkId>& link) { return link.second == period.link; };
  return static_cast<std::uint64_t>(std::ranges::count_if(period.folding->representatives(), stands_for));
}

struct PeriodCounts {
  std::uint64_t slowing = 0;
  std::uint64_t triggered = 0;
};

}  // namespace

CongestionReport::CongestionReport(const Scenario& scenario) : scenario_(scenario) {
  WEFT_CHECK(detects_congestion(scenario), "congestion is reported where it is looked for");
}

CongestionSummary CongestionReport::add_rows(const CongestionMonitor& monitor, Time end, ResultSink& sink) const {
  const Topology& topology = *scenario_.topology;
  const Duration gap = scenario_.parameters.of("flow").duration("congestion_gap");
  const std::vector<CongestionPeriod> periods = join_periods(monitor.periods(end), fast_forwards_, gap);
  CongestionSummary summary;
  summary.periods = periods.size();
  std::map<LinkId, std::uint64_t> links;
  std::set<JobId> slowed_by_others;
  std::set<JobId> slowed_by_own;
  std::map<JobId, PeriodCounts> counts;
  for (const CongestionPeriod& period : periods) {
    const bool is_own = period.cause == CongestionCause::own;
    const JobId trigger = trigger_of(period, starts_);
    if (!is_own) ++counts[trigger].triggered;
    std::string slowed;
    std::string all;
    for (const JobInCongestion& in : period.jobs) {
      all += (all.empty() ? "" : ";") + name_of(in.job);
      if (!in.since) continue;
      slowed += (slowed.empty() ? "" : ";") + name_of(in.job);
      (is_own ? slowed_by_own : slowed_by_others).insert(in.job);
      ++counts[in.job].slowing;
    }
    const std::uint64_t alike = links_alike(period);
    const std::string link = topology.link_name(period.link);
    sink.add_congestion({link, to_text(period.cause), period.begin, period.end, period.congested_share(), period.lost_share(),
                         name_of(trigger), slowed, all, alike});
    std::uint64_t& most_alike = links[period.link];
    most_alike = std::max(most_alike, alike);
    const double duration_s = period.duration().in_s();
    const std::optional<CongestionSummary::Longest>& longest = summary.longest;
    const bool is_longer =
        !longest || (longest->is_own && !is_own) || (longest->is_own == is_own && duration_s > longest->end_s - longest->begin_s);
    if (is_longer) {
      summary.longest = {
          topology.link_name(period.link), is_own, name_of(trigger), period.begin.in_s(), period.end.in_s(), period.lost_share()};
    }
  }
  for (const auto& [link, alike] : links) summary.links += alike;
  summary.jobs_slowed_by_others = slowed_by_others.size();
  summary.jobs_slowed_by_own = slowed_by_own.size();
  const std::vector<CongestionTotals> totals = monitor.totals(end);
  for (const auto& [job, of_job] : counts) {
    const CongestionTotals& total = totals[job.index()];
    sink.add_congested_job(
        {name_of(job), of_job.slowing, time_in_periods(job, periods), total.congested, total.lost_share(), of_job.triggered});
  }
  return summary;
}

}  // namespace weft
