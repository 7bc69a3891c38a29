// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/part.hpp"

#include <charconv>

#include <fmt/format.h>

#include "core/check.hpp"
#include "scheduler/failures/network_parts.hpp"

namespace weft {
namespace {

/// Reads `word` and a number off the front of `text`; none if it does not begin so.
std::optional<std::uint32_t> take_numbered(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  std::uint32_t number = 0;
  const char* const begin = text.data() + word.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc() || end == begin) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::string_view to_text(PartKind kind) {
  switch (kind) {
    case PartKind::gpu:
      return "gpu";
    case PartKind::nic:
      return "nic";
    case PartKind::packet_switch:
      return "switch";
    case PartKind::link:
      return "link";
    case PartKind::host:
      break;
  }
  return "host";
}

std::uint32_t part_count(PartKind kind, const ClusterState& cluster, const NetworkParts* network) {
  if (is_of_network(kind)) {
    if (network == nullptr) return 0;
    return static_cast<std::uint32_t>(kind == PartKind::link ? network->cables().size() : network->switches().size());
  }
  return kind == PartKind::host ? cluster.host_count() : cluster.gpu_count();
}

HostId host_of(const Part& part, const ClusterState& cluster) {
  WEFT_CHECK(!is_of_network(part.kind), "the network's parts belong to no host");
  return part.kind == PartKind::host ? HostId(part.index) : cluster.host_of(GpuSlot(part.index));
}

std::string to_text(const Part& part, const ClusterState& cluster) {
  std::string text = fmt::format("host{}", host_of(part, cluster).index());
  if (part.kind == PartKind::host) return text;
  return fmt::format("{}/{}{}", text, to_text(part.kind), cluster.local_index(GpuSlot(part.index)));
}

std::optional<Part> parse_part(std::string_view name, const ClusterState& cluster) {
  std::optional<std::uint32_t> host = take_numbered(name, "host");
  // A number alone is a host, as scenarios write them.
  if (!host && name.find_first_not_of("0123456789") == std::string_view::npos) host = take_numbered(name, "");
  if (!host || *host >= cluster.host_count()) return std::nullopt;
  if (name.empty()) return Part{PartKind::host, *host};
  for (const PartKind kind : {PartKind::gpu, PartKind::nic}) {
    std::string_view rest = name;
    const std::optional<std::uint32_t> local = take_numbered(rest, fmt::format("/{}", to_text(kind)));
    if (local && rest.empty() && *local < cluster.gpu_count(HostId(*host)))
      return Part{kind, cluster.slot(HostId(*host), *local).index()};
  }
  return std::nullopt;
}

std::vector<GpuSlot> gpus_without(const Part& part, FailureScope scope, const ClusterState& cluster) {
  if (part.kind != PartKind::host && scope == FailureScope::gpu) return {GpuSlot(part.index)};
  return cluster.gpus(host_of(part, cluster));
}

}  // namespace weft
