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

// Of a parameter's range. The first lines reach over a part of the value itself.
constexpr double first_radius_of_value = 0.05;
constexpr double first_radius_min = 0.0001;
constexpr double first_radius_of_nothing = 0.005;  // where the value is less than that
constexpr double first_radius_max = 0.01;
constexpr double radius_growth_max = 3;
constexpr double radius_min = 1e-9;
constexpr double radius_max = 0.25;
constexpr double radius_of_interval = 2;        // times half an interval, for the second lines
constexpr std::size_t pairs_per_parameter = 4;  // of drawn points, on opposite sides
constexpr int rounds = 3;
constexpr double smooth_from = 0.96;        // of an error whose jumps are a fifth of what it is
constexpr double smooth_per_parameter = 5;  // or all errors count as smooth
constexpr double made_up_from = 0.05;       // of what it does, what others cannot make up for
constexpr double same_direction = 1e-6;     // of the square of a column's length
constexpr double length_min = 1e-30;
constexpr double noise_min = 1e-24;  // variance of errors that are rounding alone
constexpr double free_below = 2;     // what it does, in standard deviations of what jumps alone do
constexpr double surely = 1.5;       // times half of a 95 % interval: three standard deviations
constexpr std::size_t samples = 1000;
constexpr std::uint32_t purpose_points = 0;  // of the random streams
constexpr std::uint32_t purpose_samples = 1;

/// Errors as straight lines of places.
struct Lines {
  Vector at;      ///< by error, at the centre
  Matrix slopes;  ///< error by parameter
  /// By error: less than 1 where it jumps by more than errors are large.
  Vector smoothness;
  Vector weights;  ///< the same times its weight
  Vector scatter;  ///< by parameter: how long jumps alone make a weighted column
};

/// Half of what the middle 68.27 % span: the standard deviation where they are normal. Of few
/// errors some samples lack those that tell a parameter, and lie anywhere.
double deviation_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) { return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))]; };
  return (at(0.84134) - at(0.15866)) / 2;
}

class Bootstrap {
 public:
  Bootstrap(std::span<const FitParameter> parameters, const ErrorsAt& errors_at, const ConfidenceOptions& options,
            std::span<const double> weights)
      : parameters_(parameters), errors_at_(errors_at), options_(options), weights_(weights), count_(parameters.size()) {}

  ConfidenceResult run(const FitPoint& best) {
    centre_ = places_of(parameters_, best);
    PointErrors here = errors_at_(std::span(&best, 1)).front();
    WEFT_CHECK(std::isfinite(here.cost), "the best point has a simulation");
    errors_ = here.residuals.size();
    WEFT_CHECK(errors_ > count_, "there are more measured times than parameters");
    WEFT_CHECK(weights_.empty() || weights_.size() == errors_, "every error has a weight, or none has");
    const auto degrees = static_cast<double>(errors_ - count_);
    t_ = boost::math::quantile(boost::math::students_t(degrees), 0.5 + options_.level / 2);
    for (std::size_t i = 0; i < count_; ++i) {
      const double more = std::min(best[i] + first_radius_of_value * std::abs(best[i]), parameters_[i].maximum);
      const double less = std::max(best[i] - first_radius_of_value * std::abs(best[i]), parameters_[i].minimum);
      const double reach = std::max(place_of(parameters_[i], more) - centre_[i], centre_[i] - place_of(parameters_[i], less));
      radius_.push_back(reach < first_radius_min ? first_radius_of_nothing : std::min(reach, first_radius_max));
    }
    FitPoint estimate = best;
    for (int round = 0; round < rounds; ++round) {
      fit_lines(here, static_cast<std::uint32_t>(round));
      find_free();
      resample();
      for (std::size_t i = 0; i < count_; ++i) {
        if (!is_free_[i])
          radius_[i] = std::clamp(radius_of_interval * half_[i], radius_min, std::min(radius_max, radius_growth_max * radius_[i]));
      }
      // Lines hold best around where they lead.
      std::vector<double> there = centre_;
      for (std::size_t i = 0; i < count_; ++i) there[i] = std::clamp(centre_[i] + way_[i], 0.0, 1.0);
      const FitPoint point = point_at(parameters_, there);
      PointErrors errors = errors_at_(std::span(&point, 1)).front();
      if (!(errors.cost < here.cost)) continue;
      estimate = point;
      centre_ = places_of(parameters_, point);
      here = std::move(errors);
      way_.assign(count_, 0);
    }
    return result(estimate);
  }

 private:
  /// How far apart two values are there, as places.
  double grain_at_centre(std::size_t i) const {
    const FitParameter& parameter = parameters_[i];
    const double value = value_at(parameter, centre_[i]);
    const double next = value + parameter.grain <= parameter.maximum ? value + parameter.grain : value - parameter.grain;
    return std::abs(place_of(parameter, next) - centre_[i]);
  }

  /// Pairs of points around the centre, so far apart that values differ; at an end of a range both
  /// lie on one side.
  std::vector<FitPoint> draw_points(std::uint32_t round) const {
    RandomStream random(options_.seed, round, purpose_points);
    std::vector<FitPoint> points;
    for (std::size_t pair = 0; pair < pairs_per_parameter * (count_ + 1); ++pair) {
      std::vector<double> offsets;
      for (std::size_t i = 0; i < count_; ++i) {
        offsets.push_back((2 * random.uniform() - 1) * std::max(radius_[i], 2 * grain_at_centre(i)));
      }
      for (const double side : {1.0, -1.0}) {
        std::vector<double> places = centre_;
        for (std::size_t i = 0; i < count_; ++i) {
          const double place = places[i] + side * offsets[i];
          places[i] = std::clamp(place < 0 || place > 1 ? places[i] - side * offsets[i] : place, 0.0, 1.0);
        }
        points.push_back(point_at(parameters_, places));
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
      places.push_back(places_of(parameters_, points[i]));
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
    lines_.at = lines.row(0).transpose();
    lines_.slopes = lines.bottomRows(static_cast<Index>(count_)).transpose();
    const Vector jumps = (errors - design * lines).colwise().squaredNorm().transpose() / degrees;
    const double noise = std::max(lines_.at.squaredNorm() / static_cast<double>(errors_ - count_), noise_min);
    lines_.smoothness = (noise / (jumps.array() + noise)).matrix();
    lines_.weights = lines_.smoothness;
    if (!weights_.empty()) lines_.weights.array() *= Eigen::Map<const Vector>(weights_.data(), lines_.weights.size()).array();
    const double jumps_left = lines_.weights.dot(jumps);
    lines_.scatter.resize(static_cast<Index>(count_));
    for (std::size_t i = 0; i < count_; ++i) {
      const auto index = static_cast<Index>(i);
      lines_.slopes.col(index) /= radius_[i];
      lines_.scatter[index] = std::sqrt(jumps_left) * inverse.row(index + 1).norm() / radius_[i];
    }
  }

  /// Those of which nothing is left beside the others but what jumps make; and those that do
  /// anything at all, which stay among the lines: what one of them is not known to be, others are
  /// not known to be either.
  void find_free() {
    is_free_.assign(count_, true);
    kept_.clear();
    const Matrix weighted = lines_.weights.cwiseSqrt().asDiagonal() * lines_.slopes;
    for (std::size_t i = 0; i < count_; ++i) {
      const double length = weighted.col(static_cast<Index>(i)).norm();
      if (length > std::max(free_below * lines_.scatter[static_cast<Index>(i)], length_min)) kept_.push_back(i);
    }
    // Errors that jump blur what is the same.
    Vector smooth = (lines_.smoothness.array() > smooth_from).cast<double>().matrix();
    if (smooth.sum() < smooth_per_parameter * static_cast<double>(count_)) smooth.setOnes();
    const Matrix seen = smooth.asDiagonal() * weighted;
    for (const std::size_t i : kept_) {
      const auto index = static_cast<Index>(i);
      const Vector own = seen.col(index);
      Matrix others = Matrix::Zero(static_cast<Index>(errors_), static_cast<Index>(count_));
      for (const std::size_t j : kept_) {
        if (j != i) others.col(static_cast<Index>(j)) = seen.col(static_cast<Index>(j)).normalized();
      }
      const Vector rest = own - others * others.completeOrthogonalDecomposition().solve(own);
      is_free_[i] = rest.norm() <= std::max(free_below * lines_.scatter[index], made_up_from * own.norm());
    }
  }

  /// The best of the lines if errors count so many times, as a way from the centre.
  std::vector<double> best_of_lines(std::span<const double> times) const {
    const auto size = static_cast<Index>(kept_.size());
    Matrix normal = Matrix::Zero(size, size);
    Vector right = Vector::Zero(size);
    for (std::size_t i = 0; i < errors_; ++i) {
      if (times[i] == 0) continue;
      const auto error = static_cast<Index>(i);
      const double weight = times[i] * lines_.weights[error];
      for (Index a = 0; a < size; ++a) {
        const double slope = weight * kept_slopes_(error, a);
        right[a] -= slope * lines_.at[error];
        for (Index b = 0; b <= a; ++b) normal(a, b) += slope * kept_slopes_(error, b);
      }
    }
    // Scaled, so that what is no longer than rounding beside the others does not count.
    const Vector lengths = normal.diagonal().cwiseSqrt().cwiseMax(length_min);
    const Matrix whole = normal.selfadjointView<Eigen::Lower>();
    Eigen::CompleteOrthogonalDecomposition<Matrix> decomposed;
    decomposed.setThreshold(same_direction);
    decomposed.compute(lengths.cwiseInverse().asDiagonal() * whole * lengths.cwiseInverse().asDiagonal());
    const Vector solved = decomposed.solve(right.cwiseQuotient(lengths)).cwiseQuotient(lengths);
    std::vector<double> way(count_, 0);
    for (std::size_t a = 0; a < kept_.size(); ++a) way[kept_[a]] = solved[static_cast<Index>(a)];
    return way;
  }

  void resample() {
    half_.assign(count_, radius_max);
    way_.assign(count_, 0);
    if (kept_.empty()) return;
    kept_slopes_.resize(static_cast<Index>(errors_), static_cast<Index>(kept_.size()));
    for (std::size_t a = 0; a < kept_.size(); ++a)
      kept_slopes_.col(static_cast<Index>(a)) = lines_.slopes.col(static_cast<Index>(kept_[a]));
    std::vector<double> times(errors_, 1);
    way_ = best_of_lines(times);
    RandomStream random(options_.seed, 0, purpose_samples);
    std::vector<std::vector<double>> ways(count_);
    for (std::size_t sample = 0; sample < samples; ++sample) {
      std::ranges::fill(times, 0);
      for (std::size_t i = 0; i < errors_; ++i) times[random.below(errors_)] += 1;
      const std::vector<double> way = best_of_lines(times);
      for (const std::size_t i : kept_) ways[i].push_back(way[i]);
    }
    const double small = std::sqrt(static_cast<double>(errors_) / static_cast<double>(errors_ - count_));
    for (const std::size_t i : kept_) half_[i] = t_ * deviation_of(std::move(ways[i])) * small;
  }

  /// `estimate`: where the centre is.
  ConfidenceResult result(const FitPoint& estimate) const {
    ConfidenceResult result{estimate, {}};
    for (std::size_t i = 0; i < count_; ++i) {
      const FitParameter& parameter = parameters_[i];
      Confidence found{parameter.minimum, parameter.maximum, false, is_free_[i], false};
      if (!found.is_free) {
        // The best of the lines, where the range would let it be.
        const double wanted = centre_[i] + way_[i];
        found.is_outside = wanted + half_[i] < 0 || wanted - half_[i] > 1;
        const double middle = std::clamp(wanted, 0.0, 1.0);
        found.low = std::min(value_at(parameter, middle - half_[i]), estimate[i]);
        found.high = std::max(value_at(parameter, middle + half_[i]), estimate[i]);
        const double value = std::abs(estimate[i]);
        found.is_identified = !found.is_outside && value > 0 && surely * (found.high - found.low) / 2 <= options_.within * value;
      }
      result.parameters.push_back(found);
    }
    return result;
  }

  std::span<const FitParameter> parameters_;
  const ErrorsAt& errors_at_;
  const ConfidenceOptions& options_;
  std::span<const double> weights_;
  std::size_t count_;
  std::size_t errors_ = 0;
  double t_ = 0;
  std::vector<double> centre_;
  std::vector<double> radius_;  ///< by parameter, of its range
  Lines lines_;
  std::vector<bool> is_free_;
  std::vector<std::size_t> kept_;  ///< that do anything
  Matrix kept_slopes_;             ///< of those, in their order
  std::vector<double> way_;        ///< from the centre to the best of the lines
  std::vector<double> half_;       ///< of intervals
};

}  // namespace

ConfidenceResult find_confidence(std::span<const FitParameter> parameters, const FitPoint& best, const ErrorsAt& errors_at,
                                 const ConfidenceOptions& options, std::span<const double> weights) {
  for (const FitParameter& parameter : parameters) check_fit_parameter(parameter);
  return Bootstrap(parameters, errors_at, options, weights).run(best);
}

}  // namespace weft
