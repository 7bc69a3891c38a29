// Results: the files of a run's folder, written while the run goes on and completed when it ends.
//
// Where it sits: the simulation registers a ResultsWriter as observer of the scheduler (jobs, iterations) and of the fabric (flows);
// finish() writes what the entities recorded (collectives, links, trace) and the summary, and all files get their final names at once.
//
//   jobs.csv         job,gpus,submit_s,start_s,end_s,wait_s,run_s,jct_s,iterations,mean_iteration_s,exposed_comm_s,restarts,preemptions,placement,
//                    failures,moves,lost_s,overhead_s,checkpoint_s,goodput_iterations_per_s,goodput_samples_per_s,elastic_restarts
//   cluster.csv      time_s,running_jobs,waiting_jobs,waiting_gpus,busy_gpus,free_gpus,stranded_gpus,fragmented_gpus,gpus_out,
//                    draining_gpus
//   iterations.csv   job,iteration,start_s,end_s,duration_s,exposed_comm_s
//   communicators.csv job,communicator,groups,group_size_min,group_size_max,exposed_s,exposed_share
//   collectives.csv  job,iteration,op,kind,communicator,group,ranks,size_bytes,algorithm,protocol,start_ns,end_ns,duration_ns,
//                    bus_bandwidth_gbps,multiplicity
//   flows.csv        flow_id,job,src,dst,size_bytes,start_ns,end_ns,fct_ns,ideal_fct_ns,slowdown,multiplicity
//   links.csv        link,src,dst,rate_bps,bytes,mean_utilization,peak_queue_bytes,ecn_marks,pause_ns,drops
//   pause_storms.csv time_ns,link,priority,drops: when the watchdog of a switch found the queue that leads to the link stuck, and how many packets it
//                    dropped at that queue until it recovered (drops in links.csv are by the link that packets came by); only with a watchdog
//   events.csv       time_s,event,subject,by: what was done by hand (drain of a host, fail of a part, submit and cancel of a job,
//                    set of a parameter, call of a handler) and by handlers (drain, cancel, priority of a job as "llm=3", and what they note), in order;
//                    by: "scenario", or the handler's name; only if the scenario has events or handlers
//   congestion.csv, congested_jobs.csv: see tools/simulation/congestion_report; only with flow.detect_congestion, in flow mode
//   trace.json       Chrome/Perfetto trace events, one process per job and two threads per rank, "rank 0" for computation and
//                    "rank 0 communication"; only if asked for. Where ranks were folded, threads are called "rank 0 (for 288 alike)". In packet
//                    mode a process "links", if there were pauses or samples: a slice for each pause, counters by samples
//   summary.json, manifest.json
//
// Bus bandwidth follows nccl-tests: bytes over duration times the factor that makes it comparable with link rates (2(n-1)/n for
// all_reduce, (n-1)/n for reduce_scatter, all_to_all and, with the gathered size, all_gather; 1 for broadcast).
// multiplicity: groups or transfers alike that the row stands for, itself included; 1 unless ranks were folded (host/symmetry/rank_folding).
// exposed_s: of the communicator, per rank and iteration (mean); where several are under way at a time each counts.
// lost_s, overhead_s, checkpoint_s: of run_s in job mode, for work that did not count (and from failures until their detection; of jobs that were cancelled all), from starts until the
// job got on, and for writing checkpoints. goodput_iterations_per_s: iterations that count, from the first start to the end, and the samples in them if the scenario
// says how many an iteration has.
// busy_gpus + free_gpus + gpus_out is the whole cluster. gpus_out: out of service and held by no job: failed ones, drained ones and spares. draining_gpus: of the busy
// ones, those out of service already: a job holds them until it leaves the drained host, or until the failure is known.
// mean_utilization: bytes over what the link carries at its rate in link_utilization_over_s of summary.json: the makespan, unless the network still moved
// something at its end (the last checkpoint of a job that has ended, packets sent again that had come after all); then until that had come.
// In flow mode no queue forms and nothing is marked, paused or dropped: those columns are 0 by the model, as they are of links inside a host.
// Threads: job and iteration hooks come from one logical process, flow hooks from another; the two touch different files.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/ranks/host_entity.hpp"
#include "host/ranks/job.hpp"
#include "host/transport/packet_network.hpp"
#include "network/flow/flow_fabric.hpp"
#include "scheduler/lifecycle/job_record.hpp"
#include "tools/results/output_file.hpp"
#include "tools/results/results_folder.hpp"
#include "tools/results/run_summary.hpp"
#include "tools/simulation/congestion_report.hpp"
#include "tools/simulation/link_samples.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

inline constexpr const char* summary_file = "summary.json";
/// If asked for.
inline constexpr const char* trace_file = "trace.json";
/// In the folder, besides the above, if samples are taken.
inline constexpr const char* link_samples_file = "link_samples.csv";
/// Likewise, if switches have a watchdog.
inline constexpr const char* pause_storms_file = "pause_storms.csv";
/// Likewise, if the scenario has events or handlers.
inline constexpr const char* events_file = "events.csv";

/// What is written besides when it is asked for.
struct MoreResults {
  bool trace = false;
  bool samples = false;
  bool snapshot = false;
};

/// All files that a run of the scenario may write, the manifest apart.
std::vector<std::string> result_names(const Scenario& scenario, const MoreResults& more);

class ResultsWriter final : public JobObserver, public FlowObserver {
 public:
  /// Creates the tables that grow with the run. Keeps references. Requires: `folder` may hold result_names().
  ResultsWriter(const Scenario& scenario, const JobTable& jobs, ResultsFolder& folder);

  void job_started(const JobSpec& spec, const JobRecord& record) override;
  void job_fast_forwarded(const JobSpec& spec, const JobRecord& record, Time begin, Time end) override;
  void job_finished(const JobSpec& spec, const JobRecord& record) override;
  void job_cancelled(const JobSpec& spec, const JobRecord& record) override;
  void event_happened(const EventRecord& record) override;
  void iteration_finished(const JobSpec& spec, const IterationRecord& record) override;
  void cluster_changed(const ClusterSample& sample) override;
  void on_transfer_finished(const FinishedTransfer& finished) override;

  /// Rows of jobs.csv for jobs that had not finished (an interrupted run): times they did not reach stay empty, as they do of jobs that were cancelled.
  void add_unfinished(const JobSpec& spec, const JobRecord& record);
  /// collectives.csv from what the hosts recorded.
  void write_collectives(std::span<const OpRecord> records);
  /// communicators.csv.
  void write_communicators(std::span<const RankExposure> exposures);
  void write_links(const Topology& topology, std::span<const LinkUsage> usage);
  /// pause_storms.csv.
  void write_storms(const Topology& topology, std::span<const LinkStorm> storms);
  /// congestion.csv and congested_jobs.csv. Requires: detects_congestion(scenario).
  CongestionSummary write_congestion(const CongestionMonitor& monitor, Time end);
  void write_trace(std::span<const OpRecord> records, std::span<const LinkSample> samples, std::span<const LinkPause> pauses);

  /// What has finished so far. May be called from any thread while the run goes on.
  std::uint64_t jobs_done() const { return jobs_done_.load(std::memory_order_relaxed); }
  std::uint64_t iterations_done() const { return iterations_done_.load(std::memory_order_relaxed); }
  std::uint64_t transfers_done() const { return transfers_done_.load(std::memory_order_relaxed); }

  /// Completes `summary` with the means over jobs, iterations and flows.
  void fill(RunSummary& summary) const;
  /// snapshot.textproto.
  void write_snapshot(std::string_view text);
  /// Writes the summary and gives every file its final name. Requires: the sampler's file is closed.
  void finish(const RunSummary& summary);

 private:
  struct Mean {
    double sum = 0;
    std::uint64_t count = 0;
    void add(double value, std::uint64_t times = 1) {
      sum += value * static_cast<double>(times);
      count += times;
    }
    double value() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
  };

  const std::string& node_name(NodeId node);
  void add_to_tier(const Topology& topology, const Link& link, const LinkUsage& usage);

  JobId job_of(AttemptId attempt) const { return attempts_.at(attempt).job; }

  const Scenario& scenario_;
  const JobTable& attempts_;
  std::vector<std::string> node_names_;  ///< by node; empty until asked for
  ResultsFolder& folder_;
  CsvFile jobs_;
  CsvFile cluster_;
  CsvFile iterations_;
  CsvFile communicators_;
  CsvFile collectives_;
  CsvFile flows_;
  CsvFile links_;
  std::optional<CsvFile> storms_;
  std::optional<CsvFile> events_;
  std::optional<CongestionReport> congestion_;
  std::optional<OutputFile> trace_;
  std::atomic<std::uint64_t> jobs_done_{0};
  std::atomic<std::uint64_t> iterations_done_{0};
  std::atomic<std::uint64_t> transfers_done_{0};
  Mean wait_s_;
  Mean jct_s_;
  Mean iteration_s_;
  std::map<JobId, Mean> iteration_s_by_job_;
  double exposed_s_ = 0;
  std::map<std::string, double> exposed_by_communicator_s_;  ///< over all jobs and their iterations
  std::map<std::string, std::map<std::string, std::uint64_t>> algorithms_picked_;
  std::map<std::array<std::string, 3>, RunSummary::PickedCollective> picked_because_;
  std::map<std::pair<const CollectivePlan*, std::uint32_t>, double> nic_bits_;  ///< by plan and host; looked up only
  Mean fct_s_;
  std::uint64_t flows_simulated_ = 0;  ///< of those in fct_s_: once for all that are alike
  Mean slowdown_;
  double payload_bytes_ = 0;
  double link_utilization_max_ = 0;
  std::string busiest_link_;
  std::vector<TierUsage> tiers_;  ///< in packet mode
};

}  // namespace weft
