// SPDX-License-Identifier: Apache-2.0
#include "host/transport/sending_queue_pair.hpp"

#include <bit>
#include <utility>

namespace weft {

QueuePairLimits SendingRules::limits(const QueuePairPlan& plan, Bandwidth port_rate) const {
  return {std::min(plan.rate_max, port_rate), plan.round_trip, settings.wire_format.full_packet(),
          plan.window.value_or(Bytes::zero()).count(), plan.switches};
}

void RestartWindow::cut(std::uint64_t packets_in_flight, std::uint64_t acknowledged, std::uint64_t sent_once) {
  if (acknowledged >= cut_at) {
    full = std::max(full, packets_in_flight);
    threshold = std::max<std::uint64_t>(1, packets_in_flight / 2);
  }
  cut_at = sent_once;
  window = 1;
  counted = 0;
  in_flight = 0;
}

void RestartWindow::grow(std::uint64_t packets) {
  if (window < threshold) {
    const std::uint64_t fast = std::min(packets, threshold - window);
    window += fast;
    packets -= fast;
  }
  for (counted += packets; window >= threshold && counted >= window; ++window) counted -= window;
  if (window >= full) *this = {.cut_at = cut_at};
}

void SendingQueuePair::go_back(std::uint64_t to) {
  next = to;
  next_to_ask = to + ask_interval - 1;
  sending = 0;
  while (sending < parts.size() && parts[sending].end <= to) ++sending;
}

void SendingQueuePair::take_window(const SendingRules& rules) {
  const auto bytes = static_cast<std::uint64_t>(rules.congestion.window(congestion));
  window = std::min(window_max, std::max<std::uint64_t>(1, bytes / rules.full_packet));
}

void SendingQueuePair::take_limits(const QueuePairPlan& plan, Bandwidth port_rate, const SendingRules& rules) {
  asks_always = rules.congestion.window(congestion) != CongestionAlgorithm::no_window;
  window_max = no_window;
  if (plan.window) {
    window_max = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(plan.window->count()) / rules.full_packet);
    if (!asks_always) ask_interval = rules.ask_interval(window_max);
  } else if (rules.measures.round_trips || rules.measures.telemetry) {
    // Nothing else bounds the window, and the ring of measurements needs a bound.
    const QueuePairLimits limit = rules.limits(plan, port_rate);
    const double held = static_cast<double>(limit.line.in_bps()) / 8 * limit.round_trip.in_s() / rules.full_packet;
    window_max = 64 + 8 * static_cast<std::uint64_t>(held);
  }
  next_to_ask = next + ask_interval - 1;
  line_bps = static_cast<double>(std::min(plan.rate_max, port_rate).in_bps());
  window = window_max;
  if (asks_always) take_window(rules);
}

void SendingQueuePair::follow_rate(double rate_bps, const SendingRules& rules) {
  std::uint64_t allowed = window_max;
  if (rate_bps < line_bps) {
    const double share = rate_bps / line_bps;
    allowed = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(allowed) * share + 0.5));
  }
  if (allowed == window) return;
  window = allowed;
  ask_interval = rules.ask_interval(allowed);
}

void SendingQueuePair::on_loss(Time now, bool is_timeout, const SendingRules& rules) {
  rules.congestion.on_loss(congestion, {in_flight(rules), now, is_timeout});
  if (asks_always) take_window(rules);
}

void SendingQueuePair::on_acknowledged(const Packet& packet, std::int32_t more, Time now, const SendingRules& rules) {
  Acknowledgement answer{rules.full_packet, in_flight(rules), packet.echoes_mark(), now, acknowledged, next};
  if (measured == nullptr || more <= 0) {
    rules.congestion.on_acknowledged(congestion, answer);
    return take_window(rules);
  }
  const auto last = static_cast<std::uint32_t>(acknowledged) - 1;
  const Time sent_at = measured->sent_at[last & (measured->sent_at.size() - 1)];
  if (sent_at != Time::max()) {
    answer.round_trip = now - sent_at;
    if (measured->telemetry != nullptr) answer.hops = measured->telemetry->of(last);
    answer.hops_before = measured->before;
  }
  rules.congestion.on_acknowledged(congestion, answer);
  if (!answer.hops.empty()) measured->before.assign(answer.hops.begin(), answer.hops.end());
  take_window(rules);
}

Duration SendingQueuePair::timeout(const SendingRules& rules) const {
  constexpr std::uint32_t doublings = 4;
  const Duration whole = rules.settings.retransmission_timeout;
  const bool adapts = (rules.settings.adapts_timeout >> priority & 1U) != 0;
  const std::uint32_t halvings = adapts ? doublings - std::min(timeouts, doublings) : 0;
  return std::max(Duration::ticks(whole.in_ticks() >> halvings), 4 * round_trip);
}

void SendingQueuePair::begin_measuring(const QueuePairPlan& plan, QueuePairs::Details& details, std::deque<TelemetryRing>& rings,
                                       const SendingRules& rules) {
  if (measured == nullptr) measured = std::make_unique<Measured>();
  forget_times();
  measured->before.clear();
  if (rules.measures.telemetry) details.telemetry = measured->telemetry = &rings.emplace_back(window_max, plan.switches);
}

void SendingQueuePair::forget_times() { measured->sent_at.assign(std::bit_ceil(window_max), Time::max()); }

void SendingQueuePair::note_sent(Packet& packet, bool is_repeated, Time now) {
  measured->sent_at[packet.sequence & (measured->sent_at.size() - 1)] = is_repeated ? Time::max() : now;
  if (measured->telemetry != nullptr && !is_repeated) packet.collect_telemetry();
}

void SendingQueuePair::append(const Message& message) {
  if (in_last_page == MessagePage::messages_max) {
    // The receiver leaves a page when it reads the first message of the next one.
    std::unique_ptr<MessagePage> page;
    if (acknowledged_in_pages > MessagePage::messages_max) {
      page = std::move(pages.front());
      pages.pop();
      acknowledged_in_pages -= MessagePage::messages_max;
      page->next = nullptr;
    } else {
      page = std::make_unique<MessagePage>();
    }
    pages.back()->next = page.get();
    pages.push(std::move(page));
    in_last_page = 0;
  }
  pages.back()->messages[in_last_page++] = message;
}

}  // namespace weft
