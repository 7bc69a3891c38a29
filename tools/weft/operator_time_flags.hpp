// SPDX-License-Identifier: Apache-2.0
// The flags that say how long operators take on whose GPU.
//
// Where it sits: `weft workload make` and `weft project`.
//
// Model: who is asked first answers first: an external chip model, then profiles of measured
// operators, then the analytical model of a GPU (host/op_times/chained_times).
// Threads: pure functions; the command line is its caller's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "host/op_times/gpu.hpp"
#include "host/op_times/operator_times.hpp"
#include "topologies/topology.hpp"

namespace CLI {
class App;
}

namespace weft {

struct OperatorTimeFlags {
  std::string gpu;                    ///< a preset; "" where the cluster says it
  std::string clock;                  ///< "1.4GHz"; "": as the preset
  std::vector<std::string> profiles;  ///< of `weft optimes fit`
  std::string external;               ///< command of a chip model
  std::vector<std::string> settings;  ///< "gpu.param=value", "analytical.param=value"
};

/// Adds --gpu, also called --gpu-arch, --gpu-clock, --optimes and --external.
void add_operator_time_flags(CLI::App& command, OperatorTimeFlags& flags);

/// Of "name=value" texts, those of the modules gpu and analytical are taken out.
std::vector<std::string> take_operator_settings(std::vector<std::string>& settings);

struct FlaggedTimes {
  Gpu gpu;
  std::unique_ptr<OperatorTimes> times;
};

/// Of the cluster's servers, unless a flag names the GPU. Throws InputError [missing-flag] where
/// neither does, and what whoever reads what was named throws.
FlaggedTimes flagged_times(const OperatorTimeFlags& flags, const Topology& cluster, const std::string& cluster_name,
                           const SourcePlace& cluster_place);

}  // namespace weft
