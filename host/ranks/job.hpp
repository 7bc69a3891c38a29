// SPDX-License-Identifier: Apache-2.0
// Job: what the scheduler and the hosts tell each other about a job that runs.
//
// Where it sits: the scheduler entity places a job, publishes this attempt of it on GPUs as a
// `RunningJob` in the `JobTable`, and sends `start_job` to every host that has at least one of its
// ranks. Each host runs its ranks' DAGs up to the last iteration and reports every rank's rounds.
// `stop_job` ends the attempt before: ranks vanish at once, and what they have handed to the
// network goes no further, but for packets on their way, which nobody takes. Where the scheduler
// only leaves out iterations, it crosses the network of packet mode all the same.
// Data and checkpoints: before a job's ranks begin, an attempt of its own may bring them what they
// need (`data`): `send_data` makes the hosts where it lies send it, and the hosts of the ranks tell
// of each part that has arrived. What a rank sends to the store when it writes a checkpoint is
// taken there without a word. The last checkpoint of a job that leaves its GPUs is an attempt of
// its own (`send_checkpoint`), and the store tells of each part that has arrived. All messages
// travel with at least the control-plane delay declared at connection time (design: "Control is a
// node too"). A stop may overtake the start that it is about: the attempt then never begins on that
// host.
//
// Threads: a slot of the JobTable is written once by the scheduler's logical process before it
// sends `start_job`, and read by others only after they received that or what follows from it; the
// kernel's barrier between windows orders the two. Afterwards the slot is immutable, and it never
// moves.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "host/collectives/job_collectives.hpp"
#include "host/ranks/message_tag.hpp"
#include "host/symmetry/rank_folding.hpp"
#include "network/flow/transfer_folding.hpp"
#include "workloads/dag/dag_fwd.hpp"

namespace weft {

/// What a rank gets from where it lies before it begins, or sends there with a checkpoint.
struct StoredData {
  RankId rank;
  NodeId store;  ///< endpoint, not the rank's
  Bytes size;    ///< > 0
};

/// An attempt of a placed job on its GPUs. Immutable once published.
struct RunningJob {
  AttemptId attempt;
  JobId job;
  std::shared_ptr<const Workload> workload;
  std::shared_ptr<const std::vector<NodeId>> endpoint_of_rank;  ///< per rank, all distinct
  /// Those before it were done in earlier attempts.
  std::uint64_t first_iteration = 0;
  std::uint64_t iterations = 1;  ///< of the job; > first_iteration
  /// After every so many iterations of the job a rank stands still to write a checkpoint, but for
  /// the last; 0: never.
  std::uint64_t checkpoint_every = 0;
  Duration checkpoint_write;  ///< how long that takes
  std::shared_ptr<const JobCollectives> collectives;
  std::shared_ptr<const MessageTags> tags;
  std::shared_ptr<const JobFolding> folding;  ///< if not null, only representatives run
  /// Not null: no rank runs in this attempt, which only brings them that.
  std::shared_ptr<const std::vector<StoredData>> data;
  /// If not null, what each rank sends to its store with a checkpoint; at most one entry per rank,
  /// ascending.
  std::shared_ptr<const std::vector<StoredData>> checkpoint;
  bool is_in_flow_mode = false;  ///< in a run in packet mode: its transfers are flows
  /// No rank runs in this attempt, which only takes `checkpoint` there before the job leaves its
  /// GPUs.
  bool is_last_checkpoint = false;

  bool has_checkpoint_after(std::uint64_t iterations_ended) const {
    return checkpoint_every > 0 && iterations_ended < iterations && iterations_ended % checkpoint_every == 0;
  }
};

/// All attempts of the run, in order of their starts.
class JobTable {
 public:
  /// The number of the attempt that is published next.
  AttemptId next() const { return AttemptId(size_); }
  /// Requires: job.attempt is next().
  void publish(RunningJob job);
  /// Valid as long as the table. Requires: the attempt was published.
  const RunningJob& at(AttemptId attempt) const {
    const Position position(attempt.index());
    return chunks_[position.chunk][position.place];
  }
  /// For the publisher, or once the run is over.
  std::uint32_t size() const { return size_; }

 private:
  /// Each chunk is as large as all before it, and one more times the first, so that no slot ever
  /// moves.
  struct Position {
    static constexpr std::uint64_t first_chunk = 64;
    explicit constexpr Position(std::uint32_t attempt)
        : chunk(std::bit_width(attempt / first_chunk + 1) - 1U), place(attempt - first_chunk * ((std::uint64_t{1} << chunk) - 1)) {}
    std::uint32_t chunk;
    std::uint64_t place;
  };

  std::array<std::unique_ptr<RunningJob[]>, 27> chunks_;
  std::uint32_t size_ = 0;
};

/// What the network has to know of folded ranks, by the attempts that transfers belong to.
class AttemptFoldings final : public TransferFolding {
 public:
  /// Keeps a reference.
  explicit AttemptFoldings(const JobTable& attempts) : attempts_(attempts) {}
  FoldedPath path(const Transfer& transfer) const override;
  Transfer seen_by_destination(const Transfer& transfer) const override;

 private:
  const JobTable& attempts_;
};

/// Event kinds between scheduler and hosts.
enum JobEvent : std::uint16_t {
  start_job = 200,  ///< scheduler -> host, payload StartJob
  /// Host -> scheduler, payload IterationDone; the last one of a rank ends that rank.
  iteration_done = 201,
  stop_job = 202,      ///< scheduler -> host, payload StopJob
  send_data = 203,     ///< scheduler -> host where data lies, payload StartJob
  data_arrived = 204,  ///< host of a rank or of a store -> scheduler, payload DataArrived
  /// Scheduler -> host of ranks that are over, payload StartJob: what they have done by then.
  send_checkpoint = 205,
};

struct StartJob {
  AttemptId attempt;
};
struct StopJob {
  AttemptId attempt;
  /// 1: what its ranks have handed to the network goes no further. 0: the job gets on, and is only
  /// not simulated.
  std::uint32_t is_over = 1;
};

/// One entry of RunningJob::data, or of a last checkpoint, has arrived.
struct DataArrived {
  AttemptId attempt;
};

/// One rank finished one round of its DAG.
struct IterationDone {
  AttemptId attempt;
  RankId rank;
  std::uint32_t iteration = 0;  ///< from 0
  std::uint32_t reserved = 0;
  Time end;  ///< when it ended at the rank
  /// Of this round: communication under way and no compute op running.
  Duration exposed_communication;
};
static_assert(sizeof(IterationDone) == 32);

}  // namespace weft
