// SPDX-License-Identifier: Apache-2.0
#include "network/packet/packet_switch.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "network/routing/hop_weights.hpp"

namespace weft {

namespace {

constexpr std::size_t ahead = 8;  // so many arrivals before its own, a packet's route is fetched

}  // namespace

Duration pause_time_min(Bandwidth rate, Bytes largest_packet, std::uint32_t priorities) {
  return 2 *
         (transmit_time(largest_packet, rate) + transmit_time(Bytes::of(pfc_frame_wire_bytes), rate) * std::int64_t{priorities});
}

PacketSwitch::PacketSwitch(const PacketSwitchSettings& settings, const std::vector<Cable>& cables, const QueuePairs& routes)
    : pause_time_(settings.pause_time),
      watchdog_(settings.watchdog),
      classes_(settings.classes),
      class_count_(static_cast<std::uint32_t>(settings.classes.size())),
      routes_(routes),
      buffer_(settings.buffer),
      next_start_(cables.size()),
      queues_(cables.size() * settings.classes.size()),
      port_choice_(settings.port_choice) {
  WEFT_CHECK(!classes_.empty() && classes_.size() <= packet_classes_max, "a switch has one to eight priorities");
  for (std::size_t priority = 0; priority < classes_.size(); ++priority) {
    WEFT_CHECK(!(classes_[priority].lossless && classes_[priority].drops_early), "a lossless priority drops nothing");
    if (settings.marks_at_dequeue && std::exchange(classes_[priority].marks, false)) {
      marks_leaving_ |= static_cast<std::uint8_t>(1U << priority);
    }
    if (classes_[priority].lossless) lossless_ |= static_cast<std::uint8_t>(1U << priority);
    if (classes_[priority].weight == 0) strict_ |= static_cast<std::uint8_t>(1U << priority);
  }
  may_overflow_ = settings.may_overflow;
  if (settings.keeps_ledger) ledger_ = std::make_unique<QueueLedger>(routes, cables.size(), classes_.size());
  for (const Cable& cable : cables) {
    for (const PacketClass& c : classes_) has_lossy_cables_ = has_lossy_cables_ || (c.lossless && cable.headroom == 0);
  }
  for (std::uint32_t port = 0; port < cables.size(); ++port) {
    const Cable& cable = cables[port];
    ports_.emplace_back(cable.out);
    if (settings.writes_telemetry) ports_.back().out.set_tells();
    contention_.emplace_back();
    contention_.back().full_rate = cable.out.rate();
    contention_.back().pause_time = pause_time_;
    if (settings.keeps_pauses) contention_.back().pauses.keep_spans();
    WEFT_CHECK(cable.ecn_of_priority.empty() || cable.ecn_of_priority.size() == classes_.size(), "every priority has a curve");
    for (std::uint32_t priority = 0; priority < class_count_; ++priority) {
      const PacketClass& c = classes_[priority];
      buffer_.add_account(c.lossless ? cable.headroom : 0, c.lossless ? c.alpha : c.queue_alpha);
      markers_.emplace_back(cable.ecn_of_priority.empty() ? cable.ecn : cable.ecn_of_priority[priority],
                            settings.seed + port + (std::uint64_t{priority} << 20));
    }
    WEFT_CHECK(
        pause_time_ == Duration::zero() || pause_time_ >= pause_time_min(cable.out.rate(), settings.largest_packet, class_count_),
        "a pause is refreshed before it runs out");
  }
  if (has_lossy_cables_) {
    of_queues_ = static_cast<std::uint32_t>(cables.size()) * class_count_;
    for (std::uint32_t queue = 0; queue < of_queues_; ++queue) buffer_.add_account(0, classes_[queue % class_count_].queue_alpha);
  }
  WEFT_CHECK(settings.buffer.resume_offset >= settings.largest_packet.count(),
             "between asking for a pause and letting go lies a packet");
}

PacketPortCounters PacketSwitch::counters(std::uint32_t port, Time now) const {
  const Contention& contention = contention_[port];
  const std::uint64_t waited =
      contention.waited_ticks + contention.data_waiting * static_cast<std::uint64_t>((now - Time::zero()).in_ticks());
  return {ports_[port].out.bytes_sent(),
          static_cast<std::uint64_t>(waiting_at(port)),
          static_cast<std::uint64_t>(contention.peak),
          contention.marks,
          contention.drops,
          contention.queue_drops,
          contention.headroom_drops,
          contention.pauses.total(ports_[port].paused, now),
          now == Time::zero() ? Duration::zero() : Duration::ticks(static_cast<std::int64_t>(waited))};
}

std::int64_t PacketSwitch::waiting_at(std::uint32_t port) const {
  std::int64_t bytes = 0;
  for (std::uint8_t left = ports_[port].waiting; left != 0; left &= static_cast<std::uint8_t>(left - 1)) {
    bytes += queues_[account_of(port, static_cast<std::uint32_t>(std::countr_zero(left)))].bytes;
  }
  return bytes;
}

std::vector<PacketSwitch::Blocked> PacketSwitch::blocked() const {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> found;
  for (std::uint32_t to = 0; to < ports_.size(); ++to) {
    for (std::uint32_t priority = 0; priority < class_count_; ++priority) {
      if ((ports_[to].paused >> priority & 1U) == 0) continue;
      const Fifo<Queued>& waiting = queues_[account_of(to, priority)].packets;
      for (std::uint32_t i = 0; i < waiting.size(); ++i) {
        if (buffer_.pauses(waiting[i].account)) found.emplace(port_of(waiting[i].account), to, priority);
      }
    }
  }
  std::vector<Blocked> blocked;
  for (const auto& [from, to, priority] : found) blocked.push_back({from, to, priority});
  return blocked;
}

void PacketSwitch::prefetch() const {
  cache::fetch(ports_.data(), ports_.size() * sizeof(Port));
  next_start_.prefetch();
  buffer_.prefetch();
}

// Attributes here and below: bench/packet (run/shift, run/random) wants the work on every packet
// inlined into the loop over a window, and the rare cases kept out of it.
[[gnu::flatten]] BatchNode::WindowOutcome PacketSwitch::run_window(Time end, const Arrivals& arrivals, BatchContext& context) {
  swept_ = {};
  std::span<const Event> changes = arrivals.events;
  const SortedPortMessages& port_messages = arrivals.port_messages;
  std::array<const QueuePairs::Route*, ahead> routes;
  const auto fetch_route = [&](std::size_t i) {
    const auto packet = port_messages[i].payload_as<Packet>();
    if (packet.kind() == PacketKind::pfc) return;
    routes[i % ahead] = &routes_[packet.queue_pair];
    cache::fetch(routes[i % ahead], sizeof(QueuePairs::Route));
  };
  for (std::size_t i = 0; i < std::min(ahead, port_messages.size()); ++i) fetch_route(i);
  for (std::size_t i = 0; i < port_messages.size(); ++i) {
    const PortMessage& port_message = port_messages[i];
    for (; !changes.empty() && changes.front().key.time <= port_message.time; changes = changes.subspan(1))
      take_event(changes.front(), context);
    if (in_step_) step_until(port_message.time, context);
    context.set_now(port_message.time);
    const auto packet = port_message.payload_as<Packet>();
    if (packet.kind() == PacketKind::pfc) {
      bring_forward(port_message.port, port_message.time, context);
      on_pfc(packet, port_message.port, port_message.time);
    } else {
      admit(packet, *routes[i % ahead], port_message.port, port_message.time, context);
    }
    if (i + ahead < port_messages.size()) fetch_route(i + ahead);
  }
  if (!port_messages.empty()) swept_.last = port_messages[port_messages.size() - 1].time;
  for (; !changes.empty(); changes = changes.subspan(1)) {
    swept_.last = changes.front().key.time;
    take_event(changes.front(), context);
  }
  if (in_step_) step_until(end, context);
  bring_all_forward(end, context);
  next_start_.for_each([&](std::uint32_t port) { swept_.next = std::min(swept_.next, next_start_[port]); });
  for (const Asking& asking : asking_) swept_.next = std::min(swept_.next, asking.refresh);
  swept_.events = port_messages.size();
  if constexpr (audits_state) audit();
  return swept_;
}

/// Conservation: what came in has been sent on or dropped, or is held by the accounts; and that is
/// what waits in the queues.
void PacketSwitch::audit() const {
  std::int64_t waiting = 0;
  for (std::uint32_t port = 0; port < ports_.size(); ++port) {
    std::int64_t of_port = 0;
    for (std::uint32_t priority = 0; priority < class_count_; ++priority) of_port += queues_[account_of(port, priority)].bytes;
    WEFT_CHECK(of_port == waiting_at(port), "a queue that holds something waits");
    waiting += of_port;
  }
  WEFT_CHECK(waiting == buffer_.held(), "what a switch holds waits in its queues");
  WEFT_CHECK(audited_.in == audited_.out + audited_.dropped + waiting, "what came to a switch left it, waits, or was dropped");
}

// --- In ---

void PacketSwitch::admit(const Packet& packet, const QueuePairs::Route& route, std::uint32_t port, Time now,
                         BatchContext& context) {
  WEFT_CHECK(packet.priority() < class_count_, "a packet has a priority that exists");
  const bool may_pause = is_lossless(port, packet.priority());
  std::uint32_t account = account_of(port, packet.priority());
  const std::int64_t bytes = packet.wire_bytes();
  if constexpr (audits_state) audited_.in += bytes;
  const bool is_data = packet.kind() == PacketKind::data;
  const bool is_free = is_data && route.there[1] == QueuePairs::by_destination;
  if (packet.hop() >= QueuePairs::hops_max) {
    WEFT_CHECK(is_free, "a packet has a hop that exists, unless ways have changed while it was on its way");
    return count_drop(packet, account);
  }
  const std::uint32_t to = is_free ? choose_port(packet, QueuePairs::destination(route.there), now, context)
                                   : (is_data ? route.there : route.back)[packet.hop()];
  WEFT_CHECK(to < ports_.size(), "a route leads out of ports that exist");
  if (!may_pause) account = of_queues_ + account_of(to, packet.priority());
  bring_forward(to, now, context);
  if (drops(to, packet.priority(), now)) {
    if (!ports_[to].out.is_out()) ++storms_[contention_[to].watchdog.storm(packet.priority())].packets;
    return count_drop(packet, account);
  }
  bool is_charged = buffer_.charge(account, bytes);
  if (!is_charged && !in_step_) {
    // Perhaps only because what has left is not taken off yet.
    bring_all_forward(now, context);
    is_charged = buffer_.charge(account, bytes);
  }
  if (!is_charged) {
    if (!may_pause) return count_drop(packet, account);
    if (!buffer_.pauses(account)) ask(account, now, context);
    if (!buffer_.charge_headroom(account, bytes)) {
      WEFT_CHECK(may_overflow_ || contention_[port].has_changed, "headroom holds what is on its way after a pause");
      ++contention_[port].headroom_drops;
      return count_drop(packet, account);
    }
  }
  join_queue(packet, account, to, now, context);
}

[[gnu::noinline]] std::uint32_t PacketSwitch::choose_port(const Packet& packet, NodeId endpoint, Time now, BatchContext& context) {
  if (choices_begin_.size() <= endpoint.index()) choices_begin_.resize(endpoint.index() + 1, 0);
  std::uint32_t& begin = choices_begin_[endpoint.index()];
  if (begin == 0) {
    if (choices_.empty()) choices_.push_back(0);
    begin = static_cast<std::uint32_t>(choices_.size());
    choices_.push_back(0);
    weights_.clear();
    port_choice_.ports_to(endpoint, choices_, weights_);
    choices_[begin] = static_cast<std::uint16_t>(choices_.size() - begin - 1);
    if (!weights_.empty()) {
      choice_weights_.resize(begin + 1);
      choice_weights_.insert(choice_weights_.end(), weights_.begin(), weights_.end());
    }
  }
  const std::span<const std::uint16_t> ports(&choices_[begin + 1], choices_[begin]);
  if (ports.size() == 1) return ports.front();
  const std::uint64_t hash = mix64(mix64(port_choice_.seed ^ packet.queue_pair) + packet.sequence);
  if (!port_choice_.adaptive && choice_weights_.empty()) return ports[spread(hash, ports.size())];
  if (!port_choice_.adaptive) return ports[choice_by_weight(hash, std::span(choice_weights_).subspan(begin + 1, ports.size()))];
  waits_.clear();
  Duration least = Duration::max();
  for (const std::uint16_t port : ports) {
    if (!in_step_) bring_forward(port, now, context);
    waits_.push_back(wait_at(port, packet.priority(), now));
    least = std::min(least, waits_.back());
  }
  const Duration most = least == Duration::max() ? least : least + port_choice_.adaptive_band;
  std::size_t left =
      spread(hash, static_cast<std::size_t>(std::ranges::count_if(waits_, [&](Duration wait) { return wait <= most; })));
  for (std::size_t i = 0;; ++i) {
    if (waits_[i] <= most && left-- == 0) return ports[i];
  }
}

Duration PacketSwitch::wait_at(std::uint32_t port_number, std::uint32_t priority, Time now) {
  if (drops(port_number, priority, now)) return Duration::max();
  const Port& port = ports_[port_number];
  const Duration on_wire = std::max(port.out.free_at(), now) - now;
  return port.waiting == 0 ? on_wire : on_wire + transmit_time(Bytes::of(waiting_at(port_number)), port.out.rate());
}

void PacketSwitch::join_queue(const Packet& packet, std::uint32_t account, std::uint32_t to, Time now, BatchContext& context) {
  Port& port = ports_[to];
  const std::uint32_t priority = packet.priority();
  const auto bit = static_cast<std::uint8_t>(1U << priority);
  if (port.paused != 0) contention_[to].pauses.expire(port.paused, now);
  if ((port.waiting | (port.paused & bit)) == 0 && port.out.free_at() <= now) {
    Packet leaving = packet;
    leaving.next_hop();
    return leave(port, leaving, account, now, context);
  }
  Contention& contention = contention_[to];
  Queue& joined = queue(to, priority);
  if (classes_[priority].drops_early && markers_[account_of(to, priority)].marks(joined.bytes))
    return drop(packet, account, now, context);
  Queued& queued = joined.packets.push();
  queued.packet = packet;
  queued.packet.next_hop();
  queued.account = account;
  contention.note_joined(packet, now);
  if (ledger_ != nullptr) ledger_->on_joined(to, packet, (port.paused & bit) != 0, now);
  if (classes_[priority].marks && markers_[account_of(to, priority)].marks(joined.bytes)) {
    contention.marks += packet.congestion_experienced() ? 0 : 1;
    queued.packet.mark();
  }
  joined.bytes += packet.wire_bytes();
  const bool was_waiting = (port.waiting & bit) != 0;
  port.waiting |= bit;
  contention.peak = std::max(contention.peak, port.waiting == bit ? joined.bytes : waiting_at(to));
  if ((port.paused & bit) == 0) return next_start_.set(to, std::min(next_start_[to], std::max(now, port.out.free_at())));
  if (!was_waiting) contention.watchdog.set_stuck(priority, now);
  set_next_start(to, now);
}

/// What had been charged to the account goes no further.
void PacketSwitch::drop(const Packet& packet, std::uint32_t account, Time now, BatchContext& context) {
  count_drop(packet, account);
  release(packet, account, now, context);
}

void PacketSwitch::count_drop(const Packet& packet, std::uint32_t account) {
  Contention& contention = contention_[port_of(account)];
  ++(buffer_.is_lossless(account) ? contention.drops : contention.queue_drops);
  if constexpr (audits_state) audited_.dropped += packet.wire_bytes();
}

// --- Out ---

/// Sends what begins before `until`. Requires: nothing else happens at this port before.
void PacketSwitch::bring_forward(std::uint32_t port, Time until, BatchContext& context) {
  while (next_start_[port] < until) send_next(port, context);
}

void PacketSwitch::bring_all_forward(Time until, BatchContext& context) {
  next_start_.for_each([&](std::uint32_t port) { bring_forward(port, until, context); });
}

/// Ports in order of time, as long as an account asks for a pause.
[[gnu::noinline, gnu::flatten]] void PacketSwitch::step_until(Time until, BatchContext& context) {
  while (in_step_) {
    std::uint32_t first = 0;
    Time start = Time::max();
    next_start_.for_each([&](std::uint32_t port) {
      if (next_start_[port] >= start) return;
      first = port;
      start = next_start_[port];
    });
    const auto refresh =
        std::min_element(asking_.begin(), asking_.end(), [](const Asking& a, const Asking& b) { return a.refresh < b.refresh; });
    if (refresh->refresh <= start) {
      if (refresh->refresh >= until) return;
      send_pfc(refresh->account, pfc_pause, refresh->refresh, context);
      refresh->refresh = refresh->refresh + refresh_after(refresh->account);
    } else {
      if (start >= until) return;
      send_next(first, context);
    }
  }
}

void PacketSwitch::send_next(std::uint32_t port_number, BatchContext& context) {
  Port& port = ports_[port_number];
  const Time now = next_start_[port_number];
  if (port.paused != 0) {
    contention_[port_number].pauses.expire(port.paused, now);
    if (watchdog_.is_on()) look_for_storms(port_number, now, context);
  }
  if (watchdog_.is_on() && (!may_go(port) || port.out.free_at() > now)) return set_next_start(port_number, now);
  const std::uint32_t priority = choose(port_number, static_cast<std::uint8_t>(port.waiting & ~port.paused));
  Queue& chosen = queue(port_number, priority);
  const Queued& queued = chosen.packets.front();
  Packet packet = queued.packet;
  const std::uint32_t account = queued.account;
  chosen.packets.pop();
  chosen.bytes -= packet.wire_bytes();
  contention_[port_number].note_left(packet, now);
  if (ledger_ != nullptr) ledger_->on_left_queue(port_number, packet, port.out.rate_bps(), now);
  if ((marks_leaving_ >> priority & 1U) != 0 && markers_[account_of(port_number, priority)].marks(chosen.bytes)) {
    contention_[port_number].marks += packet.congestion_experienced() ? 0 : 1;
    packet.mark();
  }
  if (chosen.packets.empty()) port.waiting &= static_cast<std::uint8_t>(~(1U << priority));
  leave(port, packet, account, now, context);
  set_next_start(port_number, now);
}

/// The packet's first bit leaves.
void PacketSwitch::leave(Port& port, const Packet& packet, std::uint32_t account, Time now, BatchContext& context) {
  port.out.send(packet, now, context);
  if (ledger_ != nullptr) ledger_->on_sent(static_cast<std::uint32_t>(&port - ports_.data()), packet);
  if (port.out.has_duties()) after_leaving(port, packet, now);
  if constexpr (audits_state) audited_.out += packet.wire_bytes();
  release(packet, account, now, context);
}

[[gnu::noinline]] void PacketSwitch::after_leaving(Port& port, const Packet& packet, Time now) {
  const auto number = static_cast<std::uint32_t>(&port - ports_.data());
  if (port.out.is_shared_with_flows()) port.out.give_turn_to_flows(now, contention_[number].flow_load);
  if (!packet.collects_telemetry()) return;
  // It has left the card and this switch: its next hop is the third of its route, or a later one.
  const std::span<HopTelemetry> records = routes_[packet.queue_pair].details->telemetry->of(packet.sequence);
  records[packet.hop() - 2] = {now, port.out.bytes_sent(), port.out.rate(), waiting_at(number)};
}

void PacketSwitch::release(const Packet& packet, std::uint32_t account, Time now, BatchContext& context) {
  buffer_.release(account, packet.wire_bytes());
  if (in_step_ && buffer_.pauses(account) && buffer_.can_resume(account)) let_go(account, now, context);
}

/// Which of the priorities that are ready goes. Requires: one is.
std::uint32_t PacketSwitch::choose(std::uint32_t port_number, std::uint8_t ready) {
  if (const auto strict = static_cast<std::uint8_t>(ready & strict_); strict != 0) {
    return static_cast<std::uint32_t>(std::bit_width(strict)) - 1;
  }
  Port& port = ports_[port_number];
  auto& deficit = contention_[port_number].deficit;
  while (true) {
    if ((ready >> port.turn & 1U) != 0) {
      const std::uint32_t bytes = queue(port_number, port.turn).packets.front().packet.wire_bytes();
      if (deficit[port.turn] >= bytes) {
        deficit[port.turn] -= bytes;
        return port.turn;
      }
    }
    if ((port.waiting >> port.turn & 1U) == 0) deficit[port.turn] = 0;
    port.turn = static_cast<std::uint8_t>((port.turn + 1U) % classes_.size());
    if ((ready >> port.turn & 1U) != 0) deficit[port.turn] += classes_[port.turn].weight;
  }
}

void PacketSwitch::set_next_start(std::uint32_t port_number, Time earliest) {
  const Port& port = ports_[port_number];
  if (port.waiting == 0) return next_start_.set(port_number, Time::max());
  Time next = Time::zero();
  if (!may_go(port)) {
    next = Time::max();
    for (std::uint8_t left = port.waiting; left != 0; left &= static_cast<std::uint8_t>(left - 1)) {
      next = std::min(next, contention_[port_number].pauses.until(static_cast<std::uint32_t>(std::countr_zero(left))));
    }
  }
  next = std::max({next, earliest, port.out.free_at()});
  if (watchdog_.is_on() && (port.waiting & port.paused) != 0) {
    next = std::min(next, contention_[port_number].watchdog.due(port.waiting & port.paused, watchdog_));
  }
  next_start_.set(port_number, next);
}

// --- PFC ---

/// The other end of the cable asks for a pause or lets go.
[[gnu::noinline]] void PacketSwitch::on_pfc(const Packet& frame, std::uint32_t port_number, Time now) {
  Port& port = ports_[port_number];
  if (port.out.is_out()) return;
  PauseClock& pauses = contention_[port_number].pauses;
  pauses.expire(port.paused, now);
  drops(port_number, frame.priority(), now);  // a storm that is over ends before this pause
  if (frame.sequence != pfc_resume) {
    if ((port.paused >> frame.priority() & 1U) == 0) {
      contention_[port_number].watchdog.set_stuck(frame.priority(), now);
      if (ledger_ != nullptr) ledger_->on_paused(port_number, frame.priority());
    }
    const Duration pause_time = frame.sequence == pfc_pause_for_good ? Duration::zero() : contention_[port_number].pause_time;
    pauses.pause(port.paused, frame.priority(), now, pause_time);
  } else {
    pauses.resume(port.paused, frame.priority(), now);
  }
  set_next_start(port_number, now);
}

std::uint32_t PacketSwitch::most_waits_at(std::uint32_t account) const {
  std::uint32_t most = port_of(account);
  std::int64_t most_bytes = 0;
  for (std::uint32_t port = 0; port < ports_.size(); ++port) {
    std::int64_t bytes = 0;
    for (std::uint32_t priority = 0; priority < class_count_; ++priority) {
      const Fifo<Queued>& waiting = queues_[account_of(port, priority)].packets;
      for (std::uint32_t i = 0; i < waiting.size(); ++i)
        bytes += waiting[i].account == account ? waiting[i].packet.wire_bytes() : 0;
    }
    if (bytes <= most_bytes) continue;
    most = port;
    most_bytes = bytes;
  }
  return most;
}

/// Requires: all ports were brought to `now`.
[[gnu::noinline]] void PacketSwitch::ask(std::uint32_t account, Time now, BatchContext& context) {
  buffer_.set_pauses(account, true);
  const bool refreshes = pause_time_ > Duration::zero();
  asking_.push_back({account, refreshes ? now + refresh_after(account) : Time::max()});
  in_step_ = true;
  ++pauses_sent_;
  if (ledger_ != nullptr) ledger_->on_asked(port_of(account), most_waits_at(account));
  send_pfc(account, pfc_pause, now, context);
}

[[gnu::noinline]] void PacketSwitch::let_go(std::uint32_t account, Time now, BatchContext& context) {
  buffer_.set_pauses(account, false);
  std::erase_if(asking_, [account](const Asking& asking) { return asking.account == account; });
  in_step_ = !asking_.empty();
  send_pfc(account, pfc_resume, now, context);
}

void PacketSwitch::send_pfc(std::uint32_t account, std::uint32_t what, Time now, BatchContext& context) {
  const std::uint32_t port_number = port_of(account);
  const Packet frame(PacketKind::pfc, 0, what, pfc_frame_wire_bytes, account % class_count_);
  Port& port = ports_[port_number];
  if (port.out.is_out()) return;
  port.out.send_pause(frame, now, context);
  set_next_start(port_number, now);
}

/// Empties the queues that have been stuck for so long by now. Requires: what was paused is known
/// as of now.
[[gnu::noinline]] void PacketSwitch::look_for_storms(std::uint32_t port_number, Time now, BatchContext& context) {
  Port& port = ports_[port_number];
  for (std::uint32_t priority = 0; priority < class_count_; ++priority) {
    const auto bit = static_cast<std::uint8_t>(1U << priority);
    if ((port.waiting & port.paused & bit) == 0 || contention_[port_number].watchdog.due(bit, watchdog_) > now) continue;
    contention_[port_number].watchdog.set_storm(priority, storms_.size());
    storms_.push_back({now, port_number, priority, queue(port_number, priority).packets.size()});
    port.stormy |= bit;
    drop_queue(port_number, priority, now, context);
  }
}

void PacketSwitch::drop_queue(std::uint32_t port_number, std::uint32_t priority, Time now, BatchContext& context) {
  Port& port = ports_[port_number];
  Queue& dropped = queue(port_number, priority);
  dropped.bytes = 0;
  port.waiting &= static_cast<std::uint8_t>(~(1U << priority));
  for (; !dropped.packets.empty(); dropped.packets.pop()) {
    const Queued& queued = dropped.packets.front();
    contention_[port_number].note_left(queued.packet, now);
    if (ledger_ != nullptr) ledger_->on_left_queue(port_number, queued.packet, port.out.rate_bps(), now);
    drop(queued.packet, queued.account, now, context);
  }
}

/// Whether what comes for the priority is dropped: in a storm, or as the cable is out. Requires:
/// the port was brought to `now`.
bool PacketSwitch::drops(std::uint32_t port_number, std::uint32_t priority, Time now) {
  Port& port = ports_[port_number];
  if ((port.stormy >> priority & 1U) == 0) return false;
  if (port.out.is_out()) return true;
  PauseClock& pauses = contention_[port_number].pauses;
  pauses.expire(port.paused, now);
  if ((port.paused >> priority & 1U) != 0 || now < pauses.until(priority) + watchdog_.restoration) return true;
  port.stormy &= static_cast<std::uint8_t>(~(1U << priority));
  return false;
}

// --- Cables and routes ---

[[gnu::noinline]] void PacketSwitch::take_event(const Event& event, BatchContext& context) {
  const Time now = event.key.time;
  if (in_step_) step_until(now, context);
  bring_all_forward(now, context);
  context.set_now(now);
  if (event.kind == routes_change) {
    choices_begin_.clear();
    choices_.clear();
    choice_weights_.clear();
    return port_choice_.take_routes(event.payload_as<RoutesChange>().version);
  }
  if (event.kind == flow_load_changes) {
    const auto changes = event.payload_as<FlowLoadChanges>();
    contention_[changes.port].flow_load = Bandwidth::bps(changes.load_bps);
    ports_[changes.port].out.set_shared_with_flows(changes.load_bps > 0);
    return set_next_start(static_cast<std::uint32_t>(changes.port), now);
  }
  WEFT_CHECK(event.kind == port_changes, "a switch gets packets, and knows the kind of every event it gets");
  const auto changes = event.payload_as<PortChanges>();
  change_port(static_cast<std::uint32_t>(changes.port), changes.rate_bps, now, context);
}

/// Requires: all ports were brought to `now`.
void PacketSwitch::change_port(std::uint32_t port_number, std::int64_t rate_bps, Time now, BatchContext& context) {
  Port& port = ports_[port_number];
  const bool was_out = port.out.is_out();
  Contention& contention = contention_[port_number];
  contention.has_changed = true;
  port.out.set_rate(rate_bps);
  if (pause_time_ > Duration::zero()) contention.pause_time = pause_time_at(port.out.rate(), contention.full_rate, pause_time_);
  if (port.out.is_out()) {
    port.stormy = UINT8_MAX;
    contention.pauses.expire(port.paused, now);
    for (std::uint32_t priority = 0; priority < class_count_; ++priority) {
      contention.pauses.resume(port.paused, priority, now);
      drop_queue(port_number, priority, now, context);
    }
  } else if (was_out) {
    port.stormy = 0;
    for (std::uint32_t priority = 0; priority < class_count_; ++priority) {
      const std::uint32_t account = account_of(port_number, priority);
      if (buffer_.is_lossless(account)) send_pfc(account, buffer_.pauses(account) ? pfc_pause : pfc_resume, now, context);
    }
  }
  set_next_start(port_number, now);
}

}  // namespace weft
