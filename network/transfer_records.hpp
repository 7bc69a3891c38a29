// SPDX-License-Identifier: Apache-2.0
// Transfer records: what a network model tells of its transfers and links.
//
// Where it sits: the flow fabric and host/transport/packet_network fill them in, whoever writes
// results reads them.
// Threads: values; an observer is called by one thread at a time.
#pragma once

#include <cstdint>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/network_model.hpp"

namespace weft {

/// A transfer whose delivery is certain.
struct FinishedTransfer {
  /// Transfers are numbered in order of entering the network, or of being told of where they left
  /// elsewhere; hosts number none of their own.
  FlowId id;
  /// As the host handed it over; of an operation in switches, the destination is the top of the
  /// tree.
  Transfer transfer;
  Time start;  ///< when the host handed it over
  Time end;    ///< when it is delivered, or will be
  /// What it takes alone in the network on the same paths, latencies included: no allocation makes
  /// it faster.
  Duration ideal;
  bool inside_host = false;
  std::uint32_t multiplicity = 1;  ///< transfers that it stands for, itself included
};

/// Watches transfers end. The flow fabric calls it in the order in which they leave their sources,
/// but for those that leave elsewhere (network/flow/fabric_resident), which come later.
class FlowObserver {
 public:
  virtual ~FlowObserver() = default;
  virtual void on_transfer_finished(const FinishedTransfer& finished) = 0;
};

/// A transfer in the network, for the report of a run that ended or was stopped before it.
struct UnfinishedTransfer {
  FlowId id;
  Transfer transfer;  ///< as in FinishedTransfer
  Time start;
  LinkId stalled_at = LinkId::none();  ///< the link that stops it; none() if it moves
};

/// What went over a directed link until the end of the run. The rest of it is known in packet mode
/// only.
struct LinkUsage {
  Bytes bytes;                  ///< wire bytes
  double mean_utilization = 0;  ///< of the link's rate over the span asked for
  Bytes queue;                  ///< what waits for it in its switch
  Bytes queue_peak;             ///< most that ever did
  std::uint64_t ecn_marks = 0;  ///< packets marked because of what waited for it
  Duration paused;              ///< while its end asked for a pause of any priority
  std::uint64_t drops = 0;      ///< packets that came by it and were dropped
};

/// Of a link's rate, of what it carried in a span.
inline double mean_utilization(Bytes bytes, Bandwidth rate, Duration span) {
  const double capacity_bits = fluid_bits(static_cast<double>(rate.in_bps()), span);
  return capacity_bits > 0 ? bytes.in_bits() / capacity_bits : 0;
}

/// What all packets of a run came to.
struct PacketCounters {
  std::uint64_t data_packets = 0;  ///< sent by cards, repeated ones included
  std::uint64_t data_repeated = 0;
  std::uint64_t data_received = 0;  ///< by cards, each once
  // Of all ports of cards together, in their time: see host/ranks/holdups.
  Duration sending;
  Duration sending_again;  ///< of that
  Duration held_by_pauses;
  Duration held_by_congestion_control;
  Duration held_by_acknowledgements;
  /// Data packets in switches, all together, from when a packet could leave until it does.
  Duration waiting;
  std::uint64_t acks = 0;           ///< negative ones included
  std::uint64_t notifications = 0;  ///< congestion notifications
  std::uint64_t ecn_marks = 0;
  std::uint64_t pauses = 0;        ///< asked for by switches, refreshes not counted
  std::uint64_t pause_storms = 0;  ///< how often a watchdog of a switch found a queue stuck
  std::uint64_t drops = 0;
  /// Of them, for want of headroom, which only settings that are not safe have.
  std::uint64_t lossless_drops = 0;

  /// Of a data packet in all switches on its route, beside what it takes alone.
  double mean_wait_s() const { return data_packets > 0 ? waiting.in_s() / static_cast<double>(data_packets) : 0; }
};

}  // namespace weft
