// SPDX-License-Identifier: Apache-2.0
// Reservation: when a job that finds no GPUs now will find some, by what running jobs declared.
//
// Where it sits: policies keep one for the job at the head of the queue and let others pass only as
// far as that does not delay it.
//
// Model: running jobs end when they declared, in that order; the reservation is for the first such
// instant at which there is a place for the job, and on these GPUs. Without enough declarations
// there is none.
// Thread safety: functions of the pass.
#pragma once

#include <functional>
#include <optional>

#include "scheduler/policies/policy.hpp"

namespace weft {

struct Reservation {
  Time begin;  ///< max(): it needs GPUs that are out of service, and nobody knows until when
  Placement placement;
};

/// Where a job would be put if the cluster were in that state.
using PlaceIn = std::function<std::optional<Placement>(const ClusterState&)>;

/// For a job of that many GPUs.
std::optional<Reservation> reserve(const SchedulingPass& pass, std::uint32_t gpus, const PlaceIn& place);

/// When a job ends that runs, or starts now; max() where it declares nothing.
Time declared_end(const JobView& job, Time now);

/// The GPUs of a placement that nobody holds.
Placement free_part(const ClusterState& cluster, const Placement& placement);

}  // namespace weft
