// SPDX-License-Identifier: Apache-2.0
// Memory sink: all rows of a run, kept.
//
// Where it sits: whoever goes on computing with what a run told (probes, forecasts, tests,
// studies).
// Threads: as ResultSink; rows are read once the run is over.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/results/flow_classes.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/results/text_pool.hpp"

namespace weft {

class MemorySink final : public ResultSink {
 public:
  /// Of more transfers of jobs than this, `flows` has classes (FlowClasses) once complete() was
  /// called; 0: it has none.
  explicit MemorySink(std::uint64_t flows_listed_max = UINT64_MAX) : flows_listed_max_(flows_listed_max) {}

  Needs needs() const override { return {.origins = true, .flows_listed_max = flows_listed_max_}; }
  void begin() override;
  void expect_many_flows() override;
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
  void add_tier_sample(const TierSampleRow& row) override;

  /// No row comes any more. Returns how many transfers are listed by class.
  std::uint64_t complete();

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
  std::vector<TierSampleRow> tier_samples;

 private:
  bool may_list_classes() const { return flows_listed_max_ > 0 && flows_listed_max_ < UINT64_MAX; }
  void keep_flow(const FlowRow& row);

  TextPool texts_;
  TextPool texts_of_flows_;  ///< which come from another thread
  std::uint64_t flows_listed_max_;
  FlowClasses classes_;  ///< where it may come to that
  std::uint64_t transfers_ = 0;
  bool lists_classes_ = false;
};

}  // namespace weft
