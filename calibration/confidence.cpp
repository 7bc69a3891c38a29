// SPDX-License-Identifier: Apache-2.0
#include "calibration/confidence.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <Eigen/QR>

#include "core/check.hpp"

namespace weft {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr double difference = 0.005;    // of a parameter's range: for derivatives
constexpr double same_direction = 1e-6;  // of a column's length: what is left of it beside others
constexpr int steps_max = 3;            // of Gauss and Newton, per profile point
constexpr int ends_max = 8;             // profile points per end of an interval
constexpr double end_precision = 0.02;  // of t

/// What solves the equations best; zeros where nothing does anything.
Vector least_squares(const Matrix& columns, const Vector& right) {
  if (columns.isZero(0)) return Vector::Zero(columns.cols());
  return Eigen::ColPivHouseholderQR<Matrix>(columns).solve(right);
}

class Profiling {
 public:
  Profiling(std::span<const FitParameter> parameters, const ErrorsAt& errors_at) : parameters_(parameters), errors_at_(errors_at) {}

  /// Where the profile of a parameter has been looked at.
  struct Place {
    std::vector<double> places;
    PointErrors errors;
  };

  FitPoint point_of(std::span<const double> places) const {
    FitPoint point;
    for (std::size_t i = 0; i < places.size(); ++i) point.push_back(value_at(parameters_[i], places[i]));
    return point;
  }

  std::vector<PointErrors> errors_of(std::span<const std::vector<double>> many) {
    std::vector<FitPoint> points;
    for (const std::vector<double>& places : many) points.push_back(point_of(places));
    runs_ += points.size();
    return errors_at_(points);
  }
  PointErrors errors_of(const std::vector<double>& places) { return errors_of(std::span(&places, 1)).front(); }

  /// By place, from both sides where the range allows it. Columns of zeros where there is no
  /// simulation beside.
  Matrix derivatives(const Place& at) {
    std::vector<std::vector<double>> beside;
    for (std::size_t i = 0; i < at.places.size(); ++i) {
      const double grain = parameters_[i].grain / (parameters_[i].maximum - parameters_[i].minimum);
      for (const double by : {difference, -difference}) {
        beside.push_back(at.places);
        beside.back()[i] = std::clamp(at.places[i] + std::copysign(std::max(std::abs(by), grain), by), 0.0, 1.0);
      }
    }
    const std::vector<PointErrors> errors = errors_of(beside);
    Matrix columns = Matrix::Zero(static_cast<Eigen::Index>(at.errors.residuals.size()), static_cast<Eigen::Index>(at.places.size()));
    for (std::size_t i = 0; i < at.places.size(); ++i) {
      const PointErrors* up = &errors[2 * i];
      const PointErrors* down = &errors[2 * i + 1];
      double above = place_of(parameters_[i], value_at(parameters_[i], beside[2 * i][i]));
      double below = place_of(parameters_[i], value_at(parameters_[i], beside[2 * i + 1][i]));
      const double here = place_of(parameters_[i], value_at(parameters_[i], at.places[i]));
      if (!std::isfinite(up->cost)) {
        up = &at.errors;
        above = here;
      }
      if (!std::isfinite(down->cost)) {
        down = &at.errors;
        below = here;
      }
      if (above <= below) continue;
      for (std::size_t row = 0; row < up->residuals.size(); ++row)
        columns(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(i)) =
            (up->residuals[row] - down->residuals[row]) / (above - below);
    }
    return columns;
  }

  /// Goes from `at` to where the errors are least by the derivatives, but for the parameter `fixed`,
  /// as long as that lowers the cost.
  void descend(Place& at, const Matrix& columns, std::optional<std::size_t> fixed) {
    Matrix free = columns;
    if (fixed) free.col(static_cast<Eigen::Index>(*fixed)).setZero();
    for (int step = 0; step < steps_max; ++step) {
      const Eigen::Map<const Vector> residuals(at.errors.residuals.data(), static_cast<Eigen::Index>(at.errors.residuals.size()));
      const Vector by = least_squares(free, residuals);
      Place next = at;
      for (std::size_t i = 0; i < at.places.size(); ++i) {
        if (i != fixed) next.places[i] = std::clamp(at.places[i] - by[static_cast<Eigen::Index>(i)], 0.0, 1.0);
      }
      if (point_of(next.places) == point_of(at.places)) return;
      next.errors = errors_of(next.places);
      if (!(next.errors.cost < at.errors.cost)) return;
      at = std::move(next);
    }
  }

  std::size_t runs() const { return runs_; }

 private:
  std::span<const FitParameter> parameters_;
  const ErrorsAt& errors_at_;
  std::size_t runs_ = 0;
};

/// The end of a parameter's interval on one side, as a place.
class IntervalEnd {
 public:
  IntervalEnd(Profiling& profiling, const Profiling::Place& best, const Matrix& columns, std::size_t parameter, double variance, double t)
      : profiling_(profiling), best_(best), columns_(columns), parameter_(parameter), variance_(variance), t_(t) {}

  /// `guess`: its distance by the derivatives; infinite if these say nothing.
  double find(double sign, double guess) {
    const double here = best_.places[parameter_];
    const double edge = sign > 0 ? 1.0 : 0.0;
    const double room = std::abs(edge - here);
    if (room == 0) return edge;
    double inside = 0;  // distances: within the interval, and beyond it
    double inside_root = 0;
    double beyond = std::numeric_limits<double>::infinity();
    double beyond_root = 0;
    double distance = std::min(guess, room);
    for (int look = 0; look < ends_max; ++look) {
      const double root = root_at(here + sign * distance);
      if (std::abs(root - t_) <= end_precision * t_) return here + sign * distance;
      if (root < t_) {
        if (distance == room) return edge;
        inside = distance;
        inside_root = root;
      } else {
        beyond = distance;
        beyond_root = root;
      }
      if (std::isinf(beyond)) {
        distance = std::min(room, root > 0.1 * t_ ? distance * 1.2 * t_ / root : 10 * distance);
      } else if (std::isinf(beyond_root)) {
        distance = (inside + beyond) / 2;
      } else {
        distance = inside + (beyond - inside) * (t_ - inside_root) / (beyond_root - inside_root);
      }
    }
    return here + sign * (std::isinf(beyond) ? distance : beyond);
  }

 private:
  /// Square root of what a place costs over the best, in variances.
  double root_at(double place) {
    Profiling::Place at = best_;
    // From where the derivatives say that the others make up for it best.
    Matrix others = columns_;
    others.col(static_cast<Eigen::Index>(parameter_)).setZero();
    const Vector shift =
        least_squares(others, columns_.col(static_cast<Eigen::Index>(parameter_)) * (place - best_.places[parameter_]));
    for (std::size_t i = 0; i < at.places.size(); ++i) {
      at.places[i] = i == parameter_ ? place : std::clamp(best_.places[i] - shift[static_cast<Eigen::Index>(i)], 0.0, 1.0);
    }
    at.errors = profiling_.errors_of(at.places);
    if (std::isfinite(at.errors.cost)) profiling_.descend(at, columns_, parameter_);
    return std::sqrt(std::max(0.0, at.errors.cost - best_.errors.cost) / variance_);
  }

  Profiling& profiling_;
  const Profiling::Place& best_;
  const Matrix& columns_;
  std::size_t parameter_;
  double variance_;
  double t_;
};

/// Of the column that the others cannot make up for, its length.
double own_length(const Matrix& columns, std::size_t column) {
  Matrix others = columns;
  const auto index = static_cast<Eigen::Index>(column);
  others.col(index).setZero();
  const Vector rest = columns.col(index) - others * least_squares(others, columns.col(index));
  return rest.norm();
}

}  // namespace

ConfidenceResult find_confidence(std::span<const FitParameter> parameters, const FitPoint& best, const ErrorsAt& errors_at,
                                 const ConfidenceOptions& options) {
  for (const FitParameter& parameter : parameters) check_fit_parameter(parameter);
  Profiling profiling(parameters, errors_at);
  Profiling::Place at;
  for (std::size_t i = 0; i < parameters.size(); ++i) at.places.push_back(place_of(parameters[i], best[i]));
  at.errors = profiling.errors_of(at.places);
  WEFT_CHECK(std::isfinite(at.errors.cost), "the best point has a simulation");
  const std::size_t count = at.errors.residuals.size();
  WEFT_CHECK(count > parameters.size(), "there are more measured times than parameters");
  profiling.descend(at, profiling.derivatives(at), std::nullopt);
  const Matrix columns = profiling.derivatives(at);

  const auto degrees = static_cast<double>(count - parameters.size());
  const double t = boost::math::quantile(boost::math::students_t(degrees), 0.5 + options.level / 2);
  // Of an error that is nothing but rounding, so that what fits exactly has an interval.
  constexpr double variance_min = 1e-24;
  const double variance = std::max(at.errors.cost / degrees, variance_min);
  ConfidenceResult result{profiling.point_of(at.places), {}, 0};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Confidence found{parameters[i].minimum, parameters[i].maximum, false, false};
    const double length = own_length(columns, i);
    const double whole = columns.col(static_cast<Eigen::Index>(i)).norm();
    found.is_free = length <= same_direction * std::max(whole, 1.0);
    if (!found.is_free) {
      IntervalEnd end(profiling, at, columns, i, variance, t);
      const double guess = t * std::sqrt(variance) / length;
      const double high = end.find(1, guess);
      const double low = end.find(-1, guess);
      found.low = value_at(parameters[i], low);
      found.high = value_at(parameters[i], high);
      const double value = std::abs(result.best[i]);
      found.is_identified = value > 0 && (found.high - found.low) / 2 <= options.within * value;
    }
    result.parameters.push_back(found);
  }
  result.runs = profiling.runs();
  return result;
}

}  // namespace weft
