// SPDX-License-Identifier: Apache-2.0
// Fit space: the parameters of scenarios that a calibration is to find, from what the user names.
//
// Where it sits: `--fit` of weft calibrate; calibration/search looks for a point of it, and
// scenarios at such points are simulated.
// Threads: values; const functions from any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/fit_parameter.hpp"
#include "core/text/params.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

class FitSpace {
 public:
  /// `texts`: "module.param", or "module.param=MIN..MAX" for another range than that of real
  /// hardware. A search starts from the first scenario's values, those outside their range from its
  /// end. A parameter that no scenario's times depend on is unused.
  /// Throws InputError at `place`: [unknown-param], [not-fittable], [unused-param], [bad-value],
  /// [out-of-range], [duplicate-setting].
  /// Requires: at least one scenario.
  FitSpace(const std::vector<const Scenario*>& scenarios, std::span<const std::string> texts, const std::string& place);

  const std::vector<FitParameter>& parameters() const { return parameters_; }
  /// The value of the i-th parameter, with its unit.
  std::string text(std::size_t i, double value) const { return param_text(*rows_[i], value); }
  /// What the i-th parameter is, in a sentence.
  std::string meaning(std::size_t i) const { return std::string(rows_[i]->meaning); }
  /// The scenario with these values.
  Scenario scenario_at(const Scenario& scenario, const FitPoint& point) const;
  FitPoint start() const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<FitParameter> parameters_;
  std::vector<const ParamSpec*> rows_;
  std::vector<std::string> notes_;
};

/// Names of all parameters that may be fitted: "flow.wqe_latency".
std::vector<std::string> fittable_parameters(const Parameters& parameters);

}  // namespace weft
