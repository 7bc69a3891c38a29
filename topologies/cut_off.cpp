// SPDX-License-Identifier: Apache-2.0
#include "topologies/cut_off.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "topologies/connected_parts.hpp"

namespace weft {

std::vector<bool> cut_off_endpoints(const Topology& topology, const std::vector<bool>& is_out, bool relay,
                                    const std::vector<bool>& before) {
  ConnectedParts parts(topology, is_out, relay);
  const std::span<const NodeId> endpoints = topology.endpoints();
  std::vector<bool> cut_off(endpoints.size(), false);
  std::vector<std::uint32_t> size(topology.node_count(), 0);  // by part: its endpoints
  // Of these, those that were not cut off.
  std::vector<std::uint32_t> stayed(topology.node_count(), 0);
  // Place of an endpoint, and a part that it is at.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stands;
  std::uint32_t all = 0;
  for (std::uint32_t place = 0; place < endpoints.size(); ++place) {
    const ConnectedParts::Place found = parts.of(endpoints[place]);
    if (!found.has_way_out) continue;
    ++all;
    cut_off[place] = true;
    for (const std::uint32_t part : found.parts) {
      ++size[part];
      stayed[part] += !before.empty() && !before[place] ? 1 : 0;
      stands.emplace_back(place, part);
    }
  }
  // In order of endpoints, so that of equal ones the first stands.
  std::uint32_t largest = UINT32_MAX;
  for (const auto& [place, part] : stands) {
    if (largest == UINT32_MAX || std::pair(stayed[part], size[part]) > std::pair(stayed[largest], size[largest])) largest = part;
  }
  for (const auto& [place, part] : stands) {
    const bool serves = size[part] > all / 2 && (before.empty() || stayed[part] > 0);
    if (part == largest || serves) cut_off[place] = false;
  }
  return cut_off;
}

}  // namespace weft
