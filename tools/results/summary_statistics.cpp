// SPDX-License-Identifier: Apache-2.0
#include "tools/results/summary_statistics.hpp"

#include <algorithm>
#include <iterator>

namespace weft {

std::optional<Percentiles> SummaryStatistics::Series::percentiles() const {
  if (count() == 0) return std::nullopt;
  return Percentiles{values.percentile(50), values.percentile(90), values.percentile(99), values.max()};
}

void SummaryStatistics::begin() {
  figures_ = {};
  jobs_done_ = 0;
  iterations_done_ = 0;
  transfers_done_ = 0;
}

void SummaryStatistics::add_job(const JobRow& row) {
  if (!row.end) return;
  jobs_done_.fetch_add(1, std::memory_order_relaxed);
  figures_.wait_s.add(row.wait.value().in_s());
  figures_.jct_s.add(row.completion.value().in_s());
}

void SummaryStatistics::add_iteration(const IterationRow& row) {
  iterations_done_.fetch_add(1, std::memory_order_relaxed);
  figures_.iteration_s.add((row.end - row.start).in_s());
  figures_.exposed_s += row.exposed_communication.in_s();
}

void SummaryStatistics::add_communicator(const CommunicatorRow& row) {
  auto known = figures_.exposed_by_communicator_s.find(row.communicator);
  if (known == figures_.exposed_by_communicator_s.end()) {
    known = figures_.exposed_by_communicator_s.emplace(std::string(row.communicator), 0.0).first;
  }
  known->second += row.exposed_per_rank_s;
}

void SummaryStatistics::add_collective(const CollectiveRow& row) {
  if (!row.is_by_rule) return;
  const std::string kind(row.kind);
  const std::string algorithm(row.algorithm);
  figures_.algorithms_picked[kind][algorithm] += row.multiplicity;
  RunSummary::PickedCollective& largest = figures_.picked_because[{kind, algorithm, std::string(row.protocol)}];
  if (largest.ranks == 0 || row.size.count() > largest.size_bytes)
    largest = {row.size.count(), row.ranks, row.channels, std::string(row.reason)};
}

void SummaryStatistics::add_flow(const FlowRow& row) {
  figures_.fct_s.add(row.completion.in_s(), row.multiplicity);
  ++figures_.flows_simulated;
  figures_.slowdown.add(row.slowdown, row.multiplicity);
  figures_.payload_bytes += static_cast<double>(row.size.count()) * row.multiplicity;
  transfers_done_.fetch_add(row.multiplicity, std::memory_order_relaxed);
}

void SummaryStatistics::add_link(const LinkRow& row) {
  if (row.mean_utilization > figures_.link_utilization_max) {
    figures_.link_utilization_max = row.mean_utilization;
    figures_.busiest_link = row.link;
  }
  if (row.is_inside_host) return;
  std::vector<TierUsage>& tiers = figures_.tiers;
  auto tier = std::ranges::find(tiers, row.tier, &TierUsage::tiers);
  if (tier == tiers.end()) {
    tiers.push_back({});
    tier = std::prev(tiers.end());
    tier->tiers = row.tier;
  }
  ++tier->links;
  tier->queue_peak = std::max(tier->queue_peak, row.queue_peak);
  tier->ecn_marks += row.ecn_marks;
  tier->paused += row.paused;
  tier->paused_link_max = std::max(tier->paused_link_max, row.paused);
  tier->drops += row.drops;
}

void SummaryStatistics::fill(RunSummary& summary) const {
  const Figures& figures = figures_;
  const auto share_of_iterations = [&](double seconds) {
    const double all = figures.iteration_s.sum.value();
    return all > 0 ? seconds / all : 0;
  };
  summary.mean_wait_s = figures.wait_s.mean();
  summary.mean_jct_s = figures.jct_s.mean();
  summary.wait_s = figures.wait_s.percentiles();
  summary.jct_s = figures.jct_s.percentiles();
  summary.iteration_s = figures.iteration_s.percentiles();
  summary.fct_s = figures.fct_s.percentiles();
  summary.slowdown = figures.slowdown.percentiles();
  summary.iterations = figures.iteration_s.count();
  summary.mean_iteration_s = figures.iteration_s.mean();
  summary.exposed_comm_share = share_of_iterations(figures.exposed_s);
  for (const auto& [communicator, exposed_s] : figures.exposed_by_communicator_s)
    summary.exposed_comm_share_by_communicator.emplace_back(communicator, share_of_iterations(exposed_s));
  summary.algorithms_picked = figures.algorithms_picked;
  summary.picked_because = figures.picked_because;
  summary.flows_finished = figures.fct_s.count();
  summary.flows_simulated = figures.flows_simulated;
  summary.payload_bytes = figures.payload_bytes;
  summary.mean_fct_s = figures.fct_s.mean();
  summary.mean_slowdown = figures.slowdown.mean();
  summary.max_link_utilization = figures.link_utilization_max;
  summary.busiest_link = figures.busiest_link;
  if (summary.packets) summary.tiers = figures.tiers;
}

}  // namespace weft
