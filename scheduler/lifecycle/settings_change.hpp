// SPDX-License-Identifier: Apache-2.0
// Settings change: what of the scheduler's settings becomes another from some time of a run on.
//
// Where it sits: tools make one for each `set` among the scripted events; JobLifecycle takes it
// over when its time has come.
//
// Model
//   policy                it begins anew with all jobs that wait; what the old one had noted of
//                         jobs is gone, what jobs have done is not
//   placer                for jobs that start from then on
//   round                 the next pass is at the next multiple of the new one
//   start_overhead, checkpoints   of jobs when they start for the next time
//   detection, cold_start of failures, and of spares that are called, from then on
//   moves_jobs            of drains that begin from then on
// Thread safety: values.
#pragma once

#include <memory>
#include <optional>

#include "core/values/units.hpp"
#include "scheduler/lifecycle/progress_model.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

/// What is empty stays as it is.
struct SettingsChange {
  std::unique_ptr<SchedulingPolicy> policy;
  std::unique_ptr<Placer> placer;
  std::optional<Duration> round;
  std::optional<Duration> start_overhead;
  std::optional<CheckpointPlan> checkpoints;
  std::optional<Duration> detection;
  std::optional<Duration> cold_start;
  std::optional<bool> moves_jobs;
};

}  // namespace weft
