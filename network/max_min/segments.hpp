// SPDX-License-Identifier: Apache-2.0
// Segments: groups of links such that no flow uses links of two groups. Rates in one depend on
// nothing in another.
//
// Where it sits: MaxMinLayer reports every change of the flow-link graph and brings segments up to
// date in parallel.
//
// Model: connected components of the bipartite graph whose vertices are flows and links, found by
// depth-first search with an explicit stack (paper, section 6.4), and kept up lazily. A new flow
// merges the segments of its links at once (the smaller into the larger), so that segments are
// always closed. A departure may split its segment; that is only searched for after
// `repartition_updates` batches with departures from that segment, and only inside it, and not
// before enough work was done on the segment: a solve from nothing gains from smaller segments and
// counts in full, a repair does not and counts by what it looked at. Until then the segment is
// larger than need be, which costs time and changes nothing.
//
// Invariants
//   1. All links of a flow are in one segment; a link without flows is in none or in one of its
//      former flows'.
//   2. The order of segments and of links within them depends on the sequence of calls only.
// Threads: one writer and nobody else, or any number of readers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "network/max_min/flow_link_graph.hpp"

namespace weft {

using SegmentId = Id<struct SegmentTag>;

/// Connected components of the whole graph by depth-first search: per link a number counted from 0
/// in order of each component's smallest link; UINT32_MAX for links without flows.
std::vector<std::uint32_t> components_by_search(const FlowLinkGraph& graph);

class Segments {
 public:
  /// Requires: repartition_updates >= 1 (WEFT_CHECK).
  Segments(std::size_t link_count, std::uint32_t repartition_updates);

  /// After the flow was added to the graph.
  void on_added(const FlowLinkGraph& graph, FlowSlot flow);
  /// Before the flow is removed from the graph.
  void on_removed(const FlowLinkGraph& graph, FlowSlot flow);
  void on_capacity_changed(LinkId link);
  /// A search for parts is due after so many looks at each flow-link pair of a segment.
  static constexpr std::uint64_t looks_per_search = 32;
  /// A segment was brought up to date with so many looks; a solve from nothing counts as
  /// looks_per_search at each of its pairs.
  void on_worked(SegmentId segment, std::uint64_t looks) { segments_[segment.index()].work += looks; }

  /// Ends a batch: segments that changed since the last call, re-partitioned where due. The result
  /// is valid until the next change.
  std::span<const SegmentId> take_changed(const FlowLinkGraph& graph);

  std::span<const LinkId> links(SegmentId segment) const { return segments_[segment.index()].links; }
  /// Flow-link pairs in the segment: the work that solving it means.
  std::size_t incidences(SegmentId segment) const { return segments_[segment.index()].incidences; }
  std::size_t segment_count() const { return segments_.size() - free_.size(); }
  /// Ids are below this.
  std::size_t slot_count() const { return segments_.size(); }
  /// none() for a link that is in no segment.
  SegmentId segment_of(LinkId link) const { return segment_of_link_[link.index()]; }

 private:
  struct Segment {
    std::vector<LinkId> links;
    std::size_t incidences = 0;
    std::uint64_t work = 0;  ///< looks since it was searched
    std::uint32_t batches_with_departures = 0;
    bool changed = false;
    bool departed = false;  ///< in this batch
  };

  SegmentId create();
  void release(SegmentId segment);
  void mark_changed(SegmentId segment);
  void merge(SegmentId from, SegmentId into);
  void repartition(const FlowLinkGraph& graph, SegmentId segment);

  std::uint32_t repartition_updates_;
  std::vector<SegmentId> segment_of_link_;
  std::vector<Segment> segments_;
  std::vector<SegmentId> free_;
  std::vector<SegmentId> changed_;  ///< may name a segment twice or one that is no more
  std::vector<SegmentId> taken_;
  std::vector<LinkId> stack_;
  std::vector<std::uint32_t> flow_seen_;  ///< by slot: the last search that met it
  std::uint32_t search_number_ = 0;
};

}  // namespace weft
