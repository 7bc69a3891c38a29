// SPDX-License-Identifier: Apache-2.0
// Packet settings: the parameters of packet mode, as users set them (`packet.alpha=0.125`) and as
// cards and switches read them.
//
// Where it sits: the run reads a ParamSet of packet_params(); host/transport/packet_network takes
// the result. What both fidelities of the network have in common - latencies, packet format, queue
// pairs, routing - is in the table "flow" (network/flow/flow_settings).
// Threads: values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/text/params.hpp"
#include "core/values/units.hpp"
#include "host/ranks/host_defects.hpp"
#include "host/transport/congestion_control.hpp"
#include "host/transport/switch_profiles.hpp"
#include "network/packet/pfc_watchdog.hpp"

namespace weft {

/// Parameter table "packet".
ParamTable packet_params();

/// What a queue pair may have under way.
struct QueuePairWindow {
  bool is_limited = true;
  std::optional<Bytes> bytes = {};  ///< on the wire; none: what its route holds

  bool operator==(const QueuePairWindow&) const = default;
};

/// By the table "packet", which has the only defaults.
struct PacketSettings {
  /// Throws InputError [bad-value] for texts that are no numbers, [bad-threshold] for thresholds
  /// that contradict each other, and what read_switch_profiles() does.
  PacketSettings(const ParamSet& packet, std::shared_ptr<const CongestionAlgorithm> congestion);

  /// The one that `packet.congestion_control` names.
  std::shared_ptr<const CongestionAlgorithm> congestion;
  std::uint32_t ack_interval;
  bool answers_with_data;  ///< in the priority of what they answer; else in one of their own
  bool selective_repeat;   ///< else go-back-N
  QueuePairWindow window;
  bool paces_by_route;  ///< no queue pair is faster than the slowest link of its route
  bool window_follows_rate;
  Duration retransmission_timeout;
  enum class Adaptive : std::uint8_t { off, lossy, on };
  Adaptive adaptive_retransmission;
  std::uint32_t retries;      ///< 0: any number
  std::uint64_t repeats_max;  ///< of a card, without anything new anywhere; 0: any number
  bool slow_restart;
  Duration card_delay;
  std::optional<Bytes> buffer;  ///< of each switch; none: as the topology says
  Bytes reserved;
  double alpha;
  double lossy_alpha;  ///< of egress queues
  /// Of each port and lossless priority; none: as cable and rate need.
  std::optional<Bytes> headroom;
  Duration pfc_reach;  ///< cables that take longer, one way, have no pauses
  std::optional<Bytes> resume_offset;
  Duration pause_time;
  bool is_unsafe;  ///< headroom may be less than what can come after a pause
  std::vector<HostDefect> slow_hosts;
  std::vector<HostDefect> pausing_hosts;
  Bytes receive_buffer;  ///< of cards of slow hosts
  PfcWatchdogSettings watchdog;
  Bytes ecn_kmin;  ///< of a port of 100 Gb/s, like the next
  Bytes ecn_kmax;
  double ecn_pmax;
  bool marks_at_dequeue;  ///< else as packets join a queue
  /// Ports that make a packet wait at most so much longer than the best are as good.
  Duration adaptive_band;
  std::vector<SwitchProfile> profiles;  ///< the last one that names something stands
  double beside_flows_min;              ///< of a cable that packets share with flows
  bool drops_early;                     ///< lossy priorities, where others mark
  std::vector<std::uint32_t> lossy;     ///< priorities
  /// Priority and weight; others are strict.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> weights;
};

}  // namespace weft
