// SPDX-License-Identifier: Apache-2.0
// Flow list source: replays a flow list - starts each transfer at its time and counts what arrived.
//
// Where it sits: stands in for all hosts in `weft run --flows`: every notice of the network comes
// to this one entity. In packet mode every host has a sink instead, beside its cards, and the flows
// are there before the run begins.
// Flows of one instant start in file order. Each flow has its own connection number (its place in
// the file), so equal pairs hash apart.
// Threads: belongs to its logical process; counters may be read once the engine has stopped.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/entity.hpp"
#include "network/network_model.hpp"
#include "topologies/topology.hpp"
#include "workloads/formats/flow_list.hpp"

namespace weft {

class FlowListSource final : public Entity {
 public:
  /// Event kind of its timers. Post one initial event of this kind at first_start().
  static constexpr std::uint16_t start_next = 400;

  /// `network` outlives the run. Requires: endpoints were checked (check_flow_list).
  FlowListSource(const FlowList& flows, const NetworkPort& network);

  void handle(const Event& event, EventContext& context) override;

  /// Start of the earliest flow. Requires: at least one flow.
  Time first_start() const;
  std::uint64_t delivered() const { return delivered_; }
  Time last_delivery() const { return last_delivery_; }
  std::uint64_t total() const { return order_.size(); }

 private:
  const FlowList& flows_;
  const NetworkPort& network_;
  std::vector<std::uint32_t> order_;  ///< indices into the list by (start, place in the file)
  std::size_t next_ = 0;
  std::uint64_t delivered_ = 0;
  Time last_delivery_;
};

/// Stands in for a host where the network knows the list's flows beforehand.
class FlowListSink final : public Entity {
 public:
  void handle(const Event& event, EventContext& context) override;
  Time last_delivery() const { return last_delivery_; }

 private:
  Time last_delivery_;
};

/// What a list's flow is to the network.
Transfer transfer_of(const FlowList& flows, std::uint32_t place);
/// Places in the list by start, and of equal starts ascending.
std::vector<std::uint32_t> by_start(const FlowList& flows);

/// Adds [unknown-endpoint] for flows from or to a node that is not an endpoint of the topology,
/// [self-flow] for flows to their own source, and [no-flows] for an empty list.
void check_flow_list(const FlowList& flows, const Topology& topology, const std::string& file, Diagnostics& diagnostics);

}  // namespace weft
