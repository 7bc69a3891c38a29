// SPDX-License-Identifier: Apache-2.0
// Tee sink: hands every row to two sinks.
//
// Where it sits: the simulation keeps statistics of the rows that a sink gets.
// Threads: as ResultSink.
#pragma once

#include <algorithm>

#include "tools/results/result_sink.hpp"

namespace weft {

class TeeSink final : public ResultSink {
 public:
  /// Keeps references.
  TeeSink(ResultSink& first, ResultSink& second) : first_(first), second_(second) {}

  Needs needs() const override {
    const Needs first = first_.needs();
    const Needs second = second_.needs();
    return {first.ops || second.ops, first.pauses || second.pauses, first.origins || second.origins,
            std::max(first.flows_listed_max, second.flows_listed_max), first.collectives || second.collectives};
  }
  void begin() override {
    both([](ResultSink& sink) { sink.begin(); });
  }
  void expect_many_flows() override {
    both([](ResultSink& sink) { sink.expect_many_flows(); });
  }
  void add_job(const JobRow& row) override {
    both([&](ResultSink& sink) { sink.add_job(row); });
  }
  void add_attempt(const AttemptRow& row) override {
    both([&](ResultSink& sink) { sink.add_attempt(row); });
  }
  void add_cluster(const ClusterRow& row) override {
    both([&](ResultSink& sink) { sink.add_cluster(row); });
  }
  void add_iteration(const IterationRow& row) override {
    both([&](ResultSink& sink) { sink.add_iteration(row); });
  }
  void add_communicator(const CommunicatorRow& row) override {
    both([&](ResultSink& sink) { sink.add_communicator(row); });
  }
  void add_collective(const CollectiveRow& row) override {
    both([&](ResultSink& sink) { sink.add_collective(row); });
  }
  void add_flow(const FlowRow& row) override {
    both([&](ResultSink& sink) { sink.add_flow(row); });
  }
  void add_link(const LinkRow& row) override {
    both([&](ResultSink& sink) { sink.add_link(row); });
  }
  void add_pause_storm(const PauseStormRow& row) override {
    both([&](ResultSink& sink) { sink.add_pause_storm(row); });
  }
  void add_event(const EventRow& row) override {
    both([&](ResultSink& sink) { sink.add_event(row); });
  }
  void add_congestion(const CongestionRow& row) override {
    both([&](ResultSink& sink) { sink.add_congestion(row); });
  }
  void add_congested_job(const CongestedJobRow& row) override {
    both([&](ResultSink& sink) { sink.add_congested_job(row); });
  }
  void add_link_sample(const LinkSampleRow& row) override {
    both([&](ResultSink& sink) { sink.add_link_sample(row); });
  }
  void add_tier_sample(const TierSampleRow& row) override {
    both([&](ResultSink& sink) { sink.add_tier_sample(row); });
  }
  void add_op(const OpRow& row) override {
    both([&](ResultSink& sink) { sink.add_op(row); });
  }
  void add_link_pause(const LinkPauseRow& row) override {
    both([&](ResultSink& sink) { sink.add_link_pause(row); });
  }

 private:
  template <class Call>
  void both(const Call& call) {
    call(first_);
    call(second_);
  }

  ResultSink& first_;
  ResultSink& second_;
};

}  // namespace weft
