// SPDX-License-Identifier: Apache-2.0
// Packet switch: receives packets, keeps them in shared memory, and sends them on, with PFC, ECN
// and scheduling, window by window.
//
// Where it sits: one node per packet switch of a topology. Packets and pauses of its neighbours
// arrive after propagation and the time of its ingress pipeline (IEEE 802.1Qbb, annex O).
//
// Model of a packet that arrives at t:
//   t          its route gives (egress port, priority). A lossless packet is charged to the account
//              of (ingress port, priority), and past the threshold a pause leaves; a lossy one is
//              charged to (egress port, priority), and past the threshold it is dropped
//              (network/packet/shared_buffer). Then it joins the queue, perhaps marked
//              (ecn_marking)
//   its turn   strict priorities first, the highest number first, then deficit round robin. Its
//              account is released, which may send a resume; telemetry is written
// A pause leaves ahead of all queues, holds for `pause_time`, and is sent again after half of that.
// Cables that fail, watchdogs, and how ports are brought forward: docs/internals/packet_mode.md.
//
// Invariants
//   1. Lossless priorities lose nothing (a WEFT_CHECK, unless `may_overflow`). Exceptions: what the
//      watchdog drops, and packets of a cable that was ever out or slow.
//   2. At one instant: changes of cables and routes, in order of their events; then arrivals by
//      port number, which leave at once if their port is idle; then departures by port number.
// Threads: as BatchNode.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/containers/cache.hpp"
#include "core/containers/fifo.hpp"
#include "core/engine/batch_node.hpp"
#include "core/engine/batch_process.hpp"
#include "network/packet/ecn_marking.hpp"
#include "network/packet/egress_port.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/pause_clock.hpp"
#include "network/packet/pfc_watchdog.hpp"
#include "network/packet/queue_ledger.hpp"
#include "network/packet/queue_pairs.hpp"
#include "network/packet/shared_buffer.hpp"

namespace weft {

/// How a priority is treated.
struct PacketClass {
  bool lossless = true;
  bool marks = false;  ///< ECN, by the curve of the port
  /// Bytes per turn of deficit round robin; 0: strict priority.
  std::uint32_t weight = 0;
  /// WRED: what the curve would mark is dropped; lossy priorities only.
  bool drops_early = false;
  /// Of its accounts of ingress ports; none: that of the buffer.
  std::optional<double> alpha = std::nullopt;
  /// Of its egress queues where it is lossy; none: that of the buffer.
  std::optional<double> queue_alpha = std::nullopt;
};

/// How a switch sends on the packets of queue pairs whose route leaves it to the switches.
struct PortChoice {
  /// Appends the ports that lead to an endpoint, at least one; and as many weights, or always none:
  /// all ports are alike.
  std::function<void(NodeId endpoint, std::vector<std::uint16_t>& ports, std::vector<std::int64_t>& weights)> ports_to;
  std::uint64_t seed = 0;
  /// One of the ports at which the packet would wait least, by hash, whatever their weights; else
  /// one of all of them. The hash is of queue pair and number.
  bool adaptive = false;
  /// So much longer than at the best one, a port still counts as one of them: if all packets that
  /// find the same queues took the same port, as queues fill in turn, flows would settle on ports,
  /// and meet others further on that their switch does not see.
  Duration adaptive_band = {};
  /// From now on ports_to() goes by this version of the routes.
  std::function<void(std::uint32_t version)> take_routes = nullptr;
};

struct PacketSwitchSettings {
  SharedBufferSettings buffer;
  std::vector<PacketClass> classes;  ///< by priority
  /// At full rate; zero: until resumed; else at least pause_time_min() of every port.
  Duration pause_time;
  Bytes largest_packet;  ///< on the wire; resume_offset is no less
  PfcWatchdogSettings watchdog = {};
  std::uint64_t seed = 0;  ///< of marking
  /// By what waits behind a packet that leaves; else by what waits before one that comes.
  bool marks_at_dequeue = false;
  PortChoice port_choice = {};
  bool keeps_pauses = false;  ///< for pauses()
  bool keeps_ledger = false;  ///< for ledger()
  /// Headroom is less than it should be: what finds none is dropped.
  bool may_overflow = false;
  bool writes_telemetry = false;  ///< for packets that collect it
};

/// The shortest pause that can be sent again before it runs out: it is after half of that, when the
/// cable is free.
Duration pause_time_min(Bandwidth rate, Bytes largest_packet, std::uint32_t priorities);

struct PacketPortCounters {
  std::uint64_t bytes = 0;
  std::uint64_t queue = 0;       ///< bytes waiting
  std::uint64_t queue_peak = 0;  ///< most of them ever
  std::uint64_t ecn_marks = 0;
  std::uint64_t drops = 0;           ///< of what came in by it in lossless priorities
  std::uint64_t queue_drops = 0;     ///< of what was to leave by it in lossy ones
  std::uint64_t headroom_drops = 0;  ///< of `drops`, as headroom was full
  Duration paused;                   ///< while the other end paused any priority
  /// Of data packets that left by it or still wait, all together: from arrival until the first bit
  /// leaves.
  Duration waiting;
};

class PacketSwitch final : public BatchNode {
 public:
  /// Both directions of a cable.
  struct Cable {
    EgressPort out;
    /// Bytes per lossless priority for packets that arrive by it; 0: everything that arrives by it
    /// is lossy.
    std::int64_t headroom = 0;
    EcnCurve ecn;                                ///< of its queues
    std::vector<EcnCurve> ecn_of_priority = {};  ///< where they differ; empty: they do not
  };

  /// Keeps a reference to the routes.
  PacketSwitch(const PacketSwitchSettings& settings, const std::vector<Cable>& cables, const QueuePairs& routes);

  WindowOutcome run_window(Time end, const Arrivals& arrivals, BatchContext& context) override;
  void prefetch() const override;

  /// As of `now`, the time until which the run has come.
  PacketPortCounters counters(std::uint32_t port, Time now) const;
  /// While the other end of the port's cable paused any priority, as of `now`, the time until which
  /// the run has come. Requires: settings.keeps_pauses.
  std::vector<PauseSpan> pauses(std::uint32_t port, Time now) const {
    return contention_[port].pauses.spans(ports_[port].paused, now);
  }
  /// Null unless settings.keeps_ledger.
  const QueueLedger* ledger() const { return ledger_.get(); }
  /// Times a pause was sent, refreshes not counted.
  std::uint64_t pauses_sent() const { return pauses_sent_; }
  /// Packets that came in by `from`, for which it asks for a pause, wait at `to`, where the other
  /// end does.
  struct Blocked {
    std::uint32_t from = 0;  ///< port
    std::uint32_t to = 0;    ///< likewise
    std::uint32_t priority = 0;
  };
  std::vector<Blocked> blocked() const;
  /// What the watchdog found, of each port in order of time.
  const std::vector<PauseStorm>& storms() const { return storms_; }

 private:
  struct Queued {
    Packet packet;
    std::uint32_t account;
  };
  static_assert(sizeof(Queued) == 16);

  struct Queue {
    Fifo<Queued> packets;
    std::int64_t bytes = 0;
  };
  /// What every packet needs, on one cache line.
  struct alignas(64) Port {
    explicit Port(const EgressPort& cable) : out(cable) {}

    EgressPort out;
    std::uint8_t waiting = 0;  ///< bit per priority: packets wait
    std::uint8_t paused = 0;   ///< bit per priority: by the other end
    /// Bit per priority: the watchdog drops what comes for it; all while the cable is out.
    std::uint8_t stormy = 0;
    std::uint8_t turn = 0;  ///< of deficit round robin
  };
  static_assert(sizeof(Port) == 64);
  /// What only packets that wait need.
  struct Contention {
    std::int64_t peak = 0;  ///< bytes waiting
    /// Ticks at which data packets left the queues less those at which they joined, modulo 2^64,
    /// and how many wait.
    std::uint64_t waited_ticks = 0;
    std::uint64_t data_waiting = 0;
    void note_joined(const Packet& packet, Time now) {
      if (packet.kind() != PacketKind::data) return;
      waited_ticks -= static_cast<std::uint64_t>((now - Time::zero()).in_ticks());
      ++data_waiting;
    }
    void note_left(const Packet& packet, Time now) {
      if (packet.kind() != PacketKind::data) return;
      waited_ticks += static_cast<std::uint64_t>((now - Time::zero()).in_ticks());
      --data_waiting;
    }
    std::uint64_t marks = 0;
    std::uint64_t drops = 0;
    std::uint64_t queue_drops = 0;
    std::uint64_t headroom_drops = 0;
    PauseClock pauses;
    PfcWatchdog watchdog;
    bool has_changed = false;  ///< the rate of its cable, ever
    Bandwidth full_rate;       ///< of its cable in full service
    Duration pause_time;       ///< at its rate
    Bandwidth flow_load;       ///< what flows take of it
    std::array<std::int64_t, packet_classes_max> deficit{};
  };
  /// By port: when its next packet goes unless more happens; max() if none can.
  class StartTimes {
   public:
    explicit StartTimes(std::size_t ports) : times_(ports, Time::max()), known_((ports + 63) / 64) {}
    Time operator[](std::uint32_t port) const { return times_[port]; }
    void prefetch() const { cache::fetch(times_.data(), times_.size() * sizeof(Time)); }
    void set(std::uint32_t port, Time time) {
      times_[port] = time;
      const std::uint64_t bit = std::uint64_t{1} << port % 64;
      known_[port / 64] = time == Time::max() ? known_[port / 64] & ~bit : known_[port / 64] | bit;
    }
    /// Calls `visit` with each port that has a time, ascending; it may set that port's.
    template <class Visit>
    void for_each(const Visit& visit) const {
      for (std::size_t word = 0; word < known_.size(); ++word) {
        for (std::uint64_t left = known_[word]; left != 0; left &= left - 1) {
          visit(static_cast<std::uint32_t>(64 * word + static_cast<std::size_t>(std::countr_zero(left))));
        }
      }
    }

   private:
    std::vector<Time> times_;
    std::vector<std::uint64_t> known_;  ///< bit per port
  };
  struct Asking {
    std::uint32_t account;
    Time refresh;
  };

  Queue& queue(std::uint32_t port, std::uint32_t priority) { return queues_[account_of(port, priority)]; }
  std::uint32_t account_of(std::uint32_t port, std::uint32_t priority) const { return port * class_count_ + priority; }
  /// Of packets that come in by a port, if they are lossless there; else of the queue that they are
  /// to join.
  bool is_lossless(std::uint32_t port, std::uint32_t priority) const {
    return (lossless_ >> priority & 1U) != 0 && (!has_lossy_cables_ || buffer_.is_lossless(account_of(port, priority)));
  }
  std::uint32_t port_of(std::uint32_t account) const { return account / class_count_ % static_cast<std::uint32_t>(ports_.size()); }
  /// Bytes.
  std::int64_t waiting_at(std::uint32_t port) const;
  void admit(const Packet& packet, const QueuePairs::Route& route, std::uint32_t port, Time now, BatchContext& context);
  /// From now until a packet that joins last would leave by the port; max() where it would be
  /// dropped.
  Duration wait_at(std::uint32_t port, std::uint32_t priority, Time now);
  std::uint32_t choose_port(const Packet& packet, NodeId endpoint, Time now, BatchContext& context);
  void join_queue(const Packet& packet, std::uint32_t account, std::uint32_t to, Time now, BatchContext& context);
  void take_event(const Event& event, BatchContext& context);
  void change_port(std::uint32_t port, std::int64_t rate_bps, Time now, BatchContext& context);
  void drop(const Packet& packet, std::uint32_t account, Time now, BatchContext& context);
  void drop_queue(std::uint32_t port, std::uint32_t priority, Time now, BatchContext& context);
  void count_drop(const Packet& packet, std::uint32_t account);
  void release(const Packet& packet, std::uint32_t account, Time now, BatchContext& context);
  /// From one pause to the next that says the same.
  Duration refresh_after(std::uint32_t account) const {
    return Duration::ticks(contention_[port_of(account)].pause_time.in_ticks() / 2);
  }
  void look_for_storms(std::uint32_t port, Time now, BatchContext& context);
  bool drops(std::uint32_t port, std::uint32_t priority, Time now);
  void audit() const;
  void bring_forward(std::uint32_t port, Time until, BatchContext& context);
  void bring_all_forward(Time until, BatchContext& context);
  void send_next(std::uint32_t port, BatchContext& context);
  void leave(Port& port, const Packet& packet, std::uint32_t account, Time now, BatchContext& context);
  void after_leaving(Port& port, const Packet& packet, Time now);
  void step_until(Time until, BatchContext& context);
  std::uint32_t choose(std::uint32_t port, std::uint8_t ready);
  /// The port at which most of what is charged to an account waits.
  std::uint32_t most_waits_at(std::uint32_t account) const;
  void ask(std::uint32_t account, Time now, BatchContext& context);
  void let_go(std::uint32_t account, Time now, BatchContext& context);
  void send_pfc(std::uint32_t account, std::uint32_t what, Time now, BatchContext& context);
  void on_pfc(const Packet& frame, std::uint32_t port, Time now);
  void set_next_start(std::uint32_t port, Time earliest);
  bool may_go(const Port& port) const { return (port.waiting & ~port.paused) != 0; }

  Duration pause_time_;
  PfcWatchdogSettings watchdog_;
  std::vector<PacketClass> classes_;
  std::uint32_t class_count_;
  std::uint8_t strict_ = 0;         ///< bit per priority
  std::uint8_t marks_leaving_ = 0;  ///< likewise, of those that are marked as they leave
  std::uint8_t lossless_ = 0;       ///< likewise
  bool may_overflow_ = false;
  bool has_lossy_cables_ = false;  ///< some have no headroom, and there is a lossless priority
  /// The first account of an egress queue: lossy priorities use those of their ports otherwise.
  std::uint32_t of_queues_ = 0;
  const QueuePairs& routes_;
  SharedBuffer buffer_;
  std::vector<Port> ports_;
  std::vector<Contention> contention_;  ///< by port
  StartTimes next_start_;
  std::vector<Queue> queues_;       ///< by port and priority
  std::vector<EcnMarker> markers_;  ///< likewise
  PortChoice port_choice_;
  std::vector<std::uint32_t> choices_begin_;  ///< by endpoint, over choices_; 0: not asked for yet
  std::vector<std::uint16_t> choices_;        ///< how many, and these ports
  /// Of these ports, at their places in choices_; empty: all alike.
  std::vector<std::int64_t> choice_weights_;
  std::vector<std::int64_t> weights_;  ///< of the ports that were asked for last
  std::vector<Duration> waits_;        ///< at the ports of a choice
  std::vector<Asking> asking_;         ///< accounts that ask for a pause
  bool in_step_ = false;               ///< ports are brought forward together
  std::uint64_t pauses_sent_ = 0;
  std::vector<PauseStorm> storms_;
  std::unique_ptr<QueueLedger> ledger_;  ///< null: none is kept
  WindowOutcome swept_;
  /// Bytes since the beginning, pauses aside; counted in builds that audit.
  struct Audited {
    std::int64_t in = 0;
    std::int64_t out = 0;
    std::int64_t dropped = 0;
  };
  Audited audited_;
};

}  // namespace weft
