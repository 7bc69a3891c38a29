// SPDX-License-Identifier: Apache-2.0
// NIC: the network cards of a host. Queue pairs send messages as packets, at the rate that
// congestion control gives each; arriving packets are put in order, acknowledged and delivered to
// the hosts.
//
// Where it sits: hosts hand over transfers by transfer_start, as to the flow fabric, and hear
// transfer_sent and transfer_delivered. Packets come from and go to the switches at the other ends
// of the cards' cables (network/packet/packet_switch). All ports of a host are one node, since the
// queue pairs of a transfer may use any of them.
//
// Model: docs/internals/packet_mode.md, "The network card". host/transport/nic_sender has the
// sending side and retransmission, host/transport/nic_receiver the receiving side,
// host/transport/nic_port pauses and turns at a port, host/transport/sending_queue_pair windows and
// congestion control.
//
// Invariants
//   1. Every transfer is sent and delivered exactly once, unless its attempt is stopped. With one
//      queue pair, transfers of a connection and priority are delivered in order.
//   2. At one instant: events come first (transfers, stopped attempts, changes of cables and
//      routes), then packets, then what ports begin to send, by port number. Transfers of an
//      instant begin in order of endpoint and tag, however ranks came to hand them over.
// Threads: as BatchNode.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/batch_node.hpp"
#include "core/engine/batch_process.hpp"
#include "host/transport/nic_receiver.hpp"
#include "host/transport/nic_reports.hpp"
#include "host/transport/nic_sender.hpp"
#include "host/transport/nic_settings.hpp"
#include "network/packet/egress_port.hpp"
#include "network/packet/pause_clock.hpp"
#include "network/packet/queue_pairs.hpp"
#include "network/transfer_records.hpp"

namespace weft {

class Nic final : public BatchNode {
 public:
  /// `card` is its number in `queue_pairs`, to which a reference is kept.
  Nic(const NicSettings& settings, const std::vector<EgressPort>& ports, std::uint32_t card, QueuePairs& queue_pairs,
      NicWiring wiring);

  WindowOutcome run_window(Time end, const Arrivals& arrivals, BatchContext& context) override;
  void prefetch() const override;

  const NicCounters& counters() const { return reports_.counters; }
  /// Counters as of `now`, the time until which the run has come.
  NicPortCounters port_counters(std::uint32_t port, Time now) const;
  /// Times during which the switch paused any priority of the port, as of `now`.
  /// Requires: settings.keeps_pauses.
  std::vector<PauseSpan> pauses(std::uint32_t port, Time now) const {
    const NicPort& of = sender_.ports()[port];
    return of.clock.spans(of.paused, now);
  }
  /// In order of arrival.
  const std::vector<DeliveredTransfer>& delivered() const { return reports_.delivered(); }
  /// Transfers that were not acknowledged in full, in no order; they start when the node got them.
  std::vector<UnfinishedTransfer> unfinished() const { return sender_.unfinished(); }
  /// Queue pairs that gave up, in order of time.
  const std::vector<GivenUp>& given_up() const { return reports_.given_up(); }

 private:
  void take_event(const Event& event, BatchContext& context);
  void begin_transfers(Time now, BatchContext& context);
  void arrive(const Packet& packet, std::uint32_t port, Time now, BatchContext& context);

  NicSettings settings_;
  NicWiring wiring_;
  NicReports reports_;
  NicSender sender_;
  NicReceiver receiver_;
  std::vector<Transfer> beginning_;  ///< at this instant
};

}  // namespace weft
