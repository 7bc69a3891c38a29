// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/storage.hpp"

#include <algorithm>
#include <array>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"
#include "core/values/units.hpp"

namespace weft {
namespace {

constexpr std::array storage_rows = {
    // Which hosts there are is known to tools only (tools/simulation/scenario/storage_entries).
    ParamSpec{.name = "hosts",
              .kind = ParamKind::text,
              .default_text = "",
              .meaning = "hosts that store data and checkpoints, and run no jobs: numbers like 60-63; none: only data of jobs that "
                         "say where it lies",
              .origin = "none"},
    param<&StorageSettings::rate>({.name = "rate",
                                   .default_text = "16Tbps",
                                   .minimum = "0",
                                   .maximum = "1000Tbps",
                                   .meaning = "what a job gets from all of the storage where no network is simulated; 0: no limit",
                                   .origin = "Llama 3 (2024), section 3.3.1: the storage of its cluster sustains 2 TB/s"}),
};

}  // namespace

ParamTable storage_params() { return storage_rows; }

std::vector<GpuSlot> stores_on(std::span<const HostId> hosts, const ClusterState& cluster) {
  std::vector<GpuSlot> stores;
  std::uint32_t most = 0;
  for (const HostId host : hosts) most = std::max(most, cluster.gpu_count(host));
  for (std::uint32_t gpu = 0; gpu < most; ++gpu) {
    for (const HostId host : hosts) {
      if (gpu < cluster.gpu_count(host)) stores.push_back(cluster.slot(host, gpu));
    }
  }
  return stores;
}

std::vector<RankData> data_to_fetch(const JobSpec& job, const Placement& placement, bool has_checkpoint,
                                    const StorageSettings& storage, const ClusterState& cluster) {
  std::vector<RankData> result;
  const auto ranks = static_cast<std::uint32_t>(placement.gpus.size());
  const auto fetch = [&](Bytes size, std::span<const HostId> hosts) {
    if (size == Bytes::zero()) return;
    const std::vector<GpuSlot> stores = stores_on(hosts, cluster);
    WEFT_CHECK(!stores.empty(), "data lies somewhere");
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const Bytes part = part_of(size, ranks, rank);
      const bool is_there = std::ranges::find(hosts, cluster.host_of(placement.gpus[rank])) != hosts.end();
      if (part > Bytes::zero() && !is_there) result.push_back({RankId(rank), stores[rank % stores.size()], part});
    }
  };
  fetch(job.data, job.data_hosts.empty() ? storage.hosts : job.data_hosts);
  if (has_checkpoint) fetch(job.checkpoint, storage.hosts);
  return result;
}

Duration fetching_time(std::span<const RankData> data, const StorageSettings& storage) {
  if (storage.rate == Bandwidth::zero()) return Duration::zero();
  Bytes all;
  for (const RankData& part : data) all += part.size;
  return transmit_time(all, storage.rate);
}

Duration storing_time(const JobSpec& job, const StorageSettings& storage) {
  return storage.hosts.empty() || storage.rate == Bandwidth::zero() ? Duration::zero()
                                                                    : transmit_time(job.checkpoint, storage.rate);
}

}  // namespace weft
