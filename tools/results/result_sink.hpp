// SPDX-License-Identifier: Apache-2.0
// Result sink: takes what a run has to tell, while it goes on.
//
// Where it sits: whoever starts a run (tools/simulation/run) hands it one: the folder of `weft run`
// (folder_sink), memory (memory_sink), or nothing at all (ResultSink itself drops every row).
//
// Order: begin(), rows, and begin() once more where the run starts anew, which makes all rows so
// far void. Rows of a table come in the order in which things happened, or at the end of the run.
// Threads: add_flow() is called from one thread at a time and all others from one thread at a time,
// but add_flow() and another one may be called at the same time.
#pragma once

#include <cstdint>

#include "tools/results/rows.hpp"

namespace weft {

class ResultSink {
 public:
  virtual ~ResultSink() = default;

  /// What costs the run memory and time and is recorded only where a sink asks for it.
  struct Needs {
    bool ops = false;      ///< of computation too, and each op as an OpRow, in order of start
    bool pauses = false;   ///< each pause of a link
    bool origins = false;  ///< of a transfer of a job: its op, iteration, communicator and ranks
    /// Of more transfers of jobs than this, a row may stand for several of an op and iteration that
    /// are as large and take as long, without their endpoints.
    std::uint64_t flows_listed_max = UINT64_MAX;
    bool collectives = true;  ///< each as a CollectiveRow, sends and receives among them
  };
  /// The same whenever it is asked.
  virtual Needs needs() const { return {}; }

  virtual void begin() {}
  /// After begin(): there will be more transfers of jobs than flows_listed_max.
  virtual void expect_many_flows() {}
  virtual void add_job(const JobRow&) {}
  virtual void add_attempt(const AttemptRow&) {}
  virtual void add_cluster(const ClusterRow&) {}
  virtual void add_iteration(const IterationRow&) {}
  virtual void add_communicator(const CommunicatorRow&) {}
  virtual void add_collective(const CollectiveRow&) {}
  virtual void add_flow(const FlowRow&) {}
  virtual void add_link(const LinkRow&) {}
  virtual void add_pause_storm(const PauseStormRow&) {}
  virtual void add_event(const EventRow&) {}
  virtual void add_congestion(const CongestionRow&) {}
  virtual void add_congested_job(const CongestedJobRow&) {}
  virtual void add_link_sample(const LinkSampleRow&) {}
  virtual void add_tier_sample(const TierSampleRow&) {}
  virtual void add_op(const OpRow&) {}
  virtual void add_link_pause(const LinkPauseRow&) {}
};

}  // namespace weft
