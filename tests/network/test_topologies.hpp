// SPDX-License-Identifier: Apache-2.0
// Small topologies for the network's tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "topologies/builders.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// A built topology with some parameters set.
inline std::shared_ptr<const Topology> built(const char* name,
                                             std::initializer_list<std::pair<const char*, const char*>> parameters) {
  const SourcePlace place{"test", 0, 0, 1, ""};
  const auto& module = find_module(topology_builders(), name, place);
  ParamSet params(name, module.info.params);
  for (const auto& [key, value] : parameters) params.set(key, value, place);
  return module.make(params, place);
}

/// Hosts with one endpoint each, on one switch; 100 Gb/s and 10 ns per cable.
inline std::shared_ptr<const Topology> star(const char* hosts) {
  return built("single_switch", {{"hosts", hosts}, {"nic_rate", "100Gbps"}, {"fibre", "2m"}});
}

/// Between two nodes of network().
struct Cable {
  int a;
  int b;
  std::int64_t gbps;
};

/// Hosts 0 to hosts - 1 with one port each, then switches.
inline std::shared_ptr<const Topology> network(int hosts, int switches, const std::vector<Cable>& cables) {
  TopologyBuilder builder("network");
  std::vector<NodeId> nodes;
  for (int i = 0; i < hosts; ++i) nodes.push_back(builder.add_endpoint(builder.add_host(), NodeKind::host));
  for (int i = 0; i < switches; ++i) nodes.push_back(builder.add_switch(1));
  for (const Cable& cable : cables)
    builder.add_cable(nodes[static_cast<std::size_t>(cable.a)], nodes[static_cast<std::size_t>(cable.b)],
                      Bandwidth::gbps(cable.gbps), Duration::ns(500));
  return std::move(builder).build(nullptr, SourcePlace::named("test"));
}

}  // namespace weft
