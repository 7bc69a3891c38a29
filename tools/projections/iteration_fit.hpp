// SPDX-License-Identifier: Apache-2.0
// Iteration fit: parameters of operator times that bring estimated iterations nearest to measured
// ones.
//
// Where it sits: bench/projection_errors fits one profile per GPU by it and scores it on
// iterations that were not fitted.
//
// Model: a profile is a list of settings, "gpu.param=value" and "analytical.param=value", as --set
// of `weft project` takes them. An iteration is estimated with its own settings and those
// (host/projections/iteration_estimate), on a cluster of its servers as large as its plan. Hill
// climbing (calibration/hill_climbing) makes the mean of ln^2(estimated / measured) small, each
// table counting as one.
// Threads: belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibration/fit_parameter.hpp"
#include "core/values/units.hpp"
#include "tools/projections/measured_iterations.hpp"

namespace weft {

class NetworkFormula;
class OperatorTimes;
struct Scenario;

/// A parameter of gpu.* or analytical.*, in a unit.
struct ProfileParameter {
  FitParameter range;
  std::string unit;  ///< behind the number: "MHz", "us"; empty for plain numbers

  std::string setting(double value) const;
};

class IterationEstimates {
 public:
  explicit IterationEstimates(std::vector<MeasuredIteration> iterations);
  ~IterationEstimates();

  std::span<const MeasuredIteration> iterations() const { return iterations_; }
  /// Of the iterations with these numbers. Throws InputError for settings that do not exist.
  std::vector<double> seconds(std::span<const std::size_t> numbers, std::span<const std::string> settings);
  /// Of all.
  std::vector<double> seconds(std::span<const std::string> settings);

 private:
  /// Operator times of a GPU with settings.
  struct Clock;
  struct Network;

  Clock& clock_of(const MeasuredIteration& iteration, std::span<const std::string> settings);
  NetworkFormula& network_of(const MeasuredIteration& iteration);
  Duration estimate(const MeasuredIteration& iteration, const ParallelPlan& plan, std::span<const std::string> settings);
  void choose_plan(MeasuredIteration& iteration);

  std::vector<MeasuredIteration> iterations_;
  /// Of the settings that were asked for last.
  std::map<std::string, std::unique_ptr<Clock>> clocks_;
  std::string clocks_settings_;
  std::map<std::pair<std::string, std::uint64_t>, std::unique_ptr<Network>> networks_;
};

struct IterationFit {
  std::vector<std::string> settings;  ///< one per parameter
  double error = 0;                   ///< root of the mean that was made small
  std::uint64_t points = 0;           ///< that were looked at
};

/// Looks at no more than `points_max` points. Requires: parameters and numbers of iterations, one
/// at least of each.
IterationFit fit_iterations(IterationEstimates& estimates, std::span<const std::size_t> numbers,
                            std::span<const ProfileParameter> parameters, std::uint64_t points_max);

// --- Fitted and scored ---

/// Iterations of one GPU type: which are fitted, and which are scored.
struct FitSplit {
  std::vector<std::size_t> fitted;
  std::vector<std::size_t> scored;
  std::vector<std::size_t> related;  ///< as a fitted one but for their GPUs: neither
};

/// Draws from each table, which is the same for the same seed. `share` of the kinds
/// (MeasuredIteration::what) of a table, rounded down, one at least, give one iteration each; where
/// `by_kind` is false, `share` of the table's iterations.
FitSplit draw_split(std::span<const MeasuredIteration> iterations, std::span<const std::size_t> candidates, double share,
                    bool by_kind, std::uint64_t seed);

}  // namespace weft
