// SPDX-License-Identifier: Apache-2.0
// Packet runs: the fabric and the traffic patterns that benchmarks of packet mode share.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "topologies/builders.hpp"

namespace weft {

/// A k-ary fat tree of links of 100 Gb/s, each as long as `fibre` says; 200 m take 1 us.
inline std::shared_ptr<const Topology> fat_tree(std::uint32_t k, const std::string& fibre = "200m") {
  const SourcePlace place = SourcePlace::named("benchmark");
  const auto& builder = find_module(topology_builders(), "fat_tree", place);
  ParamSet params("fat_tree", builder.info.params);
  params.set("k", fmt::to_string(k), place);
  for (const char* rate : {"nic_rate", "fabric_rate"}) params.set(rate, "100Gbps", place);
  for (const char* length : {"host_fibre", "leaf_fibre", "agg_fibre"}) params.set(length, fibre, place);
  return builder.make(params, place);
}

enum class Pattern : std::uint8_t { shift, random, incast, sparse };

/// By sending host; its own number: none.
inline std::vector<std::uint32_t> destinations(Pattern pattern, std::uint32_t hosts) {
  RandomStream random(1, 0, 0);
  std::vector<std::uint32_t> order(hosts);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t i = hosts - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  std::vector<std::uint32_t> to(hosts);
  std::iota(to.begin(), to.end(), 0U);
  for (std::uint32_t i = 0; i < hosts; ++i) {
    switch (pattern) {
      case Pattern::shift:
        to[i] = (i + hosts / 2) % hosts;
        break;
      case Pattern::random:
        to[order[i]] = order[(i + 1) % hosts];
        break;
      case Pattern::incast:
        if (i / 101 < hosts / 101) to[order[i]] = order[i / 101 * 101];
        break;
      case Pattern::sparse:
        if (i % 64 == 0) to[order[i]] = order[i + 1];
        break;
    }
  }
  return to;
}

}  // namespace weft
