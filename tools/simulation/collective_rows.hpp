// SPDX-License-Identifier: Apache-2.0
// Collective rows: collectives and their groups from what single ranks recorded.
//
// Where it sits: ResultRows hands over the records of all hosts when a run is over.
// Model: one row per collective of a group, from the first member's start to the last member's end;
// one per send and per receive. Where ranks were folded, one row per kind of group: groups whose
// members are of the same classes. Bus bandwidth is that of nccl-tests (PERFORMANCE.md): size over
// duration times the factor that makes it comparable with the rates of links, 2(n-1)/n for
// all_reduce, (n-1)/n for reduce_scatter, all_to_all and, with the gathered size, all_gather; 1 for
// broadcast.
// Thread safety: pure functions.
#pragma once

#include <string>

#include "host/ranks/job.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/simulation/host_records.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// An op's name in the workload, or "opN".
std::string op_label(const RoleDag& dag, OpId op);

/// Ranks that a simulated rank stands for, itself included.
std::uint32_t ranks_alike(const RunningJob& attempt, RankId rank);

/// Rows in order of their starts.
void add_collective_rows(const Scenario& scenario, const JobTable& attempts, const HostRecords& records, ResultSink& sink);

}  // namespace weft
