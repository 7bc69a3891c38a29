// SPDX-License-Identifier: Apache-2.0
// Result rows: what a run tells of its jobs, transfers and links, one struct for each table.
//
// Where it sits: the simulation fills them (tools/simulation), a ResultSink takes them. Their
// columns, with units and meanings, are in tools/results/tables.
// Lifetime: names are views that are valid during the call that hands a row over.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

/// A job that has ended or was cancelled, or that had done neither when the run stopped.
struct JobRow {
  std::string_view job;
  std::uint32_t gpus = 0;
  Time submit;
  std::optional<Time> start;  ///< the first
  std::optional<Time> end;
  std::optional<Duration> wait;
  std::optional<Duration> run;
  std::optional<Duration> completion;
  std::uint64_t iterations = 0;
  std::optional<Duration> mean_iteration;
  Duration exposed_communication;
  std::uint32_t restarts = 0;
  std::uint32_t preemptions = 0;
  std::string_view placement;
  std::uint32_t failures = 0;
  std::uint32_t moves = 0;
  Duration lost;
  Duration overhead;
  Duration checkpointing;
  std::optional<double> goodput_iterations_per_s;
  std::optional<double> goodput_samples_per_s;
  std::uint32_t elastic_restarts = 0;
  std::string_view user;  ///< of the trace, like the rest
  std::string_view group;
  std::string_view model;
  std::int32_t priority = 0;
};

/// What an alignment makes of a job's iterations.
struct AlignedJobRow {
  std::string_view job;
  std::uint64_t gpus = 0;  ///< that it goes by
  Duration mean_iteration;
  Duration aligned_iteration;
};

/// An attempt of a job on GPUs that has ended, or had not when the run stopped.
struct AttemptRow {
  std::string_view job;
  std::uint32_t attempt = 0;  ///< number, from 0
  Time start;
  Time end;
  std::string_view reason;  ///< why it ended
  std::uint32_t gpus = 0;
  std::string_view hosts;  ///< with their GPUs
};

/// How the cluster stood from an instant on, until the next row.
struct ClusterRow {
  Time since;
  std::uint64_t running_jobs = 0;
  std::uint64_t waiting_jobs = 0;
  std::uint64_t waiting_gpus = 0;
  std::uint32_t busy_gpus = 0;
  std::uint32_t free_gpus = 0;
  std::uint32_t stranded_gpus = 0;
  std::uint32_t fragmented_gpus = 0;
  std::uint32_t gpus_out = 0;
  std::uint32_t draining_gpus = 0;
};

/// An iteration that was simulated.
struct IterationRow {
  std::string_view job;
  std::uint32_t iteration = 0;
  Time start;
  Time end;
  Duration exposed_communication;
};

/// What communication of a job cost it, by communicator.
struct CommunicatorRow {
  std::string_view job;
  std::string_view communicator;
  std::uint64_t groups = 0;
  std::uint64_t group_size_min = 0;
  std::uint64_t group_size_max = 0;
  double exposed_s = 0;  ///< per rank and iteration
  double exposed_share = 0;
  double exposed_per_rank_s = 0;  ///< per rank, over all iterations
};

/// A collective of a group of ranks, or a transfer between two.
struct CollectiveRow {
  std::string_view job;
  std::uint32_t iteration = 0;
  std::string_view op;
  std::string_view kind;
  std::string_view communicator;
  std::uint32_t group = 0;
  std::uint32_t ranks = 0;
  Bytes size;
  std::string_view algorithm;
  std::string_view protocol;
  Time start;
  Time end;
  double bus_bandwidth_gbps = 0;   ///< in gigabits per second
  std::uint32_t multiplicity = 1;  ///< groups alike that the row stands for, itself included
  std::uint32_t channels = 1;
  std::optional<double> nic_share;
  bool is_by_rule = false;  ///< algorithm and protocol were left to rules
  std::string_view reason;  ///< why the rules chose them
};

/// A transfer that was delivered, or all of an op and iteration that are about as large.
struct FlowRow {
  /// Percentiles of completion times.
  struct Completions {
    Duration p50;
    Duration p90;
    Duration p99;
    Duration max;
  };

  std::uint64_t flow = 0;
  std::string_view job;     ///< empty for flows of a list
  std::string_view source;  ///< empty for several, like the next
  std::string_view destination;
  Bytes size;  ///< of several their mean, like the times below and the slowdown
  Time start;
  Time end;
  Duration completion;  ///< from start to end
  Duration ideal;
  double slowdown = 1;                     ///< completion over the ideal one
  std::uint64_t multiplicity = 1;          ///< transfers that the row stands for, itself included
  std::optional<std::uint64_t> input_row;  ///< of a flow list, from 0
  std::string_view op;                     ///< of a job's workload, like the rest
  std::string_view collective;
  std::optional<std::uint64_t> iteration;
  std::string_view communicator;
  std::optional<Completions> completions;  ///< of several
  // For drawing and grouping; no columns.
  JobId job_id = JobId::none();
  /// Numbers what op, collective and communicator of a job's transfer say: equal in a run exactly
  /// where all three are.
  std::uint32_t origin = 0;
  std::optional<std::uint32_t> source_rank;
  std::optional<std::uint32_t> destination_rank;
};

/// A directed link, when the run is over.
struct LinkRow {
  std::string_view link;
  std::string_view source;
  std::string_view destination;
  Bandwidth rate;
  Bytes bytes;
  double mean_utilization = 0;
  Bytes queue_peak;
  std::uint64_t ecn_marks = 0;
  Duration paused;
  std::uint64_t drops = 0;
  std::string_view tier;
  bool is_inside_host = false;
};

/// A queue that a switch's watchdog found stuck.
struct PauseStormRow {
  Time found;
  std::string_view link;
  std::uint32_t priority = 0;
  std::uint64_t drops = 0;
};

/// What somebody outside the scheduling policy did.
struct EventRow {
  Time at;
  std::string_view event;
  std::string_view subject;
  std::string_view by;
};

/// A period in which a link slowed jobs.
struct CongestionRow {
  std::string_view link;
  std::string_view cause;
  Time begin;
  Time end;
  double congested_share = 0;
  double lost_share = 0;
  std::string_view trigger;
  std::string_view slowed;  ///< jobs, joined by ";", like the next
  std::string_view jobs;
  std::uint64_t multiplicity = 1;
};

/// A job that congestion slowed, or whose start began a period of it.
struct CongestedJobRow {
  std::string_view job;
  std::uint64_t periods = 0;
  Duration in_periods;
  Duration congested;
  double lost_share = 0;
  std::uint64_t triggered = 0;
};

/// A link in an interval in which it carried, queued, paused or dropped anything.
struct LinkSampleRow {
  Time begin;
  Time end;
  std::string_view link;
  double rate_bps = 0;
  Bytes queue;
  Duration paused;
  std::uint64_t ecn_marks = 0;
  std::uint64_t drops = 0;
};

/// The links of a tier in an interval.
struct TierSampleRow {
  Time begin;
  Time end;
  std::string_view tier;
  std::uint64_t links = 0;
  Bytes bytes;                  ///< of all together, like what follows the busiest link
  double mean_utilization = 0;  ///< of the links' rates
  double max_utilization = 0;   ///< of the busiest link
  std::string_view busiest;     ///< empty: none moved anything
  Bytes queue;                  ///< the longest of any link when sampled
  Duration paused;
  std::uint64_t ecn_marks = 0;
  std::uint64_t drops = 0;
};

/// An operation of a rank. No table has it; trace.json draws it.
struct OpRow {
  std::string_view job;
  JobId job_id;
  std::uint32_t rank = 0;
  std::uint32_t ranks_alike = 1;  ///< that it stands for, itself included
  std::uint32_t job_ranks = 0;    ///< of the job
  std::uint64_t iteration = 0;
  std::string_view op;
  std::string_view kind;  ///< of a collective its type
  bool is_compute = false;
  bool is_point_to_point = false;
  std::uint16_t stream = 0;  ///< of the workload; 0: none
  Bytes size;                ///< of communication
  Time start;
  Time end;
};

/// A pause of a link. No table has it; trace.json draws it.
struct LinkPauseRow {
  std::string_view link;
  LinkId link_id;
  Time begin;
  Time end;
};

}  // namespace weft
