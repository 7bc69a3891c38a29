// SPDX-License-Identifier: Apache-2.0
// Stuck ranks: what the ranks of a run that cannot go on wait for, in words.
//
// Where it sits: the simulation calls it when no event is left and a job has not ended. What can be
// found before a run (a collective that a member never issues, a receive without its send) is found
// by check_workload(); left for here are orders that contradict each other. Names of ops that the
// reader of a workload dropped are read again from its file.
// Thread safety: pure function.
#pragma once

#include <span>

#include "core/text/diagnostics_fwd.hpp"
#include "host/ranks/host_entity.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// Adds [stuck] errors: one for each of the first ranks of a job, which names op, peers and who has
/// not joined, and one for the rest.
void report_stuck_ranks(const Scenario& scenario, const JobTable& jobs, std::span<const WaitingRank> waiting,
                        Diagnostics& diagnostics);

}  // namespace weft
