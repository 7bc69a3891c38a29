// SPDX-License-Identifier: Apache-2.0
#include "core/values/random.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "core/check.hpp"

namespace weft::random_test {
namespace {

using Block = std::array<std::uint32_t, 4>;

// Known answers of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(Philox, PublishedKnownAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, IsAFunctionOfItsName) {
  RandomStream a(1, 2, 3, 4);
  RandomStream b(1, 2, 3, 4);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next_u64(), b.next_u64());
  // Any other name is another stream.
  std::set<std::uint64_t> first;
  for (std::uint64_t seed : {1ULL, 2ULL, 1ULL << 32}) {
    for (std::uint32_t entity : {0U, 1U}) {
      for (std::uint32_t purpose : {0U, 1U}) {
        for (std::uint32_t episode : {0U, 1U}) first.insert(RandomStream(seed, entity, purpose, episode).next_u64());
      }
    }
  }
  EXPECT_EQ(first.size(), 24U);
}

TEST(RandomStream, BlocksFollowTheCounter) {
  RandomStream stream(0x0000000500000007ULL, 11, 12, 13);
  for (std::uint32_t block = 0; block < 3; ++block) {
    for (const std::uint32_t word : philox4x32_10({block, 13, 12, 11}, {7, 5})) EXPECT_EQ(stream.next_u32(), word);
  }
}

TEST(RandomStream, UniformLiesInTheHalfOpenInterval) {
  RandomStream stream(1, 0, 0);
  double sum = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = stream.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  // Standard deviation of the mean: 1/sqrt(12 n) = 0.0009.
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
}

// Chi-square over 7 values, 6 degrees of freedom: above 22.5 once in a thousand.
TEST(RandomStream, BelowIsEven) {
  RandomStream stream(5, 0, 0);
  std::vector<int> count(7, 0);
  constexpr int kDraws = 70000;
  for (int i = 0; i < kDraws; ++i) ++count[stream.below(7)];
  double chi_square = 0;
  for (const int c : count) chi_square += (c - 10000.0) * (c - 10000.0) / 10000.0;
  EXPECT_LT(chi_square, 22.5);
}

// With n = 3 x 2^62 a plain remainder or product would hit the lower third of results twice as
// often as the rest.
TEST(RandomStream, BelowHasNoBiasForHugeRanges) {
  RandomStream stream(6, 0, 0);
  constexpr std::uint64_t kThird = std::uint64_t{1} << 62;
  std::vector<int> count(3, 0);
  for (int i = 0; i < 30000; ++i) ++count[stream.below(3 * kThird) / kThird];
  // 5 standard deviations of sqrt(30000 x 2/9) = 82
  for (const int c : count) EXPECT_NEAR(c, 10000, 400);
  EXPECT_EQ(stream.below(1), 0U);
  EXPECT_THROW(stream.below(0), CheckFailure);
}

TEST(RandomStream, MomentsOfTheDistributions) {
  RandomStream stream(9, 0, 0);
  constexpr int kDraws = 200000;
  double sum_exponential = 0;
  double sum_normal = 0;
  double sum_square = 0;
  double sum_log = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double e = stream.exponential(3.0);
    ASSERT_GE(e, 0.0);
    sum_exponential += e;
    const double n = stream.normal(10.0, 2.0);
    sum_normal += n;
    sum_square += (n - 10) * (n - 10);
    sum_log += std::log(stream.lognormal(0.5, 0.25));
  }
  EXPECT_NEAR(sum_exponential / kDraws, 3.0, 0.04);  // 5 x 3/sqrt(n)
  EXPECT_NEAR(sum_normal / kDraws, 10.0, 0.025);     // 5 x 2/sqrt(n)
  EXPECT_NEAR(sum_square / kDraws, 4.0, 0.07);       // 5 x 4 sqrt(2/n)
  EXPECT_NEAR(sum_log / kDraws, 0.5, 0.003);         // 5 x 0.25/sqrt(n)
}

// Mean 3 and standard deviation 6; of n draws the mean is within 5 x 6 / sqrt(n).
TEST(RandomStream, LogNormalNumbersHaveTheMeanAskedFor) {
  RandomStream stream(8, 0, 0);
  constexpr int draws = 200000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = stream.lognormal_of(3, 2);
    ASSERT_GT(x, 0);
    sum += x;
    squares += (x - 3) * (x - 3);
  }
  EXPECT_NEAR(sum / draws, 3, 0.07);
  EXPECT_NEAR(std::sqrt(squares / draws), 6, 0.6);
  EXPECT_EQ(stream.lognormal_of(3, 0), 3);
}

std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

TEST(PortableMath, AgreesWithTheLibrary) {
  RandomStream stream(10, 0, 0);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::exp((stream.uniform() - 0.5) * 1400);
    ASSERT_NEAR(portable_log(x), std::log(x), 4e-16 * std::abs(std::log(x)) + 1e-300) << x;
    const double near_one = 1 + (stream.uniform() - 0.5) * 1e-3;
    ASSERT_NEAR(portable_log(near_one), std::log(near_one), 5e-16 * std::abs(std::log(near_one)));
    const double y = (stream.uniform() - 0.5) * 1400;
    ASSERT_NEAR(portable_exp(y) / std::exp(y), 1, 5e-16) << y;
  }
  for (const double x :
       {5e-324, 1e-310, 2.2250738585072014e-308, 1.7976931348623157e308, 0.70710678118654746, 0.70710678118654757, 1.4142135}) {
    EXPECT_NEAR(portable_log(x), std::log(x), 4e-16 * std::abs(std::log(x))) << x;
  }
  EXPECT_EQ(portable_log(1.0), 0.0);
  EXPECT_EQ(portable_exp(0.0), 1.0);
  EXPECT_EQ(portable_exp(-1000), 0.0);
  EXPECT_EQ(portable_exp(1000), INFINITY);
  EXPECT_THROW(portable_log(0), CheckFailure);
}

// The bits themselves: a platform that computes them differently fails here and not in a far-away
// fingerprint.
TEST(PortableMath, PinnedBits) {
  RandomStream stream(42, 1, 2);
  EXPECT_EQ(bits_of(stream.exponential(1.0)), 4609091219816658590ULL);
  EXPECT_EQ(bits_of(stream.normal(0.0, 1.0)), 4614714195094125773ULL);
  EXPECT_EQ(bits_of(stream.lognormal(0.0, 1.0)), 4610465174128483307ULL);
}

}  // namespace
}  // namespace weft::random_test
