// SPDX-License-Identifier: Apache-2.0
// Bucket solve: exact weighted max-min rates of a set of links and all flows on them, from nothing.
//
// Where it sits: MaxMinLayer calls it for a segment of which much changed, and takes over the
// levels. The links must be closed: every link of a flow on one of them is among them.
//
// Model: water filling by links. A link's share is (capacity - rates of its fixed flows) / (weight
// of the others), rates and weights times the loads. The link of least share is a bottleneck: its
// level becomes that share, its flows are fixed at weight x level and leave the other links'
// shares, which can only rise. Links wait in buckets by the leading bits of the share (sign,
// exponent, 7 bits of fraction); inside a bucket a small heap orders by (share, link). Flows with a
// cap are sorted by cap / weight and fixed as soon as no share is below that. (Max-min: Bertsekas
// and Gallager, Data Networks, section 6.5.2.) docs/internals/flow_solver.md, "From nothing", says
// how shares move between buckets and how rounding is kept down.
//
// Invariants
//   1. The result is a function of the graph (order of members included) and of the list of links,
//      not of what the object did before.
//   2. level is infinite for a link that is nobody's bottleneck; of several tied links the one of
//      smallest id carries the level.
// Threads: one object per thread; calls at the same time must have no link in common, and then may
// share `state`.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/containers/release_memory.hpp"
#include "core/values/ids.hpp"
#include "network/max_min/flow_link_graph.hpp"

namespace weft {

/// Arrays by link and by flow slot that a solve reads and writes for its own links and flows only.
struct BucketSolveState {
  struct LinkWork {
    double remaining = 0;       ///< capacity not taken by fixed flows,
    double correction = 0;      ///< and what rounding took from that sum (Neumaier)
    double weight = 0;          ///< of flows not fixed
    double weight_summed = 0;   ///< `weight` when last added up afresh
    double floor = 0;           ///< highest level among its fixed flows
    std::uint32_t unfixed = 0;  ///< members not fixed
    std::uint32_t next = 0;     ///< in its bucket
  };

  /// Fits the arrays to the graph.
  void resize(const FlowLinkGraph& graph);
  /// The memory that flows took.
  void give_back() { release_memory(rates); }

  std::vector<double> rates;  ///< by flow slot: the result
  /// By link: the result, rate per weight; infinite = not a bottleneck.
  std::vector<double> levels;
  std::vector<LinkWork> work;  ///< by link
};

class BucketSolve {
 public:
  void run(const FlowLinkGraph& graph, std::span<const LinkId> links, BucketSolveState& state);

 private:
  using Entry = std::pair<double, LinkId>;  ///< share (a lower bound until recomputed), link

  void begin(std::span<const LinkId> links);
  double weight_of(FlowLinkGraph::MemberList members) const;
  void list_capped(std::span<const LinkId> links);
  void lay_buckets(std::span<const LinkId> links);
  void empty_bucket(std::uint32_t bucket);
  double share(LinkId link);
  void sum_weight(LinkId link);
  std::uint32_t bucket_of(double share) const;
  void put(LinkId link, std::uint32_t bucket);
  void fix_link(LinkId link, double level);
  bool fix_capped(double level);
  void fix_flow(FlowSlot flow, double rate, double level);

  const FlowLinkGraph* graph_ = nullptr;
  BucketSolveState* state_ = nullptr;
  std::vector<std::uint32_t> heads_;  ///< first link of each bucket
  std::uint64_t key_min_ = 0;         ///< leading bits that stand for bucket 0
  std::vector<Entry> heap_;
  std::vector<std::pair<double, FlowSlot>> capped_;  ///< cap / weight, flow; ascending
  std::size_t next_capped_ = 0;
};

}  // namespace weft
