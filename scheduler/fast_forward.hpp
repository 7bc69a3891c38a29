// Fast forward: which iterations of jobs that run workloads need not be simulated, and what is risked by leaving them out.
//
// Where it sits: JobLifecycle tells it how long simulated iterations take, asks it when all jobs are known well enough, and then lets them coast: nothing is
// simulated, and every job goes on at its measured pace until a job starts, ends or is stopped. Source: Arcadia, section 6.3.
//
// Model
//   - An epoch begins whenever the ranks of a job start, a job ends, is stopped or goes on being simulated, or hosts change their speed. A job is known once `iterations` of its iterations have begun and
//     ended in the epoch; its period is their mean.
//   - Once all jobs are known they coast, if the first of them to end will not do so within an iteration of the slowest.
//   - When the set of jobs changes, each goes on being simulated from its next iteration on.
//
// Risk, the time by which a job's end may be off: for every iteration that was left out, the largest deviation of a simulated one from the mean; for every
// epoch, the change of the period from the one before, as up to an iteration around the change is not simulated with all jobs present; and of
// a job that waited for others, the largest risk of those that had ended by then.
//
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"

namespace weft {

/// What was left out of a run, and what that risks.
struct FastForwardReport {
  std::uint64_t jumps = 0;      ///< times that all jobs began to coast
  std::uint64_t simulated = 0;  ///< iterations
  std::uint64_t skipped = 0;    ///< likewise
  double deviation_mean = 0;    ///< of simulated iterations from their mean, relative, weighted by those skipped
  double deviation_max = 0;     ///< of those that stand for others
  double jct_risk_mean_s = 0;   ///< over jobs that have ended: by how much their completion may be off
};

class FastForward {
 public:
  /// `iterations` to simulate before a jump; 0: every one is simulated.
  FastForward(std::uint64_t iterations, std::size_t jobs) : iterations_(iterations), jobs_(jobs) {}

  bool is_on() const { return iterations_ > 0; }
  /// The job gets GPUs; if it has waited for them, they may have come earlier or later.
  void start(JobId job, bool has_waited);
  /// What was measured of the job does not hold any more. `under_way`: it is in the middle of an iteration, which will not count either.
  void begin_epoch(JobId job, bool under_way);
  /// An iteration of the job has ended, so long after the one before or its start.
  void add(JobId job, Duration period);
  bool knows(JobId job) const { return of(job).periods.count >= iterations_; }
  /// Requires: knows(job).
  Duration period(JobId job) const { return of(job).periods.mean(); }
  void note_jump() { ++report_.jumps; }
  /// The job has coasted over so many iterations at its period.
  void skip(JobId job, std::uint64_t iterations);
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
    Periods periods;                     ///< in this epoch
    std::optional<Duration> coasted_at;  ///< in an earlier one, the last
    double risk_s = 0;
  };
  const Job& of(JobId job) const { return jobs_[job.index()]; }
  static void settle(Job& job);

  std::uint64_t iterations_;
  std::vector<Job> jobs_;
  FastForwardReport report_;
  double deviations_ = 0;  ///< relative, times iterations
  double risk_s_ = 0;      ///< sum, of jobs that have ended
  double risk_max_s_ = 0;  ///< likewise
  std::uint64_t ended_ = 0;
};

}  // namespace weft
