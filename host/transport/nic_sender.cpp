// SPDX-License-Identifier: Apache-2.0
#include "host/transport/nic_sender.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <set>

#include "core/check.hpp"
#include "core/containers/cache.hpp"
#include "core/containers/free_slots.hpp"

// Attributes: functions that run for every packet are inlined into the loop over a window, and
// those that run rarely are kept out of it. bench/packet (run/shift, run/random) is slower without
// them.
namespace weft {

NicSender::NicSender(const NicSettings& settings, const std::vector<EgressPort>& ports, std::uint32_t card, QueuePairs& queue_pairs,
                     const NicWiring& wiring, NicReports& reports)
    : settings_(settings), rules_(settings), card_(card), queue_pairs_(queue_pairs), wiring_(wiring), reports_(reports) {
  for (const EgressPort& port : ports) {
    ports_.emplace_back(port);
    if (settings.keeps_pauses) ports_.back().clock.keep_spans();
  }
}

[[gnu::noinline]] void NicSender::begin(const Transfer& transfer, Time now, BatchContext& context) {
  if (stopped_.contains(transfer.attempt)) return;
  const auto parts = static_cast<std::uint32_t>(std::clamp<std::int64_t>(transfer.size.count(), 1, settings_.queue_pairs));
  const std::uint32_t slot = take_slot(outgoing_, free_outgoing_);
  outgoing_[slot] = {transfer, now, parts, parts, {}, {}};
  for (std::uint32_t i = 0; i < parts; ++i) {
    SendingQueuePair& sender = queue_pair_of(transfer, i);
    NicPort& port = port_at(sender.port, now, context);
    sender.append({transfer, slot, parts, now, sender.inside_hosts});
    const PacketTrain train = settings_.wire_format.train(part_of(transfer.size, settings_.queue_pairs, i));
    SendingQueuePair::Part part;
    part.end = sender.end + static_cast<std::uint64_t>(train.packets);
    part.last_wire_bytes = static_cast<std::uint32_t>(train.last.count());
    part.transfer = slot;
    if (sender.acknowledged == sender.end) sender.make_progress(now);
    sender.end = part.end;
    sender.parts.push(part);
    take_turn(queue_pairs_.number_of(sender.id), port, now);
  }
}

[[gnu::noinline]] SendingQueuePair& NicSender::queue_pair_of(const Transfer& transfer, std::uint32_t part) {
  const Key key{transfer.source, transfer.destination, transfer.connection, transfer.priority, part, transfer.attempt};
  const auto number = static_cast<std::uint32_t>(senders_.size());
  const auto [found, is_new] = sender_by_key_.emplace(key, number);
  if (!is_new) return *senders_[found->second];
  SendingQueuePair& sender = sender_memory_.emplace_back();
  senders_.push_back(&sender);
  sender.pages.push(std::make_unique<MessagePage>());
  QueuePairPlan plan = wiring_.plan(transfer, part);
  QueuePairs::Details& details = details_.emplace_back();
  details.messages = sender.pages.front().get();
  plan.route.details = &details;
  sender.id = queue_pairs_.open(card_, number, plan.route);
  sender.port = plan.route.there[0];
  sender.source = transfer.source;
  sender.shared_rate = shared_rate_of(sender, plan.source_rate);
  sender.priority = static_cast<std::uint8_t>(settings_.uses_priorities ? transfer.priority : 0);
  sender.inside_hosts = plan.inside_hosts;
  sender.round_trip = plan.round_trip;
  sender.is_cut_off = plan.is_cut_off;
  sender.congestion = rules_.congestion.begin(rules_.limits(plan, ports_[plan.route.there[0]].rate));
  sender.take_limits(plan, ports_[sender.port].rate, rules_);
  if (rules_.measures.round_trips || rules_.measures.telemetry) sender.begin_measuring(plan, details, rings_, rules_);
  return sender;
}

void NicSender::stop(AttemptId attempt, Time now, BatchContext& context) {
  stopped_.insert(attempt);
  const auto is_of_attempt = [&](const SendingQueuePair::Part& part) {
    return outgoing_[part.transfer].transfer.attempt == attempt;
  };
  std::set<std::uint32_t> left_behind;
  std::erase_if(sender_by_key_, [&](const auto& entry) {
    SendingQueuePair& sender = *senders_[entry.second];
    bool is_over = false;
    for (std::uint32_t i = 0; i < sender.parts.size(); ++i) is_over = is_over || is_of_attempt(sender.parts[i]);
    if (!is_over) return false;
    for (std::uint32_t i = 0; i < sender.parts.size(); ++i) {
      if (!is_of_attempt(sender.parts[i])) left_behind.insert(sender.parts[i].transfer);
    }
    close(sender, now, context);
    return true;
  });
  // Nothing will acknowledge them.
  for (const std::uint32_t slot : left_behind) reports_.tell_end(outgoing_[slot].transfer, now);
  // Their slots stay unused: their destinations may wait for parts of these numbers for ever.
  for (Outgoing& outgoing : outgoing_) {
    if (outgoing.transfer.attempt == attempt) outgoing.parts_left = 0;
  }
}

void NicSender::close(SendingQueuePair& sender, Time now, BatchContext& context) {
  leave_port(sender, port_at(sender.port, now, context));
  sender.is_closed = true;
  while (!sender.parts.empty()) sender.parts.pop();
  while (!sender.again.empty()) sender.again.pop();
}

[[gnu::noinline]] void NicSender::give_up(SendingQueuePair& sender, Time now, BatchContext& context) {
  reports_.note_given_up({outgoing_[sender.parts.front().transfer].transfer, sender.id, now, sender.stalled_since});
  close(sender, now, context);
}

// --- Cables and routes ---

void NicSender::change_port(std::uint32_t number, std::int64_t rate_bps, Time now, BatchContext& context) {
  NicPort& port = port_at(number, now, context);
  end_pauses(port, now);
  port.out.set_rate(rate_bps);
  if (!port.out.is_out()) return set_timers_again(port, now);
  NicCounters& counters = reports_.counters;
  port.cut(now, [&](const Packet& lost) { --(lost.kind() == PacketKind::cnp ? counters.notifications_sent : counters.acks_sent); });
}

void NicSender::change_flow_load(std::uint32_t number, std::int64_t load_bps, Time now, BatchContext& context) {
  NicPort& port = port_at(number, now, context);
  port.flow_load = Bandwidth::bps(load_bps);
  port.out.set_shared_with_flows(load_bps > 0);
}

void NicSender::change_routes(std::uint32_t version, Time now, BatchContext& context) {
  wiring_.take_routes(version);
  for (auto& [key, number] : sender_by_key_) {
    const auto [source, destination, connection, priority, part, attempt] = key;
    Transfer transfer;
    transfer.source = source;
    transfer.destination = destination;
    transfer.connection = connection;
    transfer.priority = priority;
    transfer.attempt = attempt;
    take_route(number, wiring_.plan(transfer, part), now, context);
    number = queue_pairs_.number_of(senders_[number]->id);
  }
}

void NicSender::pause_for_good(Time now, BatchContext& context) {
  for (std::uint32_t port = 0; port < ports_.size(); ++port) {
    for (std::uint32_t priority = 0; priority < packet_classes_max; ++priority) {
      if ((settings_.lossless >> priority & 1U) != 0) port_at(port, now, context).pause_switch(priority, now, context);
    }
  }
}

void NicSender::take_route(std::uint32_t number, const QueuePairPlan& plan, Time now, BatchContext& context) {
  SendingQueuePair& sender = *senders_[number];
  const QueuePairs::Route& route = queue_pairs_[sender.id];
  NicPort& before = port_at(sender.port, now, context);
  const bool was_cut_off = std::exchange(sender.is_cut_off, plan.is_cut_off);
  const bool is_other = plan.route.there != route.there || plan.route.back != route.back;
  if (is_other) {
    leave_port(sender, before);
    sender.in_turn = sender.has_timer = false;
    sender.port = plan.route.there[0];
    sender.inside_hosts = plan.inside_hosts;
    sender.shared_rate = shared_rate_of(sender, plan.source_rate);
    sender.take_limits(plan, ports_[sender.port].rate, rules_);
    sender.id = id_on_route(sender, plan);
  }
  if (sender.is_cut_off || (!is_other && !was_cut_off)) return;
  NicPort& port = port_at(sender.port, now, context);
  const std::uint32_t current = queue_pairs_.number_of(sender.id);
  take_turn(current, port, now);
  if (sender.acknowledged == sender.sent_once || sender.has_timer || settings_.retransmission_timeout == Duration::zero()) return;
  if (was_cut_off) sender.make_progress(now);
  set_timer(current, port, std::max(now, sender.progress_at + sender.timeout(rules_)));
}

std::uint32_t NicSender::id_on_route(SendingQueuePair& sender, const QueuePairPlan& plan) {
  QueuePairs::Route route = plan.route;
  std::vector<std::uint32_t>& ids = ids_of_rerouted_.try_emplace(&sender, 1, sender.id).first->second;
  for (const std::uint32_t id : ids) {
    if (rules_.measures.telemetry || queue_pairs_[id].there != route.there || queue_pairs_[id].back != route.back) continue;
    // Its ring was as large as the window of the route that it leaves.
    if (sender.measured != nullptr) sender.forget_times();
    return id;
  }
  if (sender.measured != nullptr) {
    route.details = &details_.emplace_back();
    sender.begin_measuring(plan, details_.back(), rings_, rules_);
  }
  ids.push_back(queue_pairs_.open(card_, static_cast<std::uint32_t>(senders_.size()), route, sender.id));
  senders_.push_back(&sender);
  return ids.back();
}

std::uint32_t NicSender::shared_rate_of(const SendingQueuePair& sender, Bandwidth source_rate) {
  if (source_rate >= ports_[sender.port].rate) return SendingQueuePair::not_limited;
  const auto number = static_cast<std::uint32_t>(shared_rates_.size());
  const auto [found, is_new] = shared_rate_by_source_.emplace(std::pair(sender.source, sender.port), number);
  if (is_new) shared_rates_.push_back({source_rate, Time::zero()});
  return found->second;
}

void NicSender::leave_port(SendingQueuePair& sender, NicPort& port) {
  port.holdups.change(sender.wait, QueuePairWait::nothing);
  const auto is_it = [&](std::uint32_t number) { return senders_[number] == &sender; };
  port.remove(sender.priority, is_it);
}

// --- Turns and holdups ---

void NicSender::take_turn(std::uint32_t number, NicPort& port, Time now) {
  SendingQueuePair& sender = *senders_[number];
  if (sender.in_turn) return;
  if (!may_send(sender, port)) return;
  if (sender.shared_rate != SendingQueuePair::not_limited) {
    SharedRate& inside = shared_rates_[sender.shared_rate];
    sender.next_at = std::max({sender.next_at, now, inside.free_at});
    inside.free_at = sender.next_at + transmit_time(Bytes::of(rules_.full_packet), inside.rate);
  }
  sender.in_turn = true;
  if (sender.next_at <= now) {
    port.line_up(number, sender.priority);
  } else {
    port.pace(number, sender.next_at);
  }
}

bool NicSender::may_send(SendingQueuePair& sender, NicPort& port) const {
  const bool may = sender.has_packet(settings_.repeats_alone());
  port.holdups.change(sender.wait, !may && sender.has_data() ? sender.window_wait() : QueuePairWait::nothing);
  return may;
}

void NicSender::note_holdup(NicPort& port, Time until) const {
  const Time since = std::max(port.holdups.known_until(), port.out.free_at());
  port.holdups.know_until(until);
  if (until <= since || port.out.is_out()) return;
  if ((port.ready & port.paused) != 0) return port.holdups.add(Holdup::pause, until - since);
  if (!port.paced.empty()) {
    if (senders_[port.paced.front().sender]->is_slowed) port.holdups.add(Holdup::congestion_control, until - since);
  } else if (port.holdups.has_own_windows()) {
    port.holdups.add(Holdup::congestion_control, until - since);
  } else if (port.holdups.has_path_windows()) {
    port.holdups.add(Holdup::acknowledgements, until - since);
  }
}

void NicSender::end_pauses(NicPort& port, Time now) {
  if (port.paused == 0 || settings_.pause_time == Duration::zero()) return;
  port.clock.expire(port.paused, now);
  set_timers_again(port, now);
}

[[gnu::noinline]] void NicSender::on_pfc(const Packet& frame, std::uint32_t number, Time now, BatchContext& context) {
  NicPort& port = port_at(number, now, context);
  if (port.out.is_out()) return;
  end_pauses(port, now);
  if (port.on_pfc(frame, now, settings_.pause_time)) set_timers_again(port, now);
}

// --- Packets ---

[[gnu::noinline, gnu::flatten]] void NicSender::run_until(NicPort& port, Time until, BatchContext& context) {
  while (true) {
    const Time start = port.next_start();
    const Time timer = port.next_timer();
    const Time next = std::min({start, timer, port.resumes_at});
    if (next >= until) return;
    port.now = next;
    if (port.resumes_at == next) {
      port.resume_switch(next, context);
    } else if (timer <= start) {
      on_timer(port, timer, context);
    } else {
      send_one(port, start, context);
    }
  }
}

void NicSender::send_one(NicPort& port, Time now, BatchContext& context) {
  note_holdup(port, now);
  end_pauses(port, now);
  while (!port.paced.empty() && port.paced.front().time <= now) {
    const std::uint32_t number = port.take_paced();
    port.line_up(number, senders_[number]->priority);
  }
  const auto highest = [](std::uint32_t priorities) { return static_cast<std::uint32_t>(std::bit_width(priorities)) - 1; };
  if (const std::uint32_t may_answer = port.answering & ~std::uint32_t{port.paused}; may_answer != 0) {
    Packet packet = port.take_answer(highest(may_answer));
    packet.next_hop();
    port.send(packet, now, context);
    return;
  }
  const std::uint32_t may_go = port.ready & ~std::uint32_t{port.paused};
  if (may_go != 0) send_data(port.take_from_line(highest(may_go)), port, now, context);
}

void NicSender::send_data(std::uint32_t number, NicPort& port, Time now, BatchContext& context) {
  SendingQueuePair& sender = *senders_[number];
  sender.in_turn = false;
  while (!sender.again.empty() && sender.again.front() < sender.acknowledged) sender.again.pop();
  const bool is_again = !sender.again.empty();
  // While it waited for its turn it was acknowledged, after going back, or the window has shrunk.
  if (!may_send(sender, port)) return;
  const std::uint64_t sequence = is_again ? sender.again.front() : sender.next;
  std::uint32_t place = sender.sending;
  if (is_again) {
    sender.again.pop();
    for (place = 0; sender.parts[place].end <= sequence; ++place) {
    }
  }
  const SendingQueuePair::Part& part = sender.parts[place];
  const bool is_last = sequence + 1 == part.end;
  const std::uint32_t wire_bytes = is_last ? part.last_wire_bytes : rules_.full_packet;
  Packet packet(PacketKind::data, sender.id, static_cast<std::uint32_t>(sequence), wire_bytes, sender.priority);
  packet.next_hop();
  if (is_last) packet.set_ends_message();
  if (sender.acknowledged == sender.sent_once) sender.make_progress(now);
  const bool is_first = sequence >= sender.sent_once;
  ++reports_.counters.data_sent;
  reports_.counters.data_repeated += is_first ? 0 : 1;
  if (sender.measured != nullptr) sender.note_sent(packet, !is_first, now);
  if (!is_again) {
    sender.sending += is_last ? 1 : 0;
    ++sender.next;
    sender.sent_once = std::max(sender.sent_once, sender.next);
  }
  const double rate_bps = rules_.congestion.on_sent(sender.congestion, wire_bytes, now);
  if (sender.restart.is_on()) {
    packet.ask_for_answer();
    ++sender.restart.in_flight;
  } else if (is_again) {
    if (sequence + 1 == sender.burst_end || sender.asks_always) packet.ask_for_answer();
  } else if (sender.window != SendingQueuePair::no_window) {
    // First the window: whoever fills it asks for an answer.
    if (settings_.window_follows_rate && !sender.asks_always) sender.follow_rate(rate_bps, rules_);
    if (sender.asks_for_answer(sequence)) packet.ask_for_answer();
  }
  if (sender.shared_rate != SendingQueuePair::not_limited && wire_bytes < rules_.full_packet) {
    SharedRate& inside = shared_rates_[sender.shared_rate];
    if (inside.free_at == sender.next_at + transmit_time(Bytes::of(rules_.full_packet), inside.rate))
      inside.free_at = sender.next_at + transmit_time(Bytes::of(wire_bytes), inside.rate);
  }
  const Time left = port.send(packet, now, context);
  reports_.counters.sending += left - now;
  if (!is_first) reports_.counters.sending_again += left - now;
  if (is_first && is_last) note_part_sent(outgoing_[part.transfer], port, now, left);
  sender.next_at = port.out.free_at();
  sender.is_slowed = rate_bps < sender.line_bps;
  if (rate_bps < port.out.rate_bps()) {
    sender.next_at = std::max(sender.next_at, now + Duration::from_seconds(Bytes::of(wire_bytes).in_bits() / rate_bps));
  }
  if (!sender.has_timer && settings_.retransmission_timeout > Duration::zero()) {
    set_timer(number, port, now + sender.timeout(rules_));
  }
  take_turn(number, port, port.out.free_at());
}

void NicSender::note_part_sent(Outgoing& outgoing, const NicPort& port, Time now, Time left) {
  const auto number = static_cast<std::uint32_t>(&port - ports_.data());
  outgoing.last_begun = std::max(outgoing.last_begun, {now, number + 1});
  outgoing.left = std::max(outgoing.left, left);
  if (--outgoing.parts_unsent > 0 || is_control(outgoing.transfer)) return;
  const auto [begun, order] = outgoing.last_begun;
  reports_.tell_sent(outgoing.transfer, begun, order, outgoing.left - begun + settings_.completion_latency);
}

// --- Acknowledgements and retransmission ---

void NicSender::on_acknowledged(const Packet& packet, Time now, BatchContext& context) {
  const std::uint32_t number = queue_pairs_.number_of(packet.queue_pair);
  SendingQueuePair& sender = *senders_[number];
  NicPort& port = port_at(sender.port, now, context);
  if (sender.is_closed) return;
  const auto more = static_cast<std::int32_t>(packet.sequence - static_cast<std::uint32_t>(sender.acknowledged));
  if (packet.kind() == PacketKind::nack && settings_.keeps_early) {
    if (more < 0) return;
    return on_missing(number, port, sender.acknowledged + static_cast<std::uint32_t>(more), now);
  }
  if (sender.restart.is_on() && settings_.repeats_alone()) {
    sender.restart.note_answered();
    sender.restart.grow(1);
  }
  if (more > 0) {
    sender.acknowledged += static_cast<std::uint32_t>(more);
    sender.make_progress(now);
    sender.timeouts = 0;
    if (sender.restart.is_on() && !settings_.repeats_alone()) sender.restart.grow(static_cast<std::uint64_t>(more));
    WEFT_CHECK(sender.acknowledged <= sender.sent_once, "only what was sent is acknowledged");
    if (sender.next < sender.acknowledged) go_back(number, port, sender.acknowledged, now);
    if (sender.acknowledged < sender.recover && sender.acknowledged >= sender.burst_end) {
      // What follows the burst is missing as well; where it is not, this was the end of a gap.
      sender.burst = sender.acknowledged == sender.burst_end ? 2 * sender.burst : 1;
      send_burst_again(number, port, now);
    }
    while (!sender.parts.empty() && sender.parts.front().end <= sender.acknowledged) {
      const std::uint32_t slot = sender.parts.front().transfer;
      Outgoing& outgoing = outgoing_[slot];
      ++sender.acknowledged_in_pages;
      if (--outgoing.parts_left == 0) {
        reports_.tell_end(outgoing.transfer, now);
        free_outgoing_.push_back(slot);
      }
      sender.parts.pop();
      if (sender.sending > 0) --sender.sending;
    }
  }
  if (sender.asks_always) {
    sender.on_acknowledged(packet, more, now, rules_);
  } else if (more > 0) {
    rules_.congestion.on_acknowledged(sender.congestion,
                                      {std::int64_t{more} * rules_.full_packet, sender.in_flight(rules_), packet.echoes_mark()});
  }
  if (packet.kind() == PacketKind::nack && more >= 0) {
    sender.on_loss(now, false, rules_);
    if (settings_.slow_restart) sender.cut_restart_window();
    go_back(number, port, sender.acknowledged, now);
  } else {
    take_turn(number, port, now);
  }
}

void NicSender::on_notification(const Packet& packet, Time now, BatchContext& context) {
  SendingQueuePair& sender = *senders_[queue_pairs_.number_of(packet.queue_pair)];
  port_at(sender.port, now, context);
  rules_.congestion.on_notification(sender.congestion, {now, sender.sent_once, sender.acknowledged});
}

[[gnu::noinline]] void NicSender::on_missing(std::uint32_t number, NicPort& port, std::uint64_t packet, Time now) {
  SendingQueuePair& sender = *senders_[number];
  const bool is_lost_again = packet < sender.reported;
  sender.reported = std::max(sender.reported, packet + 1);
  if (is_lost_again || packet >= sender.restart.cut_at) sender.restart.note_answered();
  sender.on_loss(now, false, rules_);
  // Losses among what was under way when it was cut are one.
  if (settings_.slow_restart && packet >= sender.restart.cut_at)
    sender.restart.cut(sender.next - sender.acknowledged, packet, sender.sent_once);
  sender.again.push(packet);
  take_turn(number, port, now);
}

[[gnu::noinline]] void NicSender::go_back(std::uint32_t number, NicPort& port, std::uint64_t to, Time now) {
  senders_[number]->go_back(to);
  take_turn(number, port, now);
}

[[gnu::noinline]] void NicSender::send_burst_again(std::uint32_t number, NicPort& port, Time now) {
  SendingQueuePair& sender = *senders_[number];
  sender.burst_end = std::min(sender.acknowledged + sender.burst, sender.recover);
  for (std::uint64_t packet = sender.acknowledged; packet < sender.burst_end; ++packet) sender.again.push(packet);
  take_turn(number, port, now);
}

[[gnu::noinline]] void NicSender::on_timer(NicPort& port, Time now, BatchContext& context) {
  const std::uint32_t number = port.take_timer();
  SendingQueuePair& sender = *senders_[number];
  sender.has_timer = false;
  if (sender.acknowledged == sender.sent_once || sender.is_cut_off) return;
  const bool is_due = sender.progress_at + sender.timeout(rules_) <= now;
  const bool stands_still = port.out.is_out() || port.is_paused(sender.priority);
  if (stands_still && is_due) {
    port.timed_out.push_back(number);
    return;
  }
  if (is_due) {
    if (settings_.retries > 0 && now - sender.stalled_since >= sender.timeout_max(rules_) * std::int64_t{settings_.retries})
      return give_up(sender, now, context);
    sender.progress_at = now;
    ++sender.timeouts;
    sender.on_loss(now, true, rules_);
    if (settings_.repeats_alone()) {
      sender.recover = sender.sent_once;
      sender.burst = 1;
      if (settings_.slow_restart) {
        sender.cut_restart_window();
        // Bursts send all of it that is still missing.
        while (!sender.again.empty()) sender.again.pop();
      }
      send_burst_again(number, port, now);
    } else {
      if (settings_.slow_restart) sender.cut_restart_window();
      // Where no gaps are reported, nobody knows what else is missing.
      go_back(number, port, sender.acknowledged, now);
    }
  }
  set_timer(number, port, sender.progress_at + sender.timeout(rules_));
}

void NicSender::set_timer(std::uint32_t number, NicPort& port, Time at) {
  senders_[number]->has_timer = true;
  port.set_timer(number, at);
}

[[gnu::noinline]] void NicSender::set_timers_again(NicPort& port, Time now) {
  if (port.out.is_out()) return;
  std::erase_if(port.timed_out, [&](std::uint32_t number) {
    SendingQueuePair& sender = *senders_[number];
    if (port.is_paused(sender.priority)) return false;
    sender.stalled_since = now;
    if (!sender.has_timer && sender.acknowledged < sender.sent_once) set_timer(number, port, now + sender.timeout(rules_));
    return true;
  });
}

// --- Results ---

std::vector<UnfinishedTransfer> NicSender::unfinished() const {
  std::vector<UnfinishedTransfer> left;
  for (const Outgoing& outgoing : outgoing_) {
    if (outgoing.parts_left > 0 && !is_control(outgoing.transfer))
      left.push_back({FlowId::none(), outgoing.transfer, outgoing.entered});
  }
  return left;
}

void NicSender::prefetch() const {
  // Most hosts have few ports, and few queue pairs that send.
  cache::fetch(ports_.data(), sizeof(NicPort));
  if (!senders_.empty()) cache::fetch(senders_.back(), sizeof(SendingQueuePair));
}

}  // namespace weft
