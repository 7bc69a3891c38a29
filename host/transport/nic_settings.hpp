// SPDX-License-Identifier: Apache-2.0
// NIC settings: how a host's network cards behave, and what they ask of the rest of the run.
//
// Where it sits: whoever builds cards fills it (host/transport/packet_node_settings); all parts of
// host/transport/nic read it.
// Threads: values.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "host/transport/congestion_control.hpp"
#include "network/network_model.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/queue_pairs.hpp"
#include "network/wire_format.hpp"

namespace weft {

/// Bytes on the wire of an acknowledgement over RoCEv2 and IPv4: Ethernet with preamble and gap 38,
/// IPv4 20, UDP 8, BTH 12, AETH 4, ICRC 4. A CNP has 16 reserved bytes in the place of the AETH
/// (InfiniBand Architecture Specification, volume 1, release 1.4, annex A17).
inline constexpr std::uint32_t ack_wire_bytes = 86;
inline constexpr std::uint32_t notification_wire_bytes = 98;

/// Features of a card. Features that are not set are off; settings without a default must be set.
struct NicSettings {
  WireFormat wire_format;
  std::uint32_t queue_pairs = 1;         ///< per transfer
  std::uint32_t ack_interval = 0;        ///< packets per acknowledgement; at least 1
  Duration retransmission_timeout = {};  ///< zero: never
  std::uint8_t adapts_timeout = 0;       ///< bit per priority
  /// Timeouts in a row before a queue pair gives up; 0: any number.
  std::uint32_t retries = 0;
  bool slow_restart = false;
  Duration pause_time = {};  ///< that of the switches; zero: until resumed
  /// Priority of acknowledgements; none: the priority of the data that they acknowledge.
  std::optional<std::uint32_t> answer_priority = 0U;
  bool uses_priorities = true;  ///< of transfers; otherwise all transfers have the lowest
  bool keeps_early = false;     ///< the receiver keeps packets that arrive before their turn
  /// The receiver reports the packets that are missing before them.
  bool reports_gaps = true;
  /// QueuePairPlan::window shrinks with the rate of congestion control.
  bool window_follows_rate = false;
  std::shared_ptr<const CongestionAlgorithm> congestion = nullptr;
  Duration receive_latency = {};
  Duration completion_latency = {};
  bool keeps_pauses = false;  ///< for pauses()
  /// The rate at which a slow host takes the data of a port; none: at once.
  std::optional<Bandwidth> drain_rate = std::nullopt;
  /// Data that may wait in the card of a slow host before it asks for a pause. The card resumes its
  /// switch at half of that.
  Bytes receive_buffer = {};
  std::uint8_t lossless = 0;  ///< bit per priority: the priorities that the card pauses

  /// Whether the sender repeats single packets (selective repeat).
  bool repeats_alone() const { return keeps_early && reports_gaps; }
};

/// Route, rate limit and window of a queue pair.
struct QueuePairPlan {
  QueuePairs::Route route;                         ///< ports of data and of acknowledgements
  Bandwidth rate_max = Bandwidth::bps(INT64_MAX);  ///< whatever its port can do
  /// Rate between its GPU and its port, shared by all queue pairs of both.
  Bandwidth source_rate = Bandwidth::bps(INT64_MAX);
  Duration round_trip = {};  ///< of a full packet and its acknowledgement on idle links
  /// Limit on what is sent and not acknowledged, in full packets on the wire; none: no limit.
  std::optional<Bytes> window = {};
  std::uint32_t switches = 0;  ///< on the route
  Duration inside_hosts = {};  ///< time between GPU and port at both ends; added to the delivery
  bool is_cut_off = false;     ///< no route works; `route` leads over cables that are out
};

/// What a card asks of the rest of the run.
struct NicWiring {
  std::function<QueuePairPlan(const Transfer& transfer, std::uint32_t queue_pair)> plan;
  std::function<EntityId(NodeId endpoint)> host_of;
  std::atomic<std::uint64_t>* delivered = nullptr;  ///< counts deliveries, if not null
  /// The flow fabric, where flows share the cables: it hears of every transfer that was
  /// acknowledged in full, `fabric_delay` later. Otherwise none.
  EntityId fabric = EntityId::none();
  Duration fabric_delay = {};
  /// Makes plan() use this version of the routes from now on.
  std::function<void(std::uint32_t version)> take_routes = nullptr;
};

}  // namespace weft
