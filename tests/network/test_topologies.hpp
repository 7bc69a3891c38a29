// SPDX-License-Identifier: Apache-2.0
// Small topologies for the network's tests.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

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

}  // namespace weft
