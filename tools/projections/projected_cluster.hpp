// SPDX-License-Identifier: Apache-2.0
// Projected cluster: the cluster that a projection is asked about, with what else runs on it.
//
// Where it sits: `weft project` is told CLUSTER; the network formula and the simulation get the
// scenario.
//
// Model: CLUSTER is
//   a server          (`weft modules server`): as many of them as the plan needs GPUs, on rails
//                     without oversubscription unless rail_optimized.* says otherwise
//   a topology file   FILE[:format]
//   a scenario        FILE.textproto, whose jobs are the neighbours
// Threads: belongs to one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/text/params.hpp"
#include "host/projections/network_formula.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

struct ClusterRequest {
  std::string name;
  std::uint64_t gpus = 0;                  ///< that are needed
  std::uint64_t hosts = 0;                 ///< that are needed instead, if not 0
  std::vector<std::string> settings = {};  ///< "module.param=value"
};

/// Mode is flow. Throws InputError: what load_scenario() finds, [unknown-cluster] for a name that
/// nobody has, [cluster-too-small], [no-topology].
Scenario load_cluster(const ClusterRequest& request, const SourcePlace& place);

/// The network of a cluster in closed form, by its parameters. The cluster's topology outlives it.
NetworkFormula network_formula(const Scenario& cluster);

/// Of "name=value" texts, those whose name is "module.param" of a module that runs or topologies
/// have; they are taken out.
std::vector<std::string> take_module_settings(std::vector<std::string>& settings);

/// Parameters of a GPU and of the analytical model of its operator times.
struct OperatorParams {
  ParamSet gpu;
  ParamSet analytical;
};

/// Of texts "gpu.param=value" and "analytical.param=value". Throws what set_from_flags() does.
OperatorParams operator_params(std::span<const std::string> settings);

}  // namespace weft
