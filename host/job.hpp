// Job: what the scheduler and the hosts tell each other about a job that runs.
//
// Where it sits: the scheduler entity places a job, publishes a `RunningJob` in the `JobTable`, and sends `start_job` to every host that
// has at least one of its ranks. Each host runs its ranks' DAGs for `iterations` rounds and reports every rank's rounds.
// All messages travel with the control-plane delay declared at connection time (design: "Control is a node too").
//
// Threads: a slot of the JobTable is written once by the scheduler's logical process before it sends `start_job`, and read by hosts only
// after they received it; the kernel's barrier between windows orders the two. Afterwards the slot is immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"
#include "host/job_collectives.hpp"
#include "host/message_tag.hpp"
#include "host/rank_folding.hpp"
#include "workloads/dag.hpp"

namespace weft {

/// A placed job. Immutable once published.
struct RunningJob {
  JobId id;
  std::shared_ptr<const Workload> workload;
  std::vector<NodeId> endpoint_of_rank;  ///< per rank, all distinct
  std::uint64_t iterations = 1;
  std::shared_ptr<const JobCollectives> collectives;
  std::shared_ptr<const MessageTags> tags;
  std::shared_ptr<const JobFolding> folding;  ///< if not null, only representatives run
};

/// One slot per job of the run, sized before the run starts.
class JobTable {
 public:
  explicit JobTable(std::size_t job_count) : slots_(job_count) {}
  void publish(RunningJob job) {
    WEFT_CHECK(job.id.index() < slots_.size(), "a published job has a slot");
    slots_[job.id.index()] = std::move(job);
  }
  const RunningJob& at(JobId id) const { return slots_[id.index()]; }
  std::size_t size() const { return slots_.size(); }

 private:
  std::vector<RunningJob> slots_;
};

/// Event kinds between scheduler and hosts.
enum JobEvent : std::uint16_t {
  start_job = 200,       ///< scheduler -> host, payload StartJob
  iteration_done = 201,  ///< host -> scheduler, payload IterationDone; the last one of a rank ends that rank
};

struct StartJob {
  JobId job;
};

/// One rank finished one round of its DAG.
struct IterationDone {
  JobId job;
  RankId rank;
  std::uint32_t iteration = 0;  ///< from 0
  std::uint32_t reserved = 0;
  Time end;                        ///< when it ended at the rank
  Duration exposed_communication;  ///< of this round: communication under way and no compute op running
};
static_assert(sizeof(IterationDone) == 32);

}  // namespace weft
