// Max-min solver: exact weighted max-min fair rates of flows on links, brought up to date after every batch of changes.
//
// Where it sits: the allocation policy `max_min`; flow_model feeds it. It knows neither time nor topology: links are numbers with a capacity.
//
// Model: rates are max-min fair if every flow is at its cap or crosses a bottleneck, a link that is full and on which no flow has a higher rate
// per weight. These rates are unique. Link l has a level: the rate per weight of the flows for which it is the bottleneck, infinite if it
// is nobody's; rate of flow f = weight x min(cap / weight, levels of its links).
// update() goes through the segments (network/segments) that changed, in parallel: where a batch touches little it repairs levels
// (network/level_repair), where it touches much, or a repair spreads over most of the segment, it solves the segment from nothing
// (network/bucket_solve). There is no rate quantum.
//
// A rate that moved by less than 1e-12 of itself keeps its old value: flows that a change does not really reach are not re-timed.
//
// Invariants
//   1. After update() rates are max-min fair, ties and zero capacities included (a flow on a link of zero capacity has rate 0), every link's
//      level within 1e-12 of what its flows' other links leave to it.
//   2. Rates are the same bits for any number of threads, and the same up to rounding for any re-partition interval.
// Threads: as AllocationPolicy.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/allocation_policy.hpp"
#include "network/bucket_solve.hpp"
#include "network/level_repair.hpp"
#include "network/parallel_loop.hpp"
#include "network/segments.hpp"

namespace weft {

class MaxMinSolver final : public AllocationPolicy {
 public:
  struct Options {
    std::uint32_t repartition_updates = 5;  ///< see network/segments
    std::uint32_t threads = 0;              ///< 0: all cores; 1: no other thread is touched
    /// Batches that look at fewer flow-link pairs than this, as far as one can tell beforehand, are not worth waking threads for.
    std::size_t parallel_incidences_min = 8192;
    /// Segments of which a batch changes a larger part, in flow-link pairs, are solved from nothing: 0 solves all so, infinity none.
    double repaired_part_max = 0.3;
  };

  MaxMinSolver(std::vector<double> capacities, Options options);

  FlowSlot add_flow(const FlowDemand& demand) override;
  void remove_flow(FlowSlot flow) override;
  void set_capacity(LinkId link, double capacity) override;

  std::span<const FlowSlot> update() override;
  double rate(FlowSlot flow) const override { return rates_[flow.index()]; }
  const FlowLinkGraph& graph() const override { return graph_; }

  /// Rate per weight at which the link is the bottleneck of some flow; infinite if of none.
  double level(LinkId link) const { return levels_.level(link); }
  const Segments& segments() const { return segments_; }

  /// What updates were made of.
  struct Counters {
    std::uint64_t repairs = 0;           ///< segments whose levels were repaired
    std::uint64_t full_solves = 0;       ///< segments solved from nothing
    std::uint64_t repairs_given_up = 0;  ///< of the full solves, those after a repair had spread too far
    std::uint64_t links_set = 0;         ///< levels that repairs changed
    std::uint64_t flows_visited = 0;     ///< by repairs
  };
  Counters counters() const;

  struct Audit {
    std::size_t overloaded_links = 0;          ///< carry more than their capacity
    std::size_t flows_above_cap = 0;           ///< get more than they may use
    std::size_t flows_without_bottleneck = 0;  ///< neither at their cap nor across a bottleneck
    bool passed() const { return overloaded_links == 0 && flows_above_cap == 0 && flows_without_bottleneck == 0; }
  };
  /// Checks the definition of max-min fairness on all links and flows. Requires: no change since update().
  Audit audit(double relative_tolerance = 1e-9) const;

 private:
  /// A segment that changed, and how.
  struct Task {
    SegmentId segment;
    std::size_t pairs_changed = 0;  ///< flow-link pairs that came or went
    bool repair = false;            ///< or solve from nothing
    std::uint64_t work = 0;         ///< done, as Segments counts it
    std::vector<LinkId> dirty;      ///< links with changes, each once
    std::vector<FlowSlot> touched;  ///< flows whose rate may have moved, then those whose rate did
  };
  struct Worker {
    BucketSolve solve;
    LevelRepair repair;
    std::uint64_t repairs = 0;
    std::uint64_t full_solves = 0;
    std::uint64_t repairs_given_up = 0;
  };

  void mark_dirty(FlowSlot flow);
  void plan();
  Task& task_of(SegmentId segment);
  void bring_up_to_date(Task& task, Worker& worker);
  void solve_from_nothing(Task& task, Worker& worker);

  Options options_;
  FlowLinkGraph graph_;
  Segments segments_;
  LevelState levels_;
  BucketSolveState state_;
  std::vector<double> rates_;                 ///< by slot: as published; NaN for a flow that is new
  std::vector<LinkId> dirty_;                 ///< links with changes since the last update, each once
  std::vector<std::uint32_t> pairs_changed_;  ///< by link, in this batch; 0 if not in dirty_
  std::vector<FlowSlot> added_;               ///< in this batch; some may be gone again
  std::vector<std::uint32_t> task_of_segment_;
  std::vector<Task> tasks_;  ///< the first task_count_ are this batch's, the others keep their memory
  std::size_t task_count_ = 0;
  std::vector<FlowSlot> changed_;
  ParallelLoop loop_;
  std::vector<Worker> workers_;
};

}  // namespace weft
