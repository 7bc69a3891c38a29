// Max-min solver: exact weighted max-min fair rates of flows on links, brought up to date after every batch of changes.
//
// Where it sits: the allocation policy `max_min`; flow_model feeds it. It knows neither time nor topology: links are numbers with a capacity.
//
// Model: rates are max-min fair if every flow is at its cap or crosses a bottleneck, a link that is full and on which no flow has a higher rate
// per weight. These rates are unique. Link l has a level: the rate per weight of the flows for which it is the bottleneck, infinite if it
// is nobody's; rate of flow f = weight x min(cap / weight, levels of its links).
// update() solves every segment (network/segments) that changed with bucket_solve, segments in parallel. There is no rate quantum.
//
// A rate that moved by less than 1e-12 of itself keeps its old value: flows that a change does not really reach are not re-timed, and as
// the comparison is with a solve from nothing, the error does not grow with the number of updates.
//
// Invariants
//   1. After update() rates are max-min fair within 1e-12, ties and zero capacities included (a flow on a link of zero capacity has rate 0).
//   2. Rates are the same bits for any number of threads, and within 1e-12 the same for any re-partition interval.
// Threads: as AllocationPolicy.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/allocation_policy.hpp"
#include "network/bucket_solve.hpp"
#include "network/parallel_loop.hpp"
#include "network/segments.hpp"

namespace weft {

class MaxMinSolver final : public AllocationPolicy {
 public:
  struct Options {
    std::uint32_t repartition_updates = 5;  ///< see network/segments
    std::uint32_t threads = 0;              ///< 0: all cores; 1: no other thread is touched
    /// Segments of one batch with fewer flow-link pairs in all than this are not worth waking threads for.
    std::size_t parallel_incidences_min = 8192;
  };

  MaxMinSolver(std::vector<double> capacities, Options options);

  FlowSlot add_flow(const FlowDemand& demand) override;
  void remove_flow(FlowSlot flow) override;
  void set_capacity(LinkId link, double capacity) override;

  std::span<const FlowSlot> update() override;
  double rate(FlowSlot flow) const override { return rates_[flow.index()]; }
  const FlowLinkGraph& graph() const override { return graph_; }

  /// Rate per weight at which the link was the bottleneck of some flow in its segment's last solve; infinite if of none.
  double level(LinkId link) const;
  const Segments& segments() const { return segments_; }

  struct Audit {
    std::size_t overloaded_links = 0;          ///< carry more than their capacity
    std::size_t flows_above_cap = 0;           ///< get more than they may use
    std::size_t flows_without_bottleneck = 0;  ///< neither at their cap nor across a bottleneck
    bool passed() const { return overloaded_links == 0 && flows_above_cap == 0 && flows_without_bottleneck == 0; }
  };
  /// Checks the definition of max-min fairness on all links and flows. Requires: no change since update().
  Audit audit(double relative_tolerance = 1e-9) const;

 private:
  void solve_segment(SegmentId segment, BucketSolve& solve, std::vector<FlowSlot>& changed);

  Options options_;
  FlowLinkGraph graph_;
  Segments segments_;
  BucketSolveState state_;
  std::vector<double> rates_;  ///< by slot: as published; NaN for a flow that is new
  std::vector<std::vector<FlowSlot>> changed_of_segment_;
  std::vector<FlowSlot> changed_;
  ParallelLoop loop_;
  std::vector<BucketSolve> solves_;  ///< scratch memory, by worker
};

}  // namespace weft
