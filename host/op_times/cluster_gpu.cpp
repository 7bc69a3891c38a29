// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/cluster_gpu.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/preset_text.hpp"
#include "host/op_times/gpu_presets.hpp"
#include "topologies/builders/server_presets.hpp"
#include "topologies/topology_reader.hpp"

namespace weft {

namespace {

struct ServerGpu {
  std::string_view server;
  std::string_view gpu;
};

constexpr std::array<ServerGpu, 9> server_gpus = {{{"hgx_h100", "h100_sxm"},
                                                   {"hgx_h200", "h200"},
                                                   {"hgx_a100", "a100_sxm_80gb"},
                                                   {"hgx_b200", "b200"},
                                                   {"gb200_nvl72", "gb200"},
                                                   {"gb300_nvl72", "gb300"},
                                                   {"gh200", "gh200"},
                                                   {"mi300x", "mi300x"},
                                                   {"mi355x_8", "mi355x"}}};

const ModuleInfo* preset_called(std::span<const ModuleInfo> presets, std::string_view name) {
  const auto found = std::find_if(presets.begin(), presets.end(), [&](const ModuleInfo& preset) { return preset.name == name; });
  return found == presets.end() ? nullptr : &*found;
}

std::uint64_t gpus_per_host_of(const ModuleInfo& server) {
  for (const NamedValue& given : server.values) {
    if (given.name == "gpus_per_host") return std::stoull(std::string(given.value));
  }
  return 0;
}

ClusterGpu of_topology(const std::string& cluster) {
  // As everywhere, FILE or FILE:format; a colon before a slash belongs to the path.
  const std::size_t colon = cluster.rfind(':');
  const bool has_format = colon != std::string::npos && cluster.find('/', colon) == std::string::npos;
  ClusterGpu found;
  found.topology = load_topology(cluster.substr(0, has_format ? colon : std::string::npos),
                                 has_format ? cluster.substr(colon + 1) : std::string());
  found.server = found.topology->machine();
  found.gpu = gpu_of_server(found.server);
  found.gpus = found.topology->endpoints().size();
  found.gpus_per_host = found.topology->endpoints_of(HostId(0)).size();
  return found;
}

}  // namespace

std::string_view gpu_of_server(std::string_view server) {
  const auto found =
      std::find_if(server_gpus.begin(), server_gpus.end(), [&](const ServerGpu& row) { return row.server == server; });
  return found == server_gpus.end() ? std::string_view() : found->gpu;
}

ClusterGpu cluster_gpu(const std::string& cluster, const SourcePlace& place) {
  if (names_file(cluster)) return of_topology(cluster);
  ClusterGpu found;
  if (const ModuleInfo* server = preset_called(server_presets(), cluster)) {
    found.server = cluster;
    found.gpu = gpu_of_server(cluster);
    found.gpus_per_host = gpus_per_host_of(*server);
    return found;
  }
  if (preset_called(gpu_presets(), cluster) != nullptr) {
    found.gpu = cluster;
    return found;
  }
  std::vector<std::string> known;
  for (const ModuleInfo& preset : gpu_presets()) known.emplace_back(preset.name);
  for (const ModuleInfo& preset : server_presets()) known.emplace_back(preset.name);
  const std::string closest_name = closest(cluster, known);
  fail("unknown-cluster", fmt::format("there is no GPU and no server {}", in_quotes(cluster)), place,
       closest_name.empty()
           ? "`weft modules gpu` and `weft modules server` list them; a topology is a file, such as cluster.textproto"
           : fmt::format("did you mean {}?", in_quotes(closest_name)));
}

}  // namespace weft
