#include "network/max_min_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/check.hpp"

namespace weft {

namespace {

constexpr double kSameRate = 1e-12;

}  // namespace

MaxMinSolver::MaxMinSolver(std::vector<double> capacities, Options options)
    : options_(options),
      graph_(std::move(capacities)),
      segments_(graph_.link_count(), options.repartition_updates),
      loop_(options.threads),
      solves_(loop_.workers()) {
  state_.resize(graph_);
}

FlowSlot MaxMinSolver::add_flow(const FlowDemand& demand) {
  const FlowSlot flow = graph_.add(demand);
  if (rates_.size() < graph_.slot_count()) rates_.resize(graph_.slot_count());
  rates_[flow.index()] = std::numeric_limits<double>::quiet_NaN();
  segments_.on_added(graph_, flow);
  return flow;
}

void MaxMinSolver::remove_flow(FlowSlot flow) {
  WEFT_CHECK(graph_.alive(flow), "only a flow that was added can be removed");
  segments_.on_removed(graph_, flow);
  graph_.remove(flow);
}

void MaxMinSolver::set_capacity(LinkId link, double capacity) {
  graph_.set_capacity(link, capacity);
  segments_.on_capacity_changed(link);
}

std::span<const FlowSlot> MaxMinSolver::update() {
  changed_.clear();
  const std::span<const SegmentId> segments = segments_.take_changed(graph_);
  if (segments.empty()) return changed_;
  state_.resize(graph_);
  if (changed_of_segment_.size() < segments.size()) changed_of_segment_.resize(segments.size());
  std::size_t incidences = 0;
  for (const SegmentId segment : segments) incidences += segments_.incidences(segment);

  if (solves_.size() == 1 || segments.size() == 1 || incidences < options_.parallel_incidences_min) {
    for (std::size_t i = 0; i < segments.size(); ++i) solve_segment(segments[i], solves_.front(), changed_of_segment_[i]);
  } else {
    loop_.run(segments.size(),
              [&](std::size_t worker, std::size_t i) { solve_segment(segments[i], solves_[worker], changed_of_segment_[i]); });
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    changed_.insert(changed_.end(), changed_of_segment_[i].begin(), changed_of_segment_[i].end());
  }
  return changed_;
}

void MaxMinSolver::solve_segment(SegmentId segment, BucketSolve& solve, std::vector<FlowSlot>& changed) {
  const std::span<const LinkId> links = segments_.links(segment);
  solve.run(graph_, links, state_);
  changed.clear();
  for (const LinkId link : links) {
    for (const FlowLinkGraph::Member& member : graph_.members(link)) {
      if (member.hop != 0) continue;
      const double solved = state_.rates[member.flow.index()];
      double& published = rates_[member.flow.index()];
      // A new flow's NaN compares unequal to everything.
      if (std::abs(solved - published) <= kSameRate * solved) continue;
      published = solved;
      changed.push_back(member.flow);
    }
  }
}

double MaxMinSolver::level(LinkId link) const { return state_.levels[link.index()]; }

MaxMinSolver::Audit MaxMinSolver::audit(double relative_tolerance) const {
  Audit audit;
  std::vector<double> load(graph_.link_count(), 0.0);
  std::vector<double> highest(graph_.link_count(), 0.0);  // rate per weight
  for (std::uint32_t i = 0; i < graph_.link_count(); ++i) {
    for (const FlowLinkGraph::Member& member : graph_.members(LinkId(i))) {
      load[i] += rate(member.flow) * graph_.load(member);
      highest[i] = std::max(highest[i], rate(member.flow) / graph_.weight(member.flow));
    }
    if (load[i] > graph_.capacity(LinkId(i)) * (1 + relative_tolerance)) ++audit.overloaded_links;
  }
  for (std::uint32_t i = 0; i < graph_.slot_count(); ++i) {
    const FlowSlot flow(i);
    if (!graph_.alive(flow)) continue;
    const double cap = graph_.cap(flow);
    if (rate(flow) > cap * (1 + relative_tolerance)) ++audit.flows_above_cap;
    if (rate(flow) >= cap * (1 - relative_tolerance)) continue;
    const std::span<const FlowLinkGraph::Hop> hops = graph_.hops(flow);
    const bool has_bottleneck = std::any_of(hops.begin(), hops.end(), [&](const FlowLinkGraph::Hop& hop) {
      const std::uint32_t l = hop.link.index();
      return load[l] >= graph_.capacity(hop.link) * (1 - relative_tolerance) &&
             rate(flow) / graph_.weight(flow) >= highest[l] * (1 - relative_tolerance);
    });
    if (!has_bottleneck) ++audit.flows_without_bottleneck;
  }
  return audit;
}

}  // namespace weft
