// SPDX-License-Identifier: Apache-2.0
// Memory sink: all rows of a run, kept.
//
// Where it sits: whoever goes on computing with what a run told (probes, forecasts, tests,
// studies).
// Threads: as ResultSink; rows are read once the run is over.
#pragma once

#include <vector>

#include "tools/results/result_sink.hpp"
#include "tools/results/text_pool.hpp"

namespace weft {

class MemorySink final : public ResultSink {
 public:
  Needs needs() const override { return {.origins = true}; }
  void begin() override;
  void add_job(const JobRow& row) override;
  void add_attempt(const AttemptRow& row) override;
  void add_cluster(const ClusterRow& row) override { cluster.push_back(row); }
  void add_iteration(const IterationRow& row) override;
  void add_communicator(const CommunicatorRow& row) override;
  void add_collective(const CollectiveRow& row) override;
  void add_flow(const FlowRow& row) override;
  void add_link(const LinkRow& row) override;
  void add_pause_storm(const PauseStormRow& row) override;
  void add_event(const EventRow& row) override;
  void add_congestion(const CongestionRow& row) override;
  void add_congested_job(const CongestedJobRow& row) override;
  void add_link_sample(const LinkSampleRow& row) override;

  std::vector<JobRow> jobs;
  std::vector<AttemptRow> attempts;
  std::vector<ClusterRow> cluster;
  std::vector<IterationRow> iterations;
  std::vector<CommunicatorRow> communicators;
  std::vector<CollectiveRow> collectives;
  std::vector<FlowRow> flows;
  std::vector<LinkRow> links;
  std::vector<PauseStormRow> pause_storms;
  std::vector<EventRow> events;
  std::vector<CongestionRow> congestion;
  std::vector<CongestedJobRow> congested_jobs;
  std::vector<LinkSampleRow> link_samples;

 private:
  TextPool texts_;
  TextPool texts_of_flows_;  ///< which come from another thread
};

}  // namespace weft
