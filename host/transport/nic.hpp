// NIC: the network cards of a host. Their queue pairs send messages as packets, at the rate that congestion control gives each; what arrives is put
// together, acknowledged and handed to the hosts.
//
// Where it sits: hosts hand over transfers by transfer_start, as to the flow fabric, and get transfer_sent and transfer_delivered; packets go to
// and come from the switches at the other ends of the cards' cables (network/packet/packet_switch). All ports of a host are one node, since a transfer's
// queue pairs may leave and arrive by any of them.
//
// Model
//   transfer     split into `queue_pairs` parts; part i belongs to the queue pair of (source, destination, connection, priority, i), opened when
//                first used, and is cut into packets of wire_format.content_per_packet(), the last with the rest
//   sending      each port takes one packet at a time: answers first, then the highest priority that is not paused; within it queue pairs in turn,
//                each no sooner than its last packet's wire bytes / rate after that (pacing; the rate is the queue pair's highest or congestion control's,
//                host/transport/congestion_control; where what leads from a GPU to the port is slower than the port, all queue pairs of that GPU by that port have its
//                rate together), and no further than its windows: what its way holds (QueuePairPlan::window) and what congestion control
//                allows. Where the latter gives one, every packet asks for an answer; else every `ack_interval`th, or fifth of a window if that is
//                less, and the packet that fills the window
//   arriving     in order: acknowledged every `ack_interval` packets and at a message's end. A packet that comes too early is answered once by a
//                negative acknowledgement, and the sender goes back to what is missing (go-back-N). With `keeps_early` it is kept: then each
//                packet found missing is reported and sent again alone (selective repeat), unless packets overtake each other on their
//                ways anyhow (`reports_gaps` off). Repetitions go out in the order of reports: when one comes, what was reported before it and is missing still
//                was lost again, and is reported again. Marks (ECN) are answered as congestion
//                control wants: by notifications, spaced for each queue pair, or echoed in acknowledgements
//   sent         when the last bit of the last part has left its port for the first time, + completion_latency, at the source's host, as in flow mode.
//                What is lost is sent again without the host; the card keeps a transfer until all of it is acknowledged
//   delivered    when the last packet of the last part has arrived, + receive_latency and what the plan adds, at the destination's host
//   nothing acknowledged for `retransmission_timeout`: back to the first packet that was not. With selective repeat, gaps reported, that packet alone is
//                sent again, and then bursts of the next ones: twice as many each time as long as they end with one that is missing. Where the priority
//                is paused just then, or the cable is out, as long again after that
//                Each time in a row that nothing came back the time-out doubles, from a sixteenth up to the whole, where `adapts_timeout` is on; it is
//                four round trips at least. Where nothing was acknowledged for `retries` whole time-outs, the queue pair gives up and sends no more
//   slow restart (`slow_restart`) after a loss, a queue pair has one packet under way, with selective repeat of those sent since; each that is acknowledged
//                (answered, with selective repeat) makes that one more, up to half of what was under way at the loss, and from there on each window that is acknowledged does, until it is what it was
//   slow host    (`drain_rate`) what a port gets waits in the card until its host takes it, and is acknowledged before. The card pauses the switch where too
//                much waits
//   pause storm  (`pauses_for_good`) from that event on the switch is paused in all lossless priorities
//   cable out    its port sends nothing, answers that would leave by it are lost, and the switch's pauses are void
//   stay stopped (`attempt_stopped`) queue pairs that have something of its transfers left send no more and are closed, with what others have left behind on
//                them. Who takes their place later is a new queue pair
//   flows        (`flow_load_changes`) a port's cable is shared with flows of flow mode (network/packet/egress_port)
//   other ways   (`routes_change`) queue pairs get their routes anew, perhaps by another port, and an id on each. Those that no way is left for stand
//                still until ways change again
//
// Invariants
//   1. Every transfer handed over is sent and delivered exactly once, but of attempts that are stopped; with one queue pair, those of a connection and priority
//      in order.
//   2. At one instant: what hosts hand over, stays that are stopped, changes of cables and ways, in order of their events; then packets, then what ports
//      begin to send, by their numbers. What one port sends concerns no other, so each is brought forward when something happens to it, and at the end of a
//      window; what hosts hear of is put in order then.
// Threads: as BatchNode.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/containers/fifo.hpp"
#include "core/engine/batch_node.hpp"
#include "core/engine/batch_process.hpp"
#include "host/ranks/holdups.hpp"
#include "host/transport/congestion_control.hpp"
#include "network/network_model.hpp"
#include "network/packet/egress_port.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/pause_clock.hpp"
#include "network/packet/queue_pairs.hpp"
#include "network/transfer_records.hpp"
#include "network/wire_format.hpp"

namespace weft {

/// Bytes on the wire of what a receiver answers, RoCEv2 over IPv4: Ethernet with preamble and gap 38, IPv4 20, UDP 8, BTH 12, ICRC 4; and AETH 4
/// or the 16 reserved of a CNP (InfiniBand Architecture Specification, volume 1, release 1.4, annex A17).
inline constexpr std::uint32_t ack_wire_bytes = 86;
inline constexpr std::uint32_t notification_wire_bytes = 98;

/// What a card is not told it does not do; what it has to be told has no default here.
struct NicSettings {
  WireFormat wire_format;
  std::uint32_t queue_pairs = 1;
  std::uint32_t ack_interval = 0;        ///< at least 1
  Duration retransmission_timeout = {};  ///< zero: never
  std::uint8_t adapts_timeout = 0;       ///< bit per priority
  std::uint32_t retries = 0;             ///< 0: any number
  bool slow_restart = false;
  Duration pause_time = {};                           ///< as the switches'; zero: until resumed
  std::optional<std::uint32_t> answer_priority = 0U;  ///< none: that of what is answered
  bool uses_priorities = true;                        ///< of transfers; else all have the lowest
  bool keeps_early = false;                           ///< packets that come before others of their queue pair
  bool reports_gaps = true;                           ///< that these leave
  bool window_follows_rate = false;                   ///< QueuePairPlan::window shrinks with the rate that congestion control gives
  std::shared_ptr<const CongestionAlgorithm> congestion = nullptr;
  Duration receive_latency = {};
  Duration completion_latency = {};
  bool keeps_pauses = false;  ///< for pauses()
  /// What its host takes of what a port gets, and how much of that may wait in the card before it asks for a pause; at half of that it lets go. Data only;
  /// none: all at once.
  std::optional<Bandwidth> drain_rate = std::nullopt;
  Bytes receive_buffer = {};
  std::uint8_t lossless = 0;  ///< bit per priority: those that it pauses
};

/// What a new queue pair is to be like.
struct QueuePairPlan {
  QueuePairs::Route route;                         ///< by which of the host's ports it leaves, and on; and back
  Bandwidth rate_max = Bandwidth::bps(INT64_MAX);  ///< whatever its port can do
  /// What lies between its GPU and its port can do, for all queue pairs of both together.
  Bandwidth source_rate = Bandwidth::bps(INT64_MAX);
  Duration round_trip = {};          ///< of a full packet and its acknowledgement, alone
  std::optional<Bytes> window = {};  ///< at most so much is sent and not acknowledged, full packets on the wire; none: any
  std::uint32_t switches = 0;        ///< on the way
  Duration inside_hosts = {};        ///< added to the delivery: what both ends take between the GPU and the port
  bool is_cut_off = false;           ///< no way is left, and the route leads over cables that are out
};

/// What a node must know of the rest of the run.
struct NicWiring {
  std::function<QueuePairPlan(const Transfer& transfer, std::uint32_t queue_pair)> plan;
  std::function<EntityId(NodeId endpoint)> host_of;
  std::atomic<std::uint64_t>* delivered = nullptr;  ///< counts deliveries, if not null
  /// Who is told of what has been acknowledged in full, so long after it, where flows share the cables; else none.
  EntityId fabric = EntityId::none();
  Duration fabric_delay = {};
  /// From now on plan() goes by this version of the ways.
  std::function<void(std::uint32_t version)> take_routes = nullptr;
};

/// A transfer that has arrived.
struct DeliveredTransfer {
  Transfer transfer;
  Time entered;  ///< when the sending node got it
  Time delivered;
};

/// A queue pair that gave up: nothing of it was acknowledged for too long, though it sent.
struct GivenUp {
  Transfer transfer;  ///< the first that it did not end
  std::uint32_t queue_pair = 0;
  Time time;
  Time progress_at;  ///< when something was acknowledged last, or sending began
};

struct NicPortCounters {
  std::uint64_t bytes = 0;
  std::uint64_t pauses = 0;  ///< received
  Duration paused;           ///< while the other end paused any priority
  HoldupTimes holdups;
};

struct NicCounters {
  std::uint64_t data_sent = 0;
  std::uint64_t data_repeated = 0;  ///< of them, sent before
  Duration sending;                 ///< data, of all ports together
  Duration sending_again;           ///< of that
  std::uint64_t data_received = 0;  ///< in order
  Time last_data;                   ///< when any came last, in order or not
  std::uint64_t acks_sent = 0;      ///< negative ones included
  std::uint64_t notifications_sent = 0;
};

class Nic final : public BatchNode {
 public:
  /// `card` is its number in `queue_pairs`, to which a reference is kept.
  Nic(const NicSettings& settings, const std::vector<EgressPort>& ports, std::uint32_t card, QueuePairs& queue_pairs,
      NicWiring wiring);

  WindowOutcome run_window(Time end, const Arrivals& arrivals, BatchContext& context) override;
  void prefetch() const override;

  const NicCounters& counters() const { return counters_; }
  /// As of `now`, the time until which the run has come.
  NicPortCounters port_counters(std::uint32_t port, Time now) const;
  /// While the switch paused any priority of the port, as of `now`. Requires: settings.keeps_pauses.
  std::vector<PauseSpan> pauses(std::uint32_t port, Time now) const { return ports_[port].clock.spans(ports_[port].paused, now); }
  /// In order of arrival.
  const std::vector<DeliveredTransfer>& delivered() const { return delivered_; }
  /// Transfers that were not acknowledged in full, in no order; they start when the node got them.
  std::vector<UnfinishedTransfer> unfinished() const;
  /// In order of time.
  const std::vector<GivenUp>& given_up() const { return given_up_; }

 private:
  /// A part of a transfer: packets of its queue pair up to `end`, from where the part before it ends.
  struct Part {
    std::uint64_t end = 0;
    std::uint32_t last_wire_bytes = 0;
    std::uint32_t transfer = 0;  ///< slot
  };
  /// What congestion control asks for, kept for packets under way: by number, in a ring as large as the window may be.
  struct Measured {
    std::vector<Time> sent_at;  ///< max(): more than once, or by another way
    TelemetryRing* telemetry = nullptr;
    std::vector<HopTelemetry> before;  ///< of the last packet whose telemetry came back
  };
  /// What a queue pair may have under way after a loss, in packets.
  struct SlowRestart {
    std::uint64_t window = UINT64_MAX;  ///< no limit
    std::uint64_t threshold = 0;        ///< up to which it grows by what is acknowledged
    std::uint64_t full = 0;             ///< at which it ends
    std::uint64_t counted = 0;          ///< acknowledged since it grew last
    std::uint64_t cut_at = 0;           ///< packets before this one were sent when it was cut last: their losses are one
    std::uint64_t under_way = 0;        ///< with gaps reported: sent since then, and neither answered nor found missing

    bool is_on() const { return window != UINT64_MAX; }
    void cut(std::uint64_t in_flight, std::uint64_t acknowledged, std::uint64_t sent_once);
    void grow(std::uint64_t packets);
    void note_answered() { under_way -= under_way > 0 ? 1 : 0; }
  };
  /// The sending end of a queue pair. Packets are numbered in 64 bits, of which packets carry 32.
  struct Sender {
    static constexpr std::uint64_t no_window = UINT64_MAX;
    static constexpr std::uint32_t not_limited = UINT32_MAX;
    std::uint32_t queue_pair = 0;
    std::uint16_t port = 0;
    std::uint8_t priority = 0;
    bool in_turn = false;     ///< stands in its port's lines or paced
    bool has_timer = false;   ///< stands in its port's timers
    bool is_cut_off = false;  ///< no way is left
    bool is_slowed = false;   ///< its rate is below what its way can do
    QueuePairWait wait = QueuePairWait::nothing;
    bool is_closed = false;       ///< it sends nothing any more, whatever answers are on their way
    bool asks_always = false;     ///< as congestion control has a window of its own
    std::uint32_t sending = 0;    ///< which of `parts` `next` is of
    Fifo<Part> parts;             ///< not acknowledged in full
    Fifo<std::uint64_t> again;    ///< packets to send again, with keeps_early
    std::uint64_t reported = 0;   ///< packets before this one have been reported missing, or are not
    std::uint64_t recover = 0;    ///< packets before this one were sent when the timer last ran out, with keeps_early
    std::uint64_t burst_end = 0;  ///< of packets that were sent again since
    std::uint64_t burst = 0;      ///< how many
    std::uint64_t next = 0;
    std::uint64_t sent_once = 0;  ///< packets before this one were sent before
    std::uint64_t acknowledged = 0;
    std::uint64_t end = 0;
    Time next_at;                ///< by pacing
    Time progress_at;            ///< when something was acknowledged, or sending began, or the timer ran out
    Time stalled_since;          ///< when something was acknowledged, or sending began
    std::uint32_t timeouts = 0;  ///< in a row
    Duration round_trip;         ///< alone
    SlowRestart restart;
    Duration inside_hosts;
    CongestionState congestion;
    std::unique_ptr<Measured> measured;    ///< null: nothing is asked for
    std::uint64_t window = no_window;      ///< packets that may be sent and not acknowledged
    std::uint64_t window_max = no_window;  ///< of its way
    double line_bps = 0;                   ///< what its way can do
    std::uint32_t ask_interval = 1;        ///< packets from one that asks for an answer to the next, with a window
    std::uint64_t next_to_ask = 0;
    Fifo<std::unique_ptr<MessagePage>> pages;  ///< in use
    std::uint32_t in_last_page = 0;
    std::uint32_t acknowledged_in_pages = 0;
    NodeId source;
    std::uint32_t inside = not_limited;  ///< which of `insides_` it shares
  };
  /// What queue pairs of a GPU share on the way to a port that could do more: each takes the next time that is free when it gets in turn.
  struct Inside {
    Bandwidth rate;
    Time free_at;
  };
  struct Receiver {
    std::uint64_t expected = 0;
    std::uint32_t since_answer = 0;
    bool complained = false;  ///< about the packet expected
    bool notified = false;    ///< ever
    Time notified_at;
    Fifo<std::uint8_t> early;      ///< from `expected` on: 0 missing, else here, and 2 if it ends a message
    Fifo<std::uint64_t> reported;  ///< what is missing, in the order of reports
    MessageReader messages;
  };
  /// What a host or the fabric is to hear of.
  struct Notice {
    Time now;
    std::uint32_t order = 0;  ///< at one instant: 0 what something that comes brings about, then ports by their numbers
    EntityId target;
    Duration delay;
    TransferEvent kind = transfer_sent;
    Transfer transfer;
  };
  struct Outgoing {
    Transfer transfer;
    Time entered;
    std::uint32_t parts_left = 0;  ///< not acknowledged in full; 0: the slot is free, or of an attempt that was stopped
    std::uint32_t parts_unsent = 0;
    // Of those that were sent. Ports need not be brought forward in order of time.
    std::pair<Time, std::uint32_t> last_begun;  ///< when the last packet of a part began, and order in Notice
    Time left;                                  ///< the last bit of all
  };
  struct Timed {
    Time time;
    std::uint32_t sender;
    /// For the standard heaps, which keep the greatest in front.
    friend bool operator<(const Timed& a, const Timed& b) { return a.time != b.time ? a.time > b.time : a.sender > b.sender; }
  };
  struct Port {
    explicit Port(const EgressPort& cable) : out(cable), rate(cable.rate()) {}

    EgressPort out;
    Bandwidth rate;       ///< of its cable in full service
    Bandwidth flow_load;  ///< what flows take of it
    Time now;             ///< what happened before it has happened
    Holdups holdups;
    std::uint8_t ready = 0;  ///< bit per priority: senders stand in line
    std::uint8_t paused = 0;
    std::uint64_t pauses = 0;
    PauseClock clock;         ///< of what is paused
    double backlog_bits = 0;  ///< that wait for a slow host, at `backlog_at`
    Time backlog_at;
    std::uint8_t asks = 0;          ///< bit per priority: it asked the switch for a pause
    Time lets_go_at = Time::max();  ///< unless more comes
    std::uint8_t answering = 0;     ///< bit per priority: answers wait
    std::array<Fifo<Packet>, packet_classes_max> answers;
    std::array<Fifo<std::uint32_t>, packet_classes_max> lines;  ///< senders whose time has come, by priority
    std::vector<Timed> paced;                                   ///< a heap of senders whose time has not
    std::vector<Timed> timers;                                  ///< a heap of retransmission timers
    std::vector<std::uint32_t> timed_out;                       ///< senders whose timer ran out while they could not send
  };
  using Key = std::tuple<NodeId, NodeId, std::uint32_t, std::uint32_t, std::uint32_t>;

  void take_event(const Event& event, BatchContext& context);
  void begin(const Transfer& transfer, Time now, BatchContext& context);
  void change_port(std::uint32_t port, std::int64_t rate_bps, Time now, BatchContext& context);
  void change_routes(std::uint32_t version, Time now, BatchContext& context);
  /// From now on it sends as planned.
  void take_route(std::uint32_t sender, const QueuePairPlan& plan, Time now, BatchContext& context);
  std::uint32_t id_on_route(Sender& sender, const QueuePairPlan& plan);
  void leave_port(Sender& sender, Port& port);
  void stop(AttemptId attempt, Time now, BatchContext& context);
  void close(Sender& sender, Time now, BatchContext& context);
  void tell_of_end(const Transfer& transfer, Time now);
  Sender& sender_of(const Transfer& transfer, std::uint32_t part);
  void append(Sender& sender, const Message& message);
  void take_turn(std::uint32_t sender, Port& port, Time now);
  bool may_send(Sender& sender, Port& port) const;
  bool repeats_alone() const { return settings_.keeps_early && settings_.reports_gaps; }
  void note_holdup(Port& port, Time until) const;
  /// Whether the sender has a packet that may go.
  bool has_packet(const Sender& sender) const;
  /// Which of `insides_` limits it by its port.
  std::uint32_t inside_of(const Sender& sender, Bandwidth source_rate);
  void set_window(Sender& sender) const;
  void set_window_max(Sender& sender, const QueuePairPlan& plan) const;
  void follow_rate(Sender& sender, double rate_bps) const;
  std::uint32_t ask_interval_of(std::uint64_t window) const;
  static bool asks_for_answer(Sender& sender, std::uint64_t sequence);
  QueuePairLimits limits(const QueuePairPlan& plan) const;
  void begin_measuring(Sender& sender, const QueuePairPlan& plan, QueuePairs::Details& details);
  static void note_sent(Sender& sender, Packet& packet, bool is_repeated, Time now);
  void answer_congestion_control(Sender& sender, const Packet& packet, std::int32_t more, Time now);
  /// Bytes sent and not acknowledged, each packet counted as a full one.
  std::int64_t in_flight(const Sender& sender) const;
  void arrive(const Packet& packet, std::uint32_t port, Time now, BatchContext& context);
  void on_data(const Packet& packet, Time now, BatchContext& context);
  /// Of what a slow host takes. Returns when the packet is through.
  Duration take_in(const Packet& packet, Port& port, Time now, BatchContext& context);
  void let_go(Port& port, Time now, BatchContext& context);
  void on_early(Receiver& receiver, const Packet& packet, std::uint32_t ahead, Time now, BatchContext& context);
  void report_again(Receiver& receiver, const Packet& packet, std::uint64_t filled, Time now, BatchContext& context);
  void on_acknowledged(const Packet& packet, Time now, BatchContext& context);
  void on_loss(Sender& sender, Time now, bool is_timeout = false) const;
  void send_burst_again(std::uint32_t sender, Port& port, Time now);
  void on_missing(std::uint32_t sender, Port& port, std::uint64_t packet, Time now);
  void go_back(std::uint32_t sender, Port& port, std::uint64_t to, Time now);
  void on_pfc(const Packet& frame, Port& port, Time now);
  void acknowledge(Receiver& receiver, const Packet& data, Time now, BatchContext& context);
  void answer(PacketKind kind, const Packet& data, std::uint64_t sequence, std::uint32_t wire_bytes, Time now,
              BatchContext& context, bool echoes_mark = false);
  void deliver(const Message& message, std::uint32_t card, Time now);
  std::uint32_t receiver_of(std::uint32_t queue_pair);

  /// The port, brought forward to `now`.
  Port& port_at(std::uint32_t port, Time now, BatchContext& context);
  void run_until(Port& port, Time until, BatchContext& context);
  static Time next_start(const Port& port);
  /// Returns when its last bit has left.
  static Time send(const Packet& packet, Port& port, Time now, BatchContext& context) {
    port.out.send(packet, now, context);
    const Time left = port.out.free_at();
    if (port.out.is_shared_with_flows()) port.out.give_turn_to_flows(now, port.flow_load);
    return left;
  }
  void send_one(Port& port, Time now, BatchContext& context);
  void send_data(std::uint32_t sender, Port& port, Time now, BatchContext& context);
  void note_part_sent(Outgoing& outgoing, const Port& port, Time now, Time left);
  void send_notices(BatchContext& context);
  void on_timer(Port& port, Time now, BatchContext& context);
  Duration timeout_of(const Sender& sender) const;
  void give_up(Sender& sender, Time now, BatchContext& context);
  void set_timer(std::uint32_t sender, Port& port, Time at);
  void set_timers_again(Port& port, Time now);
  void end_pauses(Port& port, Time now);

  NicSettings settings_;
  std::vector<Port> ports_;
  std::uint32_t card_;
  QueuePairs& queue_pairs_;
  NicWiring wiring_;
  MarkFeedback feedback_ = MarkFeedback::none;
  Measures measures_;
  Duration notification_interval_;
  std::uint32_t full_packet_ = 0;  ///< wire bytes
  Duration drain_wait_;            ///< of the packet that arrives

  std::deque<Sender> sender_memory_;
  std::deque<QueuePairs::Details> details_;
  std::deque<TelemetryRing> rings_;
  std::vector<Sender*> senders_;  ///< by number of the queue pair; one that got another route has several
  std::map<Key, std::uint32_t> sender_by_key_;
  std::vector<Inside> insides_;
  std::map<std::pair<NodeId, std::uint16_t>, std::uint32_t> inside_by_source_;     ///< and port
  std::unordered_map<const Sender*, std::vector<std::uint32_t>> ids_of_rerouted_;  ///< their queue pairs, on all their routes
  std::unordered_set<AttemptId> stopped_;
  std::vector<Outgoing> outgoing_;
  std::vector<std::uint32_t> free_outgoing_;
  std::vector<Receiver> receivers_;
  /// By card and number of a transfer that arrives.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> parts_missing_;
  std::vector<DeliveredTransfer> delivered_;
  std::vector<Notice> notices_;  ///< of the window at hand
  std::vector<GivenUp> given_up_;
  NicCounters counters_;
};

}  // namespace weft
