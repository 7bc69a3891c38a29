// SPDX-License-Identifier: Apache-2.0
// Congestion report: which links slowed jobs, when, and whose start began it; with
// flow.detect_congestion, in flow mode.
//
// Where it sits: ResultRows tells it when jobs start and are fast-forwarded. When the run is over
// it takes what network/congestion/congestion_monitor has found, joins periods over what was not
// simulated (network/congestion/congestion_periods, where all terms are defined) and hands the sink
// their rows.
// Threads: belongs to the scheduler's logical process, then to whoever asks for the rows.
#pragma once

#include "core/values/ids.hpp"
#include "network/congestion/congestion_monitor.hpp"
#include "network/congestion/congestion_periods.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/results/run_summary.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

class CongestionReport {
 public:
  /// Keeps a reference. Requires: detects_congestion(scenario).
  explicit CongestionReport(const Scenario& scenario);

  void note_start(JobId job, Time start) { starts_[job].push_back(start); }
  void note_fast_forward(JobId job, const FastForwardSpan& span) { fast_forwards_[job].push_back(span); }

  /// `end`: of the run.
  CongestionSummary add_rows(const CongestionMonitor& monitor, Time end, ResultSink& sink) const;

 private:
  const std::string& name_of(JobId job) const { return scenario_.jobs[job.index()].name; }

  const Scenario& scenario_;
  JobStarts starts_;
  FastForwardSpans fast_forwards_;
};

}  // namespace weft
