// SPDX-License-Identifier: Apache-2.0
#include "host/projections/hardware_network.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "host/projections/collective_formulas.hpp"

namespace weft {

AxisClock hardware_clock(const HardwareConfig& hardware, const ParallelPlan& plan) {
  AxisClock clock;
  clock.collective = [hardware, plan](PlanAxis axis, CollectiveType type, Bytes input) {
    const GroupSpread group = spread_of(axis, plan, hardware.gpus_per_node);
    if (group.ranks <= 1) return Duration::zero();
    switch (type) {
      case CollectiveType::all_reduce:
        return best_all_reduce(hardware, group, input).time;
      case CollectiveType::all_gather:
        return gather_time(hardware, group, input * static_cast<std::int64_t>(group.ranks));
      case CollectiveType::reduce_scatter:
        return gather_time(hardware, group, input);
      default:
        WEFT_CHECK(type == CollectiveType::all_to_all, "axes have no other collectives");
        return all_to_all_time(hardware, group, input);
    }
  };
  clock.message = [hardware, plan](PlanAxis axis, Bytes bytes) {
    return send_time(hardware, spread_of(axis, plan, hardware.gpus_per_node).nodes() > 1, bytes);
  };
  return clock;
}

HardwareConfig hardware_of(const Topology& topology, const NetworkFormula& formula, const std::string& name) {
  const auto gpus_per_host = static_cast<std::uint32_t>(topology.endpoints_of(HostId(0)).size());
  const auto link = [&](std::uint64_t to) {
    const Bytes small = Bytes::of(1);
    const Bytes large = Bytes::mib(64);
    const Duration latency = formula.message_between(0, to, small);
    const Duration time = formula.message_between(0, to, large) - latency;
    const double bits_per_s = (large - small).in_bits() / time.in_s();
    return HardwareLink{Bandwidth::bps(static_cast<std::int64_t>(bits_per_s)), latency, 1.0};
  };
  HardwareConfig hardware;
  hardware.name = name;
  hardware.gpus_per_node = hardware.nics_per_node = gpus_per_host;
  const bool has_inside = gpus_per_host > 1;
  const bool has_between = formula.ranks_max() > gpus_per_host;
  if (has_inside) {
    hardware.inside = link(1);
    const GroupLayout host(topology, topology.endpoints_of(HostId(0)));
    hardware.inside.bandwidth = std::max(hardware.inside.bandwidth, Bandwidth::bps(host.hardware().nvlink_bps));
  }
  hardware.between = has_between ? link(gpus_per_host) : hardware.inside;
  if (!has_inside) hardware.inside = hardware.between;
  // A GPU alone has nobody to send to, at whatever rate.
  if (!has_inside && !has_between) hardware.inside.bandwidth = hardware.between.bandwidth = Bandwidth::gbps(1);
  return hardware;
}

}  // namespace weft
