// SPDX-License-Identifier: Apache-2.0
#include "calibration/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "calibration/hill_climbing.hpp"
#include "calibration/nlopt_search.hpp"
#include "core/check.hpp"

namespace weft {

Evaluations::Evaluations(Costs costs, std::uint64_t points_max, std::function<bool()> stop, Watch watch)
    : costs_(std::move(costs)), points_max_(points_max), stop_(std::move(stop)), watch_(std::move(watch)) {}

bool Evaluations::look_at(std::span<const FitPoint> points, std::vector<double>& costs) {
  std::vector<FitPoint> fresh;
  for (const FitPoint& point : points) {
    if (!costs_of_.contains(point) && std::ranges::find(fresh, point) == fresh.end()) fresh.push_back(point);
  }
  is_over_ = is_over_ || costs_of_.size() + fresh.size() > points_max_ || (stop_ && stop_());
  if (is_over_) return false;
  if (!fresh.empty()) {
    const std::vector<double> found = costs_(fresh);
    WEFT_CHECK(found.size() == fresh.size(), "every point has a cost");
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      WEFT_CHECK(!std::isnan(found[i]), "a cost is a number");
      const auto at = costs_of_.emplace(std::move(fresh[i]), found[i]).first;
      if (best_ != nullptr && found[i] >= best_cost_) continue;
      best_ = &at->first;
      best_cost_ = found[i];
    }
  }
  costs.clear();
  for (const FitPoint& point : points) costs.push_back(costs_of_.at(point));
  if (watch_) watch_(*this);
  return true;
}

std::span<const Module<SearchFactory>> searches() {
  static const std::array<Module<SearchFactory>, 3> all = {{
      {{"search", "hill_climbing",
        "Parameter by parameter in the given order: the best of a few values on both sides, with a step that grows where it helps "
        "and shrinks where it does not; after each round as far again in the direction of the whole round (Hooke and Jeeves 1961).",
        hill_climbing_params()},
       make_hill_climbing},
      {{"search", "bobyqa",
        "NLopt's BOBYQA (Powell 2009): quadratic models of the cost in a shrinking region; SBPLX for a single parameter. One run "
        "at a time; a check on hill climbing.",
        nlopt_params()},
       make_bobyqa},
      {{"search", "sbplx",
        "NLopt's SBPLX (after Rowan's Subplex, 1990): Nelder and Mead's simplex on subspaces. One run at a time; a check on hill "
        "climbing.",
        nlopt_params()},
       make_sbplx},
  }};
  return all;
}

}  // namespace weft
