// SPDX-License-Identifier: Apache-2.0
// Run summary: the headline figures of a run; becomes summary.json and what `weft run` prints.
//
// Every figure has its unit in its name. Wall-clock figures describe the machine, not the model,
// and stand apart under "machine".
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/values/units.hpp"
#include "network/transfer_records.hpp"
#include "scheduler/fast_forward/fast_forward.hpp"

namespace weft {

/// What the links from one tier of the network to another came to, in packet mode.
struct TierUsage {
  std::string tiers;  ///< "leaf->agg"
  std::uint64_t links = 0;
  Bytes queue_peak;  ///< of any of them
  std::uint64_t ecn_marks = 0;
  Duration paused;           ///< of all together
  Duration paused_link_max;  ///< of the one paused longest
  std::uint64_t drops = 0;
};

/// What was found of congestion, in flow mode if it was looked for.
struct CongestionSummary {
  std::uint64_t periods = 0;
  std::uint64_t links = 0;
  std::uint64_t jobs_slowed_by_others = 0;
  /// by their own transfers alone at some link beyond those of their hosts
  std::uint64_t jobs_slowed_by_own = 0;
  struct Longest {
    std::string link;
    bool is_own = false;
    std::string trigger;  ///< the job whose start began it
    double begin_s = 0;
    double end_s = 0;
    double lost_share = 0;
  };
  std::optional<Longest> longest;  ///< of those that others cause, if there are any
};

/// What the same comes to in flow mode.
struct FlowModeFigures {
  double makespan_s = 0;
  double mean_iteration_s = 0;  ///< 0 without iterations
  double mean_fct_s = 0;
  double run_wall_time_s = 0;
};

/// Of a series of values; the largest is exact, the others to a thousandth of a very long series.
struct Percentiles {
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};

/// While job sources kept as many jobs waiting as they began with: the start and the end of the run
/// are left out.
struct SteadyFigures {
  double from_s = 0;
  double until_s = 0;
  std::uint64_t starts = 0;
  double mean_wait_s = 0;         ///< of these
  double mean_stranded_gpus = 0;  ///< free while jobs wait
  double mean_busy_gpus = 0;
};

struct RunSummary {
  std::string name;
  std::string mode;  ///< "job", "flow" or "packet"
  bool interrupted = false;
  std::optional<Time> stopped_at;      ///< as was asked for
  std::vector<Diagnostic> standstill;  ///< why nothing got on any more, if the run ended for that

  std::uint64_t gpus = 0;
  std::uint64_t jobs_total = 0;
  std::uint64_t jobs_finished = 0;
  std::uint64_t jobs_cancelled = 0;
  Duration makespan;                    ///< first submission (or flow start) to last end
  double gpu_time_s = 0;                ///< GPU-seconds that jobs held
  double gpu_utilization = 0;           ///< gpu_time_s over GPUs x makespan
  double stranded_gpu_time_s = 0;       ///< GPU-seconds that nobody held while jobs waited
  std::optional<SteadyFigures> steady;  ///< if job sources kept their queues for some time
  std::uint64_t preemptions = 0;
  std::uint64_t failures = 0;          ///< of parts of the cluster
  std::uint64_t flaps = 0;             ///< of links
  std::uint64_t moves = 0;             ///< of jobs, off hosts that were drained
  std::uint64_t elastic_restarts = 0;  ///< on fewer GPUs than the job wants
  /// GPU-seconds of failed GPUs, drained ones and spares that no job holds
  double out_of_service_gpu_time_s = 0;
  double draining_gpu_time_s = 0;  ///< of gpu_time_s: out of service already, and still held
  // Of gpu_time_s.
  double lost_to_preemptions_gpu_time_s = 0;  ///< for work that did not count in the end
  /// likewise, and from failures until their detection
  double lost_to_failures_gpu_time_s = 0;
  double lost_to_moves_gpu_time_s = 0;          ///< for iterations that were cut off
  double lost_to_cancellations_gpu_time_s = 0;  ///< all that cancelled jobs had done
  double overhead_gpu_time_s = 0;               ///< from starts until jobs got on
  double checkpoint_gpu_time_s = 0;             ///< writing checkpoints
  /// GPU-seconds of work that counts, of jobs that ended or not, over GPUs x makespan
  double goodput = 0;
  /// of jobs that ended, by GPU time: what counted of the time from first start to end
  double effective_time_ratio = 0;
  double mean_wait_s = 0;             ///< of jobs that finished, like the next
  std::optional<Percentiles> wait_s;  ///< none where nothing finished, like all percentiles
  double mean_jct_s = 0;              ///< job completion time: submission to end
  std::optional<Percentiles> jct_s;
  /// if iterations may be left out; the following then are those simulated
  std::optional<FastForwardReport> fast_forward;
  std::uint64_t iterations = 0;
  double mean_iteration_s = 0;
  /// As a profile's alignment corrects mean_iteration_s; none: it was not asked for.
  std::optional<double> aligned_mean_iteration_s;
  std::optional<Percentiles> iteration_s;
  double exposed_comm_share = 0;  ///< of iteration time, mean over ranks
  /// By communicator; where several are under way at a time each counts, so these may add up to
  /// more.
  std::vector<std::pair<std::string, double>> exposed_comm_share_by_communicator;
  /// representatives of all ranks; 0 if every rank was simulated
  std::uint64_t ranks_simulated = 0;
  /// of the jobs whose ranks were folded; only if any were
  std::uint64_t ranks_total = 0;
  /// of flows_finished; fewer where ranks were folded
  std::uint64_t flows_simulated = 0;
  std::string not_folded_because;  ///< "" where there is nothing to say
  /// not 0: how many it would be if hashed paths did not tell ranks apart
  std::uint64_t ranks_simulated_if_sprayed = 0;

  /// By type, where it was left to the rules (collective.all_reduce = auto): how many collectives
  /// each algorithm carried out.
  std::map<std::string, std::map<std::string, std::uint64_t>> algorithms_picked;
  /// Why, by type, algorithm and protocol: of the largest that was carried out so.
  struct PickedCollective {
    std::int64_t size_bytes = 0;
    std::uint32_t ranks = 0;
    std::uint32_t channels = 1;
    std::string reason;
  };
  std::map<std::array<std::string, 3>, PickedCollective> picked_because;
  std::uint64_t flows_finished = 0;  ///< transfers that crossed the network
  double payload_bytes = 0;
  double mean_fct_s = 0;  ///< flow completion time
  std::optional<Percentiles> fct_s;
  double mean_slowdown = 0;  ///< completion time over the uncontended one
  std::optional<Percentiles> slowdown;
  double max_link_utilization = 0;
  Duration link_utilization_over;  ///< the makespan, and what the network moved after it
  std::string busiest_link;
  std::optional<CongestionSummary> congestion;
  std::optional<PacketCounters> packets;     ///< in packet mode
  std::vector<TierUsage> tiers;              ///< likewise
  std::optional<FlowModeFigures> flow_mode;  ///< likewise, if it was compared
  std::string no_flow_mode_because;          ///< if it was to be, and there are no figures

  std::vector<std::string> notes;  ///< what settings, not the network, held back (run_notes)

  std::string fingerprint;
  std::uint64_t events = 0;

  std::uint32_t threads = 1;
  std::uint32_t logical_processes = 1;
  Duration lookahead;
  double load_wall_time_s = 0;
  double run_wall_time_s = 0;

  std::string to_json() const;
  std::string to_text() const;
};

}  // namespace weft
