// SPDX-License-Identifier: Apache-2.0
// Ideal transfer time: the least time that a transfer takes in packet mode, on idle links.
//
// Where it sits: results divide the time of every transfer by it (the slowdown).
//
// Model: the packets of every queue pair follow each other as closely as the slowest link so far
// lets them, and no link carries the bytes of all queue pairs in less than its own time. A transfer
// alone takes exactly that, with four exceptions: windows that are too small, congestion control,
// sprayed packets that do not get the best routes, and a tick per link where the time of a packet
// is not a whole number of ticks.
// Threads: immutable.
#pragma once

#include "host/transport/packet_model.hpp"
#include "host/transport/queue_pair_planner.hpp"
#include "network/network_model.hpp"
#include "network/wire_format.hpp"

namespace weft {

class IdealTransferTime {
 public:
  IdealTransferTime(const PacketModel& model, const QueuePairPlanner& planner) : model_(model), planner_(planner) {}

  Duration of(const Transfer& transfer) const;

 private:
  /// The time between two packets of a queue pair that the card paces; zero at the port's rate.
  Duration spacing(const PacketTrain& train, const PacketTopology::Route& route, Bandwidth rate_max) const;
  /// The time until all packets of a queue pair have come to the end of one route.
  Duration on_one_route(const PacketTrain& train, const PacketTopology::Route& route, Bandwidth rate_max) const;
  /// The time until all packets of a sprayed queue pair have arrived. Between the first link and
  /// the last each packet may take the best route for itself and overtake larger ones. All have
  /// arrived when three things have happened: the last packet has come, the last full packet has
  /// come, and the last link has carried all of them. `onward` is the rest of the route of the last
  /// packet.
  Duration sprayed(const PacketTrain& train, const PacketTopology::Route& route, NodeId destination, Bandwidth rate_max,
                   const PacketTopology::LeastRoute& onward) const;
  /// The best route from the first switch until the card at the end has the packet.
  PacketTopology::LeastRoute onward_of(const PacketTopology::Route& route, NodeId destination, Bytes packet) const;

  const PacketModel& model_;
  const QueuePairPlanner& planner_;
};

}  // namespace weft
