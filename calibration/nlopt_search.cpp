// SPDX-License-Identifier: Apache-2.0
#include "calibration/nlopt_search.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <nlopt.hpp>

#include "core/text/param_rows.hpp"

namespace weft {

namespace {

/// What a point without a simulation costs, as NLopt's models need a number.
constexpr double cost_max = 1e12;

struct NloptSettings {
  double step;
  double tolerance;
};

constexpr std::array nlopt_rows = {
    param<&NloptSettings::step>({.name = "step",
                                 .default_text = "0.1",
                                 .minimum = "0.000001",
                                 .maximum = "0.5",
                                 .meaning = "First step, as a part of a parameter's range.",
                                 .origin = "as hill climbing's"}),
    param<&NloptSettings::tolerance>({.name = "tolerance",
                                      .default_text = "0.0001",
                                      .minimum = "0.000000001",
                                      .maximum = "0.5",
                                      .meaning = "The search ends when no parameter moves by more than this part of its range.",
                                      .origin = "as hill climbing's"}),
};

class NloptSearch final : public Search {
 public:
  NloptSearch(nlopt::algorithm algorithm, const NloptSettings& settings) : algorithm_(algorithm), settings_(settings) {}

  void run(std::span<const FitParameter> parameters, Evaluations& evaluations) const override {
    for (const FitParameter& parameter : parameters) check_fit_parameter(parameter);
    // BOBYQA's models need two.
    const nlopt::algorithm algorithm = parameters.size() == 1 ? nlopt::LN_SBPLX : algorithm_;
    nlopt::opt search(algorithm, static_cast<unsigned>(parameters.size()));
    search.set_lower_bounds(0.0);
    search.set_upper_bounds(1.0);
    search.set_xtol_abs(settings_.tolerance);
    std::vector<double> places;
    std::vector<double> steps;
    for (const FitParameter& parameter : parameters) {
      places.push_back(place_of(parameter, parameter.start));
      // Inwards, where the start is at an end.
      steps.push_back(places.back() > 0.5 ? -settings_.step : settings_.step);
    }
    search.set_initial_step(steps);
    Call call{parameters, evaluations};
    search.set_min_objective(&NloptSearch::cost, &call);
    double least = 0;
    try {
      search.optimize(places, least);
    } catch (const nlopt::forced_stop&) {
      // the evaluations are over
    } catch (const nlopt::roundoff_limited&) {
      // nothing gets better any more
    }
  }

 private:
  struct Call {
    std::span<const FitParameter> parameters;
    Evaluations& evaluations;
  };

  static double cost(const std::vector<double>& places, std::vector<double>&, void* data) {
    auto& call = *static_cast<Call*>(data);
    const FitPoint point = point_at(call.parameters, places);
    std::vector<double> costs;
    if (!call.evaluations.look_at(std::span(&point, 1), costs)) throw nlopt::forced_stop();
    return std::min(costs.front(), cost_max);
  }

  nlopt::algorithm algorithm_;
  NloptSettings settings_;
};

}  // namespace

ParamTable nlopt_params() { return nlopt_rows; }

std::unique_ptr<Search> make_bobyqa(const ParamSet& params) {
  return std::make_unique<NloptSearch>(nlopt::LN_BOBYQA, filled<NloptSettings>(params));
}

std::unique_ptr<Search> make_sbplx(const ParamSet& params) {
  return std::make_unique<NloptSearch>(nlopt::LN_SBPLX, filled<NloptSettings>(params));
}

}  // namespace weft
