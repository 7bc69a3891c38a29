// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_view.hpp"

#include <algorithm>

#include "scheduler/lifecycle/elastic_restart.hpp"

namespace weft {
namespace {

/// Of a job that waits, or whose ranks report: by iterations that have ended.
Duration left_by_iterations(const JobSpec& spec, const JobAttempt* attempt, const KeptWork& kept_before, Duration declared,
                            const StartTerms& next_start, Time now) {
  KeptWork kept = kept_before;
  Duration overhead = next_start.overhead;
  if (attempt != nullptr) {
    kept = attempt->on_this_scale(kept_before);
    if (attempt->ranks() != nullptr) kept.iterations = attempt->ranks()->tally().completed();
    overhead = attempt->start_overhead();
    overhead -= std::min(overhead, attempt->got_on_until(now) - attempt->since());
  }
  const CheckpointPlan& checkpoints = attempt != nullptr ? attempt->checkpoints() : next_start.checkpoints;
  return ProgressModel(declared, spec.iterations, kept, overhead, checkpoints).held().value_or(Duration::max());
}

/// Of a job that goes on by a model.
Duration left_by_model(const JobSpec& spec, const JobAttempt& attempt, Duration declared, Time now) {
  const ProgressModel& model = *attempt.model();
  const ProgressModel::Position position = model.at(attempt.elapsed(now));
  Duration done = position.done;
  if (spec.iterations > 0 && model.total() > Duration::zero())
    done = scaled(declared, static_cast<std::uint64_t>(done.in_ticks()), static_cast<std::uint64_t>(model.total().in_ticks()));
  const Duration work_left = std::max(Duration::zero(), declared - done);
  // What is left of the attempt beside the work.
  const Duration elapsed = position.overhead + position.work + position.writing;
  const Duration others_left = *model.held() - elapsed - (model.total() - position.done);
  return work_left < Duration::max() - others_left ? work_left + others_left : Duration::max();
}

}  // namespace

JobView view_of(JobId job, const JobSpec& spec, const JobStates& states, const JobAccounts& accounts, const StartTerms& next_start,
                Time now) {
  const JobAttempt* const attempt = states.attempt(job);
  const JobRecord& record = accounts.record(job);
  JobView view;
  view.id = job;
  view.submit = spec.submit;
  view.gpus = spec.gpus;
  view.least_gpus = attempt == nullptr && record.start ? least_gpus(spec) : spec.gpus;
  view.priority = spec.priority;
  view.group = spec.group;
  view.data_region = spec.data_region;
  view.iterations = spec.iterations;
  view.start = record.start;
  view.queued = accounts.queued(job);
  view.attained = record.run_whole;
  if (attempt != nullptr) {
    view.held_gpus = attempt->gpus();
    view.since = attempt->since();
    view.attained += attempt->of_all_gpus(now - attempt->since());
  }
  if (spec.workload != nullptr && spec.duration.mean() == Duration::zero()) return view;
  view.declared_run = spec.duration.mean();
  // On the scale of what is declared, whatever the job really takes.
  const Duration declared = attempt == nullptr ? *view.declared_run : attempt->time_for(*view.declared_run);
  if (attempt != nullptr && attempt->model() != nullptr) {
    view.declared_left = left_by_model(spec, *attempt, declared, now);
  } else {
    view.declared_left = left_by_iterations(spec, attempt, accounts.kept(job), declared, next_start, now);
  }
  return view;
}

}  // namespace weft
