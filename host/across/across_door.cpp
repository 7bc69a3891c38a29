// SPDX-License-Identifier: Apache-2.0
#include "host/across/across_door.hpp"

#include <algorithm>
#include <set>

#include "host/across/across_ways.hpp"
#include "host/inside/collective_replay.hpp"
#include "topologies/topology.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

namespace {

/// Where each sends to many, all are in the way of all, and ways are many.
constexpr std::size_t connections_few = 8;
/// Steps that are looked at to find whether a plan awaits all, once for each of its ranks where
/// they are not alike: about a second.
constexpr std::uint64_t steps_tried_max = 1U << 27;

}  // namespace

/// What ranks of one host say to each other may stay there (host/inside).
bool AcrossDoor::suits(const RunningJob& job, std::uint16_t communicator, GroupId group) const {
  if (job.folding != nullptr) return false;
  std::set<HostId> hosts;
  const auto is_new = [&](RankId rank) { return hosts.insert(topology_.node((*job.endpoint_of_rank)[rank.index()]).host).second; };
  return std::ranges::all_of(job.workload->communicators[communicator].ranks(group), is_new);
}

bool AcrossDoor::suits(const CollectivePlan& plan) {
  const std::scoped_lock lock(mutex_);
  const auto [known, is_new] = suitable_plans_.try_emplace(&plan);
  if (is_new) {
    const std::uint64_t ranks = plan.request.ranks();
    const bool is_tried = are_alike(plan) || ranks * ranks * plan.program_size_max() <= steps_tried_max;
    known->second = !plan.uses_switches && is_tried && connections_max(plan) <= connections_few && replays_.awaits_all(plan);
  }
  return known->second;
}

void AcrossDoor::begin(const RunningJob& job, RankId rank, OpId op, std::uint64_t iteration, Time op_started,
                       EventContext& context) const {
  context.send(fabric_, latency_, resident_message,
               CollectiveBegins{job.attempt, rank, op, static_cast<std::uint32_t>(iteration), op_started, context.now()});
}

}  // namespace weft
