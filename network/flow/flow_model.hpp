// SPDX-License-Identifier: Apache-2.0
// Flow model: fluid flows over links in simulated time. Rates from an allocation policy, finish
// times from the rates.
//
// Where it sits: flow_fabric drives it with one batch per instant; it knows links and time, but
// neither hosts nor latencies.
//
// Model: between changes a flow moves at a constant rate; what remains of it is
// remaining - rate x (now - last change), brought forward only when its rate changes. It finishes
// at last change + remaining / rate, rounded to the nearest tick (fluid_transmit_time), never at
// the instant of the change itself. Flows whose rate does not change are not touched.
//
//   model.take_completions(now, done);        flows that end now leave
//   model.start(...); model.start(...);       others begin
//   model.settle(now);                        one solve for all of it
//   model.next_completion();                  and the instant to come back at
//
// A flow with rate 0 does not finish until something changes; it is in stalled_flows().
//
// Invariants
//   1. Every instant is one batch: completions, starts and capacity changes of one instant make one
//      solve.
//   2. `now` never goes back and never passes next_completion() (WEFT_CHECK).
//   3. Bytes of a link count each finished flow exactly; flows under way and cancelled ones count
//      as far as they have come.
// Threads: one (the policy may use others inside settle()).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/flow/completion_queue.hpp"
#include "network/max_min/allocation_policy.hpp"

namespace weft {

class Topology;

/// Capacities of a topology's links in bits per second, the unit of the flow model.
std::vector<double> link_capacities_bps(const Topology& topology);

/// What a flow is to do.
struct FlowRequest {
  std::span<const LinkId> path;  ///< at least one link
  Bytes wire_bytes;              ///< > 0
  double weight = 1.0;
  double cap_bps = std::numeric_limits<double>::infinity();
  std::uint32_t owner = 0;  ///< comes back on completion
  /// By link of the path, what it carries per byte of the flow; empty: 1 each.
  std::span<const double> loads = {};
  /// Class; a higher one goes first (network/max_min/flow_link_graph)
  std::uint8_t priority = 0;
  std::uint32_t account = 0;  ///< where its bytes are counted; small numbers
};

/// How far a flow has come.
struct FlowProgress {
  double remaining_bits = 0;  ///< at last_change
  double rate_bps = 0;        ///< since last_change
  Time last_change;
  Time finish;  ///< at that rate
};

/// Of a flow's wire bytes, whole ones by then.
Bytes moved_bytes(Bytes wire_bytes, const FlowProgress& progress, Time now);

/// A flow that has moved all its bytes.
struct FlowCompletion {
  FlowSlot flow;  ///< the slot it had; free again
  std::uint32_t owner = 0;
};

/// A flow that stands still.
struct StalledFlow {
  std::uint32_t owner = 0;
  std::uint64_t serial = 0;  ///< flows are numbered in order of their start
  /// Of its path: one without capacity, or else one that others fill, or else the first.
  LinkId link;
};

/// Watches rates. Called from within FlowModel's calls of the same instant.
class RateObserver {
 public:
  virtual ~RateObserver() = default;
  /// The flow is still in the policy's graph, with its last rate; its slot may be taken again at
  /// once.
  virtual void on_flow_leaves(FlowSlot flow, Time now) = 0;
  /// Flows that are new or whose rate moved, each once; those that left at this instant were told
  /// of before.
  virtual void on_rates_changed(std::span<const FlowSlot> changed, Time now, const AllocationPolicy& policy) = 0;
};

class FlowModel {
 public:
  /// When no flow is left, memory for more slots than `slots_kept` is given back.
  explicit FlowModel(std::unique_ptr<AllocationPolicy> policy, std::size_t slots_kept = std::size_t{1} << 20);

  /// From now on; it outlives the model. Without one nothing is lost on it.
  void watch(RateObserver& observer) { observer_ = &observer; }

  /// The flow begins at the next settle().
  FlowSlot start(const FlowRequest& request);
  /// A flow that was under way in another model comes with what it has done: where its rate stays,
  /// so does its finish. Requires: it does not end before the last settle().
  FlowSlot adopt(const FlowRequest& request, const FlowProgress& progress);
  FlowProgress progress(FlowSlot flow) const;
  /// A flow goes on in another model, which counts all its bytes. Requires: settled, nobody else is
  /// on its links.
  FlowProgress take_out(FlowSlot flow);
  /// By LinkId: of flows that have ended here, and add_bytes().
  std::span<const Bytes> bytes_of_ended() const { return link_bytes_.whole; }
  void set_capacity(LinkId link, Bandwidth capacity);
  /// The flow leaves before its end; its capacity is free after settle(). Requires: it is under way
  /// and does not end by `now`.
  void cancel(FlowSlot flow, Time now);
  /// The flow does not begin after all. Requires: it began at `now`.
  void take_back(FlowSlot flow, Time now);
  /// The flow goes on over other links with what is left of it. Returns its new slot. Requires: as
  /// cancel().
  FlowSlot move(FlowSlot flow, std::span<const LinkId> path, std::span<const double> loads, double cap_bps, Time now);
  /// A link has carried what was no flow of this model.
  void add_bytes(LinkId link, Bytes bytes) { link_bytes_.whole[link.index()] += bytes; }
  /// Removes the flows that end at `now` and appends them to `done` in order of their start. Their
  /// capacity is free after settle().
  void take_completions(Time now, std::vector<FlowCompletion>& done);
  /// Brings rates and finish times up to date. Does nothing if nothing changed since the last call.
  void settle(Time now);
  /// Earliest completion; Time::max() if there is none. Requires: settled.
  Time next_completion() { return queue_.next(); }

  double rate_bps(FlowSlot flow) const { return policy_->rate(flow); }
  /// As in its request. Requires: it is under way.
  std::uint32_t owner(FlowSlot flow) const { return queue_.notes(flow).owner; }
  std::size_t active_flows() const { return policy_->graph().flow_count(); }
  std::size_t active_flows_peak() const { return active_flows_peak_; }
  std::uint64_t flows_started() const { return next_serial_ - taken_back_; }
  std::uint64_t flows_finished() const { return flows_finished_; }
  std::uint64_t solves() const { return solves_; }
  /// Times a flow's rate was set or changed, over all solves.
  std::uint64_t rate_changes() const { return rate_changes_; }
  /// Flows with rate 0, in order of their start. Requires: settled.
  std::vector<StalledFlow> stalled_flows() const;
  /// Wire bytes per link until `now`.
  struct CountedBytes {
    std::vector<Bytes> by_link;                       ///< account 0, by LinkId
    std::vector<std::map<LinkId, Bytes>> by_account;  ///< from account 1 on
    std::vector<Bytes> moved;                         ///< likewise, whatever links it crossed
  };
  /// Requires: settled, now <= next_completion().
  CountedBytes link_bytes(Time now) const;

  const AllocationPolicy& policy() const { return *policy_; }

 private:
  struct Flow {
    double remaining_bits = 0;  ///< at last_change
    double rate_bps = 0;        ///< since last_change
    Time last_change;
    Bytes wire_bytes;
    std::uint64_t serial = 0;
    std::uint32_t owner = 0;
    std::uint32_t account = 0;
  };
  static_assert(sizeof(Flow) == 48, "a cache line with what the queue keeps of it; there may be tens of millions");

  /// What went over each link.
  struct LinkBytes {
    /// Of an account whose flows are on few links.
    struct OfLink {
      Bytes whole;
      double parts = 0;
    };
    std::vector<Bytes> whole;
    /// Bytes of flows with loads other than 1; empty if there were none.
    std::vector<double> parts;
    std::vector<std::unordered_map<LinkId, OfLink>> by_account;
    std::vector<Bytes> moved_by_account;  ///< likewise from 1 on
    void add(std::uint32_t account, std::span<const FlowLinkGraph::Hop> hops, std::span<const double> loads, Bytes moved);
  };

  FlowSlot add(const FlowRequest& request, double rate_before);
  double remaining_bits(const Flow& flow, Time now) const;
  Bytes moved_bytes(const Flow& flow, Time now) const;

  std::unique_ptr<AllocationPolicy> policy_;
  std::size_t slots_kept_;
  RateObserver* observer_ = nullptr;
  CompletionQueue<Flow> queue_;
  LinkBytes link_bytes_;
  std::vector<FlowSlot> due_;
  bool changed_ = false;
  Time settled_at_;
  std::size_t active_flows_peak_ = 0;
  std::uint64_t next_serial_ = 0;
  std::uint64_t taken_back_ = 0;
  std::uint64_t flows_finished_ = 0;
  std::uint64_t solves_ = 0;
  std::uint64_t rate_changes_ = 0;
};

}  // namespace weft
