// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/fleet.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace weft {

void withdraw_last_hosts(ClusterState& cluster, std::uint32_t count) {
  WEFT_CHECK(count < cluster.host_count(), "some hosts are no spares");
  for (std::uint32_t i = 0; i < count; ++i) {
    cluster.withdraw(cluster.gpus(HostId(cluster.host_count() - 1 - i)));
  }
}

Fleet::Fleet(ClusterState& cluster, std::uint32_t hot_spares, std::uint32_t cold_spares)
    : cluster_(cluster), out_(cluster.gpu_count(), 0), spare_(cluster.host_count(), Spare::no) {
  withdraw_last_hosts(cluster_, hot_spares + cold_spares);
  for (std::uint32_t i = 0; i < hot_spares + cold_spares; ++i) {
    const HostId host(cluster.host_count() - 1 - i);
    spares_.insert(host);
    spare_[host.index()] = i < hot_spares ? Spare::hot : Spare::cold;
  }
}

void Fleet::set_aside(HostId host) {
  WEFT_CHECK(spare_[host.index()] == Spare::no, "a spare is not set aside");
  take_out(cluster_.gpus(host));
  set_aside_.insert(host);
}

void Fleet::take_out(std::span<const GpuSlot> gpus) {
  std::vector<GpuSlot> leave;
  for (const GpuSlot gpu : gpus) {
    if (serves(gpu)) leave.push_back(gpu);
    ++out_[gpu.index()];
  }
  cluster_.withdraw(leave);
}

void Fleet::bring_back(std::span<const GpuSlot> gpus) {
  std::vector<GpuSlot> come;
  for (const GpuSlot gpu : gpus) {
    WEFT_CHECK(out_[gpu.index()] > 0, "only what went out works again");
    --out_[gpu.index()];
    if (serves(gpu)) come.push_back(gpu);
  }
  cluster_.restore(come);
  if (!gpus.empty() && gpus_out(cluster_.host_of(gpus.front())) == 0) reported_.erase(cluster_.host_of(gpus.front()));
}

void Fleet::report(HostId host) {
  if (!set_aside_.contains(host)) reported_.insert(host);
}

std::uint32_t Fleet::gpus_out(HostId host) const {
  const std::vector<GpuSlot> gpus = cluster_.gpus(host);
  return static_cast<std::uint32_t>(std::count_if(gpus.begin(), gpus.end(), [this](GpuSlot gpu) { return out_[gpu.index()] > 0; }));
}

std::optional<Fleet::StandIn> Fleet::find_stand_in() {
  if (spares_.empty()) return std::nullopt;
  const auto needs_one = [this](HostId host) {
    return spare_[host.index()] == Spare::no && gpus_out(host) == cluster_.gpu_count(host);
  };
  const auto failed = std::find_if(reported_.begin(), reported_.end(), needs_one);
  if (failed == reported_.end()) return std::nullopt;
  std::optional<StandIn> best;
  for (const HostId spare : spares_) {
    const bool is_better = !best || (best->kind == Spare::cold && spare_[spare.index()] == Spare::hot);
    if (is_better && gpus_out(spare) == 0) best = StandIn{spare, spare_[spare.index()]};
  }
  if (!best) return std::nullopt;
  spare_[failed->index()] = best->kind;
  spares_.erase(best->host);
  spares_.insert(*failed);
  return best;
}

void Fleet::join(HostId host) {
  spare_[host.index()] = Spare::no;
  std::vector<GpuSlot> gpus = cluster_.gpus(host);
  std::erase_if(gpus, [this](GpuSlot gpu) { return !serves(gpu); });
  cluster_.restore(gpus);
}

}  // namespace weft
