// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/unfinished_jobs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"

namespace weft {

std::string UnfinishedJobs::state_text(JobId job) const {
  const JobSpec& spec = jobs_[job.index()];
  const std::string text = fmt::format("job \"{}\" ", spec.name);
  if (states_.is<JobStates::Ended>(job)) return text + "has ended";
  if (states_.is<JobStates::Cancelled>(job)) return text + "was cancelled";
  if (states_.is<JobStates::NotArrived>(job)) return text + "has not arrived";
  if (states_.is<JobStates::Waiting>(job)) {
    const std::uint32_t least = accounts_.record(job).start ? least_gpus(spec) : spec.gpus;
    return fmt::format("{}waits for {}{} GPUs", text, least < spec.gpus ? fmt::format("{} to ", least) : "", spec.gpus);
  }
  const JobAttempt& attempt = states_.running(job);
  if (attempt.parts_left() > 0) return text + (attempt.is<JobAttempt::Moving>() ? "writes a checkpoint" : "fetches its data");
  if (attempt.ranks() == nullptr) return text + "is running";
  const IterationTally& tally = attempt.ranks()->tally();
  const JobFolding* folding = published_->at(attempt.published()).folding.get();
  RankId slowest(0);
  for (std::uint32_t rank = 1; rank < tally.rank_count(); ++rank) {
    if (folding != nullptr && !folding->is_representative(RankId(rank))) continue;
    if (tally.reported(RankId(rank)) < tally.reported(slowest)) slowest = RankId(rank);
  }
  return fmt::format("{}waits for rank {}, which has finished {} of {} iterations", text, slowest.index(), tally.reported(slowest),
                     spec.iterations);
}

std::string UnfinishedJobs::text() const {
  constexpr std::size_t named_max = 5;
  std::string names;
  std::size_t named = 0;
  for (std::uint32_t i = 0; i < jobs_.size() && named < named_max; ++i) {
    if (states_.is_over(JobId(i))) continue;
    names += (named++ == 0 ? "" : "; ") + state_text(JobId(i));
  }
  return names;
}

bool UnfinishedJobs::all_wait_for_ranks() const {
  const JobList& running = states_.running();
  return std::all_of(running.begin(), running.end(),
                     [this](JobId job) { return states_.running(job).is<JobAttempt::Simulated>(); });
}

bool UnfinishedJobs::any_may_get_on(const ProgressWatch& watch, Time now) const {
  const auto may = [&](JobId job) { return may_get_on(job, watch, now); };
  return std::any_of(states_.queue().begin(), states_.queue().end(), may) ||
         std::any_of(states_.running().begin(), states_.running().end(), may);
}

bool UnfinishedJobs::may_get_on(JobId job, const ProgressWatch& watch, Time now) const {
  const JobAttempt* const attempt = states_.attempt(job);
  if (attempt == nullptr) {
    const Time began = std::max(accounts_.queued(job), accounts_.record(job).last_start.value_or(Time::zero()));
    return began >= watch.begin() && !watch.is_hopeless(job);
  }
  return !watch.is_hopeless(job) || accounts_.would_keep_more(*attempt, now);
}

Diagnostic UnfinishedJobs::no_progress(const ProgressWatch& watch, Time now) const {
  std::string text = fmt::format("no job gets on: in the last {} ", readable((now - watch.begin()).in_s()));
  if (watch.failures() > 0)
    text += fmt::format("{} failed{}", counted(watch.failures(), "part", "parts"), watch.stops() > 0 ? ", and " : "");
  if (watch.stops() > 0) text += fmt::format("{} of jobs came to nothing", counted(watch.stops(), "start", "starts"));
  JobId most = JobId::none();
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    if (states_.is_over(JobId(i))) continue;
    if (most.is_none() || watch.streak(JobId(i)).stops > watch.streak(most).stops) most = JobId(i);
  }
  text += fmt::format("; {}", state_text(most));
  if (const ProgressWatch::Streak& streak = watch.streak(most); streak.stops > 0) {
    text += fmt::format(", and was stopped {} in a row before any of its work was kept, after {} on average",
                        counted(streak.stops, "time", "times"), readable(streak.lost.in_s() / static_cast<double>(streak.stops)));
  }
  return {Severity::error, "no-progress", text, SourcePlace::named("scheduler.setbacks_max"),
          "keep work more often (checkpoint.every, checkpoint.interval), start jobs faster (scheduler.start_overhead), or let less "
          "fail and be repaired sooner (failure); scheduler.setbacks_max is how often is too often, 0 if nothing is"};
}

std::optional<Diagnostic> UnfinishedJobs::never_repaired(const ClusterState& cluster, std::span<const HostId> set_aside) const {
  if (accounts_.all_finished()) return std::nullopt;
  std::uint32_t out = cluster.gpu_count() - cluster.gpus_in_service();
  for (const HostId host : set_aside) out -= cluster.gpu_count(host);
  const JobList& running = states_.running();
  const bool nobody_runs =
      std::all_of(running.begin(), running.end(), [this](JobId job) { return states_.running(job).is<JobAttempt::Failed>(); });
  if (out == 0 || !nobody_runs) return std::nullopt;
  return Diagnostic{Severity::error, "never-repaired",
                    fmt::format("the run ends with jobs that never got GPUs again: {}; {} of {} out of service", text(), out,
                                counted(cluster.gpu_count(), "GPU is", "GPUs are")),
                    SourcePlace::named("failure"), "make repairs shorter, failures rarer or the cluster larger"};
}

void UnfinishedJobs::require_none() const {
  if (accounts_.all_finished()) return;
  WEFT_CHECK(false, fmt::format("every job has ended when the run is over, but {} of {} have not: {}",
                                jobs_.size() - accounts_.finished(), jobs_.size(), text()));
}

}  // namespace weft
