// SPDX-License-Identifier: Apache-2.0
// Transfer count: how many transfers a workload makes, before it runs.
//
// Where it sits: tools/simulation/run tells sinks that there will be many.
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "host/collectives/job_collectives.hpp"
#include "workloads/dag/dag_fwd.hpp"

namespace weft {

/// In one iteration, each message and each chunk of one; some number above `enough` where there are
/// more than that.
std::uint64_t transfers_of(const Workload& workload, const JobCollectives& collectives, std::uint64_t enough);

}  // namespace weft
