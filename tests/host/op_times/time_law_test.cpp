// SPDX-License-Identifier: Apache-2.0
// Time law: planted coefficients are found, and rows that are wrong by large factors are found and
// do not move them.
#include "host/op_times/time_law.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/values/random.hpp"

namespace weft::time_law_test {
namespace {

struct Rows {
  std::vector<std::vector<double>> terms;
  std::vector<double> times_us;
};

/// 10 us + 2e-3 us per unit of work + 5e-4 us per byte.
Rows planted(double noise) {
  Rows rows;
  RandomStream chance(3, 0, 0);
  for (double work = 1e3; work < 1e7; work *= 1.7) {
    for (double bytes = 1e3; bytes < 1e7; bytes *= 2.3) {
      rows.terms.push_back({1, work, bytes});
      rows.times_us.push_back((10 + 2e-3 * work + 5e-4 * bytes) * std::exp(chance.normal(0, noise)));
    }
  }
  return rows;
}

TEST(TimeLaw, FindsPlantedCoefficients) {
  const Rows rows = planted(0);
  const TimeLaw law = fit_time_law(rows.terms, rows.times_us);
  EXPECT_NEAR(law.coefficients[0], 10, 1e-6);
  EXPECT_NEAR(law.coefficients[1], 2e-3, 1e-9);
  EXPECT_NEAR(law.coefficients[2], 5e-4, 1e-9);
  EXPECT_TRUE(outliers_of(law, rows.terms, rows.times_us).empty());
}

// A tenth of the rows is a thousand times too slow or a hundred times too fast, as in tables of
// estimate-train-time.
TEST(TimeLaw, OutliersAreFoundAndDoNotMoveIt) {
  Rows rows = planted(0.02);
  std::vector<std::size_t> wrong;
  for (std::size_t i = 5; i < rows.times_us.size(); i += 10) {
    rows.times_us[i] *= i % 20 == 5 ? 1000 : 0.01;
    wrong.push_back(i);
  }
  const TimeLaw law = fit_time_law(rows.terms, rows.times_us);
  EXPECT_NEAR(law.coefficients[1], 2e-3, 4e-5);
  EXPECT_NEAR(law.coefficients[2], 5e-4, 1e-5);
  EXPECT_EQ(outliers_of(law, rows.terms, rows.times_us), wrong);
}

// Vista's all-gather on 4 x 1: a fifth of the rows says 117 us whatever the size, and are the ones
// that are left out.
TEST(TimeLaw, AFifthMayBeWrongInTheSameWay) {
  Rows rows;
  std::vector<std::size_t> wrong;
  RandomStream chance(5, 0, 0);
  for (std::size_t i = 0; i < 200; ++i) {
    const double bytes = 1e8 + 1e6 * static_cast<double>(i);
    rows.terms.push_back({1, bytes});
    rows.times_us.push_back(i % 5 == 4 ? 117.0 : 1e-4 * bytes * std::exp(chance.normal(0, 0.2)));
    if (i % 5 == 4) wrong.push_back(i);
  }
  const TimeLaw law = fit_time_law(rows.terms, rows.times_us);
  EXPECT_EQ(outliers_of(law, rows.terms, rows.times_us), wrong);
  EXPECT_NEAR(law.time_us(rows.terms[100]), 1e-4 * rows.terms[100][1], 0.1 * 1e-4 * rows.terms[100][1]);
}

// Fifteen times off is no outlier, seventeen times is, where others are exact.
TEST(TimeLaw, OutliersAreSixteenTimesOff) {
  Rows rows = planted(0);
  rows.times_us[3] *= 15;
  rows.times_us[8] *= 17;
  EXPECT_EQ(outliers_of(fit_time_law(rows.terms, rows.times_us), rows.terms, rows.times_us), std::vector<std::size_t>{8});
}

// More work never takes less time: what a term would be worth below 0 it is not.
TEST(TimeLaw, CoefficientsAreNotNegative) {
  Rows rows;
  for (double work = 1; work < 100; ++work) {
    rows.terms.push_back({1, work});
    rows.times_us.push_back(100 - 0.5 * work);
  }
  const TimeLaw law = fit_time_law(rows.terms, rows.times_us);
  EXPECT_EQ(law.coefficients[1], 0);
  EXPECT_GT(law.coefficients[0], 50);
}

}  // namespace
}  // namespace weft::time_law_test
