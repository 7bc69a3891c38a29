// SPDX-License-Identifier: Apache-2.0
// Result rows: what the entities of a run tell and record, as rows for a sink.
//
// Where it sits: the observer of the scheduler (jobs, iterations) and of the fabric (transfers)
// while the run goes on; at its end tools/simulation/run has it add what the entities recorded.
// Threads: the scheduler's hooks come from one logical process and those of transfers from another;
// the two touch different members, and different tables of the sink.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/ranks/host_entity.hpp"
#include "host/ranks/job.hpp"
#include "host/transport/packet_network.hpp"
#include "network/transfer_records.hpp"
#include "scheduler/lifecycle/job_record.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/simulation/collective_rows.hpp"
#include "tools/simulation/congestion_report.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/transfer_origins.hpp"

namespace weft {

class ResultRows final : public JobObserver, public FlowObserver {
 public:
  /// Keeps references, and finds of transfers only what the sink needs.
  ResultRows(const Scenario& scenario, const JobTable& attempts, ResultSink& sink);

  void job_started(const JobSpec& spec, const JobRecord& record) override;
  void job_fast_forwarded(const JobSpec& spec, const JobRecord& record, Time begin, Time end) override;
  void attempt_ended(const JobSpec& spec, const JobRecord& record, const AttemptRecord& attempt) override;
  void job_finished(const JobSpec& spec, const JobRecord& record) override;
  void job_cancelled(const JobSpec& spec, const JobRecord& record) override;
  void event_happened(const EventRecord& record) override;
  void iteration_finished(const JobSpec& spec, const IterationRecord& record) override;
  void cluster_changed(const ClusterSample& sample) override;
  void on_transfer_finished(const FinishedTransfer& finished) override;

  // At the end of the run.
  /// Several transfers of one iteration that are alike, of several endpoints.
  struct Alike {
    std::uint64_t iteration = 0;
    std::uint64_t transfers = 0;
    Time first_start;
    Time last_end;
  };
  /// `one` of them; `number`: of the first.
  void add_alike(const FinishedTransfer& one, std::uint64_t number, const Alike& alike);
  /// Transfers that follow begin with the first iteration of their jobs again.
  void begin_records();
  /// Of those that neither ended nor were cancelled.
  void add_unfinished_jobs(std::span<const JobRecord> records);
  void add_communicators(std::span<const RankExposure> exposures);
  void add_ops(const HostRecords& records);
  void add_links(std::span<const LinkUsage> usage);
  void add_pause_storms(std::span<const LinkStorm> storms);
  void add_link_pauses(std::span<const LinkPause> pauses);
  /// Requires: detects_congestion(scenario).
  CongestionSummary add_congestion(const CongestionMonitor& monitor, Time end);

 private:
  struct IterationTime {
    double sum_s = 0;
    std::uint64_t count = 0;
  };

  FlowRow flow_row(const FinishedTransfer& finished);
  void add_job(const JobSpec& spec, const JobRecord& record);
  const std::string& node_name(NodeId node);

  const Scenario& scenario_;
  const JobTable& attempts_;
  ResultSink& sink_;
  std::vector<std::string> node_names_;     ///< by node; empty until asked for
  std::optional<TransferOrigins> origins_;  ///< where the sink needs them
  std::optional<CongestionReport> congestion_;
  std::map<JobId, IterationTime> iterations_;
};

}  // namespace weft
