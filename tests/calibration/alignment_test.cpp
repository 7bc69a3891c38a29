// SPDX-License-Identifier: Apache-2.0
#include "calibration/alignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/values/random.hpp"

namespace weft::alignment_test {

namespace {

/// The coefficients that `truth` has, in the order of the terms' names.
double true_time(const std::array<double, 6>& truth, double predicted_s, double gpus) {
  return truth[0] * gpus + truth[1] * gpus * predicted_s + truth[2] * std::log(gpus) + truth[3] / gpus + truth[4] * predicted_s +
         truth[5];
}

constexpr std::array<double, 6> planted = {1e-6, 2e-6, 0.003, 0.5, 1.08, 0.02};

std::vector<AlignmentSample> samples_of(const std::vector<double>& gpus, double noise, std::uint32_t entity) {
  RandomStream random(11, entity, 0);
  std::vector<AlignmentSample> samples;
  for (const double n : gpus) {
    for (int i = 0; i < 6; ++i) {
      const double predicted = 0.5 + 2 * random.uniform();
      samples.push_back({predicted, true_time(planted, predicted, n) * (1 + noise * random.normal(0, 1)), n});
    }
  }
  return samples;
}

}  // namespace

TEST(Alignment, FindsPlantedCoefficients) {
  const Alignment found = fit_alignment(samples_of({8, 64, 256, 1024, 4096}, 0, 1));
  for (std::size_t i = 0; i < Alignment::term_count; ++i) {
    EXPECT_TRUE(found.is_fitted[i]) << Alignment::term_names[i];
    EXPECT_NEAR(found.coefficients[i], planted[i], 1e-6 * planted[i]) << Alignment::term_names[i];
  }
  EXPECT_GT(found.mape_before, 0.05);
  EXPECT_LT(found.mape_after, 1e-9);
  EXPECT_NEAR(found.corrected_s(1.3, 2000), true_time(planted, 1.3, 2000), 1e-9);
}

// With N the same throughout, N, ln N, 1/N and 1 are one column and N T and T another.
TEST(Alignment, OneClusterSizeLeavesTwoTerms) {
  const Alignment found = fit_alignment(samples_of({1024}, 0, 2));
  EXPECT_EQ(std::ranges::count(found.is_fitted, true), 2);
  EXPECT_EQ(std::ranges::count(std::array{found.is_fitted[1], found.is_fitted[4]}, true), 1);
  EXPECT_LT(found.mape_after, 1e-9);
}

// Three sizes tell three of N, ln N, 1/N and 1 apart; the fourth is left out, whichever it is.
TEST(Alignment, ThreeClusterSizesLeaveFiveTerms) {
  const Alignment found = fit_alignment(samples_of({16, 128, 432}, 0.005, 4));
  EXPECT_EQ(std::ranges::count(found.is_fitted, true), 5);
  EXPECT_LT(found.mape_after, 0.01);
  for (const double n : {16.0, 128.0, 432.0}) EXPECT_NEAR(found.corrected_s(1.3, n) / true_time(planted, 1.3, n), 1, 0.02) << n;
}

// The error of each sample by a fit to the others, one by one.
TEST(Alignment, LeaveOneOutIsWhatItSays) {
  const std::vector<AlignmentSample> samples = samples_of({8, 64, 256, 1024}, 0.02, 3);
  double sum = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::vector<AlignmentSample> others = samples;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const double predicted = fit_alignment(others).corrected_s(samples[i].predicted_s, samples[i].gpus);
    sum += std::abs(predicted - samples[i].measured_s) / samples[i].measured_s;
  }
  const Alignment found = fit_alignment(samples);
  EXPECT_NEAR(found.mape_leave_one_out, sum / static_cast<double>(samples.size()), 1e-6);
  EXPECT_GT(found.mape_leave_one_out, found.mape_after);
}

TEST(Alignment, ASingleSampleSaysNothingOfOthers) {
  const Alignment found = fit_alignment(std::vector<AlignmentSample>{{1, 2, 8}});
  EXPECT_EQ(std::ranges::count(found.is_fitted, true), 1);
  EXPECT_LT(found.mape_after, 1e-12);
  EXPECT_TRUE(std::isinf(found.mape_leave_one_out));
}

}  // namespace weft::alignment_test
