// SPDX-License-Identifier: Apache-2.0
// Summary statistics: what the rows of a run come to, for its summary.
//
// Where it sits: the simulation hands every row to one of these and to the sink of whoever asked.
// Threads: as ResultSink; what is done so far may be asked from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/values/compensated_sum.hpp"
#include "core/values/distribution.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/results/run_summary.hpp"

namespace weft {

class SummaryStatistics final : public ResultSink {
 public:
  Needs needs() const override { return {.flows_listed_max = 0, .collectives = false}; }
  void begin() override;
  void add_job(const JobRow& row) override;
  void add_iteration(const IterationRow& row) override;
  void add_communicator(const CommunicatorRow& row) override;
  void add_collective(const CollectiveRow& row) override;
  void add_flow(const FlowRow& row) override;
  void add_link(const LinkRow& row) override;

  /// What has finished so far.
  std::uint64_t jobs_done() const { return jobs_done_.load(std::memory_order_relaxed); }
  std::uint64_t iterations_done() const { return iterations_done_.load(std::memory_order_relaxed); }
  std::uint64_t transfers_done() const { return transfers_done_.load(std::memory_order_relaxed); }

  /// Completes `summary` with means, the busiest link and what was picked by rules; of packet mode,
  /// with tiers.
  void fill(RunSummary& summary) const;

 private:
  /// Mean and percentiles.
  struct Series {
    CompensatedSum sum;
    Distribution values;
    void add(double value, std::uint64_t times = 1) {
      sum.add(value * static_cast<double>(times));
      values.add(value, times);
    }
    std::uint64_t count() const { return values.count(); }
    double mean() const { return count() == 0 ? 0 : sum.value() / static_cast<double>(count()); }
    std::optional<Percentiles> percentiles() const;
  };
  struct Figures {
    Series wait_s;
    Series jct_s;
    Series iteration_s;
    double exposed_s = 0;
    /// over all jobs and their iterations
    std::map<std::string, double, std::less<>> exposed_by_communicator_s;
    std::map<std::string, std::map<std::string, std::uint64_t>> algorithms_picked;
    std::map<std::array<std::string, 3>, RunSummary::PickedCollective> picked_because;
    Series fct_s;
    std::uint64_t flows_simulated = 0;  ///< of those in fct_s: once for all that are alike
    Series slowdown;
    double payload_bytes = 0;
    double link_utilization_max = 0;
    std::string busiest_link;
    std::vector<TierUsage> tiers;
  };

  Figures figures_;
  std::atomic<std::uint64_t> jobs_done_{0};
  std::atomic<std::uint64_t> iterations_done_{0};
  std::atomic<std::uint64_t> transfers_done_{0};
};

}  // namespace weft
