// SPDX-License-Identifier: Apache-2.0
#include "host/inside/inside_records.hpp"

#include "host/collectives/collective_program.hpp"
#include "host/ranks/job.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

OpRecord op_record(const InsideRecords::Replayed& replayed, const RunningJob& job, std::uint32_t position) {
  const MessageTag tag = job.tags->unpack(replayed.stream);
  const std::span<const RankId> ranks = job.workload->communicators[tag.communicator].ranks(replayed.group);
  const RankId rank = ranks[position];
  const RoleDag& dag = job.workload->dag_of(rank);
  const bool is_as_first = &dag == &job.workload->dag_of(ranks.front());
  const CollectiveReplay& replay = *replayed.replay;
  return {replayed.attempt,
          rank,
          replayed.iteration,
          is_as_first ? replayed.op : dag.collective(static_cast<std::uint16_t>(tag.communicator), tag.ordinal, replayed.op),
          replayed.begun - replay.ahead[position] - replay.plan->launch_latency,
          replayed.begun + replay.finish[position]};
}

}  // namespace weft
