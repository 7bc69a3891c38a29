// SPDX-License-Identifier: Apache-2.0
// Packet results: what a run in packet mode tells afterwards, collected from its nodes.
//
// Where it sits: part of PacketNetwork (host/transport/packet_network), whose callers write the
// result tables and the notes of a run.
// Threads: for one thread, while no window runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/engine.hpp"
#include "host/transport/ideal_transfer_time.hpp"
#include "host/transport/packet_model.hpp"
#include "host/transport/packet_node_settings.hpp"
#include "host/transport/queue_pair_planner.hpp"
#include "network/network_model.hpp"
#include "network/packet/packet_switch.hpp"
#include "network/transfer_records.hpp"

namespace weft {

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

/// The switch on a transfer's routes that dropped most packets, of anybody.
struct WorstSwitch {
  NodeId node = NodeId::none();  ///< none() if none was dropped
  std::uint64_t drops = 0;
};

/// A time during which the end of a link asked for a pause of any priority.
struct LinkPause {
  LinkId link;
  PauseSpan span;
};

/// What data packets waited in a queue that leads to a link.
struct QueueBlame {
  LinkId link;
  AttemptId waits;
  AttemptId blamed;  ///< whose packets left meanwhile; of a pause its own
  /// Of a pause: the link before which those waited who made the switch there ask for it; none()
  /// where a host did.
  LinkId paused_by = LinkId::none();
  bool is_pause = false;
  double lost_s = 0;
};

/// A transfer whose queue pairs had smaller windows than its route holds.
struct NarrowWindow {
  Transfer transfer;
  Bytes window;    ///< of all its queue pairs
  Bandwidth rate;  ///< of its route
  /// From a packet's first bit until it is acknowledged, while nothing else is under way.
  Duration round_trip;
  Bytes held;  ///< by its route: the product of these
};

/// A cable that may bring more after a pause was asked for than there is headroom for.
struct ShortHeadroom {
  LinkId link;
  Bytes headroom;
  Bytes needed;
  std::size_t more_links = 0;  ///< of which the same is true
};

class PacketResults {
 public:
  /// Keeps references; `entities` are those of the nodes, host by host and then the switches.
  PacketResults(const PacketModel& model, const PacketNodeSettings& settings, const QueuePairPlanner& planner,
                const std::vector<EntityId>& entities)
      : model_(model), settings_(settings), planner_(planner), ideal_(model, planner), entities_(entities) {}

  /// Transfers between hosts that were delivered, host by host in order of delivery; not numbered.
  std::vector<FinishedTransfer> finished(const Engine& engine) const;
  /// Transfers between hosts that were not acknowledged in full; not numbered.
  std::vector<UnfinishedTransfer> unfinished(const Engine& engine) const;
  /// In order of time.
  std::vector<StoppedQueuePair> given_up(const Engine& engine) const;
  WorstSwitch worst_switch(const Engine& engine, const Transfer& transfer) const;
  /// How often cards may send again what does not come; none: as often as they like, or queue pairs
  /// give up before.
  std::optional<std::uint64_t> repeats_max() const;
  /// Packets sent again, by host.
  std::vector<std::uint64_t> repeats(const Engine& engine) const;
  /// Of transfers that were larger than their windows, the one whose window is the smallest part of
  /// what its route holds; none if all windows were large enough.
  std::optional<NarrowWindow> narrowest_window(const Engine& engine) const;
  /// What TCP does to transfers that were delivered.
  WideAreaUse wide_area_use(const Engine& engine) const;
  /// Of cables that have carried something, the one that is furthest from the headroom that it
  /// needs (packet.unsafe).
  std::optional<ShortHeadroom> shortest_headroom(std::span<const LinkUsage> usage) const;
  /// When the last packet of data came to a card, in time or once more.
  Time last_data(const Engine& engine) const;
  /// As of `end`, like add_usage().
  PacketCounters counters(const Engine& engine, Time end) const;
  /// Of all links, as of `end`: link by link, of each in order of time. Requires: keep_pauses().
  std::vector<LinkPause> pauses(const Engine& engine, Time end) const;
  /// Of all queues of switches, of packets that have left. Requires: keep_ledgers().
  std::vector<QueueBlame> queue_blame(const Engine& engine) const;
  /// What watchdogs found, by (time, link, priority).
  std::vector<LinkStorm> storms(const Engine& engine) const;
  /// Links that wait for each other in a circle: what came by each waits in its switch for room at
  /// the end of the next, and at the last for the first. Empty if there is no such circle.
  std::vector<LinkId> deadlock(const Engine& engine) const;
  /// Adds what links between hosts and switches have carried by `now`; by LinkId. Utilization is
  /// over begin .. end.
  void add_usage(const Engine& engine, Time begin, Time end, Time now, std::vector<LinkUsage>& usage) const;

 private:
  std::uint64_t drops_of(const Engine& engine, std::uint32_t node) const;

  const PacketModel& model_;
  const PacketNodeSettings& settings_;
  const QueuePairPlanner& planner_;
  IdealTransferTime ideal_;
  const std::vector<EntityId>& entities_;
};

}  // namespace weft
