// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/folding_planner.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "network/wide_area/wide_area_paths.hpp"
#include "scheduler/lifecycle/storage.hpp"
#include "tools/simulation/scenario/storage_entries.hpp"

namespace weft {

namespace {

/// Below this, `auto` simulates every rank: it takes seconds, and results have a row for each.
constexpr std::uint32_t folded_ranks_min = 512;
/// So often `auto` starts a run again because jobs were placed; then it simulates every rank. Long
/// lists of jobs come in many small steps.
constexpr std::uint32_t new_plans_max = 16;

}  // namespace

FoldingPlanner::FoldingPlanner(const Scenario& scenario, const FlowSettings* flow, const HostSpeeds& speeds, FoldingPlan plan,
                               std::function<void(const std::string&)> on_note)
    : scenario_(scenario),
      settings_(filled<HostSettings>(scenario.parameters.of("host"))),
      flow_(flow),
      speeds_(speeds),
      plan_(std::move(plan)),
      on_note_(std::move(on_note)) {}

bool FoldingPlanner::is_max_min() const { return scenario_.parameters.of("flow").text("allocation") == "max_min"; }

bool FoldingPlanner::lines_act() const {
  if (flow_ == nullptr) return false;
  return WideAreaPaths(*scenario_.topology, *flow_).act();
}

void FoldingPlanner::check() const {
  if (settings_.fold_ranks != FoldRanks::on) return;
  const SourcePlace place = SourcePlace::named("--set=host.fold_ranks=on");
  if (!is_max_min()) {
    fail("cannot-fold", "ranks are alike only as long as rates are max-min fair", place,
         "drop it, or take --set=flow.allocation=max_min");
  }
  if (network_changes(scenario_)) {
    fail("cannot-fold", "ranks are alike only as long as no switch and no link fails", place,
         "drop it, or leave these failures out");
  }
  if (lines_act()) {
    fail("cannot-fold", "ranks are not alike where lines between sites lose packets or have a jitter", place,
         "drop it, or take --set=wan.congestion_control=none and lines without jitter");
  }
  if (uses_storage(scenario_)) {
    fail("cannot-fold", "ranks are not alike where they fetch data or write checkpoints elsewhere", place,
         "drop it, or leave data and checkpoint_size of jobs out");
  }
}

bool FoldingPlanner::may_fold() const {
  // Data comes from and goes to other hosts for every rank.
  if (scenario_.mode != Mode::flow || uses_storage(scenario_) || network_changes(scenario_) || lines_act()) return false;
  if (settings_.fold_ranks != FoldRanks::automatic) return settings_.fold_ranks == FoldRanks::on;
  const auto is_large = [](const JobSpec& job) { return job.gpus >= folded_ranks_min; };
  return is_max_min() && (tolerance() > Duration::zero() || std::ranges::any_of(scenario_.jobs, is_large));
}

void FoldingPlanner::note_placed(RunningJob& job) {
  if (plan_.given_up) return;
  const std::uint32_t attempt = job.attempt.index();
  if (attempt >= plan_.jobs.size()) {
    WEFT_CHECK(attempt == plan_.jobs.size(), "attempts are prepared in order");
    plan_.jobs.push_back({job.workload, job.collectives, job.endpoint_of_rank});
    placed_new_job_ = true;
  } else if (plan_.jobs[attempt].workload != job.workload || *plan_.jobs[attempt].endpoint_of_rank != *job.endpoint_of_rank) {
    // Folded ranks take as long as others but for the rounding of sums, and that can make a
    // scheduler decide in another way.
    plan_.given_up = true;
    placed_new_job_ = true;
  }
  if (plan_.folding != nullptr && !placed_new_job_) job.folding = {plan_.folding, &plan_.folding->of(attempt)};
}

bool FoldingPlanner::still_holds() {
  if (!std::exchange(placed_new_job_, false)) return true;
  // Jobs that were not known before may make ranks differ that were alike, or have ranks that are
  // alike themselves.
  const bool was_folded = plan_.folding != nullptr;
  plan_.folding = nullptr;
  plan_.classes_if_sprayed = 0;
  if (!plan_.given_up) look_for_folding();
  tell();
  if (!was_folded && plan_.folding == nullptr) return true;
  if (++plan_.restarts > new_plans_max && settings_.fold_ranks == FoldRanks::automatic) plan_.given_up = true;
  if (plan_.given_up) {
    plan_.folding = nullptr;
    plan_.jobs.clear();
  }
  return false;
}

/// For the jobs of the plan; or, where hashed paths are in the way, how many ranks would do
/// without.
void FoldingPlanner::look_for_folding() {
  const auto look = [this](HashedWays hashed) {
    plan_.folding = RankFolding::find(plan_.jobs, *scenario_.topology, *flow_, speeds_, tolerance(), {}, hashed);
  };
  const bool is_hashed = flow_->routing == Routing::single && flow_->path_rule.choice == PathRule::Choice::by_hash;
  // What hashing decides matters only where links may hold somebody back.
  const bool may_be_any = is_hashed && flow_->queue_pairs == 1 && flow_->path_rule.routes == nullptr;
  if (may_be_any && tolerance() == Duration::zero() && !flow_->detect_congestion) look(HashedWays::any);
  if (plan_.folding == nullptr) look(HashedWays::own);
  if (plan_.folding != nullptr || !is_hashed) return;
  FlowSettings sprayed = *flow_;
  sprayed.routing = Routing::spray;
  // Only for a hint: not worth more than a moment.
  constexpr RankFolding::Limits moment = {std::size_t{1} << 22, std::size_t{1} << 22};
  const auto alike = RankFolding::find(plan_.jobs, *scenario_.topology, sprayed, speeds_, tolerance(), moment);
  plan_.classes_if_sprayed = alike == nullptr ? 0 : alike->class_count();
}

std::string FoldingPlanner::verdict() const {
  std::uint64_t ranks = 0;
  for (const PlacedJob& job : plan_.jobs) ranks += job.endpoint_of_rank->size();
  if (plan_.folding != nullptr) {
    return fmt::format("ranks are alike: {} of {} are simulated, each for its class", plan_.folding->class_count(), ranks);
  }
  if (plan_.classes_if_sprayed > 0) {
    return fmt::format("ranks are told apart by hashed paths: all {} are simulated; --set=flow.routing=spray would need {}", ranks,
                       plan_.classes_if_sprayed);
  }
  const std::string why = not_folded_because();
  return fmt::format("all {} ranks are simulated{}", ranks, why.empty() ? ", as none are alike" : fmt::format("; alike: {}", why));
}

void FoldingPlanner::tell() {
  if (!on_note_) return;
  // Jobs may come one after the other for days.
  if (!plan_.told.empty() && plan_.jobs.size() > 1) return;
  std::string now = verdict();
  if (now == plan_.told) return;
  plan_.told = std::move(now);
  on_note_(plan_.told);
}

std::string FoldingPlanner::not_folded_because() const {
  if (scenario_.mode != Mode::flow || scenario_.flows || !may_fold() || plan_.folding != nullptr) return {};
  if (plan_.given_up) return "not looked for any more, as jobs came again and again; host.fold_ranks=on goes on";
  const auto uses_switches = [](const PlacedJob& job) { return job.collectives->uses_switches(); };
  if (std::ranges::any_of(plan_.jobs, uses_switches)) return "not looked for, as switches reduce for some (nvls, sharp)";
  if (is_adaptive(flow_->routing)) return "no two ranks, as adaptive routing chooses their paths while they run";
  return {};
}

}  // namespace weft
