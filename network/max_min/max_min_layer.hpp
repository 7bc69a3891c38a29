// SPDX-License-Identifier: Apache-2.0
// Max-min layer: exact weighted max-min fair rates of the flows of one priority class, brought up
// to date after every batch of changes.
//
// Where it sits: MaxMinSolver has one for each class in use and tells it what more important
// classes leave of the links. It knows neither time nor topology: links are numbers with a
// capacity.
//
// Model: link l has a level: the rate per weight above which none of its flows goes, infinite if it
// limits nobody; rate of flow f = weight x min(cap / weight, levels of its links, what it would get
// if it were alone).
// update() goes through the segments (network/max_min/segments) that changed, in parallel: where a
// batch touches little it repairs levels (network/max_min/level_repair), otherwise it solves the
// segment from nothing (network/max_min/bucket_solve). Where a flow takes the place of another of
// the same load, as steps of a collective follow each other, nothing is done. A rate that moved by
// less than 1e-12 of itself keeps its old value, so that flows which a change does not reach are
// not re-timed; the others are rounded (rounded_rate). More in docs/internals/flow_solver.md.
//
// Invariants
//   1. After update() rates are max-min fair on the capacities given, ties and zero capacities
//      included (a flow on a link of zero capacity has rate 0), as exactly as
//      network/max_min/level_repair says.
//   2. Rates are the same bits for any number of threads, and the same up to rounding for any
//      re-partition interval.
// Threads: belongs to one thread; update() uses those of its workspace. Layers that share one are
// updated one after another.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/parallel_loop.hpp"
#include "network/max_min/bucket_solve.hpp"
#include "network/max_min/flow_link_graph.hpp"
#include "network/max_min/level_repair.hpp"
#include "network/max_min/segments.hpp"

namespace weft {

/// A rate to 42 bits, so that what happened before does not tell in the last ones: rates that are
/// equal but for rounding are the same, but for few. A cap is exact.
constexpr double rounded_rate(double rate, double cap) {
  if (rate == cap) return rate;
  constexpr std::uint64_t unit = std::uint64_t{1} << (53 - 42);
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(rate) + unit / 2;
  return std::bit_cast<double>(bits - bits % unit);
}

/// Threads and the memory that they need while they solve.
struct MaxMinWorkspace {
  /// As ParallelLoop.
  explicit MaxMinWorkspace(std::uint32_t threads) : loop(threads), workers(loop.workers()) {}

  struct Worker {
    BucketSolve solve;
    LevelRepair repair;
    std::uint64_t repairs = 0;
    std::uint64_t full_solves = 0;
    std::uint64_t repairs_given_up = 0;
  };
  ParallelLoop loop;
  std::vector<Worker> workers;
  BucketSolveState state;
};

class MaxMinLayer {
 public:
  struct Options {
    std::uint32_t repartition_updates = 5;  ///< see network/max_min/segments
    /// Batches that look at fewer flow-link pairs than this, as far as one can tell beforehand, are
    /// not worth waking threads for.
    std::size_t parallel_incidences_min = 8192;
    /// Segments of whose links a batch puts a larger part out of order are solved from nothing: 0
    /// solves all so, infinity none.
    double repaired_part_max = 0.3;
    /// A repair is given up after so many looks at flows per flow-link pair of the segment. A
    /// safety net: where a change moves most rates of a segment a repair takes one look per pair,
    /// and two thirds of the time of a solve from nothing (bench/flow, replace_*/65536), so that
    /// nothing is gained by foreseeing it.
    std::uint64_t repair_looks_max = 4;
  };

  /// Keeps a reference to the workspace.
  MaxMinLayer(std::vector<double> capacities, const Options& options, MaxMinWorkspace& workspace);
  MaxMinLayer(const MaxMinLayer&) = delete;
  MaxMinLayer& operator=(const MaxMinLayer&) = delete;

  FlowSlot add(const FlowDemand& demand);
  /// See FlowLinkGraph::add_as.
  void add_as(FlowSlot flow, const FlowDemand& demand);
  void remove(FlowSlot flow);
  void set_capacity(LinkId link, double capacity);
  /// As FlowLinkGraph::give_back.
  void give_back();

  /// Writes the rates that moved, by slot, and tells which: flows added since the last call, whose
  /// rate must be NaN before, and all others whose rate moved. The result is valid until the next
  /// call.
  std::span<const FlowSlot> update(std::span<double> rates);

  const FlowLinkGraph& graph() const { return graph_; }
  const Segments& segments() const { return segments_; }
  /// Rate per weight above which no flow on the link goes; infinite where other links, caps or
  /// their being alone limit all flows.
  double level(LinkId link) const { return levels_.level(link); }

 private:
  /// A segment that changed, and how.
  struct Task {
    SegmentId segment;
    std::size_t pairs_changed = 0;  ///< flow-link pairs that came or went on links now out of order
    bool repair = false;            ///< or solve from nothing
    bool solved = false;            ///< it was
    std::uint64_t work = 0;         ///< done, as Segments counts it
    std::vector<LinkId> dirty;      ///< links that changes put out of order, each once
    std::vector<FlowSlot> touched;  ///< flows whose rate may have moved, then those whose rate did
  };

  void on_added(FlowSlot flow);
  void mark_dirty(FlowSlot flow);
  void plan();
  Task& task_of(SegmentId segment);
  void bring_up_to_date(Task& task, MaxMinWorkspace::Worker& worker, std::span<double> rates);
  void solve_from_nothing(Task& task, MaxMinWorkspace::Worker& worker);

  Options options_;
  MaxMinWorkspace& workspace_;
  FlowLinkGraph graph_;
  Segments segments_;
  LevelState levels_;
  /// Links with changes since the last update, each once.
  std::vector<LinkId> dirty_;
  std::vector<std::uint32_t> pairs_changed_;  ///< by link, in this batch; 0 if not in dirty_
  /// Added in this batch or whose bound moved; some may be gone again.
  std::vector<FlowSlot> moved_;
  std::vector<std::uint32_t> task_of_segment_;
  /// The first task_count_ are this batch's, the others keep their memory.
  std::vector<Task> tasks_;
  std::size_t task_count_ = 0;
  std::vector<FlowSlot> changed_;
};

}  // namespace weft
