// Packet network: the network of a run in packet mode - a node for the network cards of every host and one for every packet switch, joined cable by
// cable.
//
// Where it sits: the run adds it to the engine beside hosts and scheduler, hosts start transfers through a PacketNetworkPort, and results come from
// here. Transfers inside a host are the flow fabric's, as in flow mode.
//
// Model: host/transport/nic sends and takes packets, network/packet/packet_switch passes them on, network/packet/packet_topology knows the ways. Per switch, of its memory B:
//   headroom   for every port and lossless priority, as cable and rate need (network/packet/shared_buffer)
//   reserved   for every port and priority
//   pool       what remains, shared under a dynamic threshold
// Cables longer than packet.pfc_reach have no headroom and no pauses: what comes by them is lossy.
// Priorities are those that transfers of the run have, and one above them for answers unless these go with the data.
//
// A packet takes propagation and switching_delay to a switch, propagation and card_delay to a host. Delivery comes receive_latency after the last
// bit's arrival, of which card_delay is part.
//
// Timing of a transfer between hosts, handed over at t: its first packet leaves at t + wqe_latency at the earliest; delivered and sent as host/transport/nic
// says. Without GPUDirect both ends take staging_latency more, and its queue pairs get staging_rate together at most. Cards send at
// network_efficiency times the rate of their cable.
//
// Cables that fail are changes of the ports at their ends; ways change for all nodes at one instant (network/routing/route_manager). What a node fetches of them
// is its own.
//
// Jobs in flow mode (share_with_flows): their transfers and stand-ins of all others share the links in the flow fabric, and ports leave flows their share
// (network/packet/egress_port), but for packet.beside_flows_min: answers have no stand-ins, and links so carry that much more than they can at most. Both know of
// each other's changes wqe_latency later.
//
// Where what a GPU and its port have in common (PCIe) is slower than the port, each queue pair is held to its rate; that several share it is not
// modelled.
// Threads: assembled and read by one thread; NICs ask for ways from theirs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/engine/engine.hpp"
#include "host/ranks/job.hpp"
#include "host/transport/nic.hpp"
#include "host/transport/packet_settings.hpp"
#include "network/flow/flow_loads.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/flow/inside_host.hpp"
#include "network/flow/staging.hpp"
#include "network/network_model.hpp"
#include "network/packet/packet_switch.hpp"
#include "network/packet/packet_topology.hpp"
#include "network/routing/route_manager.hpp"
#include "network/transfer_records.hpp"

namespace weft {

/// What the transfers of a run are like.
struct PacketTraffic {
  std::uint32_t priorities = 1;  ///< one more than the highest
  bool is_known = false;         ///< all of them before the run: they are the cards' initial events, and hosts get notices only
};

/// A queue that a switch's watchdog found stuck, and the link it leads to.
struct LinkStorm {
  LinkId link;
  PauseStorm storm;
};

/// A queue pair that gave up (packet.retries).
struct StoppedQueuePair {
  Transfer transfer;  ///< the first that it did not end
  Time time;
  Duration without_answer;
};

/// The switch on a transfer's ways that dropped most packets, of anybody.
struct WorstSwitch {
  NodeId node = NodeId::none();  ///< none() if none was dropped
  std::uint64_t drops = 0;
};

/// A time during which the end of a link asked for a pause of any priority.
struct LinkPause {
  LinkId link;
  PauseSpan span;
};

/// A transfer whose queue pairs had smaller windows than its way holds.
struct NarrowWindow {
  Transfer transfer;
  Bytes window;         ///< of all its queue pairs
  Bandwidth rate;       ///< of its way
  Duration round_trip;  ///< from a packet's first bit until it is acknowledged, while nothing else is under way
  Bytes held;           ///< by its way: the product of these
};

/// A cable that may bring more after a pause was asked for than there is headroom for.
struct ShortHeadroom {
  LinkId link;
  Bytes headroom;
  Bytes needed;
  std::size_t more_links = 0;  ///< of which the same is true
};

class PacketNetwork {
 public:
  /// Keeps a reference to the topology. Throws InputError for what cannot be
  /// simulated: [zero-lookahead], [mtu-too-large], [mtu-above-queue], [headroom-above-buffer], [bad-threshold],
  /// [unknown-priority], [unknown-switch], [unknown-host], [short-pause], [not-in-packet-mode], [needs-one-way].
  PacketNetwork(const Topology& topology, const FlowSettings& flow, const PacketSettings& packet, const PacketTraffic& traffic,
                std::uint64_t seed);

  /// Every pause is kept, for pauses(). Before add_to().
  void keep_pauses() { keeps_pauses_ = true; }
  /// Cables may fail: queue pairs of which nothing arrives wait for other ways, however long. Before add_to().
  void expect_failures() { expects_failures_ = true; }
  /// Flows share the cables: ports hear of what they take through tell_of_load(), and the fabric of packets_end. Before add_to().
  void share_with_flows(EntityId fabric) { fabric_ = fabric; }
  /// The nodes get their entities' ids, for who must know them before add_to(), which else declares them itself.
  void declare(EngineBuilder& builder);
  /// Adds all nodes, and connects them with each other and the hosts' entities, which are given by HostId and may be the same.
  void add_to(EngineBuilder& builder, const std::vector<EntityId>& entity_of_host);
  /// Who is told when cables change. Adds the route manager, which tells the nodes of other ways `reroute` + `delay` after a cable goes out or comes back,
  /// and connects `teller`, who tells of cables. Requires: added; once.
  void watch_cables(EngineBuilder& builder, EntityId teller, Duration delay, Duration reroute);
  /// From the teller's entity: that a cable carries this share of its speed, `delay` from now on.
  void tell_of_cable(LinkId cable, double share, Duration delay, EventContext& context) const;
  /// From the fabric's entity: what flows take of a link, and what it can carry at all, wqe_latency from now on. Links inside hosts carry no packets.
  void tell_of_load(const FlowLoads::LinkLoad& load, double capacity_bps, EventContext& context) const;
  /// By host, which node takes its transfers. Requires: declared.
  std::span<const EntityId> cards() const { return std::span(entity_of_node_).first(nodes_.host_count()); }

  /// How many transfers were delivered so far. Any thread may ask at any time.
  std::uint64_t delivered() const { return delivered_.load(std::memory_order_relaxed); }

  /// Transfers between hosts that were delivered, host by host in order of delivery; not numbered.
  std::vector<FinishedTransfer> finished(const Engine& engine) const;
  /// Transfers between hosts that were not acknowledged in full; not numbered.
  std::vector<UnfinishedTransfer> unfinished(const Engine& engine) const;
  /// Whether a host may pause for good and nothing ends that.
  bool is_held_by_hosts() const { return !packet_.pausing_hosts.empty() && !has_watchdog(); }
  /// When its card begins to pause its switch for good, if it does.
  std::optional<Time> pauses_from(HostId host) const;
  /// In order of time.
  std::vector<StoppedQueuePair> given_up(const Engine& engine) const;
  WorstSwitch worst_switch(const Engine& engine, const Transfer& transfer) const;
  /// How often cards may send again what does not come; none: as often as they like, or queue pairs give up before.
  std::optional<std::uint64_t> repeats_max() const;
  /// Packets sent again, by host.
  std::vector<std::uint64_t> repeats(const Engine& engine) const;
  /// Of transfers that were larger than their windows, the one whose window is the smallest part of what its way holds; none if all
  /// windows were large enough.
  std::optional<NarrowWindow> narrowest_window(const Engine& engine) const;
  /// Of cables that have carried something, the one that is furthest from the headroom that it needs (packet.unsafe).
  std::optional<ShortHeadroom> shortest_headroom(std::span<const LinkUsage> usage) const;
  /// When the last packet of data came to a card, in time or once more.
  Time last_data(const Engine& engine) const;
  /// As of `end`, like add_usage().
  PacketCounters counters(const Engine& engine, Time end) const;
  /// Whether switches that wait for each other go on sending pauses for ever: the run does not end by itself then.
  bool refreshes_pauses() const { return packet_.pause_time > Duration::zero() && !has_watchdog(); }
  bool has_watchdog() const { return packet_.watchdog.is_on(); }
  /// Of all links, as of `end`: link by link, of each in order of time. Requires: keep_pauses().
  std::vector<LinkPause> pauses(const Engine& engine, Time end) const;
  /// What watchdogs found, by (time, link, priority).
  std::vector<LinkStorm> storms(const Engine& engine) const;
  /// Links that wait for each other in a circle: what came by each waits in its switch for room at the end of the next, and at the last for the first.
  /// Empty if there is no such circle.
  std::vector<LinkId> deadlock(const Engine& engine) const;
  /// Adds what links between hosts and switches have carried by `now`; by LinkId. Utilization is over begin .. end.
  void add_usage(const Engine& engine, Time begin, Time end, Time now, std::vector<LinkUsage>& usage) const;

 private:
  /// From the last bit's departure until the other end has the packet.
  Duration delay(const PacketTopology::Port& port) const;
  /// Whether switches choose for each packet.
  bool sprays() const { return flow_.routing != Routing::single; }
  bool weighs_paths() const { return flow_.path_rule.weights == PathWeights::capacity; }
  Bytes headroom_needed(std::uint32_t node, const PacketTopology::Port& port) const;
  std::int64_t headroom(std::uint32_t node, const PacketTopology::Port& port) const;
  /// What comes in by the port can be paused: its cable is not too long.
  bool has_pfc(const PacketTopology::Port& port) const;
  PacketSwitchSettings switch_settings(std::uint32_t node) const;
  EgressPort egress(std::uint32_t node, const PacketTopology::Port& port) const;
  Bandwidth full_rate(std::uint32_t node, LinkId link) const;
  NicSettings nic_settings() const;
  Bandwidth rate_max(const PacketTopology::Route& route, const Transfer& transfer) const;
  Duration entry_latency(const Transfer& transfer) const;
  Bandwidth rate_of(const PacketTopology::Route& route, std::size_t hop) const;
  Duration alone(const PacketTopology::Route& route, Bytes packet) const;
  /// The most that the way lets through while nothing is out, or `rate_max` if that is less; where packets are sprayed by capacity, all ways together from
  /// the first switch on.
  Bandwidth slowest(const PacketTopology::Route& there, NodeId destination, Bandwidth rate_max) const;
  std::optional<Bytes> window(Bandwidth slowest, const PacketTopology::Route& back, const QueuePairPlan& plan) const;
  QueuePairPlan plan(std::uint32_t card, const Transfer& transfer, std::uint32_t queue_pair) const;
  Duration ideal(const Transfer& transfer) const;
  Duration ideal(const PacketTrain& train, const PacketTopology::Route& route, Bandwidth rate_max) const;
  /// `onward`: of the last packet.
  Duration sprayed_ideal(const PacketTrain& train, const PacketTopology::Route& route, NodeId destination, Bandwidth rate_max,
                         const PacketTopology::LeastRoute& onward) const;
  Duration spacing(const PacketTrain& train, const PacketTopology::Route& route, Bandwidth rate_max) const;
  PacketTopology::LeastRoute onward_of(const PacketTopology::Route& route, NodeId destination, Bytes packet) const;
  void check_switch(std::uint32_t node, Diagnostics& diagnostics) const;
  Bytes buffer_of(std::uint32_t node) const;
  std::vector<PacketClass> classes_of(std::uint32_t node) const;
  std::uint64_t drops_of(const Engine& engine, std::uint32_t node) const;
  /// Where marks begin and end, of a port of 100 Gb/s.
  EcnCurve curve_of(std::uint32_t node, std::uint32_t priority) const;
  void check_delays(Diagnostics& diagnostics) const;

  const Topology& topology_;
  FlowSettings flow_;
  PacketSettings packet_;
  PacketTopology nodes_;
  Staging staging_;
  std::uint64_t seed_;
  Bytes largest_packet_;
  std::vector<PacketClass> classes_;
  std::uint32_t answer_priority_ = 0;
  bool hosts_start_;
  bool keeps_pauses_ = false;
  bool expects_failures_ = false;
  QueuePairs queue_pairs_;
  RouteVersions versions_;
  std::vector<std::shared_ptr<const AvailableRoutes>> routes_;  ///< by node, its thread's
  EntityId route_manager_ = EntityId::none();
  EntityId fabric_ = EntityId::none();    ///< if flows share the cables
  std::vector<EntityId> entity_of_node_;  ///< hosts' cards come first
  std::vector<EntityId> entity_of_host_;
  std::atomic<std::uint64_t> delivered_ = 0;
};

/// A host's door to the packet network, and to the flow fabric for transfers inside a host and of jobs in flow mode.
class PacketNetworkPort final : public NetworkPort {
 public:
  /// `fabric` is the flow fabric's entity, `cards` those of every host's cards. Keeps references. `stays`: of jobs some of which are in flow mode; null:
  /// none is.
  PacketNetworkPort(const Topology& topology, const FlowSettings& settings, EntityId fabric, std::span<const EntityId> cards,
                    const JobTable* attempts = nullptr);

  void start(const Transfer& transfer, EventContext& context) const override;
  void stop(AttemptId attempt, HostId host, EventContext& context) const override;

  /// Whom start() tells, and after how long.
  struct Entry {
    EntityId node;
    Duration latency;
  };
  Entry entry(const Transfer& transfer) const;

 private:
  bool is_flow(const Transfer& transfer) const;

  const Topology& topology_;
  InsideHost inside_host_;
  Staging staging_;
  Duration wqe_latency_;
  Duration nvlink_latency_;
  EntityId fabric_;
  std::span<const EntityId> cards_;
  const JobTable* attempts_;
};

}  // namespace weft
