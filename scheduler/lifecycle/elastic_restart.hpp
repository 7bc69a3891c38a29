// SPDX-License-Identifier: Apache-2.0
// Elastic restart: a job that lost its GPUs goes on with fewer, where not all that it wants can be
// had.
//
// Where it sits: JobLifecycle offers the smaller placements to policies
// (SchedulingPass::place_smaller). JobAttempt scales a job's times on them.
//
// Model
//   - The first start of a job is on all of its GPUs, and so are later ones wherever a place for
//     all can be found. It grows again no sooner than at its next restart.
//   - A job of a given duration (JobSpec::min_gpus) takes any number of GPUs from there on, the
//     most that the placer finds a place for, and for its work as much GPU time as on all of them:
//     gpus / n times as long on n.
//   - A job that runs a workload takes the largest of its smaller ones (JobSpec::smaller_workloads)
//     that finds a place. Its iterations are counted on, one of the smaller workload being worth as
//     much.
// Thread safety: functions of their arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/units.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "scheduler/placement/placer.hpp"

namespace weft {

/// The fewest GPUs on which the job may restart.
std::uint32_t least_gpus(const JobSpec& job);

/// Whether the job may restart on so many.
bool may_restart_on(const JobSpec& job, std::uint32_t gpus);

/// On as many GPUs as can be had, but fewer than all. None if that is not enough or the job is not
/// elastic.
std::optional<Placement> place_smaller(const JobSpec& job, const ClusterState& cluster, const Placer& placer);

/// What the job runs on so many GPUs; null in job mode. Requires: all of them, or may_restart_on()
/// as many.
const std::shared_ptr<const Workload>& workload_on(const JobSpec& job, std::uint32_t gpus);

/// How long `held` GPUs take for what `gpus` do in that time, rounded up.
Duration time_on_fewer(Duration on_all, std::uint32_t gpus, std::uint32_t held);

/// The other way round, rounded down.
Duration time_on_all(Duration on_held, std::uint32_t gpus, std::uint32_t held);

/// Of an elastic job, against its number of GPUs: [min-gpus], [elastic-ranks].
void check_elastic(const JobSpec& job, Diagnostics& diagnostics);

}  // namespace weft
