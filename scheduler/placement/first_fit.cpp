// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/first_fit.hpp"

#include <algorithm>
#include <array>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"

namespace weft {
namespace {

struct FirstFitSettings {
  bool scatter;
};

constexpr std::array first_fit_params = {
    param<&FirstFitSettings::scatter>(
        {.name = "scatter",
         .default_text = "false",
         .meaning = "true lets a job take any free GPUs, host by host; false keeps it on as few hosts as it needs",
         .origin = "gang schedulers keep jobs together (Philly, Tiresias)"}),
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

std::unique_ptr<Placer> make_first_fit(const ParamSet& params, const PlacerContext&) {
  return std::make_unique<FirstFit>(filled<FirstFitSettings>(params).scatter);
}

}  // namespace

std::optional<Placement> FirstFit::place(const ClusterState& cluster, std::uint32_t gpus) const {
  if (!scatter_) return GangPlacer::place(cluster, gpus);
  WEFT_CHECK(gpus > 0, "a job to be placed wants GPUs");
  if (cluster.free_gpus() < gpus) return std::nullopt;
  return place_scattered(cluster, gpus);
}

HostId FirstFit::host_with(const ClusterState& cluster, std::uint32_t gpus, std::span<const HostId> taken) const {
  return first_host_beside(cluster, gpus, taken);
}

Module<PlacerFactory> first_fit_module() {
  return {{"placement", "first_fit",
           "Gang placement on the first hosts with room: one host if the job fits into one, otherwise wholly free hosts and the "
           "first host "
           "with room for the rest.",
           first_fit_params},
          make_first_fit};
}

}  // namespace weft
