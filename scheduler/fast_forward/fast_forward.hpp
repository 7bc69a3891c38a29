// SPDX-License-Identifier: Apache-2.0
// Fast-forward: which iterations of jobs that run workloads need not be simulated, and what is
// risked by leaving them out.
//
// Where it sits: FastForwardControl tells it how long simulated iterations take, asks it when jobs
// are known well enough, and then fast-forwards them: every job goes on at its measured pace, and
// nothing is simulated until a job starts, ends or is stopped. Source: Arcadia, section 6.3. There
// all jobs are looked at together, here those that can slow each other down
// (host/symmetry/coupled_jobs).
//
// Model
//   - An epoch of a set of coupled jobs begins whenever the ranks of one start, one ends, is
//     stopped or goes on being simulated, or hosts change their speed. A job is known once
//     `iterations` of its iterations have begun and ended in the epoch; its period is their mean.
//   - Once all jobs of a set are known they are fast-forwarded, if the first of them to end will
//     not do so within an iteration of the slowest.
//   - When the set changes, each goes on being simulated from its next iteration on.
//
// Risk, the time by which a job's end may be off: for every iteration that was left out, by how
// much the simulated ones differ; every time that it is fast-forwarded once more, the change of its
// period, as up to an iteration around the change is not simulated with all jobs present; what an
// iteration had come to that was begun anew; and of a job that waited for others, the largest risk
// of those that had ended by then, at each start.
//
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "scheduler/lifecycle/cluster_snapshot.hpp"

namespace weft {

/// What was left out of a run, and what that risks.
struct FastForwardReport {
  std::uint64_t jumps = 0;      ///< times that all jobs began to be fast-forwarded
  std::uint64_t simulated = 0;  ///< iterations
  std::uint64_t skipped = 0;    ///< likewise
  /// By how much iterations of a job and epoch differ, relative, weighted by those skipped.
  double spread_mean = 0;
  double spread_max = 0;  ///< of those that stand for others
  /// Over jobs that have ended: by how much their completion may be off.
  double jct_risk_mean_s = 0;
};

class FastForward {
 public:
  /// `iterations` to simulate before a jump; 0: every one is simulated.
  FastForward(std::uint64_t iterations, std::size_t jobs) : iterations_(iterations), jobs_(jobs) {}

  bool is_on() const { return iterations_ > 0; }
  /// The job gets GPUs; if it has waited for them, they may have come earlier or later.
  void start(JobId job, bool has_waited);
  /// What was measured of the job does not hold any more. `under_way`: it is in the middle of an
  /// iteration, which will not count either.
  void begin_epoch(JobId job, bool under_way);
  /// An iteration of the job has ended, `period` after the one before or the start. `exposed`: its
  /// exposed communication.
  void add(JobId job, Duration period, Duration exposed = {});
  bool knows(JobId job) const { return of(job).periods.count >= iterations_; }
  /// Requires: knows(job).
  Duration period(JobId job) const { return of(job).periods.mean(); }
  /// From what has been simulated of the job up to now, in this epoch or else before; none if
  /// nothing has.
  std::optional<Duration> estimate(JobId job) const;
  void note_jump() { ++report_.jumps; }
  /// The job begins to be fast-forwarded at this period.
  void begin(JobId job, Duration period);
  /// The job was fast-forwarded over so many iterations. Returns their exposed communication, by
  /// those that were simulated last.
  Duration skip(JobId job, std::uint64_t iterations);
  /// Of a job that is fast-forwarded.
  KnownPace pace(JobId job) const { return {of(job).forwarded_period.value(), of(job).spread}; }
  /// It is fast-forwarded at this pace as the run begins.
  void resume(JobId job, const KnownPace& pace);
  /// The job has to do again what had taken it so long.
  void restart(JobId job, Duration lost) { jobs_[job.index()].risk_s += lost.in_s(); }
  void end(JobId job);

  FastForwardReport report() const;

 private:
  struct Periods {
    std::uint64_t count = 0;
    Duration sum;
    Duration least = Duration::max();
    Duration most;
    void add(Duration period);
    /// Requires: count > 0.
    Duration mean() const;
  };
  struct Job {
    bool is_under_way = false;
    Periods periods;                           ///< in this epoch
    std::optional<Duration> forwarded_period;  ///< the last time that it did since its start
    Duration spread;                           ///< of the iterations that that was measured by
    double risk_s = 0;
    Duration exposed;                      ///< communication of `exposed_iterations`
    std::uint64_t exposed_iterations = 0;  ///< simulated in the epoch that `exposed` is of
    /// It is of an earlier epoch, as this one has no iterations yet.
    bool exposed_is_old = false;
  };
  const Job& of(JobId job) const { return jobs_[job.index()]; }

  std::uint64_t iterations_;
  std::vector<Job> jobs_;
  FastForwardReport report_;
  double spreads_ = 0;     ///< relative, times iterations
  double risk_s_ = 0;      ///< sum, of jobs that have ended
  double risk_max_s_ = 0;  ///< likewise
  std::uint64_t ended_ = 0;
};

}  // namespace weft
