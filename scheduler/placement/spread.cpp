// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/spread.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/check.hpp"

namespace weft {

std::optional<Placement> Spread::place(const ClusterState& cluster, std::uint32_t gpus) const {
  WEFT_CHECK(gpus > 0, "a job to be placed wants GPUs");
  if (cluster.free_gpus() < gpus) return std::nullopt;
  std::vector<std::pair<HostId, std::uint32_t>> hosts;  // with free GPUs: how many it gives
  for (HostId host = cluster.first_host_with(1); !host.is_none(); host = cluster.first_host_with(1, HostId(host.index() + 1))) {
    hosts.emplace_back(host, 0);
  }
  std::stable_sort(hosts.begin(), hosts.end(),
                   [&](const auto& a, const auto& b) { return cluster.free_gpus(a.first) > cluster.free_gpus(b.first); });
  for (std::uint32_t missing = gpus; missing > 0;) {
    for (auto& [host, given] : hosts) {
      if (missing == 0) break;
      if (given == cluster.free_gpus(host)) continue;
      ++given;
      --missing;
    }
  }
  std::sort(hosts.begin(), hosts.end());
  Placement placement;
  placement.gpus.reserve(gpus);
  for (const auto& [host, given] : hosts) {
    if (given > 0) cluster.append_free(host, given, placement.gpus);
  }
  return placement;
}

Module<PlacerFactory> spread_module() {
  return {{"placement",
           "spread",
           "A job takes one GPU of each host in turn, those with most free ones first, until it has all: most NICs for each GPU, "
           "least heat on each host.",
           {}},
          [](const ParamSet&, const PlacerContext&) -> std::unique_ptr<Placer> { return std::make_unique<Spread>(); }};
}

}  // namespace weft
