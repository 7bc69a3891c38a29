// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/progress_watch.hpp"

#include <algorithm>

namespace weft {

ProgressWatch::ProgressWatch(std::uint64_t setbacks_max, std::size_t jobs, std::uint32_t hosts)
    : setbacks_max_(setbacks_max), max_(setbacks_max == 0 ? 0 : std::max<std::uint64_t>(setbacks_max, hosts)), streaks_(jobs) {}

void ProgressWatch::gets_on(JobId job, Time now) {
  streaks_[job.index()] = {};
  begin_anew(now);
}

void ProgressWatch::is_stopped(JobId job, Duration after) {
  Streak& streak = streaks_[job.index()];
  ++streak.stops;
  streak.lost += after;
  ++stops_;
  add_setback();
}

void ProgressWatch::part_fails() {
  ++failures_;
  add_setback();
}

void ProgressWatch::add_setback() {
  if (stops_ + failures_ == max_) look_at_ = expected_by_;
}

void ProgressWatch::begin_anew(Time now) {
  stops_ = failures_ = 0;
  begin_ = now;
}

}  // namespace weft
