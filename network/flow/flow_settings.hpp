// SPDX-License-Identifier: Apache-2.0
// Flow settings: the parameters of flow mode, as users set them (`flow.mtu=4096B`) and as the
// fabric reads them.
//
// Where it sits: the run reads a ParamSet of flow_params() and of the chosen allocation policy;
// flow_fabric and FlowNetworkPort take the result.
// Threads: values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/text/params.hpp"
#include "core/values/units.hpp"
#include "network/max_min/allocation_policy.hpp"
#include "network/routing/ecmp.hpp"
#include "network/routing/path_delay.hpp"
#include "network/wide_area/wide_area_settings.hpp"
#include "network/wire_format.hpp"

namespace weft {

/// Parameter table "flow".
ParamTable flow_params();

/// How the queue pairs of one transfer compete with those of others.
enum class QueuePairShare : std::uint8_t {
  per_queue_pair,  ///< every queue pair is a flow of weight 1
  per_transfer,    ///< the weights of a transfer's queue pairs add up to 1
};

/// How a flow gets from leaf to leaf.
enum class Routing : std::uint8_t {
  /// Every queue pair takes one shortest path, by its hash or its destination
  /// (network/routing/ecmp)
  single,
  spray,  ///< every queue pair is spread over all shortest paths (network/routing/spray)
  /// Every queue pair takes one shortest path, chosen switch by switch by what is under way when it
  /// starts (network/routing/adaptive)
  adaptive,
  adaptive_global,  ///< likewise, chosen by what is under way on whole paths
};

/// Whether paths depend on what is under way.
constexpr bool is_adaptive(Routing routing) { return routing == Routing::adaptive || routing == Routing::adaptive_global; }

/// What Transfer::priority does.
enum class Priorities : std::uint8_t {
  /// On every link classes of a higher number go first, and the others share what they leave.
  strict,
  none,  ///< all transfers are of one class
};

/// Which switches can add up what passes through them (network/in_network/switch_operations).
enum class ReducingSwitches : std::uint8_t { all, nvswitches, none };

struct FlowChoices;

/// By the table "flow", which has the only defaults.
struct FlowSettings {
  /// `run_seed` is that of the run, which hashing goes by unless it has its own. Throws InputError
  /// [mtu-too-small], [paths-not-weighed] where routing goes by no weights, and [bad-value] or
  /// [out-of-range] for queue_pair_rate_max and ecmp_seed, which may be words.
  explicit FlowSettings(const ParamSet& flow, std::uint64_t run_seed = 1);

  Duration wqe_latency;
  Duration receive_latency;
  Duration completion_latency;
  Duration switching_delay;
  Forwarding forwarding;
  Duration nvlink_latency;
  bool gpudirect;
  Duration staging_latency;  ///< without gpudirect, see network/flow/staging
  Bandwidth staging_rate;
  WireFormat wire_format;
  double nvlink_efficiency;
  double network_efficiency;
  double nvls_efficiency;
  std::uint32_t queue_pairs;
  /// Of packets with their headers, between hosts; none: unlimited.
  std::optional<Bandwidth> queue_pair_rate_max;
  QueuePairShare share;
  Routing routing;
  PathRule path_rule;
  Priorities priorities;
  ReducingSwitches reducing_switches;
  std::size_t path_cache_entries;
  bool detect_congestion;  ///< see network/congestion/congestion_monitor
  Duration congestion_gap;
  WideAreaSettings wide_area;  ///< of lines between sites; as if nothing was set

  /// What `payload` takes of the links that it crosses: between hosts with headers, and divided by
  /// the efficiency there, rounded up.
  Bytes wire_bytes(Bytes payload, bool inside_host) const;
  /// Wire bytes of an operand that switches reduce or multicast.
  Bytes operation_wire_bytes(Bytes operand, bool inside_host) const;

  /// The most that a queue pair moves of wire_bytes() per second, infinite where nothing limits it.
  /// As those are more than its packets where the efficiency is below 1, so is this.
  double queue_pair_cap_bps(bool inside_host) const;

  /// Least delays of messages, to be declared to the engine. Zero makes host and fabric share a
  /// logical process.
  Duration host_to_fabric_min() const;
  Duration fabric_to_host_min() const;

 private:
  FlowSettings(const ParamSet& flow, const FlowChoices& choices, std::uint64_t run_seed);
};

}  // namespace weft
