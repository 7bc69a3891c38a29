// SPDX-License-Identifier: Apache-2.0
// Study metric: a number that a run comes to - a figure of its summary, or a column of a table,
// boiled down.
//
// Where it sits: a study has several; MetricSink takes what the run tells.
// Model: figures are those of summary.json by the names of its fields, nested ones joined by a dot;
// those of the machine are measured for a study that asks for them, those of prices
// are there for one that names a table. Columns are those of the tables
// that a run fills, whether it writes them or not; rows count of which all conditions hold, as
// often as what they stand for, and cells that are empty do not count. Percentiles are interpolated
// (core/values/distribution). A metric of which a run tells nothing is none; a count then is 0.
// Threads: as ResultSink.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/results/run_summary.hpp"
#include "tools/study/prices.hpp"

namespace weft {

enum class Statistic : std::uint8_t { mean, min, max, sum, count, p50, p90, p99 };

struct StudyMetric {
  std::string name;
  std::string column = {};  ///< "jobs.wait_s"; empty: the figure of the summary of this name
  Statistic statistic = Statistic::mean;
  std::vector<std::pair<std::string, std::string>> where = {};  ///< column, value
  /// Of a projection's figure, and what its numbers stand for: "0 diloco, ...".
  std::string unit = {};
  std::string numbering = {};
};

/// "ns" of a column or of a projection's figure that has a unit, "" of one that has none, of
/// counts and of other figures, whose names say it. Requires: check_metric() passes it.
std::string unit_of(const StudyMetric& metric);

/// What a run cost the machine, from its process' start on.
struct MachineFigures {
  double load_wall_time_s = 0;
  double run_wall_time_s = 0;
  double cpu_time_s = 0;
  double events_per_s = 0;
  double peak_memory_bytes = 0;
};

/// Which figures there are beside those of the summary.
struct FurtherFigures {
  bool of_machine = false;  ///< of MachineFigures, as "machine.cpu_time_s"
  bool of_prices = false;   ///< of PricedTopology, as "prices.cost"
};

/// Throws InputError [unknown-metric], [unknown-column], [not-a-number] at `place`.
void check_metric(const StudyMetric& metric, const FurtherFigures& further, const SourcePlace& place);

/// Figures that a summary may have.
std::vector<std::string> summary_figures();

class MetricSink final : public ResultSink {
 public:
  /// Requires: check_metric() passes all.
  explicit MetricSink(const std::vector<StudyMetric>& metrics);
  ~MetricSink() override;

  Needs needs() const override;
  void begin() override;
  void add_job(const JobRow& row) override;
  void add_attempt(const AttemptRow& row) override;
  void add_cluster(const ClusterRow& row) override;
  void add_iteration(const IterationRow& row) override;
  void add_communicator(const CommunicatorRow& row) override;
  void add_collective(const CollectiveRow& row) override;
  void add_flow(const FlowRow& row) override;
  void add_link(const LinkRow& row) override;
  void add_pause_storm(const PauseStormRow& row) override;
  void add_event(const EventRow& row) override;
  void add_congestion(const CongestionRow& row) override;
  void add_congested_job(const CongestedJobRow& row) override;

  /// By metric, when the run is over. `prices` are of the run's topology, if it has one and the
  /// study names a table.
  std::vector<std::optional<double>> values(const RunSummary& summary, const MachineFigures& machine,
                                            const std::optional<PricedTopology>& prices) const;

 private:
  struct Followed;
  std::unique_ptr<Followed> followed_;
};

}  // namespace weft
