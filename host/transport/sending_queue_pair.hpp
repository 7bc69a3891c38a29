// SPDX-License-Identifier: Apache-2.0
// Sending queue pair: the sending end of a queue pair - its packets, its windows, what congestion
// control knows of it, and its retransmission state.
//
// Where it sits: the sending side of a card (host/transport/nic_sender) has one per queue pair, and
// decides by it what may be sent and what is sent again.
//
// Model: packets are numbered in 64 bits, of which packets carry 32. In flight are the packets from
// `acknowledged` to `next`; at most `window` of them. The window is the least of what the route
// holds (QueuePairPlan::window), what congestion control allows, and slow restart (RestartWindow).
// An acknowledgement is asked for by every packet where congestion control has a window of its own;
// otherwise by every `ask_interval`th packet and by the packet that fills the window.
// Threads: belongs to its node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/containers/fifo.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "host/ranks/holdups.hpp"
#include "host/transport/congestion_control.hpp"
#include "host/transport/nic_settings.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/queue_pairs.hpp"
#include "network/packet/telemetry.hpp"

namespace weft {

/// What all queue pairs of a card go by.
struct SendingRules {
  explicit SendingRules(const NicSettings& nic)
      : settings(nic),
        congestion(*nic.congestion),
        measures(congestion.measures()),
        full_packet(static_cast<std::uint32_t>(nic.wire_format.full_packet().count())) {}

  /// Packets between two that ask for an acknowledgement: a window never waits for the
  /// acknowledgement of the packet that fills it.
  std::uint32_t ask_interval(std::uint64_t window) const {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(window / 5, 1, settings.ack_interval));
  }
  /// `port_rate` is that of the cable in full service.
  QueuePairLimits limits(const QueuePairPlan& plan, Bandwidth port_rate) const;

  const NicSettings& settings;
  const CongestionAlgorithm& congestion;
  Measures measures;
  std::uint32_t full_packet;  ///< wire bytes
};

/// Slow restart: after a loss a queue pair may have one packet in flight. The window grows by every
/// acknowledged packet up to half of what was in flight at the loss. From there on it grows by one
/// per acknowledged window, until it is as large as before the loss.
struct RestartWindow {
  std::uint64_t window = UINT64_MAX;  ///< packets; UINT64_MAX: no limit
  std::uint64_t threshold = 0;        ///< up to which it grows by every acknowledged packet
  std::uint64_t full = 0;             ///< at which it ends
  std::uint64_t counted = 0;          ///< acknowledged since it grew last
  /// Packets before this one were sent before the last cut: their losses count as one.
  std::uint64_t cut_at = 0;
  /// With gaps reported: sent since the cut, and neither answered nor found missing.
  std::uint64_t in_flight = 0;

  bool is_on() const { return window != UINT64_MAX; }
  void cut(std::uint64_t packets_in_flight, std::uint64_t acknowledged, std::uint64_t sent_once);
  void grow(std::uint64_t packets);
  void note_answered() { in_flight -= in_flight > 0 ? 1 : 0; }
};

struct SendingQueuePair {
  static constexpr std::uint64_t no_window = UINT64_MAX;
  static constexpr std::uint32_t not_limited = UINT32_MAX;

  /// A part of a transfer: packets up to `end`, from the end of the part before it.
  struct Part {
    std::uint64_t end = 0;
    std::uint32_t last_wire_bytes = 0;
    std::uint32_t transfer = 0;  ///< slot
  };
  /// Measurements that congestion control asks for, by packet, in a ring as large as the window.
  struct Measured {
    std::vector<Time> sent_at;  ///< max(): sent more than once, or by another route
    TelemetryRing* telemetry = nullptr;
    std::vector<HopTelemetry> before;  ///< of the last packet whose telemetry came back
  };

  bool has_data() const { return next != end && !is_cut_off && !is_closed; }
  /// Whether a packet may go now.
  bool has_packet(bool repeats_alone) const {
    if (is_cut_off || is_closed) return false;
    if (restart.is_on() && repeats_alone) {
      return restart.in_flight < restart.window && ((next != end && next - acknowledged < window) || !again.empty());
    }
    const std::uint64_t allowed = std::min(window, restart.window);
    return (next != end && next - acknowledged < allowed) || !again.empty();
  }
  /// The limit that holds back a queue pair with data of which no packet may go.
  QueuePairWait window_wait() const {
    return std::min(window, restart.window) < window_max ? QueuePairWait::own_window : QueuePairWait::path_window;
  }
  /// Bytes in flight, each packet counted as a full one.
  std::int64_t in_flight(const SendingRules& rules) const {
    return static_cast<std::int64_t>(next - std::min(next, acknowledged)) * rules.full_packet;
  }
  /// Whether the next packet, `sequence`, asks for an acknowledgement. Requires: there is a window.
  bool asks_for_answer(std::uint64_t sequence) {
    if (sequence < next_to_ask && sequence + 1 - acknowledged < window) return false;
    next_to_ask = sequence + ask_interval;
    return true;
  }
  void make_progress(Time now) { progress_at = stalled_since = now; }
  /// Continues with packet `to`, which was not acknowledged (go-back-N).
  void go_back(std::uint64_t to);
  void cut_restart_window() { restart.cut(next - acknowledged, acknowledged, sent_once); }

  /// Takes the window of congestion control. Requires: it has one.
  void take_window(const SendingRules& rules);
  /// A new plan: its window and its rate hold from now on.
  void take_limits(const QueuePairPlan& plan, Bandwidth port_rate, const SendingRules& rules);
  /// The window shrinks with the rate. Requires: it has a window, and congestion control none.
  void follow_rate(double rate_bps, const SendingRules& rules);
  void on_loss(Time now, bool is_timeout, const SendingRules& rules);
  /// An acknowledgement has come, of `more` packets for the first time. Requires: asks_always.
  void on_acknowledged(const Packet& packet, std::int32_t more, Time now, const SendingRules& rules);
  /// Time from the last progress until packets are sent again.
  Duration timeout(const SendingRules& rules) const;
  /// Longest time between two timeouts, whatever has been learnt of the route.
  Duration timeout_max(const SendingRules& rules) const { return std::max(rules.settings.retransmission_timeout, 4 * round_trip); }

  /// Requires: the window is known.
  void begin_measuring(const QueuePairPlan& plan, QueuePairs::Details& details, std::deque<TelemetryRing>& rings,
                       const SendingRules& rules);
  /// Forgets when packets were sent: they went by another route.
  void forget_times();
  /// The packet is about to leave. Requires: `measured` is not null.
  void note_sent(Packet& packet, bool is_repeated, Time now);

  /// Writes a message where the receiver reads it.
  void append(const Message& message);

  std::uint32_t id = 0;  ///< on its route (network/packet/queue_pairs)
  std::uint16_t port = 0;
  std::uint8_t priority = 0;
  bool in_turn = false;     ///< stands in its port's lines, or is paced
  bool has_timer = false;   ///< stands in its port's timers
  bool is_cut_off = false;  ///< no route works
  bool is_slowed = false;   ///< its rate is below that of its route
  QueuePairWait wait = QueuePairWait::nothing;
  bool is_closed = false;      ///< it never sends again, whatever acknowledgements still come
  bool asks_always = false;    ///< congestion control has a window of its own
  std::uint32_t sending = 0;   ///< which of `parts` packet `next` belongs to
  Fifo<Part> parts;            ///< not acknowledged in full
  Fifo<std::uint64_t> again;   ///< packets to send again, with selective repeat
  std::uint64_t reported = 0;  ///< packets before this one were reported missing, or are not
  /// Packets before this one were sent before the last timeout, with selective repeat.
  std::uint64_t recover = 0;
  std::uint64_t burst_end = 0;  ///< end of the burst of packets sent again since
  std::uint64_t burst = 0;      ///< packets of that burst
  std::uint64_t next = 0;       ///< the packet to send next
  std::uint64_t sent_once = 0;  ///< packets before this one were sent before
  std::uint64_t acknowledged = 0;
  std::uint64_t end = 0;
  Time next_at;  ///< by pacing
  /// When something was acknowledged, sending began, or the timer ran out.
  Time progress_at;
  Time stalled_since;          ///< when something was acknowledged, or sending began
  std::uint32_t timeouts = 0;  ///< in a row
  Duration round_trip;         ///< on idle links
  RestartWindow restart;
  Duration inside_hosts;
  CongestionState congestion;
  std::unique_ptr<Measured> measured;        ///< null: congestion control asks for nothing
  std::uint64_t window = no_window;          ///< packets
  std::uint64_t window_max = no_window;      ///< of its route
  double line_bps = 0;                       ///< rate of its route
  std::uint32_t ask_interval = 1;            ///< packets per acknowledgement, with a window
  std::uint64_t next_to_ask = 0;             ///< packet that asks for an acknowledgement
  Fifo<std::unique_ptr<MessagePage>> pages;  ///< in use
  std::uint32_t in_last_page = 0;
  std::uint32_t acknowledged_in_pages = 0;
  NodeId source;
  std::uint32_t shared_rate = not_limited;  ///< which shared rate of its card limits it
};

}  // namespace weft
