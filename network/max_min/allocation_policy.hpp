// SPDX-License-Identifier: Apache-2.0
// Allocation policy: decides the rates of all flows that share links, whenever flows come and go.
//
// Where it sits: flow_model hands it the flows of a batch and asks for rates; chosen by name from
// allocation_policies().
//
//   max_min            weighted max-min fairness, exact (network/max_min/max_min_solver)
//   quantum_filling    the paper's progressive filling by a fixed quantum
//                      (network/max_min/quantum_filling), the reference
//
// Both know weights and priorities, so that what is shared among whom is the demand's to say:
// weights make shares equal per queue pair or per transfer (network/flow/flow_settings), and a
// class of FlowDemand::priority shares what the classes above it leave.
//
// Use: any number of add_flow, remove_flow and set_capacity calls make one batch; update() brings
// the rates up to date and tells which changed. Rates are only meaningful after update(). A policy
// may keep whatever state makes the next update cheap.
//
// Invariants
//   1. After update() no link carries more than its capacity, up to rounding, and no flow more than
//      its cap.
//   2. Rates are a function of the sequence of calls: neither of threads nor of addresses.
//   3. The list of update() names every flow added in the batch and still there, but for those that
//      keep what they had elsewhere (FlowDemand::rate_before), and every other flow whose rate
//      moved, each once.
// Threads: belongs to one thread; update() may use others inside.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/text/params.hpp"
#include "core/values/ids.hpp"
#include "network/max_min/flow_link_graph.hpp"

namespace weft {

class AllocationPolicy {
 public:
  virtual ~AllocationPolicy() = default;

  virtual FlowSlot add_flow(const FlowDemand& demand) = 0;
  virtual void remove_flow(FlowSlot flow) = 0;
  virtual void set_capacity(LinkId link, double capacity) = 0;

  /// Ends the batch. The result is valid until the next call of anything but rate() and graph().
  virtual std::span<const FlowSlot> update() = 0;
  virtual double rate(FlowSlot flow) const = 0;
  /// The memory that flows took; slots begin anew. Requires: there are no flows.
  virtual void give_back() = 0;
  virtual const FlowLinkGraph& graph() const = 0;
};

/// Makes a policy for links of the given capacities, with parameters from its module's table.
using AllocationPolicyFactory = std::unique_ptr<AllocationPolicy> (*)(std::vector<double> capacities, const ParamSet& params);

/// Every policy there is.
std::span<const Module<AllocationPolicyFactory>> allocation_policies();

}  // namespace weft
