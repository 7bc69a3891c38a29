// Level repair: brings weighted max-min levels up to date after a batch of changes by touching only what changes.
//
// Where it sits: MaxMinLayer keeps one LevelState for its graph, tells it of every flow that comes or goes, and runs a LevelRepair per segment
// and batch; where most of a segment changes it takes network/bucket_solve instead and hands the levels over.
//
// Model: every link l has a level, infinite if it is nobody's bottleneck; the rate per weight of flow f is the least of the levels of its links
// and of its cap / weight. Let u(f, l) be that least without l: what f would get if l were not there, and a(f, l) = weight x load. A link is
// in order if
//
//   E(l):   level = infinite,                                     if sum over f of a u <= capacity
//           the root of sum over f of a min(level, u) = capacity, else
//
// If all links are in order, the rates are the max-min fair ones, ties and zero capacities included: sum of a min(level, u) is what the
// link carries, so nothing is overloaded; a link of finite level is full, and no flow on it has more per weight than one that it limits.
// Which of several tied links carries the level does not matter.
//
// Order: when u of a flow moves from x to y, only links with a level above min(x, y) are affected, and their new level is at least
// that. Links are therefore taken in order of min(level, new level): all below is final, and a link falls to a level or rises from it
// once. Any order would be exact, this one ends soon. Per link the excess = sum of a min(level, u) - capacity is kept up with every change,
// so that a link in order is known as such without looking at its flows.
// Levels that move by less than 1e-12 of themselves are left alone.
//
// Invariants
//   1. After run() returned true every link is in order: its level is within 1e-12 of the root of E. (A rate moves by more than that where a
//      level stands for a small rest of its link, which the flows limited elsewhere leave.) False means that the repair was given up as too much work: levels are
//      then undefined until taken over from a full solve.
//   2. The result is a function of the sequence of calls.
//   3. A link twice in a path is one link with two loads.
// Threads: calls at the same time must not share a link or flow; each needs a LevelRepair of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "network/flow_link_graph.hpp"

namespace weft {

/// Levels of links and what flows get from them, between batches.
class LevelState {
 public:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  /// Keeps a reference.
  explicit LevelState(const FlowLinkGraph& graph) : graph_(graph), links_(graph.link_count()) {
    for (std::uint32_t link = 0; link < links_.size(); ++link) links_[link].capacity = graph.capacity(LinkId(link));
  }

  /// After the flow was added to the graph.
  void on_added(FlowSlot flow);
  /// Before the flow is removed from the graph.
  void on_removed(FlowSlot flow);
  /// After the capacity changed.
  void on_capacity_changed(LinkId link) {
    links_[link.index()].capacity = graph_.capacity(link);
    links_[link.index()].excess_known = false;
  }
  /// Levels of these links, and of no other link of their flows, were found in another way. By link id.
  void take_over(std::span<const LinkId> links, std::span<const double> levels);
  /// The link has no flows any more.
  void reset(LinkId link) {
    links_[link.index()] = Link();
    links_[link.index()].capacity = graph_.capacity(link);
  }

  double level(LinkId link) const { return links_[link.index()].level; }
  /// Notes that the flow's rate may have moved: appends it to `touched` unless it stands in such a list already.
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
    return f.limit == by_cap ? graph_.cap(flow) : f.weight * f.least;
  }

 private:
  friend class LevelRepair;
  static constexpr std::uint32_t by_cap = UINT32_MAX;
  static constexpr double clearly_below = 1e-9;  // of the capacity

  /// A cache line each.
  struct alignas(64) Link {
    double level = infinite;
    double excess = 0;    ///< sum of a min(level, u) - capacity, if known
    double weight = 0;    ///< sum of a over flows with u >= level, if the level is finite and the excess known
    double capacity = 0;  ///< as in the graph
    double next = 0;      ///< the level that puts the link in order, if known
    double key = infinite;
    std::uint32_t version = 0;  ///< of the queue entry that counts
    std::uint16_t changes = 0;  ///< of the excess since it was summed
    bool excess_known = false;
    bool next_known = false;
    bool queued = false;
    bool marked = false;
    /// So far from full that it is nobody's bottleneck. Requires: infinite level, known excess.
    bool is_clear() const { return excess <= -clearly_below * capacity; }
  };
  static constexpr std::size_t links_inside = 6;
  /// What limits a flow.
  struct Limits {
    double least = infinite;       ///< of the levels of its links and cap / weight
    double second = infinite;      ///< the same without the link `limit`
    std::uint32_t limit = by_cap;  ///< the link that gives `least`
    double without(std::uint32_t link) const { return limit == link ? second : least; }
  };
  /// A cache line with all that a repair needs of a flow, if its path is no longer than most are.
  struct alignas(64) Flow : Limits {
    bool touched = false;  ///< stands in a list of flows whose rate may have moved
    bool repeats = false;  ///< a link may stand twice in its path
    double weight = 1.0;
    std::uint32_t length = 0;  ///< of its path
    std::array<std::uint32_t, links_inside> links;
  };
  static_assert(sizeof(Flow) == 64);

  std::span<const std::uint32_t> path(FlowSlot slot) const {
    const Flow& flow = flows_[slot.index()];
    return {flow.length <= links_inside ? flow.links.data() : long_paths_[slot.index()].data(), flow.length};
  }
  void find_least(FlowSlot flow);
  static void move_excess(Link& link, double amount, double before, double after);
  static constexpr std::uint16_t changes_max = 1024;  // of an excess before it is summed afresh, so that rounding does not pile up

  const FlowLinkGraph& graph_;
  std::vector<Link> links_;
  std::vector<Flow> flows_;                             ///< by slot
  std::vector<std::vector<std::uint32_t>> long_paths_;  ///< by slot, where links_inside are not enough
};

class LevelRepair {
 public:
  struct Counters {
    std::uint64_t links_set = 0;     ///< levels that were changed
    std::uint64_t links_summed = 0;  ///< links whose flows were all looked at
    std::uint64_t flows_visited = 0;
  };

  /// Puts the links in order, and whichever these disturb; touches the flows whose rate may move. Gives up after about `work_max` looks at
  /// flows.
  bool run(LevelState& state, std::span<const LinkId> links, std::uint64_t work_max, std::vector<FlowSlot>& touched);

  const Counters& counters() const { return counters_; }

 private:
  struct Entry {
    double key;
    std::uint32_t link;
    std::uint32_t version;
    /// For the standard heaps, which keep the greatest in front: the smallest key, then the smallest link, is greatest.
    friend bool operator<(const Entry& a, const Entry& b) { return a.key != b.key ? a.key > b.key : a.link > b.link; }
  };
  struct Share {
    double amount;   ///< a
    double without;  ///< u
  };

  void consider(std::uint32_t link);
  void push(std::uint32_t link, double key);
  void sum(std::uint32_t link);
  void publish(std::uint32_t link, std::vector<FlowSlot>& touched);
  void drop_queue();

  LevelState* state_ = nullptr;
  std::vector<Entry> queue_;
  std::vector<std::uint32_t> marked_;  ///< links that a publish disturbed
  std::vector<Share> shares_;          ///< of the link that is summed; no shorter than it has members
  Counters counters_;
};

}  // namespace weft
