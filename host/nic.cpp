#include "host/nic.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "network/ecmp.hpp"

namespace weft {

Nic::Nic(const NicSettings& settings, const EgressPort& out, std::uint32_t card, QueuePairs& queue_pairs, NicWiring wiring)
    : settings_(settings),
      out_(out),
      card_(card),
      queue_pairs_(queue_pairs),
      wiring_(std::move(wiring)),
      dcqcn_(settings.dcqcn),
      content_(static_cast<std::uint32_t>(settings.wire_format.content_per_packet().count())),
      overhead_(static_cast<std::uint32_t>(settings.wire_format.overhead_per_packet().count())) {
  WEFT_CHECK(settings.queue_pairs >= 1 && settings.ack_interval >= 1, "a transfer has a queue pair, and packets are acknowledged");
  WEFT_CHECK(content_ + overhead_ <= UINT16_MAX, "a packet has less than 64 KiB");
}

NicCounters Nic::counters() const {
  NicCounters counters = counters_;
  counters.bytes_sent = Bytes::of(static_cast<std::int64_t>(out_.bytes_sent()));
  return counters;
}

std::vector<Transfer> Nic::unfinished() const {
  std::vector<Transfer> left;
  for (const Outgoing& outgoing : outgoing_) {
    if (outgoing.parts_left > 0) left.push_back(outgoing.transfer);
  }
  return left;
}

SweepNode::Swept Nic::sweep(Time end, const Arrivals& arrivals, SweepContext& context) {
  Swept swept;
  const auto come_to = [&](Time now) {
    run_until(now, context);
    context.set_now(now);
    now_ = now;
    swept.last = now;
  };
  arrivals.in_order(
      [&](const Event& event) {
        come_to(event.key.time);
        WEFT_CHECK(event.kind == transfer_start, "a network card knows the kind of every event it gets");
        begin(event.payload_as<Transfer>(), event.key.time);
      },
      [&](const Parcel& parcel) {
        come_to(parcel.time);
        arrive(parcel.payload_as<Packet>(), parcel.time, context);
      });
  run_until(end, context);
  swept.events = arrivals.parcels.size();
  swept.next = std::max(end, std::min(next_start(), timers_.empty() ? Time::max() : timers_.front().time));
  return swept;
}

// --- Messages out -----------------------------------------------------------------------------------------------------------------

void Nic::begin(const Transfer& transfer, Time now) {
  const auto parts = static_cast<std::uint32_t>(std::clamp<std::int64_t>(transfer.size.count(), 1, settings_.queue_pairs));
  std::uint32_t slot = 0;
  if (free_outgoing_.empty()) {
    slot = static_cast<std::uint32_t>(outgoing_.size());
    outgoing_.emplace_back();
  } else {
    slot = free_outgoing_.back();
    free_outgoing_.pop_back();
  }
  outgoing_[slot] = {transfer, parts};
  for (std::uint32_t i = 0; i < parts; ++i) {
    Sender& sender = sender_of(transfer, i);
    append(sender, {transfer, slot, parts});
    // The header that stands once per message is content of its first packet.
    const Bytes content = part_of(transfer.size, settings_.queue_pairs, i) + settings_.wire_format.overhead_per_message();
    const std::uint64_t packets =
        std::max<std::uint64_t>(1, (static_cast<std::uint64_t>(content.count()) + content_ - 1) / content_);
    Part part;
    part.end = sender.end + packets;
    part.last_wire_bytes =
        static_cast<std::uint32_t>(static_cast<std::uint64_t>(content.count()) - (packets - 1) * content_) + overhead_;
    part.transfer = slot;
    if (sender.acknowledged == sender.end) sender.progress_at = now;
    sender.end = part.end;
    sender.parts.push_back(part);
    take_turn(queue_pairs_.number_of(sender.queue_pair), now);
  }
}

Nic::Sender& Nic::sender_of(const Transfer& transfer, std::uint32_t part) {
  const Key key{transfer.source, transfer.destination, transfer.connection, transfer.priority, part};
  const auto number = static_cast<std::uint32_t>(senders_.size());
  const auto [found, is_new] = sender_by_key_.emplace(key, number);
  if (!is_new) return *senders_[found->second];
  senders_.push_back(std::make_unique<Sender>());
  Sender& sender = *senders_.back();
  sender.pages.push_back(std::make_unique<MessagePage>());
  QueuePairs::Route route = wiring_.route(transfer, part);
  route.messages = sender.pages.front().get();
  sender.queue_pair = queue_pairs_.open(card_, number, route);
  sender.priority = transfer.priority;
  sender.congestion = dcqcn_.begin(out_.rate());
  return sender;
}

void Nic::append(Sender& sender, const Message& message) {
  if (sender.in_last_page == MessagePage::messages_max) {
    // The receiver leaves a page when it reads the first message of the next one.
    std::unique_ptr<MessagePage> page;
    if (sender.acknowledged_in_pages > MessagePage::messages_max) {
      page = std::move(sender.pages.front());
      sender.pages.pop_front();
      sender.acknowledged_in_pages -= MessagePage::messages_max;
      page->next = nullptr;
    } else {
      page = std::make_unique<MessagePage>();
    }
    sender.pages.back()->next = page.get();
    sender.pages.push_back(std::move(page));
    sender.in_last_page = 0;
  }
  sender.pages.back()->messages[sender.in_last_page++] = message;
}

void Nic::take_turn(std::uint32_t number, Time now) {
  Sender& sender = *senders_[number];
  if (sender.in_turn || sender.next == sender.end) return;
  sender.in_turn = true;
  if (sender.next_at <= now) {
    ready_[sender.priority].push_back(number);
  } else {
    paced_.push_back({sender.next_at, number});
    std::push_heap(paced_.begin(), paced_.end());
  }
}

// --- Packets in -------------------------------------------------------------------------------------------------------------------

void Nic::arrive(const Packet& packet, Time now, SweepContext& context) {
  add_arrival(context.chain(), packet, now);
  switch (packet.kind()) {
    case PacketKind::data:
      return on_data(packet, now, context);
    case PacketKind::ack:
    case PacketKind::nack:
      return on_acknowledged(packet, now, context);
    case PacketKind::cnp:
      if (settings_.controls_congestion) {
        dcqcn_.on_notification(senders_[queue_pairs_.number_of(packet.queue_pair)]->congestion, now);
      }
      return;
    case PacketKind::pfc:
      return on_pfc(packet, now);
  }
}

void Nic::on_data(const Packet& packet, Time now, SweepContext& context) {
  Receiver& receiver = receivers_[receiver_of(packet.queue_pair)];
  if (packet.congestion_experienced() && settings_.controls_congestion &&
      (!receiver.notified || now - receiver.notified_at >= settings_.notification_interval)) {
    receiver.notified = true;
    receiver.notified_at = now;
    ++counters_.notifications_sent;
    answer(PacketKind::cnp, packet, 0, notification_wire_bytes);
  }
  const auto ahead = static_cast<std::int32_t>(packet.sequence - static_cast<std::uint32_t>(receiver.expected));
  if (ahead > 0) {
    if (receiver.complained) return;
    receiver.complained = true;
    return answer(PacketKind::nack, packet, receiver.expected, ack_wire_bytes);
  }
  if (ahead < 0) return answer(PacketKind::ack, packet, receiver.expected, ack_wire_bytes);
  ++counters_.data_received;
  ++receiver.expected;
  receiver.complained = false;
  if (packet.ends_message()) deliver(receiver.messages.next(), queue_pairs_.card_of(packet.queue_pair), now, context);
  if (++receiver.since_answer < settings_.ack_interval && !packet.ends_message()) return;
  receiver.since_answer = 0;
  answer(PacketKind::ack, packet, receiver.expected, ack_wire_bytes);
}

std::uint32_t Nic::receiver_of(std::uint32_t queue_pair) {
  const auto [found, is_new] = receiver_by_queue_pair_.emplace(queue_pair, static_cast<std::uint32_t>(receivers_.size()));
  if (is_new) {
    receivers_.emplace_back();
    receivers_.back().messages = MessageReader(queue_pairs_[queue_pair].messages);
  }
  return found->second;
}

void Nic::answer(PacketKind kind, const Packet& data, std::uint64_t sequence, std::uint32_t wire_bytes) {
  counters_.acks_sent += kind == PacketKind::cnp ? 0 : 1;
  answers_.emplace_back(kind, data.queue_pair, static_cast<std::uint32_t>(sequence), wire_bytes, settings_.answer_priority);
}

void Nic::deliver(const Message& message, std::uint32_t card, Time now, SweepContext& context) {
  if (message.parts > 1) {
    const auto key = std::pair(card, message.number);
    const auto missing = parts_missing_.emplace(key, message.parts).first;
    if (--missing->second > 0) return;
    parts_missing_.erase(missing);
  }
  const Transfer& transfer = message.transfer;
  context.events(now).send(wiring_.host_of(transfer.destination), settings_.receive_latency, transfer_delivered, transfer);
}

void Nic::on_acknowledged(const Packet& packet, Time now, SweepContext& context) {
  const std::uint32_t number = queue_pairs_.number_of(packet.queue_pair);
  Sender& sender = *senders_[number];
  const auto more = static_cast<std::int32_t>(packet.sequence - static_cast<std::uint32_t>(sender.acknowledged));
  if (more > 0) {
    sender.acknowledged += static_cast<std::uint32_t>(more);
    sender.progress_at = now;
    WEFT_CHECK(sender.acknowledged <= sender.sent_once, "only what was sent is acknowledged");
    if (sender.next < sender.acknowledged) go_back(number, sender.acknowledged, now);
    while (!sender.parts.empty() && sender.parts.front().end <= sender.acknowledged) {
      Outgoing& outgoing = outgoing_[sender.parts.front().transfer];
      ++sender.acknowledged_in_pages;
      if (--outgoing.parts_left == 0) {
        context.events(now).send(wiring_.host_of(outgoing.transfer.source), settings_.completion_latency, transfer_sent,
                                 outgoing.transfer);
        free_outgoing_.push_back(sender.parts.front().transfer);
      }
      sender.parts.pop_front();
      if (sender.sending > 0) --sender.sending;
    }
  }
  if (packet.kind() == PacketKind::nack && more >= 0) go_back(number, sender.acknowledged, now);
}

/// Goes on with packet `to`, which was not acknowledged.
void Nic::go_back(std::uint32_t number, std::uint64_t to, Time now) {
  Sender& sender = *senders_[number];
  sender.next = to;
  sender.sending = 0;
  while (sender.sending < sender.parts.size() && sender.parts[sender.sending].end <= to) ++sender.sending;
  take_turn(number, now);
}

void Nic::on_pfc(const Packet& frame, Time now) {
  const auto bit = static_cast<std::uint8_t>(1U << frame.priority());
  if (frame.sequence == pfc_pause) {
    ++counters_.pauses_received;
    paused_ |= bit;
    paused_until_[frame.priority()] = settings_.pause_time == Duration::zero() ? Time::max() : now + settings_.pause_time;
  } else {
    paused_ &= static_cast<std::uint8_t>(~bit);
  }
}

// --- Packets out ------------------------------------------------------------------------------------------------------------------

/// Does what the card does by itself before `until`.
void Nic::run_until(Time until, SweepContext& context) {
  while (true) {
    const Time start = next_start();
    const Time timer = timers_.empty() ? Time::max() : timers_.front().time;
    if (std::min(start, timer) >= until) return;
    now_ = std::min(start, timer);
    if (timer <= start) {
      on_timer(timer);
    } else {
      send_one(start, context);
    }
  }
}

/// When the card begins to send next, unless more happens; max() if only an arrival can make it.
Time Nic::next_start() const {
  Time earliest = Time::max();
  const auto may_go = [&](std::uint32_t priority, Time since) {
    const Time from = is_paused(priority) ? std::max(since, paused_until_[priority]) : since;
    earliest = std::min(earliest, from);
  };
  if (!answers_.empty()) may_go(settings_.answer_priority, now_);
  for (std::uint32_t priority = 0; priority < packet_classes_max; ++priority) {
    if (!ready_[priority].empty()) may_go(priority, now_);
  }
  if (!paced_.empty()) earliest = std::min(earliest, paced_.front().time);
  return earliest == Time::max() ? earliest : std::max({earliest, out_.free_at(), now_});
}

void Nic::send_one(Time now, SweepContext& context) {
  for (std::uint32_t priority = 0; paused_ != 0 && priority < packet_classes_max; ++priority) {
    if (is_paused(priority) && paused_until_[priority] <= now) paused_ &= static_cast<std::uint8_t>(~(1U << priority));
  }
  while (!paced_.empty() && paced_.front().time <= now) {
    const std::uint32_t number = paced_.front().sender;
    std::pop_heap(paced_.begin(), paced_.end());
    paced_.pop_back();
    ready_[senders_[number]->priority].push_back(number);
  }
  if (!answers_.empty() && !is_paused(settings_.answer_priority)) {
    Packet packet = answers_.front();
    answers_.pop_front();
    packet.next_hop();
    return out_.send(packet, now, context);
  }
  for (std::uint32_t priority = packet_classes_max; priority-- > 0;) {
    if (ready_[priority].empty() || is_paused(priority)) continue;
    const std::uint32_t number = ready_[priority].front();
    ready_[priority].pop_front();
    return send_data(number, now, context);
  }
}

void Nic::send_data(std::uint32_t number, Time now, SweepContext& context) {
  Sender& sender = *senders_[number];
  sender.in_turn = false;
  // Acknowledged while it waited for its turn, after going back.
  if (sender.next == sender.end) return;
  const Part& part = sender.parts[sender.sending];
  const bool is_last = sender.next + 1 == part.end;
  const std::uint32_t wire_bytes = is_last ? part.last_wire_bytes : content_ + overhead_;
  Packet packet(PacketKind::data, sender.queue_pair, static_cast<std::uint32_t>(sender.next), wire_bytes, sender.priority);
  packet.next_hop();
  if (is_last) {
    packet.set_ends_message();
    ++sender.sending;
  }
  ++counters_.data_sent;
  counters_.data_repeated += sender.next < sender.sent_once ? 1 : 0;
  ++sender.next;
  sender.sent_once = std::max(sender.sent_once, sender.next);
  const double rate_bps = settings_.controls_congestion ? dcqcn_.rate_bps(sender.congestion, now) : sender.congestion.line_bps;
  out_.send(packet, now, context);
  sender.next_at = out_.free_at();
  if (rate_bps < sender.congestion.line_bps) {
    sender.next_at = std::max(sender.next_at, now + Duration::from_seconds(Bytes::of(wire_bytes).in_bits() / rate_bps));
  }
  if (settings_.controls_congestion) dcqcn_.on_sent(sender.congestion, Bytes::of(wire_bytes), now);
  if (!sender.has_timer && settings_.retransmission_timeout > Duration::zero()) {
    sender.has_timer = true;
    timers_.push_back({now + settings_.retransmission_timeout, number});
    std::push_heap(timers_.begin(), timers_.end());
  }
  take_turn(number, out_.free_at());
}

/// A retransmission timer: perhaps something was acknowledged since it was set.
void Nic::on_timer(Time now) {
  const std::uint32_t number = timers_.front().sender;
  std::pop_heap(timers_.begin(), timers_.end());
  timers_.pop_back();
  Sender& sender = *senders_[number];
  sender.has_timer = false;
  if (sender.acknowledged == sender.sent_once) return;
  if (sender.progress_at + settings_.retransmission_timeout <= now) {
    sender.progress_at = now;
    go_back(number, sender.acknowledged, now);
  }
  sender.has_timer = true;
  timers_.push_back({sender.progress_at + settings_.retransmission_timeout, number});
  std::push_heap(timers_.begin(), timers_.end());
}

}  // namespace weft
