// SPDX-License-Identifier: Apache-2.0
// Random: counter-based streams (Philox 4x32-10), the same numbers on every platform and for every
// number of threads.
//
// Where it sits: whoever draws owns a stream named by (seed, entity, purpose, episode). Streams of
// different names are independent, so that a new consumer of chance disturbs no other, and an
// episode (an iteration, a flow) can be repeated exactly by its name alone.
//
// Model: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The
// name is the 64-bit key (seed) and three of the four counter words; the fourth counts blocks of
// four 32-bit numbers.
//   uniform()         53 random bits / 2^53, in [0, 1)
//   below(n)          Lemire, "Fast random integer generation in an interval", 2019: no bias
//   exponential(m)    -m log(1 - U)
//   normal(m, s)      polar method (Marsaglia and Bray 1964)
//   lognormal(mu, s)  exp(normal(mu, s))
//   lognormal_of(m, v) lognormal with mean m and coefficient of variation v:
//                     s^2 = log(1 + v^2), mu = log(m) - s^2 / 2
// Logarithm and exponential are computed here from IEEE operations only, since libraries differ in
// the last bit.
//
// Invariant: a stream ends after 2^34 32-bit numbers (WEFT_CHECK).
// Thread safety: a stream is a value of its owner.
#pragma once

#include <array>
#include <cstdint>

namespace weft {

/// The Philox 4x32-10 bijection.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// Natural logarithm of a finite x > 0, within 2 units in the last place, the same on every
/// platform.
double portable_log(double x);
/// e^x, within 2 units in the last place in the normal range, the same on every platform; 0 below
/// -745, infinity above 709.79.
double portable_exp(double x);

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint32_t entity, std::uint32_t purpose, std::uint32_t episode = 0);

  std::uint32_t next_u32();
  std::uint64_t next_u64();

  /// In [0, 1).
  double uniform();
  /// In [0, n). Requires: n > 0.
  std::uint64_t below(std::uint64_t n);
  /// Requires: mean >= 0.
  double exponential(double mean);
  double normal(double mean, double standard_deviation);
  /// `mu` and `sigma` are those of the logarithm.
  double lognormal(double mu, double sigma);
  /// Log-normal with this mean and standard deviation / mean. Requires: mean > 0, variation >= 0.
  double lognormal_of(double mean, double variation);

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  std::uint32_t used_ = 4;  ///< numbers of the block already handed out
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

}  // namespace weft
