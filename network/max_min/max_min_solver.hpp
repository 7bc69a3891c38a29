// SPDX-License-Identifier: Apache-2.0
// Max-min solver: exact weighted max-min fair rates of flows on links, class by class, brought up
// to date after every batch of changes.
//
// Where it sits: the allocation policy `max_min`; flow_model feeds it. It knows neither time nor
// topology: links are numbers with a capacity.
//
// Model: rates are max-min fair if every flow is at its cap or crosses a bottleneck, a link that is
// full and on which no flow has a higher rate per weight. These rates are unique. Priorities are
// strict: the flows of the highest class get the max-min fair rates that they would have alone;
// those of each class below get the max-min fair rates on the capacities that the classes above
// leave.
// Every class in use has a layer (network/max_min/max_min_layer) which keeps levels and repairs
// them. Where the load of a class moves, the capacities of the classes below change, on links that
// they use, as if a user had set them: so a batch touches in each class what it changes there.
// A link that is a bottleneck above, or full up to rounding (1e-11 of its capacity), leaves
// nothing.
//
// Invariants
//   1. After update() rates are as the model says, ties, zero capacities and capacities used up by
//      the classes above included (a flow on such a link has rate 0), as exactly as layers and
//      rounding allow: what is left of a link is exact to about 1e-12 of its capacity.
//   2. Rates are the same bits for any number of threads, and the same up to rounding for any
//      re-partition interval.
// Builds with assertions (without NDEBUG) check the first by the definition from time to time.
// Threads: as AllocationPolicy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "network/max_min/allocation_policy.hpp"
#include "network/max_min/max_min_audit.hpp"
#include "network/max_min/max_min_layer.hpp"

namespace weft {

class MaxMinSolver final : public AllocationPolicy {
 public:
  struct Options : MaxMinLayer::Options {
    std::uint32_t threads = 0;  ///< 0: all cores; 1: no other thread is touched
    /// Every so many updates audit() must pass (WEFT_CHECK), whatever it costs; 0: never.
    std::uint32_t audit_updates = audits_state ? 1000 : 0;
  };

  MaxMinSolver(std::vector<double> capacities, Options options);

  FlowSlot add_flow(const FlowDemand& demand) override;
  void remove_flow(FlowSlot flow) override;
  void set_capacity(LinkId link, double capacity) override;

  std::span<const FlowSlot> update() override;
  double rate(FlowSlot flow) const override { return rates_[flow.index()]; }
  void give_back() override;
  const FlowLinkGraph& graph() const override { return all_flows_ ? *all_flows_ : layers_.front().layer->graph(); }

  /// Layers, the most important first.
  std::size_t layer_count() const { return layers_.size(); }
  const MaxMinLayer& layer(std::size_t i) const { return *layers_[i].layer; }

  /// What updates were made of, over all classes.
  struct Counters {
    std::uint64_t repairs = 0;      ///< segments whose levels were repaired
    std::uint64_t full_solves = 0;  ///< segments solved from nothing
    /// Of the full solves, those after a repair had spread too far.
    std::uint64_t repairs_given_up = 0;
    std::uint64_t links_set = 0;      ///< levels that repairs changed
    std::uint64_t flows_visited = 0;  ///< by repairs
  };
  Counters counters() const;

  /// Checks the definition on all links and flows (network/max_min/max_min_audit). Requires: no
  /// change since update().
  MaxMinAudit audit(double relative_tolerance = 1e-9) const { return audit_max_min(graph(), rates_, relative_tolerance); }

 private:
  struct Class {
    std::uint8_t priority;
    std::unique_ptr<MaxMinLayer> layer;
  };

  MaxMinLayer& layer_of(std::uint8_t priority);
  void mark_stale(LinkId link, std::uint8_t below);
  double left_for(std::size_t layer, LinkId link) const;
  std::span<const FlowSlot> update_layers();
  void check_rates() const;

  Options options_;
  MaxMinWorkspace workspace_;
  std::vector<Class> layers_;  ///< descending by priority; at least one
  /// Once there are several layers; until then the layer's graph is all.
  std::optional<FlowLinkGraph> all_flows_;
  std::vector<double> rates_;  ///< by slot: as published; NaN for a flow that is new
  /// By link: capacities of classes below this number may have changed.
  std::vector<std::uint8_t> stale_below_;
  std::vector<LinkId> stale_;  ///< links where that is not 0, each once
  std::vector<FlowSlot> changed_;
  std::uint32_t updates_since_audit_ = 0;
};

}  // namespace weft
