// SPDX-License-Identifier: Apache-2.0
// Search: looks for the point with the least cost.
//
// Where it sits: a calibration gives it a cost that simulates (Evaluations) and takes the best
// point; chosen by name from searches().
//
// Invariants
//   1. Which points are looked at depends on parameters, costs and the search's own settings, and
//      on nothing else. So a search that was cut off goes on where it stopped if it is run again
//      with the costs that it has paid for.
//   2. The best point is one that was looked at; of points of equal cost the first.
// Threads: belongs to one thread; a cost may use others inside.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "calibration/fit_parameter.hpp"
#include "core/text/params.hpp"

namespace weft {

/// The costs of points, each found once, within a budget.
class Evaluations {
 public:
  /// Costs of points, which may be found side by side. Infinity: there is no such simulation.
  using Costs = std::function<std::vector<double>(std::span<const FitPoint> points)>;
  /// Called after every batch.
  using Watch = std::function<void(const Evaluations&)>;

  /// No more than `points_max` points are looked at. `stop` may be null; else it is asked before
  /// each batch.
  Evaluations(Costs costs, std::uint64_t points_max, std::function<bool()> stop = nullptr, Watch watch = nullptr);

  /// Costs by point, and true; or false if the search is to end.
  bool look_at(std::span<const FitPoint> points, std::vector<double>& costs);

  bool has_best() const { return best_ != nullptr; }
  /// Requires: has_best().
  const FitPoint& best() const { return *best_; }
  double best_cost() const { return best_cost_; }
  std::uint64_t points() const { return costs_of_.size(); }  ///< looked at, each once
  std::uint64_t points_max() const { return points_max_; }
  bool is_over() const { return is_over_; }  ///< budget spent, or stopped

 private:
  Costs costs_;
  std::uint64_t points_max_;
  std::function<bool()> stop_;
  Watch watch_;
  std::map<FitPoint, double> costs_of_;  ///< of points that were looked at
  const FitPoint* best_ = nullptr;       ///< a key of costs_of_
  double best_cost_ = std::numeric_limits<double>::infinity();
  bool is_over_ = false;
};

class Search {
 public:
  virtual ~Search() = default;
  /// Until nothing gets better or the evaluations are over. The start is looked at first.
  virtual void run(std::span<const FitParameter> parameters, Evaluations& evaluations) const = 0;
};

using SearchFactory = std::unique_ptr<Search> (*)(const ParamSet& params);

/// Every search there is.
std::span<const Module<SearchFactory>> searches();

}  // namespace weft
