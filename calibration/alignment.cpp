// SPDX-License-Identifier: Apache-2.0
#include "calibration/alignment.hpp"

#include <cmath>
#include <limits>

#include <Eigen/QR>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft {

namespace {

using Terms = std::array<double, Alignment::term_count>;

// What is left of a column of length 1 beside the others, if it is less, is rounding.
constexpr double rank_threshold = 1e-9;
// A time that decides a coefficient alone has leverage 1.
constexpr double full_leverage = 1 - 1e-9;

Terms terms_of(double predicted_s, double gpus) { return {gpus, gpus * predicted_s, portable_log(gpus), 1 / gpus, predicted_s, 1}; }

}  // namespace

std::string_view to_text(AlignedGpus gpus) { return gpus == AlignedGpus::cluster ? "cluster" : "job"; }

double Alignment::corrected_s(double predicted_s, double gpus) const {
  const Terms terms = terms_of(predicted_s, gpus);
  double sum = 0;
  for (std::size_t i = 0; i < term_count; ++i) sum += coefficients[i] * terms[i];
  return sum;
}

Alignment fit_alignment(std::span<const AlignmentSample> samples) {
  WEFT_CHECK(!samples.empty(), "an alignment has samples");
  const auto rows = static_cast<Eigen::Index>(samples.size());
  constexpr auto columns = static_cast<Eigen::Index>(Alignment::term_count);
  Eigen::MatrixXd matrix(rows, columns);
  // Relative errors: each row is divided by what was measured, which becomes 1.
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(rows);
  for (Eigen::Index row = 0; row < rows; ++row) {
    const AlignmentSample& sample = samples[static_cast<std::size_t>(row)];
    WEFT_CHECK(std::isfinite(sample.predicted_s) && std::isfinite(sample.measured_s) && sample.measured_s > 0 && sample.gpus >= 1,
               "predicted and measured times are finite, measured ones above zero, of at least one GPU");
    const Terms terms = terms_of(sample.predicted_s, sample.gpus);
    for (Eigen::Index column = 0; column < columns; ++column)
      matrix(row, column) = terms[static_cast<std::size_t>(column)] / sample.measured_s;
  }
  Eigen::VectorXd lengths = matrix.colwise().norm();
  for (Eigen::Index column = 0; column < columns; ++column) {
    if (lengths[column] == 0) lengths[column] = 1;
    matrix.col(column) /= lengths[column];
  }
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr;
  qr.setThreshold(rank_threshold);
  qr.compute(matrix);
  const Eigen::Index rank = qr.rank();

  Alignment alignment;
  alignment.count = samples.size();
  // Of the columns that stand for themselves; the library's solve() takes those of rounding, too.
  const Eigen::VectorXd projected = (qr.householderQ().adjoint() * ones).head(rank);
  const Eigen::VectorXd scaled = qr.matrixR().topLeftCorner(rank, rank).triangularView<Eigen::Upper>().solve(projected);
  for (Eigen::Index i = 0; i < rank; ++i) {
    const Eigen::Index column = qr.colsPermutation().indices()[i];
    alignment.is_fitted[static_cast<std::size_t>(column)] = true;
    alignment.coefficients[static_cast<std::size_t>(column)] = scaled[i] / lengths[column];
  }
  const Eigen::MatrixXd basis = qr.householderQ() * Eigen::MatrixXd::Identity(rows, rank);
  const auto count = static_cast<double>(rows);
  for (Eigen::Index row = 0; row < rows; ++row) {
    const AlignmentSample& sample = samples[static_cast<std::size_t>(row)];
    const double error = 1 - alignment.corrected_s(sample.predicted_s, sample.gpus) / sample.measured_s;
    const double leverage = basis.row(row).squaredNorm();
    alignment.mape_before += std::abs(sample.predicted_s / sample.measured_s - 1) / count;
    alignment.mape_after += std::abs(error) / count;
    alignment.mape_leave_one_out +=
        leverage >= full_leverage ? std::numeric_limits<double>::infinity() : std::abs(error / (1 - leverage)) / count;
  }
  return alignment;
}

}  // namespace weft
