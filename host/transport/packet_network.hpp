// SPDX-License-Identifier: Apache-2.0
// Packet network: the network of a run in packet mode - one node for the cards of every host and
// one for every packet switch, joined cable by cable.
//
// Where it sits: the run adds it to the engine beside hosts and scheduler. Hosts start transfers
// through a PacketNetworkPort (host/transport/packet_network_port). Transfers inside a host go
// through the flow fabric, as in flow mode.
//
// Model: host/transport/nic sends and receives packets, network/packet/packet_switch forwards them,
// network/packet/packet_topology knows the routes. host/transport/packet_node_settings says what
// the nodes are like, host/transport/queue_pair_planner what queue pairs are like,
// host/transport/packet_results what the run tells afterwards.
//   timing       a packet takes propagation and switching_delay to a switch, propagation and
//                card_delay to a host. The first packet of a transfer that is handed over at t
//                leaves at t + wqe_latency at the earliest
//   failures     cables that fail change the ports at their ends; routes change for all nodes at
//                one instant (network/routing/route_manager)
//   flow mode    jobs in flow mode share the cables (share_with_flows()): each side hears of the
//                other's changes wqe_latency later
// docs/internals/packet_mode.md has the details.
// Threads: assembled and read by one thread; cards ask for routes from theirs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/engine.hpp"
#include "host/transport/packet_model.hpp"
#include "host/transport/packet_network_port.hpp"
#include "host/transport/packet_node_settings.hpp"
#include "host/transport/packet_results.hpp"
#include "host/transport/packet_settings.hpp"
#include "host/transport/queue_pair_planner.hpp"
#include "network/flow/flow_loads.hpp"
#include "network/network_model.hpp"
#include "network/packet/packet_switch.hpp"
#include "network/packet/packet_topology.hpp"
#include "network/routing/route_manager.hpp"
#include "network/transfer_records.hpp"

namespace weft {

class PacketNetwork {
 public:
  /// Keeps a reference to the topology. Throws InputError for what cannot be simulated:
  /// [zero-lookahead], [mtu-too-large], [mtu-above-queue], [headroom-above-buffer],
  /// [bad-threshold], [unknown-priority], [unknown-switch], [unknown-host], [short-pause],
  /// [not-in-packet-mode], [needs-one-way].
  PacketNetwork(const Topology& topology, const FlowSettings& flow, const PacketSettings& packet, const PacketTraffic& traffic,
                std::uint64_t seed);

  /// Every pause is kept, for pauses(). Before add_to().
  void keep_pauses() { keeps_pauses_ = true; }
  /// Switches note who waits for whom, for PacketResults::queue_blame(). Before add_to().
  void keep_ledgers() { keeps_ledgers_ = true; }
  /// Cables may fail: queue pairs of which nothing arrives wait for other routes, however long.
  /// Before add_to().
  void expect_failures() { expects_failures_ = true; }
  /// Flows share the cables: ports hear of what they take through tell_of_load(), and the fabric of
  /// packets_end. Before add_to().
  void share_with_flows(EntityId fabric) { fabric_ = fabric; }
  /// The nodes get their entities' ids, for who must know them before add_to(), which else declares
  /// them itself.
  void declare(EngineBuilder& builder);
  /// Adds all nodes, and connects them with each other and the hosts' entities, which are given by
  /// HostId and may be the same.
  void add_to(EngineBuilder& builder, const std::vector<EntityId>& entity_of_host);
  /// Who is told when cables change. Adds the route manager, which tells the nodes of other routes
  /// `reroute` + `delay` after a cable goes out or comes back, and connects `teller`, who tells of
  /// cables. Requires: added; once.
  void watch_cables(EngineBuilder& builder, EntityId teller, Duration delay, Duration reroute);
  /// From the teller's entity: that a cable carries this share of its speed, `delay` from now on.
  void tell_of_cable(LinkId cable, double share, Duration delay, EventContext& context) const;
  /// From the fabric's entity: what flows take of a link, and what it can carry at all, wqe_latency
  /// from now on. Links inside hosts carry no packets.
  void tell_of_load(const FlowLoads::LinkLoad& load, double capacity_bps, EventContext& context) const;
  /// By host, which node takes its transfers. Requires: declared.
  std::span<const EntityId> cards() const { return std::span(entity_of_node_).first(model_.nodes.host_count()); }

  /// How many transfers were delivered so far. Any thread may ask at any time.
  std::uint64_t delivered() const { return delivered_.load(std::memory_order_relaxed); }

  /// What the run tells afterwards.
  const PacketResults& results() const { return results_; }

  // --- Pauses that do not end ---

  /// Whether a host may pause for good and nothing ends that.
  bool is_held_by_hosts() const { return !model_.packet.pausing_hosts.empty() && !has_watchdog(); }
  /// The time at which a host's card begins to pause its switch for good, if it does.
  std::optional<Time> pauses_from(HostId host) const;
  /// Whether switches that wait for each other send pauses for ever: such a run never ends.
  bool refreshes_pauses() const { return model_.packet.pause_time > Duration::zero() && !has_watchdog(); }
  bool has_watchdog() const { return model_.packet.watchdog.is_on(); }

 private:
  PacketSwitchSettings switch_settings(std::uint32_t node) const;
  EgressPort egress(std::uint32_t node, const PacketTopology::Port& port) const;

  PacketModel model_;
  PacketNodeSettings settings_;
  QueuePairPlanner planner_;
  bool hosts_start_;
  bool keeps_pauses_ = false;
  bool keeps_ledgers_ = false;
  bool expects_failures_ = false;
  QueuePairs queue_pairs_;
  RouteVersions versions_;
  /// By node; each belongs to its thread.
  std::vector<std::shared_ptr<const AvailableRoutes>> routes_;
  EntityId route_manager_ = EntityId::none();
  EntityId fabric_ = EntityId::none();    ///< if flows share the cables
  std::vector<EntityId> entity_of_node_;  ///< the cards of hosts come first
  std::vector<EntityId> entity_of_host_;
  std::atomic<std::uint64_t> delivered_ = 0;
  PacketResults results_;
};

}  // namespace weft
