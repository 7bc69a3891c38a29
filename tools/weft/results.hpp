// Results: the files of a run's folder, written while the run goes on and completed when it ends.
//
// Where it sits: the simulation registers a ResultsWriter as observer of the scheduler (jobs, iterations) and of the fabric (flows); finish() writes what
// the entities recorded (collectives, links, trace) and the summary and manifest, and gives every file its final name.
//
//   jobs.csv         job,gpus,submit_s,start_s,end_s,wait_s,run_s,jct_s,iterations,mean_iteration_s,exposed_comm_s,restarts,preemptions,placement
//   iterations.csv   job,iteration,start_s,end_s,duration_s,exposed_comm_s
//   collectives.csv  job,iteration,op,kind,communicator,group,ranks,size_bytes,algorithm,start_ns,end_ns,duration_ns,bus_bandwidth_gbps
//   flows.csv        flow_id,job,src,dst,size_bytes,start_ns,end_ns,fct_ns,ideal_fct_ns,slowdown
//   links.csv        link,src,dst,rate_bps,bytes,mean_utilization,peak_queue_bytes,ecn_marks,pause_ns,drops
//   trace.json       Chrome/Perfetto trace events, one process per job and one thread per rank; only if asked for
//   summary.json, manifest.json
//
// Bus bandwidth follows nccl-tests: bytes over duration times the factor that makes it comparable with link rates (2(n-1)/n for
// all_reduce, (n-1)/n for reduce_scatter, all_to_all and, with the gathered size, all_gather; 1 for broadcast).
// In flow mode no queue forms and nothing is marked, paused or dropped: those columns are 0 by the model.
// Threads: job and iteration hooks come from one logical process, flow hooks from another; the two touch different files.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/collective_library.hpp"
#include "host/host_entity.hpp"
#include "network/flow_fabric.hpp"
#include "scheduler/job_record.hpp"
#include "tools/weft/output_file.hpp"
#include "tools/weft/run_summary.hpp"
#include "tools/weft/scenario.hpp"

namespace weft {

class ResultsWriter final : public JobObserver, public FlowObserver {
 public:
  /// Creates the folder, or clears it of an earlier run's results, and the tables that grow with the run.
  ResultsWriter(const Scenario& scenario, std::filesystem::path folder);

  void job_finished(const JobSpec& spec, const JobRecord& record) override;
  void iteration_finished(const JobSpec& spec, const IterationRecord& record) override;
  void on_transfer_finished(const FinishedTransfer& finished) override;

  /// Rows of jobs.csv for jobs that had not finished (an interrupted run): times they did not reach stay empty.
  void add_unfinished(const JobSpec& spec, const JobRecord& record);
  /// collectives.csv from what the hosts recorded.
  void write_collectives(std::span<const OpRecord> records, const CollectiveLibrary& library);
  void write_links(const Topology& topology, std::span<const LinkUsage> usage);
  void write_trace(std::span<const OpRecord> records);

  /// What has finished so far. May be called from any thread while the run goes on.
  std::uint64_t jobs_done() const { return jobs_done_.load(std::memory_order_relaxed); }
  std::uint64_t iterations_done() const { return iterations_done_.load(std::memory_order_relaxed); }
  std::uint64_t transfers_done() const { return transfers_done_.load(std::memory_order_relaxed); }

  /// Completes `summary` with the means over jobs, iterations and flows.
  void fill(RunSummary& summary) const;
  /// Writes summary and manifest and gives every file its final name.
  void finish(const RunSummary& summary);

 private:
  struct Mean {
    double sum = 0;
    std::uint64_t count = 0;
    void add(double value) {
      sum += value;
      ++count;
    }
    double value() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
  };

  const Scenario& scenario_;
  std::filesystem::path folder_;
  CsvFile jobs_;
  CsvFile iterations_;
  CsvFile collectives_;
  CsvFile flows_;
  CsvFile links_;
  std::optional<OutputFile> trace_;
  std::atomic<std::uint64_t> jobs_done_{0};
  std::atomic<std::uint64_t> iterations_done_{0};
  std::atomic<std::uint64_t> transfers_done_{0};
  Mean wait_s_;
  Mean jct_s_;
  Mean iteration_s_;
  double exposed_s_ = 0;
  Mean fct_s_;
  Mean slowdown_;
  double payload_bytes_ = 0;
  double link_utilization_max_ = 0;
  std::string busiest_link_;
};

}  // namespace weft
