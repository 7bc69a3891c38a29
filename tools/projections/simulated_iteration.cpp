// SPDX-License-Identifier: Apache-2.0
#include "tools/projections/simulated_iteration.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "tools/results/result_sink.hpp"

namespace weft {

namespace {

/// Keeps what is said of one job, and ends the run with it.
class JobSink final : public ResultSink {
 public:
  JobSink(std::string job, std::atomic<bool>& ended) : job_(std::move(job)), ended_(ended) {}

  Needs needs() const override { return {.flows_listed_max = 0, .collectives = false}; }
  void begin() override {
    iterations_.clear();
    communicators_.clear();
    blamed_.reset();
    ended_ = false;
  }
  void add_job(const JobRow& row) override {
    if (row.job == job_ && row.end) ended_ = true;
  }
  void add_iteration(const IterationRow& row) override {
    if (row.job != job_) return;
    // Ranks that are done early begin the next iteration while others still update.
    iterations_.push_back({row.end - (iterations_.empty() ? row.start : ended_at_), row.exposed_communication});
    ended_at_ = row.end;
  }
  void add_communicator(const CommunicatorRow& row) override {
    if (row.job == job_) communicators_.emplace_back(row.communicator, row.exposed_s);
  }
  void add_congestion(const CongestionRow& row) override {
    if (!is_among(row.slowed)) return;
    const double congested_s = (row.end - row.begin).in_s() * row.congested_share;
    const double cost = congested_s * row.lost_share;
    if (blamed_ && cost <= blamed_->congested_s * blamed_->lost_share) return;
    blamed_ = BlamedLink{std::string(row.link), row.cause == "own", std::string(row.trigger), congested_s, row.lost_share};
  }

  struct Iteration {
    Duration time;
    Duration exposed;
  };
  const std::vector<Iteration>& iterations() const { return iterations_; }
  const std::vector<std::pair<std::string, double>>& communicators() const { return communicators_; }
  const std::optional<BlamedLink>& blamed() const { return blamed_; }

 private:
  /// Of jobs joined by ";".
  bool is_among(std::string_view jobs) const {
    while (!jobs.empty()) {
      const std::size_t end = jobs.find(';');
      if (jobs.substr(0, end) == job_) return true;
      if (end == std::string_view::npos) return false;
      jobs.remove_prefix(end + 1);
    }
    return false;
  }

  std::string job_;
  std::atomic<bool>& ended_;
  std::vector<Iteration> iterations_;
  Time ended_at_;
  std::vector<std::pair<std::string, double>> communicators_;
  std::optional<BlamedLink> blamed_;
};

}  // namespace

std::string free_job_name(const Scenario& cluster, const std::string& wanted) {
  std::string name = wanted;
  const auto is_taken = [&] { return std::ranges::find(cluster.jobs, name, &JobSpec::name) != cluster.jobs.end(); };
  for (int number = 2; is_taken(); ++number) name = fmt::format("{} {}", wanted, number);
  return name;
}

SimulatedIteration simulate_iteration(const Scenario& cluster, const SimulationRequest& request, RunOptions options) {
  Scenario scenario = cluster;
  scenario.name = request.name;
  if (!request.with_neighbours) {
    scenario.jobs.clear();
    scenario.workloads.clear();
  }
  JobSpec job;
  job.name = free_job_name(scenario, request.name);
  job.gpus = request.workload->rank_count;
  job.iterations = request.iterations;
  job.workload = request.workload;
  job.place = SourcePlace::named(request.name);
  const std::string name = job.name;
  scenario.jobs.insert(scenario.jobs.begin(), std::move(job));
  scenario.workloads.push_back(request.workload);
  sort_by_submission(scenario.jobs);
  if (request.ring_messages && !scenario.parameters.of("ring").is_given("messages_max"))
    scenario.parameters.apply("ring.messages_max", fmt::to_string(*request.ring_messages), SourcePlace::named(request.name));
  if (request.finds_blame) scenario.parameters.apply("flow.detect_congestion", "on", SourcePlace::named(request.name));

  std::atomic<bool> ended = false;
  JobSink sink(name, ended);
  if (request.with_neighbours) {
    // The run ends with the job, or when its user says so.
    options.progress = [&ended, asked = options.interrupt, tell = options.progress](const RunState& state) {
      if (asked != nullptr && *asked) ended = true;
      if (tell) tell(state);
    };
    options.interrupt = &ended;
  }
  const RunOutcome outcome = request.with_neighbours ? run(scenario, sink, options) : finish_run(scenario, sink, options);
  if (sink.iterations().size() < request.iterations) {
    fail("never-ended", fmt::format("job {} does not get to the end of iteration {}", in_quotes(request.name), request.iterations),
         SourcePlace::named(request.name), "neighbours may hold the GPUs that it needs: submit them later");
  }
  SimulatedIteration result;
  result.iteration = sink.iterations().back().time;
  result.exposed = sink.iterations().back().exposed;
  result.exposed_s = sink.communicators();
  result.blamed = sink.blamed();
  result.ranks_simulated = outcome.summary.ranks_simulated;
  return result;
}

}  // namespace weft
