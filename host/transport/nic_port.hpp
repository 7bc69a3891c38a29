// SPDX-License-Identifier: Apache-2.0
// NIC port: one port of a network card - its cable, its pauses, and what waits to leave by it.
//
// Where it sits: the sending side of a card (host/transport/nic_sender) has one per cable.
//
// Model: the port takes one packet at a time. Acknowledgements go first, then the highest priority
// that is not paused; within a priority queue pairs take turns. A queue pair whose next packet has
// a later time (pacing) waits in a heap. Where the host is slow (NicSettings::drain_rate), arriving
// data waits in the card; the port pauses its switch while too much waits.
// Threads: belongs to its node.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/containers/fifo.hpp"
#include "core/engine/batch_process.hpp"
#include "host/ranks/holdups.hpp"
#include "host/transport/nic_settings.hpp"
#include "network/packet/egress_port.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/pause_clock.hpp"

namespace weft {

struct NicPort {
  /// A sender with a time, in a heap.
  struct Timed {
    Time time;
    std::uint32_t sender;
    /// For the standard heaps, which keep the greatest in front.
    friend bool operator<(const Timed& a, const Timed& b) { return a.time != b.time ? a.time > b.time : a.sender > b.sender; }
  };

  explicit NicPort(const EgressPort& cable) : out(cable), rate(cable.rate()) {}

  bool is_paused(std::uint32_t priority) const { return (paused >> priority & 1U) != 0; }
  /// When the port begins to send next, unless more happens; max() if only an arrival can make it.
  Time next_start() const {
    if (out.is_out()) return Time::max();
    const std::uint32_t waiting = ready | std::uint32_t{answering};
    Time earliest = (waiting & ~std::uint32_t{paused}) != 0 ? now : Time::max();
    if (paused != 0) {
      for (std::uint32_t priority = 0; priority < packet_classes_max; ++priority) {
        if ((waiting & paused) >> priority & 1U) earliest = std::min(earliest, std::max(now, clock.until(priority)));
      }
    }
    if (!paced.empty()) earliest = std::min(earliest, paced.front().time);
    return earliest == Time::max() ? earliest : std::max({earliest, out.free_at(), now});
  }
  Time next_timer() const { return timers.empty() ? Time::max() : timers.front().time; }
  /// When the port does anything by itself next.
  Time next_action() const { return std::min({next_start(), resumes_at, next_timer()}); }

  /// The sender's next packet may go as soon as it is its turn.
  void line_up(std::uint32_t sender, std::uint32_t priority) {
    lines[priority].push(sender);
    ready |= static_cast<std::uint8_t>(1U << priority);
  }
  /// The sender whose turn it is. Requires: one of the priority stands in line.
  std::uint32_t take_from_line(std::uint32_t priority) {
    Fifo<std::uint32_t>& line = lines[priority];
    const std::uint32_t sender = line.front();
    line.pop();
    if (line.empty()) ready &= static_cast<std::uint8_t>(~(1U << priority));
    return sender;
  }
  void pace(std::uint32_t sender, Time until) {
    paced.push_back({until, sender});
    std::push_heap(paced.begin(), paced.end());
  }
  std::uint32_t take_paced() { return take(paced); }
  void set_timer(std::uint32_t sender, Time at) {
    timers.push_back({at, sender});
    std::push_heap(timers.begin(), timers.end());
  }
  std::uint32_t take_timer() { return take(timers); }
  /// Place for an acknowledgement, to be filled in at once.
  Packet& push_answer(std::uint32_t priority) {
    answering |= static_cast<std::uint8_t>(1U << priority);
    return answers[priority].push();
  }
  /// Requires: an acknowledgement of the priority waits.
  Packet take_answer(std::uint32_t priority) {
    Fifo<Packet>& waiting = answers[priority];
    const Packet packet = waiting.front();
    waiting.pop();
    if (waiting.empty()) answering &= static_cast<std::uint8_t>(~(1U << priority));
    return packet;
  }
  /// Sends a packet; returns when its last bit has left.
  Time send(const Packet& packet, Time start, BatchContext& context) {
    out.send(packet, start, context);
    const Time left = out.free_at();
    if (out.is_shared_with_flows()) out.give_turn_to_flows(start, flow_load);
    return left;
  }
  /// Takes senders for which `is_it` out of all lines of the priority, heaps and lists.
  template <class IsIt>
  void remove(std::uint32_t priority, const IsIt& is_it) {
    const auto is_timed = [&](const Timed& timed) { return is_it(timed.sender); };
    Fifo<std::uint32_t>& line = lines[priority];
    for (std::uint32_t left = line.size(); left > 0; --left) {
      const std::uint32_t sender = line.front();
      line.pop();
      if (!is_it(sender)) line.push(sender);
    }
    if (line.empty()) ready &= static_cast<std::uint8_t>(~(1U << priority));
    std::erase_if(paced, is_timed);
    std::make_heap(paced.begin(), paced.end());
    std::erase_if(timers, is_timed);
    std::make_heap(timers.begin(), timers.end());
    std::erase_if(timed_out, is_it);
  }

  /// A pause or resume came. Returns whether a resume may let senders go on.
  bool on_pfc(const Packet& frame, Time time, Duration pause_time);
  /// The cable went out: pauses and acknowledgements that wait are void. Calls `on_lost` for each
  /// of the latter.
  template <class OnLost>
  void cut(Time time, const OnLost& on_lost) {
    for (std::uint32_t priority = 0; priority < packet_classes_max; ++priority) {
      clock.resume(paused, priority, time);
      for (; !answers[priority].empty(); answers[priority].pop()) on_lost(answers[priority].front());
    }
    answering = 0;
  }
  /// Data arrives at a slow host. Returns when the host has taken it.
  Duration take_in(const Packet& packet, const NicSettings& settings, Time time, BatchContext& context);
  /// Resumes all priorities that the port paused.
  void resume_switch(Time time, BatchContext& context);
  /// Pauses the switch until resumed.
  void pause_switch(std::uint32_t priority, Time time, BatchContext& context);

  EgressPort out;
  Bandwidth rate;       ///< of its cable in full service
  Bandwidth flow_load;  ///< rate of the flows that share the cable
  Time now;             ///< everything before it has been done
  Holdups holdups;
  std::uint8_t ready = 0;   ///< bit per priority: senders stand in line
  std::uint8_t paused = 0;  ///< bit per priority: the switch paused it
  std::uint64_t pauses = 0;
  PauseClock clock;         ///< of `paused`
  double backlog_bits = 0;  ///< data that waits for a slow host, at `backlog_at`
  Time backlog_at;
  std::uint8_t asks = 0;          ///< bit per priority: the port paused the switch
  Time resumes_at = Time::max();  ///< when it resumes the switch, unless more data comes
  std::uint8_t answering = 0;     ///< bit per priority: acknowledgements wait
  std::array<Fifo<Packet>, packet_classes_max> answers;
  /// Senders whose time has come, by priority.
  std::array<Fifo<std::uint32_t>, packet_classes_max> lines;
  /// Heap of senders whose time has not come.
  std::vector<Timed> paced;
  std::vector<Timed> timers;  ///< heap of retransmission timers
  /// Senders whose timer ran out while they could not send.
  std::vector<std::uint32_t> timed_out;

 private:
  static std::uint32_t take(std::vector<Timed>& heap) {
    const std::uint32_t sender = heap.front().sender;
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    return sender;
  }
};

}  // namespace weft
