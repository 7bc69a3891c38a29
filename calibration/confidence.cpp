// SPDX-License-Identifier: Apache-2.0
#include "calibration/confidence.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Index = Eigen::Index;

constexpr double first_radius = 0.01;  // of a parameter's range, for the first lines
constexpr double radius_min = 1e-9;    // likewise, for any
constexpr double radius_max = 0.25;
constexpr double radius_of_interval = 2;        // times half an interval, for the second lines
constexpr std::size_t pairs_per_parameter = 4;  // of drawn points, on opposite sides
constexpr int rounds = 3;
constexpr double free_below = 2;  // what it does, in standard deviations of what jumps alone do
constexpr std::size_t samples = 1000;
constexpr std::uint32_t purpose_points = 0;  // of the random streams
constexpr std::uint32_t purpose_samples = 1;

/// Errors as straight lines of places.
struct Lines {
  Vector at;       ///< by error, at the centre
  Matrix slopes;   ///< error by parameter
  Vector scatter;  ///< by parameter: standard deviation of a column's length that jumps alone make
};

class Bootstrap {
 public:
  Bootstrap(std::span<const FitParameter> parameters, const ErrorsAt& errors_at, const ConfidenceOptions& options)
      : parameters_(parameters), errors_at_(errors_at), options_(options), count_(parameters.size()) {}

  ConfidenceResult run(const FitPoint& best) {
    centre_ = places_of(best);
    PointErrors here = errors_at_(std::span(&best, 1)).front();
    WEFT_CHECK(std::isfinite(here.cost), "the best point has a simulation");
    errors_ = here.residuals.size();
    WEFT_CHECK(errors_ > count_, "there are more measured times than parameters");
    const auto degrees = static_cast<double>(errors_ - count_);
    t_ = boost::math::quantile(boost::math::students_t(degrees), 0.5 + options_.level / 2);
    radius_.assign(count_, first_radius);
    // What a profile likelihood would let pass.
    const double cost_max = here.cost * (1 + t_ * t_ / degrees);
    FitPoint estimate = best;
    for (int round = 0; round < rounds; ++round) {
      fit_lines(here, static_cast<std::uint32_t>(round));
      find_free();
      resample();
      for (std::size_t i = 0; i < count_; ++i) {
        if (!is_free_[i]) radius_[i] = std::clamp(radius_of_interval * half_[i], radius_min, radius_max);
      }
      // Lines hold best around where they lead.
      std::vector<double> there = centre_;
      for (std::size_t i = 0; i < count_; ++i) there[i] = std::clamp(centre_[i] + way_[i], 0.0, 1.0);
      const FitPoint point = point_of(there);
      PointErrors errors = errors_at_(std::span(&point, 1)).front();
      if (!(errors.cost <= cost_max)) continue;
      estimate = point;
      centre_ = places_of(point);
      here = std::move(errors);
      way_.assign(count_, 0);
    }
    return result(estimate);
  }

 private:
  std::vector<double> places_of(const FitPoint& point) const {
    std::vector<double> places;
    for (std::size_t i = 0; i < count_; ++i) places.push_back(place_of(parameters_[i], point[i]));
    return places;
  }

  FitPoint point_of(std::span<const double> places) const {
    FitPoint point;
    for (std::size_t i = 0; i < count_; ++i) point.push_back(value_at(parameters_[i], places[i]));
    return point;
  }

  /// Pairs of points around the centre, so far apart that values differ; at an end of a range both
  /// lie on one side.
  std::vector<FitPoint> draw_points(std::uint32_t round) const {
    RandomStream random(options_.seed, round, purpose_points);
    std::vector<FitPoint> points;
    for (std::size_t pair = 0; pair < pairs_per_parameter * (count_ + 1); ++pair) {
      std::vector<double> offsets;
      for (std::size_t i = 0; i < count_; ++i) {
        const double grain = parameters_[i].grain / (parameters_[i].maximum - parameters_[i].minimum);
        offsets.push_back((2 * random.uniform() - 1) * std::max(radius_[i], 2 * grain));
      }
      for (const double side : {1.0, -1.0}) {
        std::vector<double> places = centre_;
        for (std::size_t i = 0; i < count_; ++i) {
          const double place = places[i] + side * offsets[i];
          places[i] = std::clamp(place < 0 || place > 1 ? places[i] - side * offsets[i] : place, 0.0, 1.0);
        }
        points.push_back(point_of(places));
      }
    }
    return points;
  }

  void fit_lines(const PointErrors& here, std::uint32_t round) {
    const std::vector<FitPoint> points = draw_points(round);
    const std::vector<PointErrors> found = errors_at_(points);
    std::vector<const PointErrors*> used = {&here};
    std::vector<std::vector<double>> places = {centre_};
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!std::isfinite(found[i].cost)) continue;
      used.push_back(&found[i]);
      places.push_back(places_of(points[i]));
    }
    const auto rows = static_cast<Index>(used.size());
    Matrix design(rows, static_cast<Index>(count_ + 1));
    Matrix errors(rows, static_cast<Index>(errors_));
    for (Index row = 0; row < rows; ++row) {
      design(row, 0) = 1;
      // In units of the radius, so that all columns are about as long.
      for (std::size_t i = 0; i < count_; ++i)
        design(row, static_cast<Index>(i + 1)) = (places[static_cast<std::size_t>(row)][i] - centre_[i]) / radius_[i];
      errors.row(row) =
          Eigen::Map<const Vector>(used[static_cast<std::size_t>(row)]->residuals.data(), static_cast<Index>(errors_));
    }
    const Matrix inverse = design.completeOrthogonalDecomposition().pseudoInverse();
    const Matrix lines = inverse * errors;
    const double degrees = static_cast<double>(std::max<Index>(1, rows - static_cast<Index>(count_) - 1));
    const double jumps = (errors - design * lines).squaredNorm() / degrees;
    lines_.at = lines.row(0).transpose();
    lines_.slopes = lines.bottomRows(static_cast<Index>(count_)).transpose();
    lines_.scatter.resize(static_cast<Index>(count_));
    for (std::size_t i = 0; i < count_; ++i) {
      const auto index = static_cast<Index>(i);
      lines_.slopes.col(index) /= radius_[i];
      lines_.scatter[index] = std::sqrt(jumps) * inverse.row(index + 1).norm() / radius_[i];
    }
  }

  /// Those of which nothing is left beside the others but what jumps make.
  void find_free() {
    is_free_.assign(count_, false);
    for (std::size_t i = 0; i < count_; ++i) {
      const auto index = static_cast<Index>(i);
      const Vector own = lines_.slopes.col(index);
      Matrix others = lines_.slopes;
      others.col(index).setZero();
      const Vector rest = others.isZero(0) ? own : Vector(own - others * others.completeOrthogonalDecomposition().solve(own));
      is_free_[i] = rest.norm() <= std::max(free_below * lines_.scatter[index], 1e-9 * own.norm());
    }
  }

  /// The best of the lines with these weights of errors, as a way from the centre.
  std::vector<double> best_of_lines(std::span<const double> weights) const {
    const auto size = static_cast<Index>(kept_.size());
    Matrix normal = Matrix::Zero(size, size);
    Vector right = Vector::Zero(size);
    for (std::size_t i = 0; i < errors_; ++i) {
      if (weights[i] == 0) continue;
      const double at = lines_.at[static_cast<Index>(i)];
      for (Index a = 0; a < size; ++a) {
        const double slope =
            weights[i] * lines_.slopes(static_cast<Index>(i), static_cast<Index>(kept_[static_cast<std::size_t>(a)]));
        right[a] -= slope * at;
        for (Index b = 0; b <= a; ++b)
          normal(a, b) += slope * lines_.slopes(static_cast<Index>(i), static_cast<Index>(kept_[static_cast<std::size_t>(b)]));
      }
    }
    const Matrix whole = normal.selfadjointView<Eigen::Lower>();
    const Vector solved = whole.completeOrthogonalDecomposition().solve(right);
    std::vector<double> way(count_, 0);
    for (std::size_t a = 0; a < kept_.size(); ++a) way[kept_[a]] = solved[static_cast<Index>(a)];
    return way;
  }

  void resample() {
    kept_.clear();
    for (std::size_t i = 0; i < count_; ++i) {
      if (!is_free_[i]) kept_.push_back(i);
    }
    half_.assign(count_, radius_max);
    way_.assign(count_, 0);
    if (kept_.empty()) return;
    std::vector<double> weights(errors_, 1);
    way_ = best_of_lines(weights);
    RandomStream random(options_.seed, 0, purpose_samples);
    std::vector<double> squares(count_, 0);
    for (std::size_t sample = 0; sample < samples; ++sample) {
      std::ranges::fill(weights, 0);
      for (std::size_t i = 0; i < errors_; ++i) weights[random.below(errors_)] += 1;
      const std::vector<double> way = best_of_lines(weights);
      for (std::size_t i = 0; i < count_; ++i) squares[i] += (way[i] - way_[i]) * (way[i] - way_[i]);
    }
    const double small = std::sqrt(static_cast<double>(errors_) / static_cast<double>(errors_ - count_));
    for (const std::size_t i : kept_) half_[i] = t_ * std::sqrt(squares[i] / static_cast<double>(samples)) * small;
  }

  /// `estimate`: where the centre is.
  ConfidenceResult result(const FitPoint& estimate) const {
    ConfidenceResult result{estimate, {}};
    for (std::size_t i = 0; i < count_; ++i) {
      const FitParameter& parameter = parameters_[i];
      Confidence found{parameter.minimum, parameter.maximum, false, is_free_[i]};
      if (!found.is_free) {
        const double middle = std::clamp(centre_[i] + way_[i], 0.0, 1.0);
        found.low = std::min(value_at(parameter, middle - half_[i]), estimate[i]);
        found.high = std::max(value_at(parameter, middle + half_[i]), estimate[i]);
        const double value = std::abs(estimate[i]);
        found.is_identified = value > 0 && (found.high - found.low) / 2 <= options_.within * value;
      }
      result.parameters.push_back(found);
    }
    return result;
  }

  std::span<const FitParameter> parameters_;
  const ErrorsAt& errors_at_;
  const ConfidenceOptions& options_;
  std::size_t count_;
  std::size_t errors_ = 0;
  double t_ = 0;
  std::vector<double> centre_;
  std::vector<double> radius_;  ///< by parameter, of its range
  Lines lines_;
  std::vector<bool> is_free_;
  std::vector<std::size_t> kept_;  ///< that are not
  std::vector<double> way_;        ///< from the centre to the best of the lines
  std::vector<double> half_;       ///< of intervals
};

}  // namespace

ConfidenceResult find_confidence(std::span<const FitParameter> parameters, const FitPoint& best, const ErrorsAt& errors_at,
                                 const ConfidenceOptions& options) {
  for (const FitParameter& parameter : parameters) check_fit_parameter(parameter);
  return Bootstrap(parameters, errors_at, options).run(best);
}

}  // namespace weft
