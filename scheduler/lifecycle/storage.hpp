// SPDX-License-Identifier: Apache-2.0
// Storage: where jobs' data and checkpoints lie, and what has to move before a job can begin.
//
// Where it sits: AttemptStarts asks it what a job that got GPUs has to fetch. In flow and packet
// mode hosts send that over the network (host/ranks/job); in job mode it takes time only.
//
// Model (Arcadia, section 4.3: data that does not lie where a job runs is brought there before
// training starts)
//   - Every rank fetches an equal part of the job's data from the hosts where it lies: the job's
//     own, or else the storage hosts. What lies on the rank's own host is there already. Nothing
//     stays behind where a job was: it fetches its data at every start.
//   - A job that goes on from a checkpoint fetches that, too, an equal part for every rank, from
//     the storage hosts.
//   - Ranks begin when all of it has arrived. Rank r is served by GPU number r of those hosts,
//     counted host by host first, over again.
//   - A checkpoint goes to the storage hosts in the same way, rank by rank, beside what follows:
//     the time for which the job stands still is checkpoint.write, whatever its bytes take. A job
//     that moves and has done more than its last one says leaves when all of another has arrived
//     there, and after checkpoint.write at the earliest.
//   - Storage hosts run no jobs. They stand for a service that survives its hosts: one that fails
//     goes on serving while the network has a way to it.
// Thread safety: pure functions and values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/text/params.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/job_spec.hpp"

namespace weft {

/// Parameter table "storage".
ParamTable storage_params();

struct StorageSettings {
  std::vector<HostId> hosts;  ///< ascending
  /// Of all of them together for one job, where no network is simulated; zero: no limit.
  Bandwidth rate;
};

/// What one rank of a job fetches or stores.
struct RankData {
  RankId rank;
  GpuSlot store;  ///< at whose endpoint it lies
  Bytes size;     ///< > 0
};

/// Before a job starts on that placement. `has_checkpoint`: it goes on from one.
std::vector<RankData> data_to_fetch(const JobSpec& job, const Placement& placement, bool has_checkpoint,
                                    const StorageSettings& storage, const ClusterState& cluster);

/// The GPUs, in their order, that serve ranks 0, 1, ... of any job; empty without hosts.
std::vector<GpuSlot> stores_on(std::span<const HostId> hosts, const ClusterState& cluster);

/// How long all of it takes where no network is simulated.
Duration fetching_time(std::span<const RankData> data, const StorageSettings& storage);

/// Likewise, a checkpoint of the job on its way to the storage hosts; zero without any.
Duration storing_time(const JobSpec& job, const StorageSettings& storage);

}  // namespace weft
