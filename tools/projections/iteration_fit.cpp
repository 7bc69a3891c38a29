// SPDX-License-Identifier: Apache-2.0
#include "tools/projections/iteration_fit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "calibration/hill_climbing.hpp"
#include "calibration/objective.hpp"
#include "calibration/search.hpp"
#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "core/values/random.hpp"
#include "host/memory/memory_projection.hpp"
#include "host/op_times/analytical_times.hpp"
#include "host/op_times/operator_clock.hpp"
#include "host/projections/iteration_estimate.hpp"
#include "host/projections/network_formula.hpp"
#include "host/projections/plan_network.hpp"
#include "tools/projections/projected_cluster.hpp"
#include "tools/simulation/scenario/parameters.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

namespace {

constexpr std::uint32_t purpose_split = 0;  // of the random stream
constexpr double memory_margin = 0.05;      ///< as `weft project memory`

std::string joined(std::span<const std::string> texts) {
  std::string text;
  for (const std::string& one : texts) text += one + '\n';
  return text;
}

std::unique_ptr<AnalyticalTimes> times_with(const std::string& gpu, std::span<const std::string> settings) {
  OperatorParams params = operator_params(settings);
  params.gpu.set("preset", gpu, SourcePlace::named(gpu));
  return std::make_unique<AnalyticalTimes>(read_gpu(params.gpu, SourcePlace::named(gpu)),
                                           filled<AnalyticalSettings>(params.analytical));
}

/// Numbers of iterations by a name, in the order in which names come first.
std::vector<std::pair<std::string, std::vector<std::size_t>>> grouped(std::span<const MeasuredIteration> iterations,
                                                                      std::span<const std::size_t> numbers,
                                                                      std::string MeasuredIteration::*name) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (const std::size_t number : numbers) {
    const std::string& one = iterations[number].*name;
    auto group = std::ranges::find(groups, one, &std::pair<std::string, std::vector<std::size_t>>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {one, {}});
    group->second.push_back(number);
  }
  return groups;
}

/// Moves `count` drawn elements to the front.
template <class Element>
void draw_to_front(std::vector<Element>& elements, std::size_t count, RandomStream& random) {
  for (std::size_t i = 0; i < count; ++i) std::swap(elements[i], elements[i + random.below(elements.size() - i)]);
}

}  // namespace

std::string ProfileParameter::setting(double value) const { return fmt::format("{}={:.6g}{}", range.name, value, unit); }

// --- Estimates ---

struct IterationEstimates::Clock {
  std::unique_ptr<AnalyticalTimes> times;
  OperatorClock clock;
};

struct IterationEstimates::Network {
  Network(const ClusterRequest& request, const SourcePlace& place)
      : cluster(load_cluster(request, place)), formula(network_formula(cluster)) {}

  Scenario cluster;
  NetworkFormula formula;
};

IterationEstimates::IterationEstimates(std::vector<MeasuredIteration> iterations) : iterations_(std::move(iterations)) {
  for (MeasuredIteration& iteration : iterations_) choose_plan(iteration);
}

IterationEstimates::~IterationEstimates() = default;

/// Of the plans that fit the memory the one with the least estimate; the first where none fits.
void IterationEstimates::choose_plan(MeasuredIteration& iteration) {
  if (iteration.alternatives.empty()) return;
  std::vector<ParallelPlan> plans = std::move(iteration.alternatives);
  plans.insert(plans.begin(), iteration.plan);
  iteration.alternatives.clear();
  const Clock& clock = clock_of(iteration, {});
  const auto memory = static_cast<double>(clock.times->gpu().memory.count());
  std::optional<Duration> least;
  for (const ParallelPlan& plan : plans) {
    const PipelineOrder order = pipeline_order(iteration.model, plan, clock.clock, SourcePlace::named(iteration.table));
    const auto needed = static_cast<double>(project_memory(iteration.model, plan, order).worst().total().count());
    if (needed * (1.0 + memory_margin) > memory) continue;
    const Duration time = estimate(iteration, plan, {});
    if (least && time >= *least) continue;
    least = time;
    iteration.plan = plan;
  }
}

IterationEstimates::Clock& IterationEstimates::clock_of(const MeasuredIteration& iteration, std::span<const std::string> settings) {
  std::string name = joined(settings);
  if (name != clocks_settings_) clocks_.clear();
  clocks_settings_ = std::move(name);
  std::unique_ptr<Clock>& clock = clocks_[iteration.gpu + '\n' + joined(iteration.operator_settings)];
  if (clock == nullptr) {
    std::vector<std::string> all = iteration.operator_settings;
    all.insert(all.end(), settings.begin(), settings.end());
    clock = std::make_unique<Clock>();
    clock->times = times_with(iteration.gpu, all);
    clock->clock = remembering(operator_clock(*clock->times, SourcePlace::named(clock->times->origin())));
  }
  return *clock;
}

NetworkFormula& IterationEstimates::network_of(const MeasuredIteration& iteration) {
  std::unique_ptr<Network>& network = networks_[{iteration.server, iteration.plan.ranks()}];
  if (network == nullptr) {
    const ClusterRequest request = {.name = iteration.server, .gpus = iteration.plan.ranks(), .settings = {}};
    network = std::make_unique<Network>(request, SourcePlace::named(iteration.server));
  }
  return network->formula;
}

Duration IterationEstimates::estimate(const MeasuredIteration& iteration, const ParallelPlan& plan,
                                      std::span<const std::string> settings) {
  const OperatorClock& clock = clock_of(iteration, settings).clock;
  return estimate_iteration(iteration.model, plan, clock, axis_clock(network_of(iteration), plan),
                            SourcePlace::named(iteration.table))
      .iteration;
}

std::vector<double> IterationEstimates::seconds(std::span<const std::size_t> numbers, std::span<const std::string> settings) {
  std::vector<double> all;
  for (const std::size_t number : numbers) all.push_back(estimate(iterations_[number], iterations_[number].plan, settings).in_s());
  return all;
}

std::vector<double> IterationEstimates::seconds(std::span<const std::string> settings) {
  std::vector<std::size_t> numbers(iterations_.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  return seconds(numbers, settings);
}

// --- Fit ---

IterationFit fit_iterations(IterationEstimates& estimates, std::span<const std::size_t> numbers,
                            std::span<const ProfileParameter> parameters, std::uint64_t points_max) {
  WEFT_CHECK(!numbers.empty() && !parameters.empty(), "there is something to fit, and something to fit it to");
  std::map<std::string, double> rows_of;
  for (const std::size_t number : numbers) rows_of[estimates.iterations()[number].table] += 1.0;
  std::vector<double> measured_s;
  std::vector<double> weights;
  for (const std::size_t number : numbers) {
    measured_s.push_back(estimates.iterations()[number].measured_s);
    weights.push_back(1.0 / rows_of[estimates.iterations()[number].table]);
  }
  const Objective objective(std::move(measured_s), ErrorScale::per_flow, std::move(weights));
  std::vector<FitParameter> ranges;
  for (const ProfileParameter& parameter : parameters) ranges.push_back(parameter.range);
  const auto settings_at = [&](const FitPoint& point) {
    std::vector<std::string> settings;
    for (std::size_t i = 0; i < parameters.size(); ++i) settings.push_back(parameters[i].setting(point[i]));
    return settings;
  };
  const auto costs = [&](std::span<const FitPoint> points) {
    std::vector<double> found;
    for (const FitPoint& point : points) found.push_back(objective.value(estimates.seconds(numbers, settings_at(point)), 0.0));
    return found;
  };
  Evaluations evaluations(costs, points_max);
  ParamSet search("hill_climbing", hill_climbing_params());
  // Times are smooth in these parameters: one climb from the presets' numbers is enough.
  search.set("restarts", "0", SourcePlace::named("restarts"));
  search.set("tolerance", "0.002", SourcePlace::named("tolerance"));
  make_hill_climbing(search)->run(ranges, evaluations);
  return {.settings = settings_at(evaluations.best()), .error = std::sqrt(evaluations.best_cost()), .points = evaluations.points()};
}

FitSplit draw_split(std::span<const MeasuredIteration> iterations, std::span<const std::size_t> candidates, double share,
                    bool by_kind, std::uint64_t seed) {
  FitSplit split;
  RandomStream random(seed, 0, purpose_split);
  const auto drawn_of = [&](std::size_t all) {
    return std::clamp<std::size_t>(static_cast<std::size_t>(share * static_cast<double>(all)), 1, all);
  };
  for (auto& [table, numbers] : grouped(iterations, candidates, &MeasuredIteration::table)) {
    if (!by_kind) {
      const std::size_t drawn = drawn_of(numbers.size());
      draw_to_front(numbers, drawn, random);
      split.fitted.insert(split.fitted.end(), numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(drawn));
      split.scored.insert(split.scored.end(), numbers.begin() + static_cast<std::ptrdiff_t>(drawn), numbers.end());
      continue;
    }
    auto kinds = grouped(iterations, numbers, &MeasuredIteration::what);
    const std::size_t drawn = drawn_of(kinds.size());
    draw_to_front(kinds, drawn, random);
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      std::vector<std::size_t>& rows = kinds[kind].second;
      if (kind >= drawn) {
        split.scored.insert(split.scored.end(), rows.begin(), rows.end());
        continue;
      }
      draw_to_front(rows, 1, random);
      split.fitted.push_back(rows.front());
      split.related.insert(split.related.end(), rows.begin() + 1, rows.end());
    }
  }
  for (std::vector<std::size_t>* numbers : {&split.fitted, &split.scored, &split.related}) std::ranges::sort(*numbers);
  return split;
}

}  // namespace weft
