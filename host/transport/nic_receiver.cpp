// SPDX-License-Identifier: Apache-2.0
#include "host/transport/nic_receiver.hpp"

#include <algorithm>

#include "core/containers/cache.hpp"

// Attributes: as in host/transport/nic_sender.cpp.
namespace weft {

NicReceiver::NicReceiver(const NicSettings& settings, QueuePairs& queue_pairs, NicSender& sender, NicReports& reports)
    : settings_(settings),
      queue_pairs_(queue_pairs),
      sender_(sender),
      reports_(reports),
      feedback_(settings.congestion->feedback()),
      notification_interval_(settings.congestion->notification_interval()) {}

void NicReceiver::prefetch() const {
  if (!receivers_.empty()) cache::fetch(&receivers_.back(), sizeof(Receiver));
}

[[gnu::flatten]] void NicReceiver::on_data(const Packet& packet, std::uint32_t port, Time now, BatchContext& context) {
  if (settings_.drain_rate) drain_wait_ = sender_.port_at(port, now, context).take_in(packet, settings_, now, context);
  Receiver& receiver = receivers_[receiver_of(packet.queue_pair)];
  reports_.counters.last_data = std::max(reports_.counters.last_data, now);
  if (packet.congestion_experienced() && feedback_ == MarkFeedback::notifications &&
      (!receiver.notified || now - receiver.notified_at >= notification_interval_)) {
    receiver.notified = true;
    receiver.notified_at = now;
    answer(PacketKind::cnp, packet, 0, notification_wire_bytes, now, context);
  }
  const auto ahead = static_cast<std::int32_t>(packet.sequence - static_cast<std::uint32_t>(receiver.expected));
  if (ahead > 0 && settings_.keeps_early) return on_early(receiver, packet, static_cast<std::uint32_t>(ahead), now, context);
  if (ahead > 0) {
    if (receiver.complained) return;
    receiver.complained = true;
    return answer(PacketKind::nack, packet, receiver.expected, ack_wire_bytes, now, context);
  }
  if (ahead < 0) return answer(PacketKind::ack, packet, receiver.expected, ack_wire_bytes, now, context);
  ++reports_.counters.data_received;
  ++receiver.expected;
  receiver.complained = false;
  bool ends_message = packet.ends_message();
  if (ends_message) deliver(receiver.messages.next(), queue_pairs_.card_of(packet.queue_pair), now);
  if (!receiver.reported.empty()) report_again(receiver, packet, receiver.expected - 1, now, context);
  if (!receiver.early.empty()) receiver.early.pop();
  for (; !receiver.early.empty() && receiver.early.front() != Early::missing; receiver.early.pop()) {
    ++receiver.expected;
    if (receiver.early.front() != Early::ends_message) continue;
    ends_message = true;
    deliver(receiver.messages.next(), queue_pairs_.card_of(packet.queue_pair), now);
  }
  if (++receiver.since_answer < settings_.ack_interval && !ends_message && !packet.asks_for_answer()) return;
  acknowledge(receiver, packet, now, context);
}

[[gnu::noinline]] void NicReceiver::on_early(Receiver& receiver, const Packet& packet, std::uint32_t ahead, Time now,
                                             BatchContext& context) {
  const std::uint32_t known = receiver.early.size();
  while (receiver.early.size() <= ahead) receiver.early.push(Early::missing);
  if (receiver.early[ahead] != Early::missing) {
    if (settings_.reports_gaps && packet.asks_for_answer()) acknowledge(receiver, packet, now, context);
    return;
  }
  receiver.early[ahead] = packet.ends_message() ? Early::ends_message : Early::here;
  ++reports_.counters.data_received;
  if (settings_.reports_gaps) {
    if (ahead < known) report_again(receiver, packet, receiver.expected + ahead, now, context);
    for (std::uint32_t missing = known; missing < ahead; ++missing) {
      receiver.reported.push(receiver.expected + missing);
      answer(PacketKind::nack, packet, receiver.expected + missing, ack_wire_bytes, now, context);
    }
  }
  if (++receiver.since_answer < settings_.ack_interval && !packet.asks_for_answer()) return;
  acknowledge(receiver, packet, now, context);
}

[[gnu::noinline]] void NicReceiver::report_again(Receiver& receiver, const Packet& packet, std::uint64_t filled, Time now,
                                                 BatchContext& context) {
  for (std::uint32_t left = receiver.reported.size(); left > 0; --left) {
    const std::uint64_t missing = receiver.reported.front();
    receiver.reported.pop();
    if (missing == filled) return;
    receiver.reported.push(missing);
    answer(PacketKind::nack, packet, missing, ack_wire_bytes, now, context);
  }
}

void NicReceiver::acknowledge(Receiver& receiver, const Packet& data, Time now, BatchContext& context) {
  receiver.since_answer = 0;
  answer(PacketKind::ack, data, receiver.expected, ack_wire_bytes, now, context,
         feedback_ == MarkFeedback::echoes && data.congestion_experienced());
}

void NicReceiver::answer(PacketKind kind, const Packet& data, std::uint64_t sequence, std::uint32_t wire_bytes, Time now,
                         BatchContext& context, bool echoes_mark) {
  NicPort& port = sender_.port_at(queue_pairs_[data.queue_pair].back[0], now, context);
  if (port.out.is_out()) return;
  ++(kind == PacketKind::cnp ? reports_.counters.notifications_sent : reports_.counters.acks_sent);
  const std::uint32_t priority = settings_.answer_priority.value_or(data.priority());
  Packet& packet = port.push_answer(priority);
  packet = Packet(kind, data.queue_pair, static_cast<std::uint32_t>(sequence), wire_bytes, priority);
  if (echoes_mark) packet.echo_mark();
}

void NicReceiver::deliver(const Message& message, std::uint32_t card, Time now) {
  if (message.parts > 1) {
    const auto key = std::pair(card, message.number);
    const auto missing = parts_missing_.emplace(key, message.parts).first;
    if (--missing->second > 0) return;
    parts_missing_.erase(missing);
  }
  const Transfer& transfer = message.transfer;
  const Duration latency = settings_.receive_latency + message.inside_hosts + drain_wait_;
  reports_.tell_delivered(transfer, message.entered, now, latency);
}

std::uint32_t NicReceiver::receiver_of(std::uint32_t queue_pair) {
  const QueuePairs::Route& route = queue_pairs_[queue_pair];
  if (route.receiver != QueuePairs::none) return route.receiver;
  if (const std::uint32_t before = queue_pairs_.predecessor_of(queue_pair); before != QueuePairs::none) {
    const std::uint32_t known = receiver_of(before);
    queue_pairs_.set_receiver(queue_pair, known);
    return known;
  }
  const auto number = static_cast<std::uint32_t>(receivers_.size());
  receivers_.emplace_back();
  receivers_.back().messages = MessageReader(route.details->messages);
  queue_pairs_.set_receiver(queue_pair, number);
  return number;
}

}  // namespace weft
