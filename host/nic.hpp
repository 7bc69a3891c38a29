// NIC: a network card. Its queue pairs send messages as packets, at the rate that congestion control gives each; what arrives is put together,
// acknowledged and handed to the hosts.
//
// Where it sits: hosts hand over transfers by transfer_start, as to the flow fabric, and get transfer_sent and transfer_delivered; packets go to
// and come from the switch at the other end of the card's cable (network/packet_switch).
//
// Model
//   transfer     split into `queue_pairs` parts; part i belongs to the queue pair of (source, destination, connection, priority, i), opened when
//                first used, and is cut into packets of wire_format.content_per_packet(), the last with the rest
//   sending      the cable takes one packet at a time: answers first, then the highest priority that is not paused; within it queue pairs in turn,
//                each no sooner than its last packet's wire bytes / rate after that (pacing; the rate is line rate or DCQCN's, host/dcqcn)
//   arriving     in order: acknowledged every `ack_interval` packets and at a message's end. A packet that comes too early is answered once by a
//                negative acknowledgement, and the sender goes back to what is missing (go-back-N). A mark (ECN) is answered by a congestion
//                notification, at most one per `notification_interval` and queue pair
//   sent         when the last packet of the last part is acknowledged, + completion_latency, at the source's host
//   delivered    when the last packet of the last part has arrived, + receive_latency, at the destination's host
//   nothing acknowledged for `retransmission_timeout`: back to the first packet that was not
//
// Invariants
//   1. Every transfer handed over is sent and delivered exactly once, those of a connection and priority in order.
//   2. At one instant: what hosts hand over, then packets, then what the card begins to send.
// Threads: as SweepNode.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/sweep_node.hpp"
#include "core/sweep_process.hpp"
#include "host/dcqcn.hpp"
#include "network/egress_port.hpp"
#include "network/network_model.hpp"
#include "network/packet.hpp"
#include "network/queue_pairs.hpp"
#include "network/wire_format.hpp"

namespace weft {

/// Bytes on the wire of what a receiver answers, RoCEv2 over IPv4: Ethernet with preamble and gap 38, IPv4 20, UDP 8, BTH 12, ICRC 4; and AETH 4
/// or the 16 reserved of a CNP (InfiniBand Architecture Specification, volume 1, release 1.4, annex A17).
inline constexpr std::uint32_t ack_wire_bytes = 86;
inline constexpr std::uint32_t notification_wire_bytes = 98;

struct NicSettings {
  WireFormat wire_format;
  std::uint32_t queue_pairs = 1;
  std::uint32_t ack_interval = 16;
  Duration notification_interval = Duration::ticks(50 * Duration::ticks_per_us);
  Duration retransmission_timeout = {};  ///< zero: never
  Duration pause_time = {};              ///< as the switches'; zero: until resumed
  std::uint32_t answer_priority = 0;
  bool controls_congestion = true;  ///< by DCQCN; else at line rate
  DcqcnSettings dcqcn = {};
  Duration receive_latency = {};
  Duration completion_latency = {};
};

/// What a card must know of the rest of the run.
struct NicWiring {
  /// Ports from the card to the destination's card and back, for a new queue pair.
  std::function<QueuePairs::Route(const Transfer& transfer, std::uint32_t queue_pair)> route;
  std::function<EntityId(NodeId endpoint)> host_of;
};

struct NicCounters {
  std::uint64_t data_sent = 0;
  std::uint64_t data_repeated = 0;  ///< of them, sent before
  std::uint64_t data_received = 0;  ///< in order
  std::uint64_t acks_sent = 0;      ///< negative ones included
  std::uint64_t notifications_sent = 0;
  std::uint64_t pauses_received = 0;
  Bytes bytes_sent;
};

class Nic final : public SweepNode {
 public:
  /// `card` is its number in `queue_pairs`, to which a reference is kept.
  Nic(const NicSettings& settings, const EgressPort& out, std::uint32_t card, QueuePairs& queue_pairs, NicWiring wiring);

  Swept sweep(Time end, const Arrivals& arrivals, SweepContext& context) override;

  NicCounters counters() const;
  /// Transfers that were not acknowledged in full, in no order.
  std::vector<Transfer> unfinished() const;

 private:
  /// A part of a transfer: packets of its queue pair up to `end`, from where the part before it ends.
  struct Part {
    std::uint64_t end = 0;
    std::uint32_t last_wire_bytes = 0;
    std::uint32_t transfer = 0;  ///< slot
  };
  /// The sending end of a queue pair. Packets are numbered in 64 bits, of which packets carry 32.
  struct Sender {
    std::uint32_t queue_pair = 0;
    std::uint32_t priority = 0;
    std::deque<Part> parts;   ///< not acknowledged in full
    std::size_t sending = 0;  ///< which of them `next` is of
    std::uint64_t next = 0;
    std::uint64_t sent_once = 0;  ///< packets before this one were sent before
    std::uint64_t acknowledged = 0;
    std::uint64_t end = 0;
    Time next_at;            ///< by pacing
    Time progress_at;        ///< when something was acknowledged, or sending began
    bool in_turn = false;    ///< stands in ready_ or paced_
    bool has_timer = false;  ///< stands in timers_
    DcqcnState congestion;
    std::deque<std::unique_ptr<MessagePage>> pages;  ///< in use
    std::uint32_t in_last_page = 0;
    std::uint32_t acknowledged_in_pages = 0;
  };
  struct Receiver {
    std::uint64_t expected = 0;
    std::uint32_t since_answer = 0;
    bool complained = false;  ///< about the packet expected
    bool notified = false;    ///< ever
    Time notified_at;
    MessageReader messages;
  };
  struct Outgoing {
    Transfer transfer;
    std::uint32_t parts_left = 0;  ///< 0: the slot is free
  };
  struct Timed {
    Time time;
    std::uint32_t sender;
    /// For the standard heaps, which keep the greatest in front.
    friend bool operator<(const Timed& a, const Timed& b) { return a.time != b.time ? a.time > b.time : a.sender > b.sender; }
  };
  using Key = std::tuple<NodeId, NodeId, std::uint32_t, std::uint32_t, std::uint32_t>;

  void begin(const Transfer& transfer, Time now);
  Sender& sender_of(const Transfer& transfer, std::uint32_t part);
  void append(Sender& sender, const Message& message);
  void take_turn(std::uint32_t sender, Time now);
  void arrive(const Packet& packet, Time now, SweepContext& context);
  void on_data(const Packet& packet, Time now, SweepContext& context);
  void on_acknowledged(const Packet& packet, Time now, SweepContext& context);
  void go_back(std::uint32_t sender, std::uint64_t to, Time now);
  void on_pfc(const Packet& frame, Time now);
  void answer(PacketKind kind, const Packet& data, std::uint64_t sequence, std::uint32_t wire_bytes);
  void deliver(const Message& message, std::uint32_t card, Time now, SweepContext& context);
  std::uint32_t receiver_of(std::uint32_t queue_pair);

  void run_until(Time until, SweepContext& context);
  Time next_start() const;
  void send_one(Time now, SweepContext& context);
  void send_data(std::uint32_t sender, Time now, SweepContext& context);
  void on_timer(Time now);
  bool is_paused(std::uint32_t priority) const { return (paused_ >> priority & 1U) != 0; }

  NicSettings settings_;
  EgressPort out_;
  std::uint32_t card_;
  QueuePairs& queue_pairs_;
  NicWiring wiring_;
  Dcqcn dcqcn_;
  std::uint32_t content_ = 0;   ///< bytes per packet
  std::uint32_t overhead_ = 0;  ///< likewise

  std::vector<std::unique_ptr<Sender>> senders_;  ///< by number of the queue pair
  std::map<Key, std::uint32_t> sender_by_key_;
  std::vector<Outgoing> outgoing_;
  std::vector<std::uint32_t> free_outgoing_;
  std::vector<Receiver> receivers_;
  std::unordered_map<std::uint32_t, std::uint32_t> receiver_by_queue_pair_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>
      parts_missing_;  ///< by card and number of a transfer that arrives

  std::deque<Packet> answers_;
  std::array<std::deque<std::uint32_t>, packet_classes_max> ready_;  ///< senders whose time has come, by priority
  std::vector<Timed> paced_;                                         ///< a heap of senders whose time has not
  std::vector<Timed> timers_;                                        ///< a heap of retransmission timers
  std::uint8_t paused_ = 0;
  std::array<Time, packet_classes_max> paused_until_;
  Time now_;  ///< of the last thing that happened
  NicCounters counters_;
};

}  // namespace weft
