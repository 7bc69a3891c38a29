// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit_parameter.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft {

void check_fit_parameter(const FitParameter& parameter) {
  const auto& [name, minimum, maximum, start, scale, grain] = parameter;
  WEFT_CHECK(std::isfinite(minimum) && std::isfinite(maximum) && minimum < maximum, "a range has a least and a larger most value");
  WEFT_CHECK(scale == FitParameter::Scale::linear || minimum > 0, "logarithms are of numbers above zero");
  WEFT_CHECK(minimum <= start && start <= maximum, "a search starts in the range");
  WEFT_CHECK(grain >= 0 && grain <= maximum - minimum, "a range holds two values at least");
}

double place_of(const FitParameter& parameter, double value) {
  if (parameter.scale == FitParameter::Scale::logarithmic)
    return portable_log(value / parameter.minimum) / portable_log(parameter.maximum / parameter.minimum);
  return (value - parameter.minimum) / (parameter.maximum - parameter.minimum);
}

double value_at(const FitParameter& parameter, double place) {
  const auto& [name, minimum, maximum, start, scale, grain] = parameter;
  if (place <= 0) return minimum;
  if (place >= 1) return maximum;
  const double value = scale == FitParameter::Scale::logarithmic ? minimum * portable_exp(place * portable_log(maximum / minimum))
                                                                 : minimum + place * (maximum - minimum);
  const double grained = grain > 0 ? std::round(value / grain) * grain : value;
  return std::clamp(grained, minimum, maximum);
}

std::vector<double> places_of(std::span<const FitParameter> parameters, std::span<const double> point) {
  std::vector<double> places;
  for (std::size_t i = 0; i < parameters.size(); ++i) places.push_back(place_of(parameters[i], point[i]));
  return places;
}

FitPoint point_at(std::span<const FitParameter> parameters, std::span<const double> places) {
  FitPoint point;
  for (std::size_t i = 0; i < parameters.size(); ++i) point.push_back(value_at(parameters[i], places[i]));
  return point;
}

}  // namespace weft
