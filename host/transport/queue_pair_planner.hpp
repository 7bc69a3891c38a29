// SPDX-License-Identifier: Apache-2.0
// Queue pair planner: route, rate limit and window of a new queue pair.
//
// Where it sits: network cards ask it when they open a queue pair and when routes change;
// host/transport/ideal_transfer_time computes the least time of a transfer from the same rates.
//
// Model
//   rate     the least of what the GPU's side of the route, flow.queue_pair_rate_max, TCP on lines
//            between sites (network/wide_area) and staging let through; with packet.paces_by_route
//            the bottleneck of the route as well
//   window   packet.window, or what a queue pair must have in flight to fill its route: the
//            bottleneck's rate times the time until an acknowledgement is back, and the packets
//            that one acknowledgement answers
// Threads: as its caller's routes; otherwise immutable.
#pragma once

#include <cstddef>
#include <optional>

#include "host/transport/nic.hpp"
#include "host/transport/packet_model.hpp"
#include "network/network_model.hpp"

namespace weft {

class QueuePairPlanner {
 public:
  explicit QueuePairPlanner(const PacketModel& model) : model_(model) {}

  /// `routes` are the routes that the asking node knows.
  QueuePairPlan plan(const AvailableRoutes& routes, const Transfer& transfer, std::uint32_t queue_pair) const;

  /// The rate that limits a queue pair before its first cable.
  Bandwidth rate_max(const PacketTopology::Route& route, const Transfer& transfer) const;
  /// What TCP on lines between sites lets a queue pair have; of packets that are sprayed by all of
  /// their routes, as in flow mode.
  std::optional<WideAreaRate> wide_area_rate(const PacketTopology::Route& route, const Transfer& transfer) const;
  /// The rate of a link of the route; cards leave a share of the first link idle.
  Bandwidth rate_of(const PacketTopology::Route& route, std::size_t hop) const;
  /// The rate that the route lets through while all its cables work, at most `rate_max`. Where
  /// switches choose a route for each packet, all routes from the first switch on count together.
  Bandwidth bottleneck(const PacketTopology::Route& there, NodeId destination, Bandwidth rate_max) const;
  /// The time from the handover of a transfer until its card may send.
  Duration entry_latency(const Transfer& transfer) const;
  /// The time of one packet on idle links, from its first bit on the first cable until the card at
  /// the end has it.
  Duration unloaded_time(const PacketTopology::Route& route, Bytes packet) const;

 private:
  /// Requires: plan.rate_max and plan.round_trip are known.
  std::optional<Bytes> window(Bandwidth route_rate, const PacketTopology::Route& back, const QueuePairPlan& plan) const;

  const PacketModel& model_;
};

}  // namespace weft
