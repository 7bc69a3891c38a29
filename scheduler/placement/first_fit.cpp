#include "scheduler/placement/first_fit.hpp"

#include <algorithm>
#include <array>

#include "core/check.hpp"

namespace weft {
namespace {

constexpr std::array params_table = {
    ParamSpec{"scatter", ParamKind::boolean, "false", "", "", "",
              "true lets a job take any free GPUs, host by host; false keeps it on as few hosts as it needs",
              "gang schedulers keep jobs together (Philly, Tiresias)"},
};

std::optional<Placement> place_scattered(const ClusterState& cluster, std::uint32_t gpus) {
  Placement placement;
  placement.gpus.reserve(gpus);
  HostId from(0);
  for (std::uint32_t missing = gpus; missing > 0;) {
    const HostId host = cluster.first_host_with(1, from);
    const std::uint32_t taken = std::min(missing, cluster.free_gpus(host));
    cluster.append_free(host, taken, placement.gpus);
    missing -= taken;
    from = HostId(host.index() + 1);
  }
  return placement;
}

std::optional<Placement> place_on_one_host(const ClusterState& cluster, std::uint32_t gpus) {
  const HostId host = cluster.first_host_with(gpus);
  if (host.is_none()) return std::nullopt;
  Placement placement;
  placement.gpus.reserve(gpus);
  cluster.append_free(host, gpus, placement.gpus);
  return placement;
}

std::optional<Placement> place_on_whole_hosts(const ClusterState& cluster, std::uint32_t gpus) {
  std::vector<HostId> whole;
  std::uint32_t missing = gpus;
  for (HostId host = cluster.first_wholly_free_host(); missing > 0 && !host.is_none();
       host = cluster.first_wholly_free_host(HostId(host.index() + 1))) {
    if (cluster.gpu_count(host) > missing) continue;
    whole.push_back(host);
    missing -= cluster.gpu_count(host);
  }
  HostId rest = HostId::none();
  if (missing > 0) {
    rest = cluster.first_host_with(missing);
    while (!rest.is_none() && std::binary_search(whole.begin(), whole.end(), rest)) {
      rest = cluster.first_host_with(missing, HostId(rest.index() + 1));
    }
    if (rest.is_none()) return std::nullopt;
  }
  Placement placement;
  placement.gpus.reserve(gpus);
  for (const HostId host : whole) cluster.append_free(host, cluster.gpu_count(host), placement.gpus);
  if (missing > 0) cluster.append_free(rest, missing, placement.gpus);
  return placement;
}

std::unique_ptr<Placer> make(const ParamSet& params) { return std::make_unique<FirstFit>(params.boolean("scatter")); }

}  // namespace

std::optional<Placement> FirstFit::place(const ClusterState& cluster, std::uint32_t gpus) const {
  WEFT_CHECK(gpus > 0, "a job to be placed wants GPUs");
  if (cluster.free_gpus() < gpus) return std::nullopt;
  if (scatter_) return place_scattered(cluster, gpus);
  if (gpus <= cluster.host_gpus_max()) return place_on_one_host(cluster, gpus);
  return place_on_whole_hosts(cluster, gpus);
}

Module<PlacerFactory> first_fit_module() {
  return {{"placement", "first_fit",
           "Gang placement on the first hosts with room: one host if the job fits into one, otherwise wholly free hosts and the "
           "first host "
           "with room for the rest.",
           params_table},
          make};
}

}  // namespace weft
