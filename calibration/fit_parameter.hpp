// SPDX-License-Identifier: Apache-2.0
// Fit parameter: a number that a search may choose, and from where to where.
//
// Where it sits: searches move along places, from 0 to 1 over each parameter's range; simulations
// get values.
// Model: place = (value - minimum) / (maximum - minimum), or the same of logarithms.
// Threads: values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

struct FitParameter {
  enum class Scale : std::uint8_t { linear, logarithmic };

  std::string name;  ///< "flow.wqe_latency"
  double minimum = 0;
  double maximum = 1;
  double start = 0;
  Scale scale = Scale::linear;
  double grain = 0;  ///< values between the ends are multiples of it; 0: any number
};

/// A value for each parameter, in their order.
using FitPoint = std::vector<double>;

/// Requires: the least value lies below the most, and above 0 on a logarithmic scale; the start
/// lies between them; the grain is not negative and no more than their distance (WEFT_CHECK).
void check_fit_parameter(const FitParameter& parameter);

/// In [0, 1]. Requires: the value lies in the range.
double place_of(const FitParameter& parameter, double value);
/// The nearest value that the parameter may have; places outside count as the ends.
double value_at(const FitParameter& parameter, double place);
/// The same of each parameter.
std::vector<double> places_of(std::span<const FitParameter> parameters, std::span<const double> point);
FitPoint point_at(std::span<const FitParameter> parameters, std::span<const double> places);

}  // namespace weft
