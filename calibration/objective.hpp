// SPDX-License-Identifier: Apache-2.0
// Objective: how far simulated times are from measured ones, in size and in order.
//
// Where it sits: a search (calibration/search) makes it small; profiles and reports say what it
// came to.
//
// Model (equation 3 of the paper, with T simulated and M measured times):
//   sum over i of (T_i - M_i)^2  +  lambda x sum over pairs with M_i < M_j of max(0, T_i - T_j)
// The second sum is of all pairs whose measured times differ, whatever their places in the list,
// and takes O(n log n). plain() is this sum, in s^2 and s. To be comparable between workloads, a
// search makes value() small: errors are scaled as ErrorScale says and their squares averaged; what
// pairs are out of order by is divided by the range of the measured times, which is the paper's
// normalisation to [0, 1] (appendix C.1), and averaged over pairs.
// Times may have weights w: a square then counts w_i times, a pair w_i x w_j times, and means are
// over the sums of these. So a weight of 2 is the same as a time that stands twice in the list.
//
// Invariants
//   1. Order of the list does not matter, but for the rounding of sums.
//   2. The second sum is 0 exactly if no pair is out of order.
//   3. Weights of 1 change no bit of what comes out without.
// Threads: values; const functions from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// How far simulated times keep the order of measured ones. A pair is strict if its measured times
/// differ.
struct OrderAgreement {
  double strict_pairs = 0;  ///< their weights together
  double hinge_sum_s = 0;   ///< of max(0, T_i - T_j) over strict pairs with M_i < M_j
  /// Share of strict pairs in order, those of equal simulated times by half (concordance index); 1
  /// if there is none.
  double accuracy = 1;
};

/// Requires: as many of one as of the other, all finite, and as many weights or none, all finite
/// and > 0 (WEFT_CHECK).
OrderAgreement order_agreement(std::span<const double> simulated_s, std::span<const double> measured_s,
                               std::span<const double> weights = {});

/// Mean of |T - M| / M, as a share. Requires: as above, not empty, measured times > 0.
double mean_absolute_percentage_error(std::span<const double> simulated_s, std::span<const double> measured_s,
                                      std::span<const double> weights = {});

/// What an error counts.
enum class ErrorScale : std::uint8_t {
  /// ln(T / M): small times count as large ones. About (T - M) / M, which would pull times down by
  /// twice the variance of the noise in M.
  per_flow,
  range,  ///< (T - M) over the range of all measured times: large times decide
};

class Objective {
 public:
  /// Without weights, all are 1. Requires: at least one measured time, as many weights or none, all
  /// finite and > 0 (WEFT_CHECK).
  Objective(std::vector<double> measured_s, ErrorScale scale, std::vector<double> weights = {});

  std::size_t size() const { return measured_s_.size(); }
  std::span<const double> measured_s() const { return measured_s_; }
  std::span<const double> weights() const { return weights_; }
  /// Error of each time, scaled, whatever its weight. Requires of this and the next three: as many
  /// times as measured.
  std::vector<double> residuals(std::span<const double> simulated_s) const;
  /// Mean of squared residuals + lambda x mean over strict pairs of the hinge over the range.
  double value(std::span<const double> simulated_s, double lambda) const;
  /// Equation 3 as it stands: s^2, with lambda in s.
  double plain(std::span<const double> simulated_s, double lambda_s) const;
  /// Standard deviation of residuals.
  double deviation(std::span<const double> simulated_s) const;

 private:
  std::vector<double> measured_s_;
  std::vector<double> weights_;
  double weight_sum_ = 0;
  ErrorScale scale_;
  double range_s_ = 0;  ///< > 0: 1 s where all are the same
};

}  // namespace weft
