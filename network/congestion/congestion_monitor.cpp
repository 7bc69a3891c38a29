// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/congestion_monitor.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/check.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

/// Relative: what is full, what is the highest.
constexpr double rounding = 1e-9;
/// Relative: what a slowed flow loses at least.
constexpr double loss_min = 1e-6;

}  // namespace

CongestionMonitor::CongestionMonitor(const Topology& topology, Duration gap, JobOfAttempt job_of_attempt)
    : topology_(topology),
      gap_(gap),
      job_of_attempt_(std::move(job_of_attempt)),
      views_(topology.link_count()),
      spots_(2 * topology.link_count()),
      dirty_at_(topology.link_count(), 0) {}

void CongestionMonitor::on_flow_starts(FlowSlot slot, const Flow& flow) {
  if (flows_.size() <= slot.index()) flows_.resize(slot.index() + 1);
  WatchedFlow& watched = flows_[slot.index()];
  WEFT_CHECK(watched.multiplicity == 0, "a flow is told of when it leaves");
  watched.job = job_of_attempt_(flow.attempt);
  watched.source = flow.source;
  watched.destination = flow.destination;
  watched.multiplicity = flow.multiplicity;
  watched.folding = flow.folding;
  watched.finding = {};
  if (jobs_.size() <= watched.job.index()) jobs_.resize(watched.job.index() + 1);
}

void CongestionMonitor::on_flow_leaves(FlowSlot slot, Time now) {
  WatchedFlow& flow = flows_[slot.index()];
  WEFT_CHECK(flow.multiplicity > 0, "a flow that leaves was told of when it came");
  set(flow, {}, now);
  for (const LinkId link : flow.links) mark_dirty(link, look_ + 1);
  flow.links.clear();
  flow.multiplicity = 0;
}

void CongestionMonitor::on_rates_changed(std::span<const FlowSlot> changed, Time now, const AllocationPolicy& policy) {
  ++look_;
  const FlowLinkGraph& graph = policy.graph();
  for (const FlowSlot slot : changed) {
    WatchedFlow& flow = flows_[slot.index()];
    if (flow.links.empty()) {
      for (const FlowLinkGraph::Hop& hop : graph.hops(slot)) flow.links.push_back(hop.link);
    }
    for (const LinkId link : flow.links) mark_dirty(link, look_);
  }
  for (const LinkId link : dirty_) {
    for (const FlowLinkGraph::Member member : graph.members(link)) {
      WatchedFlow& flow = flows_[member.flow.index()];
      if (std::exchange(flow.seen, look_) == look_) continue;
      const bool is_inside_host = !flow.source.is_none() && flow.source == flow.destination;
      if (is_inside_host) continue;
      set(flow, judge(member.flow, policy), now);
      if (!flow.finding.bottleneck.is_none()) note_users(flow, graph.priority(member.flow), now);
    }
  }
  dirty_.clear();
}

void CongestionMonitor::mark_dirty(LinkId link, std::uint64_t look) {
  if (std::exchange(dirty_at_[link.index()], look) == look) return;
  dirty_.push_back(link);
  views_[link.index()].is_valid = false;
}

bool CongestionMonitor::is_access(LinkId id, const WatchedFlow& flow) const {
  const Link& link = topology_.link(id);
  const HostId from = topology_.node(link.source).host;
  const HostId to = topology_.node(link.destination).host;
  if (flow.source.is_none()) return !from.is_none() || !to.is_none();
  const auto is_own = [&flow](HostId host) { return !host.is_none() && (host == flow.source || host == flow.destination); };
  return is_own(from) || is_own(to);
}

const CongestionMonitor::LinkView& CongestionMonitor::view(LinkId link, const AllocationPolicy& policy) {
  LinkView& view = views_[link.index()];
  if (std::exchange(view.is_valid, true)) return view;
  view.shares.clear();
  const FlowLinkGraph& graph = policy.graph();
  for (const FlowLinkGraph::Member member : graph.members(link)) {
    const JobId job = flows_[member.flow.index()].job;
    const std::uint8_t priority = graph.priority(member.flow);
    auto share =
        std::ranges::find_if(view.shares, [&](const Share& known) { return known.job == job && known.priority == priority; });
    if (share == view.shares.end()) share = view.shares.insert(view.shares.end(), {job, priority});
    const double rate = policy.rate(member.flow);
    share->weight += graph.weight(member.flow) * graph.load(member);
    share->rate_bps += rate * graph.load(member);
    share->level = std::max(share->level, rate / graph.weight(member.flow));
  }
  return view;
}

double CongestionMonitor::possible_bps(FlowSlot slot, const AllocationPolicy& policy) {
  const WatchedFlow& flow = flows_[slot.index()];
  const FlowLinkGraph& graph = policy.graph();
  const std::uint8_t priority = graph.priority(slot);
  double possible = graph.cap(slot);
  for (const FlowLinkGraph::Hop& hop : graph.hops(slot)) {
    if (!is_access(hop.link, flow)) continue;
    double left = graph.capacity(hop.link);
    double weight = 0;
    for (const Share& share : view(hop.link, policy).shares) {
      if (share.job != flow.job) continue;
      if (share.priority > priority) left -= share.rate_bps;
      if (share.priority == priority) weight = share.weight;
    }
    // What rounding leaves of it is nothing.
    if (left < graph.capacity(hop.link) * rounding) left = 0;
    possible = std::min(possible, graph.weight(slot) * left / weight);
  }
  return possible;
}

CongestionMonitor::Finding CongestionMonitor::judge(FlowSlot slot, const AllocationPolicy& policy) {
  const WatchedFlow& flow = flows_[slot.index()];
  const FlowLinkGraph& graph = policy.graph();
  const std::uint8_t priority = graph.priority(slot);
  const double rate = policy.rate(slot);
  const double possible = possible_bps(slot, policy);
  if (rate >= possible * (1 - loss_min)) return {};
  for (const FlowLinkGraph::Hop& hop : graph.hops(slot)) {
    double load = 0;
    double level = 0;
    bool has_others = false;
    for (const Share& share : view(hop.link, policy).shares) {
      if (share.priority < priority) continue;
      load += share.rate_bps;
      if (share.priority == priority) level = std::max(level, share.level);
      has_others = has_others || (share.job != flow.job && share.rate_bps > 0);
    }
    const double capacity = graph.capacity(hop.link);
    const bool is_bottleneck =
        capacity > 0 && load >= capacity * (1 - rounding) && rate / graph.weight(slot) >= level * (1 - rounding);
    if (!is_bottleneck || (!has_others && is_access(hop.link, flow))) continue;
    return {hop.link, has_others ? CongestionCause::others : CongestionCause::own, rate, possible};
  }
  return {};
}

void CongestionMonitor::set(WatchedFlow& flow, const Finding& finding, Time now) {
  if (flow.finding == finding) return;
  if (!flow.finding.bottleneck.is_none()) end_slowing(flow, now);
  flow.finding = finding;
  flow.since = now;
  if (!finding.bottleneck.is_none()) begin_slowing(flow, now);
}

std::size_t CongestionMonitor::place_in(Spot& spot, JobId job, Time now) {
  std::vector<JobInCongestion>& jobs = spot.period->jobs;
  const auto known = std::ranges::find(jobs, job, &JobInCongestion::job);
  if (known != jobs.end()) return static_cast<std::size_t>(known - jobs.begin());
  JobInCongestion added;
  added.job = job;
  added.first = added.last = now;
  jobs.push_back(added);
  spot.by_job.emplace_back();
  return jobs.size() - 1;
}

void CongestionMonitor::begin_slowing(const WatchedFlow& flow, Time now) {
  Spot& at = spot(flow.finding);
  if (at.all.flows == 0) {
    if (at.period && now - at.period->end > gap_) {
      over_.push_back(std::move(*at.period));
      at.period.reset();
      at.by_job.clear();
    }
    if (!at.period) {
      at.period.emplace();
      at.period->link = flow.finding.bottleneck;
      at.period->cause = flow.finding.cause;
      at.period->folding = flow.folding;
      at.period->begin = now;
    }
    at.all.since = now;
  }
  ++at.all.flows;
  const std::size_t place = place_in(at, flow.job, now);
  if (!at.period->jobs[place].since) at.period->jobs[place].since = now;
  if (at.by_job[place].flows++ == 0) at.by_job[place].since = now;
  Count& of_job = jobs_[flow.job.index()].slowed;
  if (of_job.flows++ == 0) of_job.since = now;
}

void CongestionMonitor::end_slowing(const WatchedFlow& flow, Time now) {
  const double possible_bits = fluid_bits(flow.finding.possible_bps, now - flow.since) * flow.multiplicity;
  const double lost_bits = possible_bits - fluid_bits(flow.finding.rate_bps, now - flow.since) * flow.multiplicity;
  Spot& at = spot(flow.finding);
  const std::size_t place = place_in(at, flow.job, now);
  JobInCongestion& in = at.period->jobs[place];
  in.lost_bits += lost_bits;
  in.possible_bits += possible_bits;
  in.last = in.until = now;
  if (--at.by_job[place].flows == 0) in.congested += now - at.by_job[place].since;
  at.period->end = now;
  if (--at.all.flows == 0) at.period->congested += now - at.all.since;
  Job& job = jobs_[flow.job.index()];
  job.totals.lost_bits += lost_bits;
  job.totals.possible_bits += possible_bits;
  if (--job.slowed.flows == 0) job.totals.congested += now - job.slowed.since;
}

void CongestionMonitor::note_users(const WatchedFlow& flow, std::uint8_t priority, Time now) {
  Spot& at = spot(flow.finding);
  if (flow.finding.cause == CongestionCause::own) return;
  for (const Share& share : views_[flow.finding.bottleneck.index()].shares) {
    if (share.priority < priority || share.rate_bps <= 0) continue;
    at.period->jobs[place_in(at, share.job, now)].last = now;
  }
}

void CongestionMonitor::close(Time now) {
  for (WatchedFlow& flow : flows_) {
    if (flow.multiplicity > 0) set(flow, {}, now);
  }
  for (Spot& spot : spots_) {
    if (spot.period) over_.push_back(std::move(*spot.period));
  }
  for (CongestionPeriod& period : over_) {
    std::ranges::sort(period.jobs, {}, [](const JobInCongestion& in) { return std::tuple(in.first, in.job); });
  }
}

std::vector<CongestionPeriod> CongestionMonitor::periods(Time now) const {
  CongestionMonitor closed(*this);
  closed.close(now);
  return std::move(closed.over_);
}

std::vector<CongestionTotals> CongestionMonitor::totals(Time now) const {
  CongestionMonitor closed(*this);
  closed.close(now);
  std::vector<CongestionTotals> totals;
  for (const Job& job : closed.jobs_) totals.push_back(job.totals);
  return totals;
}

}  // namespace weft
