// SPDX-License-Identifier: Apache-2.0
// Progress watch: finds that a cluster gets nowhere - jobs that are stopped before anything of
// their work is kept, again and again, and jobs that wait for parts which fail faster than they are
// repaired.
//
// Where it sits: JobLifecycle tells it of every stop and failure, and looks around when it is due;
// whether the run is to end is the lifecycle's to say.
//
// Model: a setback is a stop of a job of which nothing new was kept, or a failure of a part. A job
// is hopeless after `setbacks_max` stops in a row of which nothing was kept. After as many setbacks
// without anything kept - as many as there are hosts, if these are more - it is due, as soon as all
// has come that was expected by then - repairs, spares that boot, ends of drains, calls of the
// policy: jobs may have waited for that.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

class ProgressWatch {
 public:
  /// Of a job: stops in a row of which nothing was kept.
  struct Streak {
    std::uint64_t stops = 0;
    Duration lost;  ///< that it held GPUs for
  };

  /// `setbacks_max` 0: it is never due.
  ProgressWatch(std::uint64_t setbacks_max, std::size_t jobs, std::uint32_t hosts);

  /// Something more of the job is kept than before, or it is over.
  void gets_on(JobId job, Time now);
  /// It was stopped after so long, and nothing more is kept.
  void is_stopped(JobId job, Duration after);
  void part_fails();
  /// Something changes by then.
  void expects(Time change) { expected_by_ = std::max(expected_by_, change); }

  bool is_due(Time now) const { return max_ > 0 && stops_ + failures_ >= max_ && now >= look_at_; }
  /// Somebody may get on: counts from here.
  void begin_anew(Time now);

  bool is_hopeless(JobId job) const { return streaks_[job.index()].stops >= setbacks_max_; }
  const Streak& streak(JobId job) const { return streaks_[job.index()]; }
  /// Since begin_anew(), or the start.
  std::uint64_t stops() const { return stops_; }
  std::uint64_t failures() const { return failures_; }
  Time begin() const { return begin_; }

 private:
  void add_setback();

  std::uint64_t setbacks_max_;
  std::uint64_t max_;
  std::vector<Streak> streaks_;
  std::uint64_t stops_ = 0;
  std::uint64_t failures_ = 0;
  Time begin_;
  Time look_at_;      ///< when what was expected has come, once there were enough setbacks
  Time expected_by_;  ///< the last of all changes that are
};

}  // namespace weft
