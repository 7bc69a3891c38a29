#include "host/transport/nic.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "core/check.hpp"
#include "core/containers/cache.hpp"
#include "core/containers/free_slots.hpp"
#include "core/values/units.hpp"

namespace weft {

namespace {

// What is known of a packet from `expected` on.
constexpr std::uint8_t kMissing = 0;
constexpr std::uint8_t kHere = 1;
constexpr std::uint8_t kEndsMessage = 2;

}  // namespace

Nic::Nic(const NicSettings& settings, const std::vector<EgressPort>& ports, std::uint32_t card, QueuePairs& queue_pairs,
         NicWiring wiring)
    : settings_(settings),
      card_(card),
      queue_pairs_(queue_pairs),
      wiring_(std::move(wiring)),
      full_packet_(static_cast<std::uint32_t>(settings.wire_format.full_packet().count())) {
  WEFT_CHECK(settings.congestion != nullptr, "a card has a congestion control");
  feedback_ = settings.congestion->feedback();
  notification_interval_ = settings.congestion->notification_interval();
  measures_ = settings.congestion->measures();
  WEFT_CHECK(settings.queue_pairs >= 1 && settings.ack_interval >= 1, "a transfer has a queue pair, and packets are acknowledged");
  WEFT_CHECK(full_packet_ <= UINT16_MAX, "a packet has less than 64 KiB");
  for (const EgressPort& port : ports) {
    ports_.emplace_back(port);
    if (settings.keeps_pauses) ports_.back().clock.keep_spans();
  }
}

NicPortCounters Nic::port_counters(std::uint32_t number, Time now) const {
  const Port& port = ports_[number];
  NicPortCounters counters;
  counters.bytes = port.out.bytes_sent();
  counters.pauses = port.pauses;
  counters.paused = port.clock.total(port.paused, now);
  counters.holdups = port.holdups.times();
  return counters;
}

std::vector<UnfinishedTransfer> Nic::unfinished() const {
  std::vector<UnfinishedTransfer> left;
  for (const Outgoing& outgoing : outgoing_) {
    if (outgoing.parts_left > 0 && !is_control(outgoing.transfer))
      left.push_back({FlowId::none(), outgoing.transfer, outgoing.entered});
  }
  return left;
}

[[gnu::flatten]] BatchNode::WindowOutcome Nic::run_window(Time end, const Arrivals& arrivals, BatchContext& context) {
  WindowOutcome outcome;
  const auto come_to = [&](Time now) {
    context.set_now(now);
    outcome.last = now;
  };
  arrivals.in_order(
      [&](const Event& event) {
        come_to(event.key.time);
        take_event(event, context);
      },
      [&](const PortMessage& port_message) {
        come_to(port_message.time);
        arrive(port_message.payload_as<Packet>(), port_message.port, port_message.time, context);
      });
  outcome.events = arrivals.port_messages.size();
  for (Port& port : ports_) {
    run_until(port, end, context);
    outcome.next =
        std::min({outcome.next, next_start(port), port.lets_go_at, port.timers.empty() ? Time::max() : port.timers.front().time});
  }
  outcome.next = std::max(end, outcome.next);
  if (!notices_.empty()) send_notices(context);
  return outcome;
}

/// In order of time, so that it does not matter where windows begin and end: ports may have been brought forward in any order.
void Nic::send_notices(BatchContext& context) {
  std::ranges::stable_sort(notices_, {}, [](const Notice& notice) { return std::pair(notice.now, notice.order); });
  for (const Notice& notice : notices_) context.events(notice.now).send(notice.target, notice.delay, notice.kind, notice.transfer);
  notices_.clear();
}

void Nic::prefetch() const {
  // Most hosts have few ports, and few queue pairs that are at it.
  cache::fetch(ports_.data(), sizeof(Port));
  if (!senders_.empty()) cache::fetch(senders_.back(), sizeof(Sender));
  if (!receivers_.empty()) cache::fetch(&receivers_.back(), sizeof(Receiver));
}

void Nic::take_event(const Event& event, BatchContext& context) {
  const Time now = event.key.time;
  switch (event.kind) {
    case transfer_start:
      return begin(event.payload_as<Transfer>(), now, context);
    case port_changes: {
      const auto changes = event.payload_as<PortChanges>();
      return change_port(static_cast<std::uint32_t>(changes.port), changes.rate_bps, now, context);
    }
    case flow_load_changes: {
      const auto changes = event.payload_as<FlowLoadChanges>();
      Port& port = port_at(static_cast<std::uint32_t>(changes.port), now, context);
      port.flow_load = Bandwidth::bps(changes.load_bps);
      return port.out.set_shared_with_flows(changes.load_bps > 0);
    }
    case pauses_for_good:
      for (std::uint32_t port = 0; port < ports_.size(); ++port) {
        for (std::uint32_t priority = 0; priority < packet_classes_max; ++priority) {
          if ((settings_.lossless >> priority & 1U) == 0) continue;
          Port& pausing = port_at(port, now, context);
          if (!pausing.out.is_out())
            pausing.out.send_pause(Packet(PacketKind::pfc, 0, pfc_pause_for_good, pfc_frame_wire_bytes, priority), now, context);
        }
      }
      return;
    case attempt_stopped:
      return stop(event.payload_as<AttemptStopped>().attempt, now, context);
    default:
      WEFT_CHECK(event.kind == routes_change, "a network card knows the kind of every event it gets");
      return change_routes(event.payload_as<RoutesChange>().version, now, context);
  }
}

// --- Cables and ways --------------------------------------------------------------------------------------------------------------

void Nic::change_port(std::uint32_t number, std::int64_t rate_bps, Time now, BatchContext& context) {
  Port& port = port_at(number, now, context);
  end_pauses(port, now);
  port.out.set_rate(rate_bps);
  if (!port.out.is_out()) return set_timers_again(port, now);
  for (std::uint32_t priority = 0; priority < packet_classes_max; ++priority) {
    port.clock.resume(port.paused, priority, now);
    for (; !port.answers[priority].empty(); port.answers[priority].pop())
      --(port.answers[priority].front().kind() == PacketKind::cnp ? counters_.notifications_sent : counters_.acks_sent);
  }
  port.answering = 0;
}

void Nic::change_routes(std::uint32_t version, Time now, BatchContext& context) {
  wiring_.take_routes(version);
  for (auto& [key, number] : sender_by_key_) {
    const auto [source, destination, connection, priority, part] = key;
    Transfer transfer;
    transfer.source = source;
    transfer.destination = destination;
    transfer.connection = connection;
    transfer.priority = priority;
    take_route(number, wiring_.plan(transfer, part), now, context);
    number = queue_pairs_.number_of(senders_[number]->queue_pair);
  }
}

void Nic::take_route(std::uint32_t number, const QueuePairPlan& plan, Time now, BatchContext& context) {
  Sender& sender = *senders_[number];
  const QueuePairs::Route& route = queue_pairs_[sender.queue_pair];
  Port& before = port_at(sender.port, now, context);
  const bool was_cut_off = std::exchange(sender.is_cut_off, plan.is_cut_off);
  const bool is_other = plan.route.there != route.there || plan.route.back != route.back;
  if (is_other) {
    leave_port(sender, before);
    sender.in_turn = sender.has_timer = false;
    sender.port = plan.route.there[0];
    sender.inside_hosts = plan.inside_hosts;
    sender.inside = inside_of(sender, plan.source_rate);
    set_window_max(sender, plan);
    sender.queue_pair = id_on_route(sender, plan);
  }
  if (sender.is_cut_off || (!is_other && !was_cut_off)) return;
  Port& port = port_at(sender.port, now, context);
  const std::uint32_t current = queue_pairs_.number_of(sender.queue_pair);
  take_turn(current, port, now);
  if (sender.acknowledged == sender.sent_once || sender.has_timer || settings_.retransmission_timeout == Duration::zero()) return;
  if (was_cut_off) sender.progress_at = sender.stalled_since = now;
  set_timer(current, port, std::max(now, sender.progress_at + timeout_of(sender)));
}

/// The one that it had on that route, or a new one: telemetry is never again collected in a ring that was left.
std::uint32_t Nic::id_on_route(Sender& sender, const QueuePairPlan& plan) {
  QueuePairs::Route route = plan.route;
  std::vector<std::uint32_t>& ids = ids_of_rerouted_.try_emplace(&sender, 1, sender.queue_pair).first->second;
  for (const std::uint32_t id : ids) {
    if (measures_.telemetry || queue_pairs_[id].there != route.there || queue_pairs_[id].back != route.back) continue;
    // Its ring was as large as the window of the way that it comes from.
    if (sender.measured != nullptr) sender.measured->sent_at.assign(std::bit_ceil(sender.window_max), Time::max());
    return id;
  }
  if (sender.measured != nullptr) {
    route.details = &details_.emplace_back();
    begin_measuring(sender, plan, details_.back());
  }
  ids.push_back(queue_pairs_.open(card_, static_cast<std::uint32_t>(senders_.size()), route, sender.queue_pair));
  senders_.push_back(&sender);
  return ids.back();
}

/// Takes the sender out of all that the port keeps.
void Nic::leave_port(Sender& sender, Port& port) {
  port.holdups.change(sender.wait, QueuePairWait::nothing);
  const auto is_it = [&](std::uint32_t number) { return senders_[number] == &sender; };
  const auto is_timed = [&](const Timed& timed) { return is_it(timed.sender); };
  Fifo<std::uint32_t>& line = port.lines[sender.priority];
  for (std::uint32_t left = line.size(); left > 0; --left) {
    const std::uint32_t number = line.front();
    line.pop();
    if (!is_it(number)) line.push(number);
  }
  if (line.empty()) port.ready &= static_cast<std::uint8_t>(~(1U << sender.priority));
  std::erase_if(port.paced, is_timed);
  std::make_heap(port.paced.begin(), port.paced.end());
  std::erase_if(port.timers, is_timed);
  std::make_heap(port.timers.begin(), port.timers.end());
  std::erase_if(port.timed_out, is_it);
}

// --- Messages out -----------------------------------------------------------------------------------------------------------------

[[gnu::noinline]] void Nic::begin(const Transfer& transfer, Time now, BatchContext& context) {
  if (stopped_.contains(transfer.attempt)) return;
  const auto parts = static_cast<std::uint32_t>(std::clamp<std::int64_t>(transfer.size.count(), 1, settings_.queue_pairs));
  const std::uint32_t slot = take_slot(outgoing_, free_outgoing_);
  outgoing_[slot] = {transfer, now, parts, parts, {}, {}};
  for (std::uint32_t i = 0; i < parts; ++i) {
    Sender& sender = sender_of(transfer, i);
    Port& port = port_at(sender.port, now, context);
    append(sender, {transfer, slot, parts, now, sender.inside_hosts});
    const PacketTrain train = settings_.wire_format.train(part_of(transfer.size, settings_.queue_pairs, i));
    Part part;
    part.end = sender.end + static_cast<std::uint64_t>(train.packets);
    part.last_wire_bytes = static_cast<std::uint32_t>(train.last.count());
    part.transfer = slot;
    if (sender.acknowledged == sender.end) sender.progress_at = sender.stalled_since = now;
    sender.end = part.end;
    sender.parts.push(part);
    take_turn(queue_pairs_.number_of(sender.queue_pair), port, now);
  }
}

[[gnu::noinline]] Nic::Sender& Nic::sender_of(const Transfer& transfer, std::uint32_t part) {
  const Key key{transfer.source, transfer.destination, transfer.connection, transfer.priority, part};
  const auto number = static_cast<std::uint32_t>(senders_.size());
  const auto [found, is_new] = sender_by_key_.emplace(key, number);
  if (!is_new) return *senders_[found->second];
  Sender& sender = sender_memory_.emplace_back();
  senders_.push_back(&sender);
  sender.pages.push(std::make_unique<MessagePage>());
  QueuePairPlan plan = wiring_.plan(transfer, part);
  QueuePairs::Details& details = details_.emplace_back();
  details.messages = sender.pages.front().get();
  plan.route.details = &details;
  sender.queue_pair = queue_pairs_.open(card_, number, plan.route);
  sender.port = plan.route.there[0];
  sender.source = transfer.source;
  sender.inside = inside_of(sender, plan.source_rate);
  sender.priority = static_cast<std::uint8_t>(settings_.uses_priorities ? transfer.priority : 0);
  sender.inside_hosts = plan.inside_hosts;
  sender.round_trip = plan.round_trip;
  sender.is_cut_off = plan.is_cut_off;
  sender.congestion = settings_.congestion->begin(limits(plan));
  set_window_max(sender, plan);
  if (measures_.round_trips || measures_.telemetry) begin_measuring(sender, plan, details);
  return sender;
}

void Nic::stop(AttemptId attempt, Time now, BatchContext& context) {
  stopped_.insert(attempt);
  const auto is_of_attempt = [&](const Part& part) { return outgoing_[part.transfer].transfer.attempt == attempt; };
  std::set<std::uint32_t> left_behind;
  std::erase_if(sender_by_key_, [&](const auto& entry) {
    Sender& sender = *senders_[entry.second];
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
  for (const std::uint32_t slot : left_behind) tell_of_end(outgoing_[slot].transfer, now);
  // Their slots stay unused: their destinations may wait for parts of these numbers for ever.
  for (Outgoing& outgoing : outgoing_) {
    if (outgoing.transfer.attempt == attempt) outgoing.parts_left = 0;
  }
}

/// To those who share cables with its packets.
void Nic::tell_of_end(const Transfer& transfer, Time now) {
  if (!wiring_.fabric.is_none()) notices_.push_back({now, 0, wiring_.fabric, wiring_.fabric_delay, packets_end, transfer});
}

void Nic::close(Sender& sender, Time now, BatchContext& context) {
  leave_port(sender, port_at(sender.port, now, context));
  sender.is_closed = true;
  while (!sender.parts.empty()) sender.parts.pop();
  while (!sender.again.empty()) sender.again.pop();
}

void Nic::append(Sender& sender, const Message& message) {
  if (sender.in_last_page == MessagePage::messages_max) {
    // The receiver leaves a page when it reads the first message of the next one.
    std::unique_ptr<MessagePage> page;
    if (sender.acknowledged_in_pages > MessagePage::messages_max) {
      page = std::move(sender.pages.front());
      sender.pages.pop();
      sender.acknowledged_in_pages -= MessagePage::messages_max;
      page->next = nullptr;
    } else {
      page = std::make_unique<MessagePage>();
    }
    sender.pages.back()->next = page.get();
    sender.pages.push(std::move(page));
    sender.in_last_page = 0;
  }
  sender.pages.back()->messages[sender.in_last_page++] = message;
}

/// Requires: congestion control has a window.
std::uint32_t Nic::inside_of(const Sender& sender, Bandwidth source_rate) {
  if (source_rate >= ports_[sender.port].rate) return Sender::not_limited;
  const auto number = static_cast<std::uint32_t>(insides_.size());
  const auto [found, is_new] = inside_by_source_.emplace(std::pair(sender.source, sender.port), number);
  if (is_new) insides_.push_back({source_rate, Time::zero()});
  return found->second;
}

void Nic::set_window(Sender& sender) const {
  const auto bytes = static_cast<std::uint64_t>(settings_.congestion->window(sender.congestion));
  sender.window = std::min(sender.window_max, std::max<std::uint64_t>(1, bytes / full_packet_));
}

void Nic::set_window_max(Sender& sender, const QueuePairPlan& plan) const {
  sender.asks_always = settings_.congestion->window(sender.congestion) != CongestionAlgorithm::no_window;
  sender.window_max = Sender::no_window;
  if (plan.window) {
    sender.window_max = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(plan.window->count()) / full_packet_);
    if (!sender.asks_always) sender.ask_interval = ask_interval_of(sender.window_max);
  } else if (measures_.round_trips || measures_.telemetry) {
    // Nothing else bounds it, and a ring has to.
    const QueuePairLimits limit = limits(plan);
    const double held = static_cast<double>(limit.line.in_bps()) / 8 * limit.round_trip.in_s() / full_packet_;
    sender.window_max = 64 + 8 * static_cast<std::uint64_t>(held);
  }
  sender.next_to_ask = sender.next + sender.ask_interval - 1;
  sender.line_bps = static_cast<double>(std::min(plan.rate_max, ports_[sender.port].rate).in_bps());
  sender.window = sender.window_max;
  if (sender.asks_always) set_window(sender);
}

QueuePairLimits Nic::limits(const QueuePairPlan& plan) const {
  return {std::min(plan.rate_max, ports_[plan.route.there[0]].rate), plan.round_trip, settings_.wire_format.full_packet(),
          plan.window.value_or(Bytes::zero()).count(), plan.switches};
}

/// Requires: its window is known.
void Nic::begin_measuring(Sender& sender, const QueuePairPlan& plan, QueuePairs::Details& details) {
  if (sender.measured == nullptr) sender.measured = std::make_unique<Measured>();
  Measured& measured = *sender.measured;
  measured.sent_at.assign(std::bit_ceil(sender.window_max), Time::max());
  measured.before.clear();
  if (measures_.telemetry) details.telemetry = measured.telemetry = &rings_.emplace_back(sender.window_max, plan.switches);
}

/// Before it goes out.
[[gnu::noinline]] void Nic::note_sent(Sender& sender, Packet& packet, bool is_repeated, Time now) {
  Measured& measured = *sender.measured;
  measured.sent_at[packet.sequence & (measured.sent_at.size() - 1)] = is_repeated ? Time::max() : now;
  if (measured.telemetry != nullptr && !is_repeated) packet.collect_telemetry();
}

/// `more` packets were acknowledged.
void Nic::answer_congestion_control(Sender& sender, const Packet& packet, std::int32_t more, Time now) {
  Acknowledgement answer{full_packet_, in_flight(sender), packet.echoes_mark(), now, sender.acknowledged, sender.next};
  if (sender.measured == nullptr || more <= 0) {
    settings_.congestion->on_acknowledged(sender.congestion, answer);
    return set_window(sender);
  }
  Measured& measured = *sender.measured;
  const auto last = static_cast<std::uint32_t>(sender.acknowledged) - 1;
  const Time sent_at = measured.sent_at[last & (measured.sent_at.size() - 1)];
  if (sent_at != Time::max()) {
    answer.round_trip = now - sent_at;
    if (measured.telemetry != nullptr) answer.hops = measured.telemetry->of(last);
    answer.hops_before = measured.before;
  }
  settings_.congestion->on_acknowledged(sender.congestion, answer);
  if (!answer.hops.empty()) measured.before.assign(answer.hops.begin(), answer.hops.end());
  set_window(sender);
}

/// Requires: it has a window, and congestion control none.
void Nic::follow_rate(Sender& sender, double rate_bps) const {
  std::uint64_t window = sender.window_max;
  if (rate_bps < sender.line_bps) {
    const double share = rate_bps / sender.line_bps;
    window = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(window) * share + 0.5));
  }
  if (window == sender.window) return;
  sender.window = window;
  sender.ask_interval = ask_interval_of(window);
}

/// So that a window never has to wait for the answers to what fills it.
std::uint32_t Nic::ask_interval_of(std::uint64_t window) const {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(window / 5, 1, settings_.ack_interval));
}

/// Requires: it has a window, and the packet is the next one.
bool Nic::asks_for_answer(Sender& sender, std::uint64_t sequence) {
  if (sequence < sender.next_to_ask && sequence + 1 - sender.acknowledged < sender.window) return false;
  sender.next_to_ask = sequence + sender.ask_interval;
  return true;
}

std::int64_t Nic::in_flight(const Sender& sender) const {
  return static_cast<std::int64_t>(sender.next - std::min(sender.next, sender.acknowledged)) * full_packet_;
}

bool Nic::has_packet(const Sender& sender) const {
  if (sender.is_cut_off || sender.is_closed) return false;
  if (sender.restart.is_on() && repeats_alone()) {
    return sender.restart.under_way < sender.restart.window &&
           ((sender.next != sender.end && sender.next - sender.acknowledged < sender.window) || !sender.again.empty());
  }
  const std::uint64_t window = std::min(sender.window, sender.restart.window);
  return (sender.next != sender.end && sender.next - sender.acknowledged < window) || !sender.again.empty();
}

void Nic::take_turn(std::uint32_t number, Port& port, Time now) {
  Sender& sender = *senders_[number];
  if (sender.in_turn) return;
  if (!may_send(sender, port)) return;
  if (sender.inside != Sender::not_limited) {
    Inside& inside = insides_[sender.inside];
    sender.next_at = std::max({sender.next_at, now, inside.free_at});
    inside.free_at = sender.next_at + transmit_time(Bytes::of(full_packet_), inside.rate);
  }
  sender.in_turn = true;
  if (sender.next_at <= now) {
    port.lines[sender.priority].push(number);
    port.ready |= static_cast<std::uint8_t>(1U << sender.priority);
  } else {
    port.paced.push_back({sender.next_at, number});
    std::push_heap(port.paced.begin(), port.paced.end());
  }
}

/// Whether the sender has a packet that may go; if it has data and none may, its port hears what it waits for.
bool Nic::may_send(Sender& sender, Port& port) const {
  const bool may = has_packet(sender);
  QueuePairWait wait = QueuePairWait::nothing;
  if (!may && sender.next != sender.end && !sender.is_cut_off && !sender.is_closed)
    wait =
        std::min(sender.window, sender.restart.window) < sender.window_max ? QueuePairWait::own_window : QueuePairWait::path_window;
  port.holdups.change(sender.wait, wait);
  return may;
}

/// Nothing has changed at the port since the last call, but for packets that it has sent.
void Nic::note_holdup(Port& port, Time until) const {
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

// --- Packets in -------------------------------------------------------------------------------------------------------------------

void Nic::arrive(const Packet& packet, std::uint32_t port, Time now, BatchContext& context) {
  add_arrival(context.chain(), packet, now);
  switch (packet.kind()) {
    case PacketKind::data:
      if (settings_.drain_rate) drain_wait_ = take_in(packet, port_at(port, now, context), now, context);
      return on_data(packet, now, context);
    case PacketKind::ack:
    case PacketKind::nack:
      return on_acknowledged(packet, now, context);
    case PacketKind::cnp: {
      Sender& sender = *senders_[queue_pairs_.number_of(packet.queue_pair)];
      port_at(sender.port, now, context);
      settings_.congestion->on_notification(sender.congestion, {now, sender.sent_once, sender.acknowledged});
      return;
    }
    case PacketKind::pfc:
      return on_pfc(packet, port_at(port, now, context), now);
  }
}

void Nic::on_data(const Packet& packet, Time now, BatchContext& context) {
  Receiver& receiver = receivers_[receiver_of(packet.queue_pair)];
  counters_.last_data = std::max(counters_.last_data, now);
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
  ++counters_.data_received;
  ++receiver.expected;
  receiver.complained = false;
  bool ends_message = packet.ends_message();
  if (ends_message) deliver(receiver.messages.next(), queue_pairs_.card_of(packet.queue_pair), now);
  if (!receiver.reported.empty()) report_again(receiver, packet, receiver.expected - 1, now, context);
  if (!receiver.early.empty()) receiver.early.pop();
  for (; !receiver.early.empty() && receiver.early.front() != kMissing; receiver.early.pop()) {
    ++receiver.expected;
    if (receiver.early.front() != kEndsMessage) continue;
    ends_message = true;
    deliver(receiver.messages.next(), queue_pairs_.card_of(packet.queue_pair), now);
  }
  if (++receiver.since_answer < settings_.ack_interval && !ends_message && !packet.asks_for_answer()) return;
  acknowledge(receiver, packet, now, context);
}

[[gnu::noinline]] Duration Nic::take_in(const Packet& packet, Port& port, Time now, BatchContext& context) {
  const auto rate_bps = static_cast<double>(settings_.drain_rate->in_bps());
  port.backlog_bits =
      std::max(0.0, port.backlog_bits - (now - port.backlog_at).in_s() * rate_bps) + Bytes::of(packet.wire_bytes()).in_bits();
  port.backlog_at = now;
  const double limit_bits = settings_.receive_buffer.in_bits();
  const auto bit = static_cast<std::uint8_t>(1U << packet.priority());
  if (port.backlog_bits > limit_bits && (settings_.lossless & ~port.asks & bit) != 0) {
    port.asks |= bit;
    if (!port.out.is_out())
      port.out.send_pause(Packet(PacketKind::pfc, 0, pfc_pause_for_good, pfc_frame_wire_bytes, packet.priority()), now, context);
  }
  if (port.asks != 0) port.lets_go_at = now + fluid_transmit_time(std::max(0.0, port.backlog_bits - limit_bits / 2), rate_bps);
  return fluid_transmit_time(port.backlog_bits, rate_bps);
}

[[gnu::noinline]] void Nic::let_go(Port& port, Time now, BatchContext& context) {
  port.lets_go_at = Time::max();
  for (std::uint32_t priority = 0; priority < packet_classes_max; ++priority) {
    if ((port.asks >> priority & 1U) == 0 || port.out.is_out()) continue;
    port.out.send_pause(Packet(PacketKind::pfc, 0, pfc_resume, pfc_frame_wire_bytes, priority), now, context);
  }
  port.asks = 0;
}

/// All that has arrived in order.
void Nic::acknowledge(Receiver& receiver, const Packet& data, Time now, BatchContext& context) {
  receiver.since_answer = 0;
  answer(PacketKind::ack, data, receiver.expected, ack_wire_bytes, now, context,
         feedback_ == MarkFeedback::echoes && data.congestion_experienced());
}

/// A packet that others come before, of which `ahead` is the number.
[[gnu::noinline]] void Nic::on_early(Receiver& receiver, const Packet& packet, std::uint32_t ahead, Time now,
                                     BatchContext& context) {
  const std::uint32_t known = receiver.early.size();
  while (receiver.early.size() <= ahead) receiver.early.push(kMissing);
  if (receiver.early[ahead] != kMissing) {
    if (settings_.reports_gaps && packet.asks_for_answer()) acknowledge(receiver, packet, now, context);
    return;
  }
  receiver.early[ahead] = packet.ends_message() ? kEndsMessage : kHere;
  ++counters_.data_received;
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

/// What was missing has come: what was reported before it, sent again before it, and has not come is missing again.
[[gnu::noinline]] void Nic::report_again(Receiver& receiver, const Packet& packet, std::uint64_t filled, Time now,
                                         BatchContext& context) {
  for (std::uint32_t left = receiver.reported.size(); left > 0; --left) {
    const std::uint64_t missing = receiver.reported.front();
    receiver.reported.pop();
    if (missing == filled) return;
    receiver.reported.push(missing);
    answer(PacketKind::nack, packet, missing, ack_wire_bytes, now, context);
  }
}

std::uint32_t Nic::receiver_of(std::uint32_t queue_pair) {
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

void Nic::answer(PacketKind kind, const Packet& data, std::uint64_t sequence, std::uint32_t wire_bytes, Time now,
                 BatchContext& context, bool echoes_mark) {
  Port& port = port_at(queue_pairs_[data.queue_pair].back[0], now, context);
  if (port.out.is_out()) return;
  ++(kind == PacketKind::cnp ? counters_.notifications_sent : counters_.acks_sent);
  const std::uint32_t priority = settings_.answer_priority.value_or(data.priority());
  port.answering |= static_cast<std::uint8_t>(1U << priority);
  Packet& packet = port.answers[priority].push();
  packet = Packet(kind, data.queue_pair, static_cast<std::uint32_t>(sequence), wire_bytes, priority);
  if (echoes_mark) packet.echo_mark();
}

void Nic::deliver(const Message& message, std::uint32_t card, Time now) {
  if (message.parts > 1) {
    const auto key = std::pair(card, message.number);
    const auto missing = parts_missing_.emplace(key, message.parts).first;
    if (--missing->second > 0) return;
    parts_missing_.erase(missing);
  }
  const Transfer& transfer = message.transfer;
  const Duration latency = settings_.receive_latency + message.inside_hosts + drain_wait_;
  notices_.push_back({now, 0, wiring_.host_of(transfer.destination), latency, transfer_delivered, transfer});
  if (is_control(transfer)) return;
  delivered_.push_back({transfer, message.entered, now + latency});
  if (wiring_.delivered != nullptr) wiring_.delivered->fetch_add(1, std::memory_order_relaxed);
}

void Nic::on_acknowledged(const Packet& packet, Time now, BatchContext& context) {
  const std::uint32_t number = queue_pairs_.number_of(packet.queue_pair);
  Sender& sender = *senders_[number];
  Port& port = port_at(sender.port, now, context);
  if (sender.is_closed) return;
  const auto more = static_cast<std::int32_t>(packet.sequence - static_cast<std::uint32_t>(sender.acknowledged));
  if (packet.kind() == PacketKind::nack && settings_.keeps_early) {
    if (more < 0) return;
    return on_missing(number, port, sender.acknowledged + static_cast<std::uint32_t>(more), now);
  }
  if (sender.restart.is_on() && repeats_alone()) {
    sender.restart.note_answered();
    sender.restart.grow(1);
  }
  if (more > 0) {
    sender.acknowledged += static_cast<std::uint32_t>(more);
    sender.progress_at = sender.stalled_since = now;
    sender.timeouts = 0;
    if (sender.restart.is_on() && !repeats_alone()) sender.restart.grow(static_cast<std::uint64_t>(more));
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
        tell_of_end(outgoing.transfer, now);
        free_outgoing_.push_back(slot);
      }
      sender.parts.pop();
      if (sender.sending > 0) --sender.sending;
    }
  }
  if (sender.asks_always) {
    answer_congestion_control(sender, packet, more, now);
  } else if (more > 0) {
    settings_.congestion->on_acknowledged(sender.congestion,
                                          {std::int64_t{more} * full_packet_, in_flight(sender), packet.echoes_mark()});
  }
  if (packet.kind() == PacketKind::nack && more >= 0) {
    on_loss(sender, now);
    if (settings_.slow_restart) sender.restart.cut(sender.next - sender.acknowledged, sender.acknowledged, sender.sent_once);
    go_back(number, port, sender.acknowledged, now);
  } else {
    take_turn(number, port, now);
  }
}

/// Selective repeat: the receiver has found that it was lost, and perhaps once more.
[[gnu::noinline]] void Nic::on_missing(std::uint32_t number, Port& port, std::uint64_t packet, Time now) {
  Sender& sender = *senders_[number];
  const bool is_lost_again = packet < sender.reported;
  sender.reported = std::max(sender.reported, packet + 1);
  if (is_lost_again || packet >= sender.restart.cut_at) sender.restart.note_answered();
  on_loss(sender, now);
  // Losses among what was under way when it was cut are one.
  if (settings_.slow_restart && packet >= sender.restart.cut_at)
    sender.restart.cut(sender.next - sender.acknowledged, packet, sender.sent_once);
  sender.again.push(packet);
  take_turn(number, port, now);
}

/// Of those that were not acknowledged when the timer ran out.
[[gnu::noinline]] void Nic::send_burst_again(std::uint32_t number, Port& port, Time now) {
  Sender& sender = *senders_[number];
  sender.burst_end = std::min(sender.acknowledged + sender.burst, sender.recover);
  for (std::uint64_t packet = sender.acknowledged; packet < sender.burst_end; ++packet) sender.again.push(packet);
  take_turn(number, port, now);
}

void Nic::on_loss(Sender& sender, Time now, bool is_timeout) const {
  settings_.congestion->on_loss(sender.congestion, {in_flight(sender), now, is_timeout});
  if (sender.asks_always) set_window(sender);
}

void Nic::SlowRestart::cut(std::uint64_t in_flight, std::uint64_t acknowledged, std::uint64_t sent_once) {
  if (acknowledged >= cut_at) {
    full = std::max(full, in_flight);
    threshold = std::max<std::uint64_t>(1, in_flight / 2);
  }
  cut_at = sent_once;
  window = 1;
  counted = 0;
  under_way = 0;
}

void Nic::SlowRestart::grow(std::uint64_t packets) {
  if (window < threshold) {
    const std::uint64_t fast = std::min(packets, threshold - window);
    window += fast;
    packets -= fast;
  }
  for (counted += packets; window >= threshold && counted >= window; ++window) counted -= window;
  if (window >= full) *this = {.cut_at = cut_at};
}

/// Goes on with packet `to`, which was not acknowledged.
[[gnu::noinline]] void Nic::go_back(std::uint32_t number, Port& port, std::uint64_t to, Time now) {
  Sender& sender = *senders_[number];
  sender.next = to;
  sender.next_to_ask = to + sender.ask_interval - 1;
  sender.sending = 0;
  while (sender.sending < sender.parts.size() && sender.parts[sender.sending].end <= to) ++sender.sending;
  take_turn(number, port, now);
}

[[gnu::noinline]] void Nic::on_pfc(const Packet& frame, Port& port, Time now) {
  if (port.out.is_out()) return;
  end_pauses(port, now);
  if (frame.sequence != pfc_resume) {
    ++port.pauses;
    const Duration full = frame.sequence == pfc_pause_for_good ? Duration::zero() : settings_.pause_time;
    port.clock.pause(port.paused, frame.priority(), now, pause_time_at(port.out.rate(), port.rate, full));
  } else if (port.paused != 0) {
    port.clock.resume(port.paused, frame.priority(), now);
    set_timers_again(port, now);
  }
}

/// Those that have run out by `now`.
void Nic::end_pauses(Port& port, Time now) {
  if (port.paused == 0 || settings_.pause_time == Duration::zero()) return;
  port.clock.expire(port.paused, now);
  set_timers_again(port, now);
}

// --- Packets out ------------------------------------------------------------------------------------------------------------------

Nic::Port& Nic::port_at(std::uint32_t number, Time now, BatchContext& context) {
  Port& port = ports_[number];
  run_until(port, now, context);
  note_holdup(port, now);
  port.now = now;
  return port;
}

/// Does what the port does by itself before `until`.
[[gnu::noinline, gnu::flatten]] void Nic::run_until(Port& port, Time until, BatchContext& context) {
  while (true) {
    const Time start = next_start(port);
    const Time timer = port.timers.empty() ? Time::max() : port.timers.front().time;
    const Time next = std::min({start, timer, port.lets_go_at});
    if (next >= until) return;
    port.now = next;
    if (port.lets_go_at == next) {
      let_go(port, next, context);
    } else if (timer <= start) {
      on_timer(port, timer, context);
    } else {
      send_one(port, start, context);
    }
  }
}

/// When the port begins to send next, unless more happens; max() if only an arrival can make it.
Time Nic::next_start(const Port& port) {
  if (port.out.is_out()) return Time::max();
  const std::uint32_t waiting = port.ready | std::uint32_t{port.answering};
  Time earliest = (waiting & ~std::uint32_t{port.paused}) != 0 ? port.now : Time::max();
  if (port.paused != 0) {
    for (std::uint32_t priority = 0; priority < packet_classes_max; ++priority) {
      if ((waiting & port.paused) >> priority & 1U) earliest = std::min(earliest, std::max(port.now, port.clock.until(priority)));
    }
  }
  if (!port.paced.empty()) earliest = std::min(earliest, port.paced.front().time);
  return earliest == Time::max() ? earliest : std::max({earliest, port.out.free_at(), port.now});
}

void Nic::send_one(Port& port, Time now, BatchContext& context) {
  note_holdup(port, now);
  end_pauses(port, now);
  while (!port.paced.empty() && port.paced.front().time <= now) {
    const std::uint32_t number = port.paced.front().sender;
    std::pop_heap(port.paced.begin(), port.paced.end());
    port.paced.pop_back();
    const std::uint32_t priority = senders_[number]->priority;
    port.lines[priority].push(number);
    port.ready |= static_cast<std::uint8_t>(1U << priority);
  }
  if (const std::uint32_t may_answer = port.answering & ~std::uint32_t{port.paused}; may_answer != 0) {
    const auto priority = static_cast<std::uint32_t>(std::bit_width(may_answer)) - 1;
    Fifo<Packet>& answers = port.answers[priority];
    Packet packet = answers.front();
    answers.pop();
    if (answers.empty()) port.answering &= static_cast<std::uint8_t>(~(1U << priority));
    packet.next_hop();
    send(packet, port, now, context);
    return;
  }
  const std::uint32_t may_go = port.ready & ~std::uint32_t{port.paused};
  if (may_go == 0) return;
  const auto priority = static_cast<std::uint32_t>(std::bit_width(may_go)) - 1;
  Fifo<std::uint32_t>& line = port.lines[priority];
  const std::uint32_t number = line.front();
  line.pop();
  if (line.empty()) port.ready &= static_cast<std::uint8_t>(~(1U << priority));
  send_data(number, port, now, context);
}

void Nic::send_data(std::uint32_t number, Port& port, Time now, BatchContext& context) {
  Sender& sender = *senders_[number];
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
  const Part& part = sender.parts[place];
  const bool is_last = sequence + 1 == part.end;
  const std::uint32_t wire_bytes = is_last ? part.last_wire_bytes : full_packet_;
  Packet packet(PacketKind::data, sender.queue_pair, static_cast<std::uint32_t>(sequence), wire_bytes, sender.priority);
  packet.next_hop();
  if (is_last) packet.set_ends_message();
  if (sender.acknowledged == sender.sent_once) sender.progress_at = sender.stalled_since = now;
  const bool is_first = sequence >= sender.sent_once;
  ++counters_.data_sent;
  counters_.data_repeated += is_first ? 0 : 1;
  if (sender.measured != nullptr) note_sent(sender, packet, !is_first, now);
  if (!is_again) {
    sender.sending += is_last ? 1 : 0;
    ++sender.next;
    sender.sent_once = std::max(sender.sent_once, sender.next);
  }
  const double rate_bps = settings_.congestion->on_sent(sender.congestion, wire_bytes, now);
  if (sender.restart.is_on()) {
    packet.ask_for_answer();
    ++sender.restart.under_way;
  } else if (is_again) {
    if (sequence + 1 == sender.burst_end || sender.asks_always) packet.ask_for_answer();
  } else if (sender.window != Sender::no_window) {
    // First the window: whoever fills it asks for an answer.
    if (settings_.window_follows_rate && !sender.asks_always) follow_rate(sender, rate_bps);
    if (asks_for_answer(sender, sequence)) packet.ask_for_answer();
  }
  if (sender.inside != Sender::not_limited && wire_bytes < full_packet_) {
    Inside& inside = insides_[sender.inside];
    if (inside.free_at == sender.next_at + transmit_time(Bytes::of(full_packet_), inside.rate))
      inside.free_at = sender.next_at + transmit_time(Bytes::of(wire_bytes), inside.rate);
  }
  const Time left = send(packet, port, now, context);
  counters_.sending += left - now;
  if (!is_first) counters_.sending_again += left - now;
  if (is_first && is_last) note_part_sent(outgoing_[part.transfer], port, now, left);
  sender.next_at = port.out.free_at();
  sender.is_slowed = rate_bps < sender.line_bps;
  if (rate_bps < port.out.rate_bps()) {
    sender.next_at = std::max(sender.next_at, now + Duration::from_seconds(Bytes::of(wire_bytes).in_bits() / rate_bps));
  }
  if (!sender.has_timer && settings_.retransmission_timeout > Duration::zero()) {
    set_timer(number, port, now + timeout_of(sender));
  }
  take_turn(number, port, port.out.free_at());
}

/// The last bit of one of its parts leaves the port at `left` for the first time.
void Nic::note_part_sent(Outgoing& outgoing, const Port& port, Time now, Time left) {
  const auto number = static_cast<std::uint32_t>(&port - ports_.data());
  outgoing.last_begun = std::max(outgoing.last_begun, {now, number + 1});
  outgoing.left = std::max(outgoing.left, left);
  if (--outgoing.parts_unsent > 0 || is_control(outgoing.transfer)) return;
  const auto [begun, order] = outgoing.last_begun;
  notices_.push_back({begun, order, wiring_.host_of(outgoing.transfer.source), outgoing.left - begun + settings_.completion_latency,
                      transfer_sent, outgoing.transfer});
}

/// A retransmission timer: perhaps something was acknowledged since it was set.
[[gnu::noinline]] void Nic::on_timer(Port& port, Time now, BatchContext& context) {
  const std::uint32_t number = port.timers.front().sender;
  std::pop_heap(port.timers.begin(), port.timers.end());
  port.timers.pop_back();
  Sender& sender = *senders_[number];
  sender.has_timer = false;
  if (sender.acknowledged == sender.sent_once || sender.is_cut_off) return;
  const bool is_due = sender.progress_at + timeout_of(sender) <= now;
  const bool stands_still = port.out.is_out() || (port.paused >> sender.priority & 1U) != 0;
  if (stands_still && is_due) {
    port.timed_out.push_back(number);
    return;
  }
  if (is_due) {
    const Duration whole = std::max(settings_.retransmission_timeout, 4 * sender.round_trip);
    if (settings_.retries > 0 && now - sender.stalled_since >= whole * std::int64_t{settings_.retries})
      return give_up(sender, now, context);
    sender.progress_at = now;
    ++sender.timeouts;
    on_loss(sender, now, true);
    if (settings_.keeps_early && settings_.reports_gaps) {
      sender.recover = sender.sent_once;
      sender.burst = 1;
      if (settings_.slow_restart) {
        sender.restart.cut(sender.next - sender.acknowledged, sender.acknowledged, sender.sent_once);
        // Bursts send all of it that is still missing.
        while (!sender.again.empty()) sender.again.pop();
      }
      send_burst_again(number, port, now);
    } else {
      if (settings_.slow_restart) sender.restart.cut(sender.next - sender.acknowledged, sender.acknowledged, sender.sent_once);
      // Where no gaps are reported, nobody knows what else is missing.
      go_back(number, port, sender.acknowledged, now);
    }
  }
  set_timer(number, port, sender.progress_at + timeout_of(sender));
}

/// From progress until something is sent again.
Duration Nic::timeout_of(const Sender& sender) const {
  constexpr std::uint32_t doublings = 4;
  const Duration whole = settings_.retransmission_timeout;
  const std::uint32_t halvings =
      (settings_.adapts_timeout >> sender.priority & 1U) != 0 ? doublings - std::min(sender.timeouts, doublings) : 0;
  return std::max(Duration::ticks(whole.in_ticks() >> halvings), 4 * sender.round_trip);
}

[[gnu::noinline]] void Nic::give_up(Sender& sender, Time now, BatchContext& context) {
  given_up_.push_back({outgoing_[sender.parts.front().transfer].transfer, sender.queue_pair, now, sender.stalled_since});
  close(sender, now, context);
}

void Nic::set_timer(std::uint32_t number, Port& port, Time at) {
  senders_[number]->has_timer = true;
  port.timers.push_back({at, number});
  std::push_heap(port.timers.begin(), port.timers.end());
}

/// Timers that ran out while nothing could be sent, where that is over.
[[gnu::noinline]] void Nic::set_timers_again(Port& port, Time now) {
  if (port.out.is_out()) return;
  std::erase_if(port.timed_out, [&](std::uint32_t number) {
    Sender& sender = *senders_[number];
    if ((port.paused >> sender.priority & 1U) != 0) return false;
    sender.stalled_since = now;
    if (!sender.has_timer && sender.acknowledged < sender.sent_once) set_timer(number, port, now + timeout_of(sender));
    return true;
  });
}

}  // namespace weft
