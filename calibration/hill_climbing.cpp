// SPDX-License-Identifier: Apache-2.0
#include "calibration/hill_climbing.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/text/param_rows.hpp"
#include "core/values/random.hpp"

namespace weft {

namespace {

constexpr std::uint32_t purpose_start = 0;  // of the random stream
constexpr double step_max = 0.5;

struct HillClimbingSettings {
  double step;
  double tolerance;
  std::uint32_t restarts;
  std::uint64_t seed;
};

constexpr std::array hill_climbing_rows = {
    param<&HillClimbingSettings::step>({.name = "step",
                                        .default_text = "0.1",
                                        .minimum = "0.000001",
                                        .maximum = "0.5",
                                        .meaning = "First step, as a part of a parameter's range.",
                                        .origin = "ten steps from end to end; steps adapt"}),
    param<&HillClimbingSettings::tolerance>(
        {.name = "tolerance",
         .default_text = "0.0001",
         .minimum = "0.000000001",
         .maximum = "0.5",
         .meaning = "A climb ends when all steps are smaller than this part of their parameters' ranges.",
         .origin = "below what measurements tell apart"}),
    param<&HillClimbingSettings::restarts>(
        {.name = "restarts",
         .default_text = "2",
         .minimum = "0",
         .maximum = "1000",
         .meaning = "Climbs from drawn points, after the one from where the parameters stand. The best of all counts.",
         .origin = "a way out of the nearest hollow; costs a climb each"}),
    param<&HillClimbingSettings::seed>({.name = "seed",
                                        .default_text = "1",
                                        .minimum = "0",
                                        .meaning = "Seed of the points that climbs are begun from.",
                                        .origin = "any"}),
};

class HillClimbing final : public Search {
 public:
  explicit HillClimbing(const HillClimbingSettings& settings) : settings_(settings) {}

  void run(std::span<const FitParameter> parameters, Evaluations& evaluations) const override {
    for (const FitParameter& parameter : parameters) check_fit_parameter(parameter);
    std::vector<double> places;
    for (const FitParameter& parameter : parameters) places.push_back(place_of(parameter, parameter.start));
    climb(parameters, places, evaluations);
    for (std::uint32_t restart = 0; restart < settings_.restarts && !evaluations.is_over(); ++restart) {
      RandomStream random(settings_.seed, restart, purpose_start);
      for (double& place : places) place = random.uniform();
      climb(parameters, places, evaluations);
    }
  }

 private:
  struct Climb {
    std::span<const FitParameter> parameters;
    Evaluations& evaluations;
    std::vector<double> places;
    double cost = 0;
  };

  /// Goes to the best of the candidates if it is better than where the climb is: which; or none.
  /// False if the search is over.
  static bool move(Climb& climb, std::span<const std::vector<double>> candidates, std::size_t& taken) {
    std::vector<FitPoint> points;
    for (const std::vector<double>& places : candidates) points.push_back(point_at(climb.parameters, places));
    std::vector<double> costs;
    if (!climb.evaluations.look_at(points, costs)) return false;
    taken = candidates.size();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (costs[i] >= climb.cost) continue;
      climb.cost = costs[i];
      taken = i;
    }
    if (taken < candidates.size()) climb.places = candidates[taken];
    return true;
  }

  void climb(std::span<const FitParameter> parameters, const std::vector<double>& from, Evaluations& evaluations) const {
    Climb climb{parameters, evaluations, from, std::numeric_limits<double>::infinity()};
    std::size_t taken = 0;
    if (!move(climb, std::array{from}, taken)) return;
    std::vector<double> steps(parameters.size(), std::max(settings_.step, settings_.tolerance));
    const auto is_small = [&](double step) { return step <= settings_.tolerance; };
    for (bool is_on_top = false; !is_on_top;) {
      const std::vector<double> before = climb.places;
      // What others do may set a parameter going again whose step is small.
      const bool were_small = std::ranges::all_of(steps, is_small);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        std::vector<std::vector<double>> candidates;
        for (const double by : {steps[i], -steps[i], steps[i] / 4, -steps[i] / 4}) {
          candidates.push_back(climb.places);
          candidates.back()[i] = std::clamp(climb.places[i] + by, 0.0, 1.0);
        }
        if (!move(climb, candidates, taken)) return;
        steps[i] *= taken < 2 ? 2.0 : taken < 4 ? 0.5 : 0.25;
        steps[i] = std::clamp(steps[i], settings_.tolerance, step_max);
      }
      is_on_top = were_small && climb.places == before;
      if (!move_on(climb, before)) return;
    }
  }

  /// As far again in the direction of a round. False if the search is over.
  static bool move_on(Climb& climb, const std::vector<double>& before) {
    if (climb.places == before) return true;
    std::vector<std::vector<double>> candidates;
    for (const double times : {1.0, 2.0, 4.0}) {
      candidates.push_back(climb.places);
      for (std::size_t i = 0; i < before.size(); ++i)
        candidates.back()[i] = std::clamp(climb.places[i] + times * (climb.places[i] - before[i]), 0.0, 1.0);
    }
    std::size_t taken = 0;
    return move(climb, candidates, taken);
  }

  HillClimbingSettings settings_;
};

}  // namespace

ParamTable hill_climbing_params() { return hill_climbing_rows; }

std::unique_ptr<Search> make_hill_climbing(const ParamSet& params) {
  return std::make_unique<HillClimbing>(filled<HillClimbingSettings>(params));
}

}  // namespace weft
