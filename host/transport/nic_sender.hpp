// SPDX-License-Identifier: Apache-2.0
// NIC sender: the sending side of a host's network cards - ports, queue pairs, retransmission.
//
// Where it sits: host/transport/nic hands it transfers, acknowledgements, pauses and changes of
// cables and routes; host/transport/nic_receiver leaves acknowledgements at its ports.
//
// Model: as host/transport/nic says under "sending" and "retransmission". What one port sends
// concerns no other port. So each port is brought forward by itself (run_until()) when something
// happens to it, and at the end of a window.
// Threads: belongs to its node.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/engine/batch_process.hpp"
#include "host/transport/nic_port.hpp"
#include "host/transport/nic_reports.hpp"
#include "host/transport/nic_settings.hpp"
#include "host/transport/sending_queue_pair.hpp"
#include "network/network_model.hpp"
#include "network/packet/queue_pairs.hpp"
#include "network/transfer_records.hpp"

namespace weft {

class NicSender {
 public:
  /// Keeps references. `card` is the card's number in `queue_pairs`.
  NicSender(const NicSettings& settings, const std::vector<EgressPort>& ports, std::uint32_t card, QueuePairs& queue_pairs,
            const NicWiring& wiring, NicReports& reports);

  // --- Transfers, cables and routes ---

  void begin(const Transfer& transfer, Time now, BatchContext& context);
  /// Queue pairs with unfinished transfers of the attempt close, with what others have left on
  /// them.
  void stop(AttemptId attempt, Time now, BatchContext& context);
  void change_port(std::uint32_t port, std::int64_t rate_bps, Time now, BatchContext& context);
  void change_flow_load(std::uint32_t port, std::int64_t load_bps, Time now, BatchContext& context);
  void change_routes(std::uint32_t version, Time now, BatchContext& context);
  /// All lossless priorities of all ports pause their switches until resumed.
  void pause_for_good(Time now, BatchContext& context);

  // --- Arrivals ---

  void on_acknowledged(const Packet& packet, Time now, BatchContext& context);
  void on_notification(const Packet& packet, Time now, BatchContext& context);
  void on_pfc(const Packet& frame, std::uint32_t port, Time now, BatchContext& context);

  // --- Ports ---

  /// The port, brought forward to `now`.
  NicPort& port_at(std::uint32_t number, Time now, BatchContext& context) {
    NicPort& port = ports_[number];
    run_until(port, now, context);
    note_holdup(port, now);
    port.now = now;
    return port;
  }
  /// Brings all ports forward to `end`. Returns when any of them does something by itself next.
  Time run_all_until(Time end, BatchContext& context) {
    Time next = Time::max();
    for (NicPort& port : ports_) {
      run_until(port, end, context);
      next = std::min(next, port.next_action());
    }
    return next;
  }
  const std::vector<NicPort>& ports() const { return ports_; }
  void prefetch() const;

  /// Transfers that were not acknowledged in full, in no order; they start when the node got them.
  std::vector<UnfinishedTransfer> unfinished() const;

 private:
  /// A rate that queue pairs of a GPU share before a port that is faster. Each takes the next free
  /// time when its turn comes.
  struct SharedRate {
    Bandwidth rate;
    Time free_at;
  };
  struct Outgoing {
    Transfer transfer;
    Time entered;
    /// Parts not acknowledged in full; 0: the slot is free, or of an attempt that was stopped.
    std::uint32_t parts_left = 0;
    std::uint32_t parts_unsent = 0;
    /// Of the parts that were sent: when the last packet of the last part began, and by which port
    /// (NicReports::tell_sent). Ports need not be brought forward in order of time.
    std::pair<Time, std::uint32_t> last_begun;
    Time left;  ///< when the last bit of all parts left
  };
  /// Source, destination, connection, priority, part, attempt: a job opens queue pairs of its own.
  using Key = std::tuple<NodeId, NodeId, std::uint32_t, std::uint32_t, std::uint32_t, AttemptId>;

  SendingQueuePair& queue_pair_of(const Transfer& transfer, std::uint32_t part);
  void take_route(std::uint32_t number, const QueuePairPlan& plan, Time now, BatchContext& context);
  /// The id that the queue pair had on that route, or a new one. Telemetry is never again collected
  /// in a ring that was left.
  std::uint32_t id_on_route(SendingQueuePair& sender, const QueuePairPlan& plan);
  std::uint32_t shared_rate_of(const SendingQueuePair& sender, Bandwidth source_rate);
  /// Takes the queue pair out of everything that the port keeps.
  void leave_port(SendingQueuePair& sender, NicPort& port);
  void close(SendingQueuePair& sender, Time now, BatchContext& context);
  void give_up(SendingQueuePair& sender, Time now, BatchContext& context);

  /// The queue pair stands in line, or is paced, if a packet of it may go.
  void take_turn(std::uint32_t number, NicPort& port, Time now);
  /// Whether a packet may go; if not, the port hears what the queue pair waits for.
  bool may_send(SendingQueuePair& sender, NicPort& port) const;
  /// Adds the idle time of the port up to `until`, by cause. Nothing has changed at the port since
  /// the last call, but for packets that it has sent.
  void note_holdup(NicPort& port, Time until) const;
  /// Does what the port does by itself before `until`.
  void run_until(NicPort& port, Time until, BatchContext& context);
  void send_one(NicPort& port, Time now, BatchContext& context);
  void send_data(std::uint32_t number, NicPort& port, Time now, BatchContext& context);
  /// The last bit of a part leaves the port at `left` for the first time.
  void note_part_sent(Outgoing& outgoing, const NicPort& port, Time now, Time left);
  /// Ends pauses that have run out by `now`.
  void end_pauses(NicPort& port, Time now);

  /// Selective repeat: the receiver has found a packet missing, perhaps again.
  void on_missing(std::uint32_t number, NicPort& port, std::uint64_t packet, Time now);
  void go_back(std::uint32_t number, NicPort& port, std::uint64_t to, Time now);
  /// Sends the next packets again of those that were not acknowledged at the last timeout.
  void send_burst_again(std::uint32_t number, NicPort& port, Time now);
  void on_timer(NicPort& port, Time now, BatchContext& context);
  void set_timer(std::uint32_t number, NicPort& port, Time at);
  /// Sets timers that ran out while nothing could be sent, where that is over.
  void set_timers_again(NicPort& port, Time now);

  const NicSettings& settings_;
  SendingRules rules_;
  std::vector<NicPort> ports_;
  std::uint32_t card_;
  QueuePairs& queue_pairs_;
  const NicWiring& wiring_;
  NicReports& reports_;

  std::deque<SendingQueuePair> sender_memory_;
  std::deque<QueuePairs::Details> details_;
  std::deque<TelemetryRing> rings_;
  std::vector<SendingQueuePair*> senders_;  ///< by number; one that was rerouted has several
  std::map<Key, std::uint32_t> sender_by_key_;
  std::vector<SharedRate> shared_rates_;
  std::map<std::pair<NodeId, std::uint16_t>, std::uint32_t> shared_rate_by_source_;  ///< and port
  /// Ids of rerouted queue pairs, on all their routes.
  std::unordered_map<const SendingQueuePair*, std::vector<std::uint32_t>> ids_of_rerouted_;
  std::unordered_set<AttemptId> stopped_;
  std::vector<Outgoing> outgoing_;
  std::vector<std::uint32_t> free_outgoing_;
};

}  // namespace weft
