// SPDX-License-Identifier: Apache-2.0
// Parts of a cluster that can fail, and their names.
//
// Model: every GPU, every host, and one NIC for each GPU of a host. Names are those of a topology:
// "host3", "host3/gpu0", "host3/nic0". Where there is a topology, its switches and cables, too
// (scheduler/failures/network_parts).
// Thread safety: pure functions and values.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/lifecycle/cluster_state.hpp"

namespace weft {

class NetworkParts;

enum class PartKind : std::uint8_t { gpu, nic, host, packet_switch, link };
inline constexpr std::array part_kinds = {PartKind::gpu, PartKind::nic, PartKind::host, PartKind::packet_switch, PartKind::link};
constexpr bool is_of_network(PartKind kind) { return kind == PartKind::packet_switch || kind == PartKind::link; }
inline constexpr std::size_t part_kind_count = part_kinds.size();
std::string_view to_text(PartKind kind);

struct Part {
  PartKind kind = PartKind::host;
  /// of a GPU its slot, of a NIC that of the GPU it serves, of a host its id, of others by
  /// NetworkParts
  std::uint32_t index = 0;

  friend auto operator<=>(const Part&, const Part&) = default;
};

/// `network` may be null: it then has no parts.
std::uint32_t part_count(PartKind kind, const ClusterState& cluster, const NetworkParts* network = nullptr);
// Of GPUs, NICs and hosts.
HostId host_of(const Part& part, const ClusterState& cluster);
std::string to_text(const Part& part, const ClusterState& cluster);
/// None if the cluster has no such part of that name.
std::optional<Part> parse_part(std::string_view name, const ClusterState& cluster);

/// What a GPU or a NIC that fails takes out of service, and a GPU that is cut off from the network:
/// only the GPU, or all of its host.
enum class FailureScope : std::uint8_t { host, gpu };
/// The GPUs that cannot be used without the part. Requires: it is none of the network.
std::vector<GpuSlot> gpus_without(const Part& part, FailureScope scope, const ClusterState& cluster);

}  // namespace weft
