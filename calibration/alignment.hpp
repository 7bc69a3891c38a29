// SPDX-License-Identifier: Apache-2.0
// Alignment: a linear correction of predicted times by the number of GPUs.
//
// Where it sits: after simulation, on request and beside the raw prediction (`weft calibrate
// --align`, `weft run --align`); profiles keep its coefficients.
//
// Model (paper, section 7.1): with predicted time T, corrected time T' and N GPUs
//   T' = a1 N + a2 N T + a3 ln N + a4 / N + g T + c
// fitted to measured times by least squares of relative errors, with a QR decomposition whose
// columns are pivoted (Golub and Van Loan, Matrix Computations, 5.4.2), so that terms that the
// data cannot tell from others get no coefficient and are named: with one cluster size N, ln N, 1/N
// and c are the same column, as are N T and T, and two terms are left.
// The leave-one-out error is that of each time by the other times' coefficients, from the leverages
// of the fit (Allen 1974).
// Threads: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft {

/// A prediction and what was measured.
struct AlignmentSample {
  double predicted_s = 0;
  double measured_s = 0;  ///< > 0
  double gpus = 1;        ///< >= 1
};

/// What N counts.
enum class AlignedGpus : std::uint8_t { cluster, job };
std::string_view to_text(AlignedGpus gpus);

struct Alignment {
  static constexpr std::size_t term_count = 6;
  static constexpr std::array<std::string_view, term_count> term_names = {"N", "N T", "ln N", "1/N", "T", "1"};

  AlignedGpus counted = AlignedGpus::cluster;  ///< as N
  std::uint64_t count = 0;                     ///< of samples
  /// In the order of the names; 0 of terms that were not fitted.
  std::array<double, term_count> coefficients{};
  std::array<bool, term_count> is_fitted{};
  double mape_before = 0;         ///< mean |predicted - measured| / measured
  double mape_after = 0;          ///< with the correction
  double mape_leave_one_out = 0;  ///< infinite where a time alone decides a coefficient

  double corrected_s(double predicted_s, double gpus) const;
};

/// Of GPUs of the cluster. Requires: at least one sample; times finite, measured ones > 0
/// (WEFT_CHECK).
Alignment fit_alignment(std::span<const AlignmentSample> samples);

}  // namespace weft
