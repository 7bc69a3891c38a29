// SPDX-License-Identifier: Apache-2.0
// Operator's snapshot: the state of a cluster that Weft has never simulated, from what Slurm lists
// of its nodes and jobs.
//
// Where it sits: `weft predict --nodes=FILE --jobs=FILE` asks the forecast about it.
//
// Model
//   - Nodes with GPUs are hosts, in the order of the file: alike hosts of the largest node's GPUs,
//     of which smaller nodes lack some, or the hosts of a topology in that order.
//   - A job that runs holds the GPUs that Slurm tells of, by index where it tells that, else the
//     first that are free on its hosts. How long it goes on is an assumption: a share of its time
//     limit in all (JobTraceOptions::limit_share), less what has passed. One without a limit goes
//     on for as long as anybody looks.
//   - GPUs that a node says are in use and that no listed job holds are out of service.
//   - Jobs that wait for GPUs wait; those held back (dependency, hold, begin time) have not
//     arrived.
//   - The instant is the latest that the file of jobs tells of, or as named.
//   - Rules of a scenario give jobs workloads: such a job has done as large a share of its
//     iterations as it has of its time.
// Threads: belongs to one thread.
#pragma once

#include <string>
#include <vector>

#include "tools/simulation/snapshot_file.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"

namespace weft {

struct OperatorFlags {
  std::string nodes;     ///< FILE[:scontrol]
  std::string jobs;      ///< FILE:squeue or FILE:sacct; "" if the scenario names it
  std::string scenario;  ///< "": none
  std::string topology;  ///< FILE[:format]
  std::string scheduler;
  std::string placement;
  std::string at;  ///< a date; "": as the jobs tell
  std::vector<std::string> settings;
  JobTraceOptions jobs_options;
};

/// Throws InputError: what reading the files does, [other-cluster] where hosts and nodes differ,
/// [unknown-node] and [oversubscribed] for jobs that do not fit the nodes.
LoadedSnapshot read_operator_snapshot(const OperatorFlags& flags);

/// "host0-2:0-7,host5:0" with the names of hosts: "gpu[001-003]:0-7,gpu006:0"; as it is without.
std::string with_host_names(const std::string& placement, const std::vector<std::string>& host_names);

}  // namespace weft
