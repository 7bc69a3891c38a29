// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/segments.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"

namespace weft {

namespace {

/// Goes from the links on the stack to everything they reach. first_flow(flow) and first_link(link)
/// tell whether they see it for the first time.
template <class FirstFlow, class FirstLink>
void search(const FlowLinkGraph& graph, std::vector<LinkId>& stack, FirstFlow first_flow, FirstLink first_link) {
  while (!stack.empty()) {
    const LinkId link = stack.back();
    stack.pop_back();
    for (const FlowLinkGraph::Member member : graph.members(link)) {
      if (!first_flow(member.flow)) continue;
      for (const FlowLinkGraph::Hop& hop : graph.hops(member.flow)) {
        if (first_link(hop.link)) stack.push_back(hop.link);
      }
    }
  }
}

}  // namespace

std::vector<std::uint32_t> components_by_search(const FlowLinkGraph& graph) {
  std::vector<std::uint32_t> component(graph.link_count(), UINT32_MAX);
  std::vector<std::uint8_t> seen(graph.slot_count(), 0);
  std::vector<LinkId> stack;
  std::uint32_t count = 0;
  const auto first_flow = [&](FlowSlot flow) { return std::exchange(seen[flow.index()], std::uint8_t{1}) == 0; };
  for (std::uint32_t i = 0; i < graph.link_count(); ++i) {
    if (component[i] != UINT32_MAX || graph.members(LinkId(i)).empty()) continue;
    component[i] = count;
    stack.push_back(LinkId(i));
    search(graph, stack, first_flow, [&](LinkId link) {
      if (component[link.index()] != UINT32_MAX) return false;
      component[link.index()] = count;
      return true;
    });
    ++count;
  }
  return component;
}

Segments::Segments(std::size_t link_count, std::uint32_t repartition_updates)
    : repartition_updates_(repartition_updates), segment_of_link_(link_count, SegmentId::none()) {
  WEFT_CHECK(repartition_updates >= 1, "segments are searched anew after at least one batch");
}

SegmentId Segments::create() {
  if (free_.empty()) {
    segments_.emplace_back();
    return SegmentId(static_cast<std::uint32_t>(segments_.size() - 1));
  }
  const SegmentId segment = free_.back();
  free_.pop_back();
  return segment;
}

void Segments::release(SegmentId segment) {
  Segment& s = segments_[segment.index()];
  s.links.clear();
  s.incidences = 0;
  s.work = 0;
  s.batches_with_departures = 0;
  s.changed = false;
  s.departed = false;
  free_.push_back(segment);
}

void Segments::mark_changed(SegmentId segment) {
  if (segments_[segment.index()].changed) return;
  segments_[segment.index()].changed = true;
  changed_.push_back(segment);
}

void Segments::merge(SegmentId from, SegmentId into) {
  Segment& source = segments_[from.index()];
  Segment& target = segments_[into.index()];
  for (const LinkId link : source.links) segment_of_link_[link.index()] = into;
  target.links.insert(target.links.end(), source.links.begin(), source.links.end());
  target.incidences += source.incidences;
  target.work += source.work;
  target.batches_with_departures = std::max(target.batches_with_departures, source.batches_with_departures);
  target.departed = target.departed || source.departed;
  release(from);
}

void Segments::on_added(const FlowLinkGraph& graph, FlowSlot flow) {
  const std::span<const FlowLinkGraph::Hop> hops = graph.hops(flow);
  SegmentId target = SegmentId::none();
  for (const FlowLinkGraph::Hop& hop : hops) {
    const SegmentId other = segment_of_link_[hop.link.index()];
    if (other.is_none() || other == target) continue;
    if (target.is_none()) {
      target = other;
    } else if (segments_[target.index()].links.size() >= segments_[other.index()].links.size()) {
      merge(other, target);
    } else {
      merge(target, other);
      target = other;
    }
  }
  if (target.is_none()) target = create();
  Segment& segment = segments_[target.index()];
  for (const FlowLinkGraph::Hop& hop : hops) {
    if (!segment_of_link_[hop.link.index()].is_none()) continue;
    segment_of_link_[hop.link.index()] = target;
    segment.links.push_back(hop.link);
  }
  segment.incidences += hops.size();
  mark_changed(target);
}

void Segments::on_removed(const FlowLinkGraph& graph, FlowSlot flow) {
  const std::span<const FlowLinkGraph::Hop> hops = graph.hops(flow);
  const SegmentId segment = segment_of_link_[hops.front().link.index()];
  segments_[segment.index()].incidences -= hops.size();
  segments_[segment.index()].departed = true;
  mark_changed(segment);
}

void Segments::on_capacity_changed(LinkId link) {
  if (const SegmentId segment = segment_of_link_[link.index()]; !segment.is_none()) mark_changed(segment);
}

std::span<const SegmentId> Segments::take_changed(const FlowLinkGraph& graph) {
  taken_.clear();
  // A re-partition appends the parts to the list while it is walked.
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    const SegmentId id = changed_[i];
    Segment& segment = segments_[id.index()];
    if (!segment.changed) continue;
    if (segment.departed) {
      segment.departed = false;
      ++segment.batches_with_departures;
    }
    const bool is_due =
        segment.batches_with_departures >= repartition_updates_ && segment.work >= looks_per_search * segment.incidences;
    if (segment.incidences == 0 || is_due) {
      repartition(graph, id);
      continue;
    }
    segment.changed = false;
    taken_.push_back(id);
  }
  changed_.clear();
  return taken_;
}

void Segments::repartition(const FlowLinkGraph& graph, SegmentId segment) {
  const std::vector<LinkId> links = std::exchange(segments_[segment.index()].links, {});
  for (const LinkId link : links) segment_of_link_[link.index()] = SegmentId::none();
  release(segment);
  flow_seen_.resize(graph.slot_count(), 0);
  if (++search_number_ == 0) {
    std::fill(flow_seen_.begin(), flow_seen_.end(), 0);
    ++search_number_;
  }
  const auto first_flow = [&](FlowSlot flow) { return std::exchange(flow_seen_[flow.index()], search_number_) != search_number_; };
  for (const LinkId link : links) {
    if (!segment_of_link_[link.index()].is_none() || graph.members(link).empty()) continue;
    const SegmentId part = create();
    std::vector<LinkId> part_links;
    std::size_t incidences = 0;
    const auto take = [&](LinkId reached) {
      if (!segment_of_link_[reached.index()].is_none()) return false;
      segment_of_link_[reached.index()] = part;
      part_links.push_back(reached);
      incidences += graph.members(reached).size();
      return true;
    };
    take(link);
    stack_.push_back(link);
    search(graph, stack_, first_flow, take);
    segments_[part.index()].links = std::move(part_links);
    segments_[part.index()].incidences = incidences;
    mark_changed(part);
  }
}

}  // namespace weft
