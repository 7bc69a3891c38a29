#include "scheduler/failures/fleet.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "scheduler/failures/part.hpp"

namespace weft {

void withdraw_last_hosts(ClusterState& cluster, std::uint32_t count) {
  WEFT_CHECK(count < cluster.host_count(), "some hosts are no spares");
  for (std::uint32_t i = 0; i < count; ++i) {
    cluster.withdraw(gpus_without({PartKind::host, cluster.host_count() - 1 - i}, FailureScope::host, cluster));
  }
}

Fleet::Fleet(ClusterState& cluster, std::uint32_t hot_spares, std::uint32_t cold_spares)
    : cluster_(cluster), out_(cluster.gpu_count(), 0), spare_(cluster.host_count(), Spare::no) {
  withdraw_last_hosts(cluster_, hot_spares + cold_spares);
  for (std::uint32_t i = 0; i < hot_spares + cold_spares; ++i) {
    const HostId host(cluster.host_count() - 1 - i);
    spares_.push_back(host);
    spare_[host.index()] = i < hot_spares ? Spare::hot : Spare::cold;
  }
  std::sort(spares_.begin(), spares_.end());
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
}

std::uint32_t Fleet::gpus_out(HostId host) const {
  const std::vector<GpuSlot> gpus = gpus_without({PartKind::host, host.index()}, FailureScope::host, cluster_);
  return static_cast<std::uint32_t>(std::count_if(gpus.begin(), gpus.end(), [this](GpuSlot gpu) { return out_[gpu.index()] > 0; }));
}

std::optional<Fleet::StandIn> Fleet::find_stand_in(HostId host) {
  if (spare_[host.index()] != Spare::no || gpus_out(host) < cluster_.gpu_count(host)) return std::nullopt;
  auto best = spares_.end();
  for (auto spare = spares_.begin(); spare != spares_.end(); ++spare) {
    if (gpus_out(*spare) > 0) continue;
    if (best == spares_.end() || (spare_[best->index()] == Spare::cold && spare_[spare->index()] == Spare::hot)) best = spare;
  }
  if (best == spares_.end()) return std::nullopt;
  const StandIn stand_in{*best, spare_[best->index()]};
  spare_[host.index()] = stand_in.kind;
  spares_.erase(best);
  spares_.insert(std::upper_bound(spares_.begin(), spares_.end(), host), host);
  return stand_in;
}

void Fleet::join(HostId host) {
  spare_[host.index()] = Spare::no;
  std::vector<GpuSlot> gpus = gpus_without({PartKind::host, host.index()}, FailureScope::host, cluster_);
  std::erase_if(gpus, [this](GpuSlot gpu) { return !serves(gpu); });
  cluster_.restore(gpus);
}

}  // namespace weft
