// SPDX-License-Identifier: Apache-2.0
#include "core/values/random.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "core/check.hpp"

namespace weft {

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t multiplier0 = 0xD2511F53;
  constexpr std::uint64_t multiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t weyl0 = 0x9E3779B9;  // golden ratio
  constexpr std::uint32_t weyl1 = 0xBB67AE85;  // sqrt(3) - 1
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = multiplier0 * counter[0];
    const std::uint64_t product1 = multiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += weyl0;
    key[1] += weyl1;
  }
  return counter;
}

namespace {

// ln 2 in two parts: the first has 21 trailing zero bits, so that its product with an exponent is
// exact.
constexpr double ln2_high = 6.93147180369123816490e-01;
constexpr double ln2_low = 1.90821492927058770002e-10;

}  // namespace

double portable_log(double x) {
  WEFT_CHECK(x > 0 && std::isfinite(x), "the logarithm of a finite number above zero");
  // x = m 2^exponent with m in [sqrt(1/2), sqrt(2)), found by moving that interval's lower end onto
  // a power of two in the upper half of the representation: no branch on the mantissa, which nobody
  // could predict.
  constexpr std::uint64_t upper_of_one = 0x3ff00000;
  constexpr std::uint64_t upper_of_sqrt_half = 0x3fe6a09e;
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t moved = (bits >> 32) + (upper_of_one - upper_of_sqrt_half);
  exponent += static_cast<int>(moved >> 20) - 0x3ff;
  const double m = std::bit_cast<double>(((moved & 0xfffff) + upper_of_sqrt_half) << 32 | (bits & 0xffffffff));
  // log m = 2 artanh s = 2 (s + s^3/3 + s^5/5 + ...) with s = (m-1)/(m+1), |s| < 0.172: the term
  // after s^25 is below 2^-64.
  const double f = m - 1;
  const double s = f / (m + 1);
  const double z = s * s;
  // Even and odd powers of z apart, as two chains that a core computes side by side.
  const double w = z * z;
  const double odd = 1.0 / 3 + w * (1.0 / 7 + w * (1.0 / 11 + w * (1.0 / 15 + w * (1.0 / 19 + w * (1.0 / 23)))));
  const double even = 1.0 / 5 + w * (1.0 / 9 + w * (1.0 / 13 + w * (1.0 / 17 + w * (1.0 / 21 + w * (1.0 / 25)))));
  const double series = z * odd + w * even;
  // 2s = f - s f, which keeps the leading term exact.
  const double log_m = f - s * (f - 2 * series);
  return exponent * ln2_high + (log_m + exponent * ln2_low);
}

double portable_exp(double x) {
  if (x < -745.2) return 0;
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  const double k = std::floor(x * 1.44269504088896338700 + 0.5);
  const double r = (x - k * ln2_high) - k * ln2_low;  // |r| <= 0.347
  double series = 0;
  for (int n = 15; n >= 1; --n) series = (1 + series) * r / n;  // Taylor series of e^r - 1
  return std::ldexp(1 + series, static_cast<int>(k));
}

RandomStream::RandomStream(std::uint64_t seed, std::uint32_t entity, std::uint32_t purpose, std::uint32_t episode)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, counter_{0, episode, purpose, entity} {}

std::uint32_t RandomStream::next_u32() {
  if (used_ == block_.size()) {
    WEFT_CHECK(counter_[0] != UINT32_MAX, "a random stream gives at most 2^34 numbers");
    block_ = philox4x32_10(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t RandomStream::next_u64() {
  const std::uint64_t high = next_u32();
  return high << 32 | next_u32();
}

double RandomStream::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

std::uint64_t RandomStream::below(std::uint64_t n) {
  WEFT_CHECK(n > 0, "a number is drawn from a range that is not empty");
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next_u64()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    // Of the 2^64 draws, 2^64 mod n are too many: those whose low half is below that are drawn
    // again.
    const std::uint64_t surplus = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < surplus) product = static_cast<Wide>(next_u64()) * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double RandomStream::exponential(double mean) { return -mean * portable_log(1 - uniform()); }

double RandomStream::normal(double mean, double standard_deviation) {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return mean + standard_deviation * spare_normal_;
  }
  double u = 0;
  double v = 0;
  double square = 0;
  do {
    u = 2 * uniform() - 1;
    v = 2 * uniform() - 1;
    square = u * u + v * v;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * portable_log(square) / square);
  spare_normal_ = v * factor;
  has_spare_normal_ = true;
  return mean + standard_deviation * u * factor;
}

double RandomStream::lognormal(double mu, double sigma) { return portable_exp(normal(mu, sigma)); }

double RandomStream::lognormal_of(double mean, double variation) {
  WEFT_CHECK(mean > 0 && variation >= 0, "a log-normal number has a mean above 0");
  if (variation == 0) return mean;
  const double square = portable_log(1 + variation * variation);
  return lognormal(portable_log(mean) - square / 2, std::sqrt(square));
}

}  // namespace weft
