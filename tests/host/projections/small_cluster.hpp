// SPDX-License-Identifier: Apache-2.0
// Small cluster: hosts of 8 H100 on rails of their own without oversubscription, for tests of
// formulas.
#pragma once

#include <memory>
#include <string>

#include "core/text/diagnostics.hpp"
#include "core/text/params.hpp"
#include "host/collectives/nccl_constants.hpp"
#include "host/projections/network_formula.hpp"
#include "topologies/builders.hpp"

namespace weft::small_cluster {

inline std::shared_ptr<const Topology> hosts(std::uint32_t count) {
  const auto& module = find_module(topology_builders(), "rail_optimized", {});
  ParamSet params("rail_optimized", module.info.params);
  params.set("server", "hgx_h100", {});
  params.set("hosts", std::to_string(count), {});
  return module.make(params, {});
}

inline FlowSettings flow_settings() { return FlowSettings(ParamSet("flow", flow_params())); }

inline NetworkFormula formula(const Topology& topology) {
  return NetworkFormula(topology, ParamSet("nccl", nccl_params()), flow_settings());
}

}  // namespace weft::small_cluster
