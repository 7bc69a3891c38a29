// SPDX-License-Identifier: Apache-2.0
// Quantum filling: the paper's flow rate update, literally. Progressive filling in steps of a fixed
// rate.
//
// Where it sits: the allocation policy `quantum_filling`; a reference for the exact solver and a
// proof that policies can be exchanged.
//
// Model (paper, appendix B, algorithm 1): all rates start at 0; in every round each flow gains
// weight x quantum unless one of its links is full; rounds go on until no flow gains. Priority
// classes are filled one after another, the highest first. A link counts as full for a flow when
// the gain no longer fits, so that capacities are never exceeded; a flow also stops where its cap
// would be. All flows are computed anew in every update.
//
// Invariant: a rate is at most one gain away from where filling in infinitely small steps would
// stop it on its bottleneck, plus the gains that other flows of that link could not take. A flow
// for which not even one gain fits has rate 0.
// Threads: as AllocationPolicy.
#pragma once

#include <span>
#include <vector>

#include "network/max_min/allocation_policy.hpp"

namespace weft {

class QuantumFilling final : public AllocationPolicy {
 public:
  /// `quantum` in the unit of the capacities. Requires: quantum > 0 (WEFT_CHECK).
  QuantumFilling(std::vector<double> capacities, double quantum);

  FlowSlot add_flow(const FlowDemand& demand) override;
  void remove_flow(FlowSlot flow) override;
  void set_capacity(LinkId link, double capacity) override;

  std::span<const FlowSlot> update() override;
  double rate(FlowSlot flow) const override { return rates_[flow.index()]; }
  void give_back() override;
  const FlowLinkGraph& graph() const override { return graph_; }

 private:
  void fill_class(std::size_t priority);

  FlowLinkGraph graph_;
  double quantum_;
  std::vector<double> rates_;      ///< by slot: as published; NaN for a flow that is new
  std::vector<double> filled_;     ///< by slot: while filling
  std::vector<double> load_;       ///< by link: while filling
  std::vector<FlowSlot> filling_;  ///< flows that still gain
  std::vector<FlowSlot> changed_;
};

}  // namespace weft
