// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/iteration_tally.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace weft {

IterationTally::IterationTally(const RunningJob& job, Time begin)
    : job_(&job), completed_(job.first_iteration), ranks_(job.endpoint_of_rank->size(), Rank{job.first_iteration, begin}) {
  WEFT_CHECK(!ranks_.empty() && job.first_iteration < job.iterations && job.iterations <= UINT32_MAX,
             "a job that is tallied has ranks and iterations");
}

std::optional<IterationRecord> IterationTally::add(const IterationDone& report) {
  WEFT_CHECK(report.attempt == job_->attempt && report.rank.index() < ranks_.size(), "a report is about a rank of the job");
  Rank& rank = ranks_[report.rank.index()];
  WEFT_CHECK(report.iteration == rank.reported && report.iteration < job_->iterations,
             "a rank reports its iterations in order, each once");
  WEFT_CHECK(report.end >= rank.last_end, "a rank's iteration ends after the one before");

  const std::size_t place = report.iteration - completed_;
  if (place >= open_.size()) open_.resize(place + 1);
  Open& open = open_[place];
  const std::uint32_t stands_for = job_->folding == nullptr ? 1 : job_->folding->alike(report.rank);
  open.reports += stands_for;
  open.start = std::min(open.start, rank.last_end);
  open.end = std::max(open.end, report.end);
  open.exposed_ticks += static_cast<double>(report.exposed_communication.in_ticks()) * stands_for;
  ++rank.reported;
  rank.last_end = report.end;
  if (job_->has_checkpoint_after(rank.reported)) rank.last_end += job_->checkpoint_write;
  if (open.reports < ranks_.size()) return std::nullopt;

  WEFT_CHECK(place == 0, "iterations of a job complete in order");
  const double exposed_ticks = std::round(open.exposed_ticks / static_cast<double>(ranks_.size()));
  const IterationRecord record{job_->job, report.iteration, open.start, open.end,
                               Duration::ticks(static_cast<std::int64_t>(exposed_ticks))};
  open_.pop_front();
  ++completed_;
  return record;
}

}  // namespace weft
