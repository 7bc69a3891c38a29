// SPDX-License-Identifier: Apache-2.0
// Cluster GPU: which GPU the servers of a cluster have, for projections of training on it.
//
// Where it sits: `weft project` is told a cluster in a word: a GPU (gpu_presets.hpp), a server
// (topologies/builders/server_presets.hpp), or a file of a topology whose servers have a name.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/text/diagnostics_fwd.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// Presets of the GPU in a server of this preset; "" where there is no such server.
std::string_view gpu_of_server(std::string_view server);

struct ClusterGpu {
  std::string gpu;                           ///< preset; "" where the topology names no server
  std::string server;                        ///< preset; "" of a GPU alone
  std::uint64_t gpus_per_host = 0;           ///< 0: not known
  std::uint64_t gpus = 0;                    ///< of the topology; 0 of a GPU or a server
  std::shared_ptr<const Topology> topology;  ///< null where none is named
};

/// What `cluster` stands for: a file, with its format behind a colon, if it has a dot or a slash,
/// else a GPU or a server. `place` is where it was named. Throws InputError [unknown-cluster] with
/// a suggestion, and what load_topology() does.
ClusterGpu cluster_gpu(const std::string& cluster, const SourcePlace& place);

}  // namespace weft
