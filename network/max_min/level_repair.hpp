// SPDX-License-Identifier: Apache-2.0
// Level repair: updates weighted max-min levels after a batch of changes, and visits only links and
// flows that the changes affect.
//
// Where it sits: MaxMinLayer keeps one LevelState for its graph, tells it of every flow that comes
// or goes, and runs a LevelRepair per segment and batch. Where most of a segment changes,
// network/max_min/bucket_solve solves it instead, and the layer hands the levels over.
//
// Model: every link l has a level, infinite if it limits no flow. The rate per weight of flow f is
// the least of the levels of its links and of its own bound. Let u(f, l) be that least without l,
// and a = weight x load. Link l is in order if
//   E(l):   level = infinite,                                     if sum over f of a u <= capacity
//           the root of sum over f of a min(level, u) = capacity, else
// If all links are in order, the rates are max-min fair, ties and zero capacities included.
// docs/internals/flow_solver.md has the proof, the order of repairs and the bounds of flows.
//
// Invariants
//   1. After run() returned true every link is in order. The relative error of what a link carries
//      is below 1e-12. False: the repair was given up as too much work, and levels are undefined
//      until they are taken over from a full solve.
//   2. The result is a function of the sequence of calls.
//   3. A link that a path crosses twice is one link with two loads.
// Threads: calls at the same time must not share a link or flow; each needs its own LevelRepair.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/containers/min_heap.hpp"
#include "core/containers/release_memory.hpp"
#include "core/values/ids.hpp"
#include "network/max_min/flow_link_graph.hpp"

namespace weft {

/// Levels of links and what flows get from them, between batches.
class LevelState {
 public:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  /// Keeps a reference.
  explicit LevelState(const FlowLinkGraph& graph);

  /// After the flow was added to the graph.
  void on_added(FlowSlot flow);
  /// Before the flow is removed from the graph.
  void on_removed(FlowSlot flow);
  /// After the capacity changed. True if it never was so high: bounds of the link's flows, and so
  /// loads of all their links, may have moved.
  bool on_capacity_changed(LinkId link);
  /// Levels of these links, and of no other link of their flows, were found in another way. By link
  /// id.
  void take_over(std::span<const LinkId> links, std::span<const double> levels);
  /// As FlowLinkGraph::give_back.
  void give_back() { release_memory(flows_); }
  /// The link has no flows any more.
  void reset(LinkId link) { links_[link.index()] = Link(graph_.capacity(link)); }

  double level(LinkId link) const { return links_[link.index()].level; }
  /// False also where only adding up again can tell.
  bool is_in_order(LinkId link) const { return links_[link.index()].is_in_order(); }
  /// Notes that the flow's rate may have moved: appends it to `touched` unless it stands in such a
  /// list already.
  void touch(FlowSlot flow, std::vector<FlowSlot>& touched) {
    if (flows_[flow.index()].touched) return;
    flows_[flow.index()].touched = true;
    touched.push_back(flow);
  }
  /// The flow was taken from its list.
  void untouch(FlowSlot flow) { flows_[flow.index()].touched = false; }

  /// By the levels as they are.
  double rate(FlowSlot flow) const {
    const Flow& f = flows_[flow.index()];
    const double cap = graph_.cap(flow);
    return f.least < cap / f.weight ? f.weight * f.least : cap;
  }

 private:
  friend class LevelRepair;
  static constexpr std::uint32_t by_itself = UINT32_MAX;
  static constexpr double same_level = 1e-12;  // relative
  /// Of the capacity: half of what E lets an infinite level exceed it by. The other half is for
  /// what rounding does to a kept excess: less than 2e-15 per change, as long as the excess stays
  /// below excess_max.
  static constexpr double surely_fits = 0.5e-12;
  static constexpr double excess_max = 4;            // of the capacity; not kept above
  static constexpr std::uint32_t changes_max = 256;  // of an excess before it is summed afresh
  static constexpr std::uint32_t unknown = changes_max + 1;

  /// A cache line each.
  struct alignas(64) Link {
    explicit Link(double capacity_now) : excess(-capacity_now) { set_capacity(capacity_now); }

    double level = infinite;
    double excess;  ///< sum of a min(level, u) - capacity, which is load - capacity; if known
    /// Sum of a over flows with u >= level, if the level is finite and the excess known.
    double weight = 0;
    double capacity = 0;        ///< as in the graph
    double clear_below = 0;     ///< excess with which it surely limits nobody; -inf with a level
    double next = 0;            ///< the level that puts the link in order, if known
    double key = infinite;      ///< of the queue entry that counts, if it is queued
    std::uint32_t changes = 0;  ///< of the excess since it was summed
    bool next_known = false;
    bool queued = false;
    bool marked = false;

    bool excess_known() const { return changes <= changes_max; }
    /// Has an infinite level, and surely is nobody's bottleneck.
    bool is_clear() const { return excess_known() & (excess <= clear_below); }
    bool is_in_order() const {
      return level == infinite ? is_clear() : excess_known() && std::abs(excess) <= same_level * level * weight;
    }
    void set_level(double to) {
      level = to;
      clear_below = level == infinite ? surely_fits * capacity : -infinite;
    }
    void set_capacity(double to) {
      capacity = to;
      set_level(level);
    }
    void set_excess(double summed, double filling) {
      excess = summed;
      weight = filling;
      changes = excess <= excess_max * capacity ? 0 : unknown;
    }
    void add_load(double load, double filling) {
      excess += load;
      weight += filling;
      changes = excess <= excess_max * capacity ? changes + 1 : unknown;
      next_known = false;
    }
  };
  static constexpr std::size_t links_inside = 6;
  static constexpr std::uint8_t is_long = UINT8_MAX;
  /// Without a branch, which nobody could foresee.
  static double chosen(bool first, double if_so, double if_not) {
    const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(first);
    return std::bit_cast<double>((std::bit_cast<std::uint64_t>(if_so) & mask) | (std::bit_cast<std::uint64_t>(if_not) & ~mask));
  }
  /// What limits a flow.
  struct Limits {
    double least = infinite;          ///< of the levels of its links and its own bound
    double second = infinite;         ///< the same without the link `limit`
    std::uint32_t limit = by_itself;  ///< the link that gives `least`
    double without(std::uint32_t link) const { return chosen(limit == link, second, least); }
    /// Without the link, the flow would get its level or more.
    bool fills(std::uint32_t link, double level) const { return (limit == link) | (least >= level); }
  };
  /// A cache line with all that a repair needs of a flow, if its path is no longer than most are.
  struct alignas(64) Flow : Limits {
    bool touched = false;     ///< stands in a list of flows whose rate may have moved
    bool repeats = false;     ///< a link may stand twice in its path
    std::uint8_t length = 0;  ///< of its path, or is_long
    double weight = 1.0;
    double bound = infinite;  ///< per weight, of its own
    std::array<std::uint32_t, links_inside> links;
  };
  static_assert(sizeof(Flow) == 64);

  /// visit(link, hop) for each hop of the flow's path.
  template <typename Visit>
  void visit_path(FlowSlot slot, Visit visit) const {
    const Flow& flow = flows_[slot.index()];
    if (flow.length != is_long) {
      for (std::size_t hop = 0; hop < flow.length; ++hop) visit(flow.links[hop], hop);
      return;
    }
    const std::span<const FlowLinkGraph::Hop> hops = graph_.hops(slot);
    for (std::size_t hop = 0; hop < hops.size(); ++hop) visit(hops[hop].link.index(), hop);
  }
  static bool is_same(double level, double other);
  void find_bound(FlowSlot flow);
  void find_least(FlowSlot flow);
  void add_loads(FlowSlot flow, double sign);

  const FlowLinkGraph& graph_;
  std::vector<Link> links_;
  std::vector<double> highest_;  ///< by link: the most its capacity ever was
  std::vector<Flow> flows_;      ///< by slot
};

class LevelRepair {
 public:
  struct Counters {
    std::uint64_t links_set = 0;     ///< levels that were changed
    std::uint64_t links_summed = 0;  ///< links whose flows were all looked at
    std::uint64_t flows_visited = 0;
  };

  /// Puts the links in order, and whichever these disturb; touches the flows whose rate may move.
  /// Gives up after about `work_max` looks at flows.
  bool run(LevelState& state, std::span<const LinkId> links, std::uint64_t work_max, std::vector<FlowSlot>& touched);

  const Counters& counters() const { return counters_; }

 private:
  struct Entry {
    double key;
    std::uint64_t link;  ///< as wide as the key, so that no bit of an entry is left open
    /// Levels are >= 0, and never -0, so that their bits are ordered as they are.
    __extension__ using Order = unsigned __int128;
    Order order() const { return static_cast<Order>(std::bit_cast<std::uint64_t>(key)) << 64 | link; }
  };
  struct Share {
    double amount;   ///< a
    double without;  ///< u
  };

  // all_one: every flow has weight 1 and loads of 1, so that amounts need no multiplication and
  // weights are counts; the bits are the same.
  template <bool all_one>
  bool run_with(LevelState& state, std::span<const LinkId> links, std::uint64_t work_max, std::vector<FlowSlot>& touched);
  template <bool all_one>
  double amount_of(const LevelState::Flow& flow, const FlowLinkGraph::Member& member) const;
  template <bool all_one>
  void consider(std::uint32_t link);
  void push(std::uint32_t link, double key);
  template <bool all_one>
  void sum(std::uint32_t link);
  template <bool all_one>
  void publish(std::uint32_t link, std::vector<FlowSlot>& touched);
  template <bool all_one>
  void tell(FlowSlot flow, std::uint32_t link, std::vector<FlowSlot>& touched);
  template <typename LoadOf>
  void tell_links(FlowSlot flow, double before, LoadOf load_of);
  void drop_queue();

  LevelState* state_ = nullptr;
  MinHeap<Entry> queue_;
  std::vector<std::uint32_t> marked_;  ///< links that a publish disturbed: the first marked_count_
  std::size_t marked_count_ = 0;
  std::vector<Share> shares_;  ///< of the link that is summed; no shorter than it has members
  Counters counters_;
};

}  // namespace weft
