// SPDX-License-Identifier: Apache-2.0
// NIC receiver: the receiving side of a host's network cards - order, acknowledgements, delivery.
//
// Where it sits: host/transport/nic hands it every packet of data that arrives. Its
// acknowledgements leave by the ports of the sending side (host/transport/nic_sender).
//
// Model: as host/transport/nic says under "receiving".
// Threads: belongs to its node.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/containers/fifo.hpp"
#include "core/engine/batch_process.hpp"
#include "host/transport/nic_reports.hpp"
#include "host/transport/nic_sender.hpp"
#include "host/transport/nic_settings.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/queue_pairs.hpp"

namespace weft {

class NicReceiver {
 public:
  /// Keeps references.
  NicReceiver(const NicSettings& settings, QueuePairs& queue_pairs, NicSender& sender, NicReports& reports);

  /// A packet of data arrives by the port.
  void on_data(const Packet& packet, std::uint32_t port, Time now, BatchContext& context);
  void prefetch() const;

 private:
  /// What is known of a packet from Receiver::expected on.
  enum class Early : std::uint8_t { missing, here, ends_message };
  /// The receiving end of a queue pair.
  struct Receiver {
    std::uint64_t expected = 0;
    std::uint32_t since_answer = 0;
    bool complained = false;  ///< about the expected packet
    bool notified = false;    ///< ever
    Time notified_at;
    Fifo<Early> early;             ///< from `expected` on
    Fifo<std::uint64_t> reported;  ///< missing packets, in the order of reports
    MessageReader messages;
  };

  void on_early(Receiver& receiver, const Packet& packet, std::uint32_t ahead, Time now, BatchContext& context);
  /// A missing packet has come. Packets that were reported before it were sent again before it:
  /// those that have not come are missing again.
  void report_again(Receiver& receiver, const Packet& packet, std::uint64_t filled, Time now, BatchContext& context);
  /// Acknowledges all that has arrived in order.
  void acknowledge(Receiver& receiver, const Packet& data, Time now, BatchContext& context);
  void answer(PacketKind kind, const Packet& data, std::uint64_t sequence, std::uint32_t wire_bytes, Time now,
              BatchContext& context, bool echoes_mark = false);
  void deliver(const Message& message, std::uint32_t card, Time now);
  std::uint32_t receiver_of(std::uint32_t queue_pair);

  const NicSettings& settings_;
  QueuePairs& queue_pairs_;
  NicSender& sender_;
  NicReports& reports_;
  MarkFeedback feedback_;
  Duration notification_interval_;
  Duration drain_wait_;  ///< of the packet that arrives
  std::vector<Receiver> receivers_;
  /// By card and number of a transfer that arrives.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> parts_missing_;
};

}  // namespace weft
