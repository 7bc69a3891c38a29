// Congestion report: which links slowed jobs, when, and whose start began it; with flow.detect_congestion, in flow mode.
//
// Where it sits: ResultsWriter tells it when jobs start and are fast-forwarded; when the run is over it takes what network/congestion/congestion_monitor has found, joins
// periods over what was not simulated (network/congestion/congestion_periods, where all terms are defined) and writes two tables.
//
//   congestion.csv      link,cause,begin_s,end_s,duration_s,congested_share,lost_share,trigger,slowed,jobs,multiplicity
//   congested_jobs.csv  job,periods,in_periods_s,congested_s,lost_share,triggered
//
// A row of congestion.csv is a period; in order of begin. cause: "others" or "own". congested_share: for which part of it, as far as it was simulated,
// the link slowed any transfer. lost_share: of what the transfers that it slowed could have moved in that time over their hosts' own links. trigger: the job
// whose start began it. slowed: the jobs that it slowed; jobs: all that used the link meanwhile, in order of joining; names with ";" between them.
// multiplicity: links alike that the row stands for, 1 unless ranks were folded.
// A row of congested_jobs.csv is a job that was slowed or began a period of others, in order of submission. in_periods_s: from when until when periods
// slowed it, those of several links counting once; congested_s: of what was simulated, while any of its transfers was slowed, and lost_share the loss of
// these; triggered: periods caused by others that its start began.
// Threads: belongs to the scheduler's logical process, then to whoever writes the results.
#pragma once

#include "core/values/ids.hpp"
#include "network/congestion/congestion_monitor.hpp"
#include "network/congestion/congestion_periods.hpp"
#include "tools/results/output_file.hpp"
#include "tools/results/results_folder.hpp"
#include "tools/results/run_summary.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

inline constexpr const char* congestion_file = "congestion.csv";
inline constexpr const char* congested_jobs_file = "congested_jobs.csv";

/// Whether a run of the scenario looks for congestion.
bool detects_congestion(const Scenario& scenario);

class CongestionReport {
 public:
  /// Keeps a reference. Requires: detects_congestion(scenario).
  CongestionReport(const Scenario& scenario, ResultsFolder& folder);

  void note_start(JobId job, Time start) { starts_[job].push_back(start); }
  void note_fast_forward(JobId job, const FastForwardSpan& span) { fast_forwards_[job].push_back(span); }

  /// Fills the tables. `end`: of the run.
  CongestionSummary write(const CongestionMonitor& monitor, Time end);
  void close();

 private:
  const std::string& name_of(JobId job) const { return scenario_.jobs[job.index()].name; }

  const Scenario& scenario_;
  CsvFile periods_;
  CsvFile jobs_;
  JobStarts starts_;
  FastForwardSpans fast_forwards_;
};

}  // namespace weft
