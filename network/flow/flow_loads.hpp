// SPDX-License-Identifier: Apache-2.0
// Flow loads: what flows take of each link.
//
// Where it sits: in packet mode, where some jobs are in flow mode, the flow fabric has one and
// tells the ports of cables what it finds.
//
// Model: the sum of rate x load over the flows on a link, each rounded to bits per second, so that
// the sum is exact whatever the order. Flows that only stand for packets do not count.
// Threads: belongs to the fabric's logical process.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/flow/flow_model.hpp"

namespace weft {

class FlowLoads final : public RateObserver {
 public:
  /// Keeps a reference to the policy of the model that it watches.
  explicit FlowLoads(const AllocationPolicy& policy) : policy_(policy), load_bps_(policy.graph().link_count(), 0) {}

  /// A flow that begins at the next settle.
  void on_flow_starts(FlowSlot slot, bool counts);
  void on_flow_leaves(FlowSlot slot, Time now) override;
  void on_rates_changed(std::span<const FlowSlot> changed, Time now, const AllocationPolicy& policy) override;

  struct LinkLoad {
    LinkId link;
    Bandwidth load;
    friend bool operator==(const LinkLoad&, const LinkLoad&) = default;
  };
  /// Of links that carry another load than at the last call, ascending.
  std::vector<LinkLoad> take_changes();

 private:
  struct Flow {
    bool counts = false;
    double rate_bps = 0;
  };
  void add(FlowSlot slot, double rate_bps, std::int64_t sign);

  const AllocationPolicy& policy_;
  std::vector<Flow> flows_;             ///< by slot
  std::vector<std::int64_t> load_bps_;  ///< by LinkId
  /// Of links that have changed since: the load at the last call.
  std::map<LinkId, std::int64_t> told_;
};

}  // namespace weft
