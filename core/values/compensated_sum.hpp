// SPDX-License-Identifier: Apache-2.0
// Compensated sum: a sum of doubles that loses nothing to rounding on the way (Neumaier, ZAMM 54,
// 1974).
//
// Where it sits: means of summaries, over hundreds of millions of values.
// Thread safety: values.
#pragma once

#include <cmath>

namespace weft {

class CompensatedSum {
 public:
  void add(double x) {
    const double sum = sum_ + x;
    correction_ += std::abs(sum_) >= std::abs(x) ? (sum_ - sum) + x : (x - sum) + sum_;
    sum_ = sum;
  }
  double value() const { return sum_ + correction_; }

 private:
  double sum_ = 0;
  double correction_ = 0;
};

}  // namespace weft
