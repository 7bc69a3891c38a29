// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/duration_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/text/diagnostics.hpp"

namespace weft::duration_model_test {
namespace {

const SourcePlace place{"--duration", 1, 0, 1, ""};

DurationModel parse(std::string_view text) { return DurationModel::parse(text, place); }

std::string error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().size(), 1U);
    EXPECT_FALSE(error.diagnostics()[0].help.empty()) << text;
    return error.diagnostics()[0].code;
  }
  return "none";
}

struct Moments {
  double mean_s = 0;
  double deviation_s = 0;
  double least_s = INFINITY;
  double most_s = 0;
  double median_s = 0;
};

constexpr std::uint32_t draws = 40'000;

Moments moments_of(const DurationModel& model) {
  std::vector<double> values;
  double sum = 0;
  double squares = 0;
  for (std::uint32_t job = 0; job < draws; ++job) {
    const double value = model.sample(11, JobId(job)).in_s();
    values.push_back(value);
    sum += value;
    squares += value * value;
  }
  std::sort(values.begin(), values.end());
  Moments result;
  result.mean_s = sum / draws;
  result.deviation_s = std::sqrt(squares / draws - result.mean_s * result.mean_s);
  result.least_s = values.front();
  result.most_s = values.back();
  result.median_s = values[draws / 2];
  return result;
}

/// The mean of n draws lies within 4 standard errors of the expectation (1 in 16,000 seeds would
/// not; the seed is fixed).
double tolerance(double deviation_s) { return 4 * deviation_s / std::sqrt(draws); }

TEST(DurationModel, FixedIsAlwaysTheSame) {
  const DurationModel model = parse("2h");
  EXPECT_EQ(model, DurationModel::fixed(Duration::s(7200)));
  EXPECT_EQ(model.sample(1, JobId(0)), Duration::s(7200));
  EXPECT_EQ(model.sample(2, JobId(9)), Duration::s(7200));
  EXPECT_EQ(model.mean(), Duration::s(7200));
}

TEST(DurationModel, ExponentialHasItsMeanAsDeviation) {
  const DurationModel model = parse("exponential(2h)");
  const Moments moments = moments_of(model);
  EXPECT_NEAR(moments.mean_s, 7200, tolerance(7200));
  // Kurtosis 9: the standard error of the variance is sigma^2 sqrt(8/n), of the deviation half of
  // that relative to sigma.
  EXPECT_NEAR(moments.deviation_s, 7200, 4 * 7200 * std::sqrt(8.0 / draws) / 2);
  EXPECT_NEAR(moments.median_s, 7200 * std::log(2.0), tolerance(7200));
  EXPECT_EQ(model.mean(), Duration::s(7200));
}

TEST(DurationModel, LognormalHasItsMedianAndMean) {
  const DurationModel model = parse("lognormal(1h, 0.5)");
  // mean m exp(s^2/2); variance mean^2 (exp(s^2) - 1).
  const double mean_s = 3600 * std::exp(0.125);
  const double deviation_s = mean_s * std::sqrt(std::exp(0.25) - 1);
  const Moments moments = moments_of(model);
  EXPECT_NEAR(moments.mean_s, mean_s, tolerance(deviation_s));
  // Standard error of a median: 1 / (2 f(m) sqrt(n)) with the density f(m) = 1 / (m s sqrt(2 pi)),
  // here 1.25 * 1800 s / sqrt(n).
  EXPECT_NEAR(moments.median_s, 3600, tolerance(1.2533 * 1800));
  EXPECT_NEAR(model.mean().in_s(), mean_s, 1e-9);
  EXPECT_EQ(parse("lognormal(1h,0)").sample(1, JobId(3)), Duration::s(3600));
}

TEST(DurationModel, UniformStaysBetweenItsEnds) {
  const DurationModel model = parse("uniform(1h, 3h)");
  const Moments moments = moments_of(model);
  // deviation (b - a) / sqrt(12)
  EXPECT_NEAR(moments.mean_s, 7200, tolerance(7200 / std::sqrt(12.0)));
  EXPECT_GE(moments.least_s, 3600);
  EXPECT_LE(moments.most_s, 10800);
  EXPECT_LT(moments.least_s, 3610);
  EXPECT_GT(moments.most_s, 10790);
  EXPECT_EQ(model.mean(), Duration::s(7200));
  EXPECT_EQ(parse("uniform(5s, 5s)").sample(1, JobId(3)), Duration::s(5));
}

TEST(DurationModel, NormalFarFromZeroIsJustThat) {
  const DurationModel model = parse("normal(1h, 10min)");
  const Moments moments = moments_of(model);
  EXPECT_NEAR(moments.mean_s, 3600, tolerance(600));
  EXPECT_NEAR(moments.deviation_s, 600, 4 * 600 / std::sqrt(2.0 * draws));
  // 6 deviations from zero: truncation adds 600 phi(6) = 4e-6 s
  EXPECT_NEAR(model.mean().in_s(), 3600, 1e-4);
}

TEST(DurationModel, NormalAtZeroIsTruncated) {
  const DurationModel model = parse("normal(0s, 10s)");
  // Half-normal: mean sigma sqrt(2/pi), deviation sigma sqrt(1 - 2/pi).
  const double mean_s = 10 * std::sqrt(2 / M_PI);
  EXPECT_NEAR(model.mean().in_s(), mean_s, 1e-9);
  const Moments moments = moments_of(model);
  EXPECT_NEAR(moments.mean_s, mean_s, tolerance(10 * std::sqrt(1 - 2 / M_PI)));
  EXPECT_GE(moments.least_s, 0);
}

TEST(DurationModel, DrawsBelongToSeedAndJob) {
  const DurationModel model = parse("exponential(1h)");
  const Duration draw = model.sample(5, JobId(17));
  for (std::uint32_t other = 0; other < 100; ++other) model.sample(5, JobId(other));
  EXPECT_EQ(model.sample(5, JobId(17)), draw);
  EXPECT_NE(model.sample(6, JobId(17)), draw);
  EXPECT_NE(model.sample(5, JobId(18)), draw);
}

TEST(DurationModel, TextIsReadBack) {
  for (const char* text : {"2h", "0s", "1.5us", "exponential(2h)", "lognormal(1h, 0.5)", "lognormal(90min, 0.1)", "uniform(1s, 3h)",
                           "normal(1h, 10min)"}) {
    const DurationModel model = parse(text);
    EXPECT_EQ(parse(model.to_text()), model) << text << " -> " << model.to_text();
  }
  EXPECT_EQ(parse("  exponential ( 2h ) "), parse("exponential(2h)"));
  EXPECT_EQ(parse("lognormal(5s,0.5)").to_text(), "lognormal(5s, 0.5)");
}

TEST(DurationModel, RefusesWhatIsNoDuration) {
  EXPECT_EQ(error_of(""), "bad-duration");
  EXPECT_EQ(error_of("7200"), "bad-duration");
  EXPECT_EQ(error_of("2 parsecs"), "bad-duration");
  EXPECT_EQ(error_of("-1s"), "bad-duration");
  EXPECT_EQ(error_of("exponental(2h)"), "unknown-distribution");
  EXPECT_EQ(error_of("(2h)"), "unknown-distribution");
  EXPECT_EQ(error_of("exponential(2h"), "bad-duration");
  EXPECT_EQ(error_of("exponential()"), "bad-duration");
  EXPECT_EQ(error_of("exponential(2h, 3h)"), "bad-duration");
  EXPECT_EQ(error_of("lognormal(1h)"), "bad-duration");
  EXPECT_EQ(error_of("lognormal(1h, 0.5h)"), "bad-duration");
  EXPECT_EQ(error_of("lognormal(1h, nan)"), "bad-duration");
  EXPECT_EQ(error_of("lognormal(1h, -0.5)"), "out-of-range");
  EXPECT_EQ(error_of("lognormal(1h, 50)"), "out-of-range");  // mean exp(1250) hours
  EXPECT_EQ(error_of("uniform(3h, 1h)"), "out-of-range");
  // Each draw of these is 0, which their names hide.
  EXPECT_EQ(error_of("exponential(0h)"), "out-of-range");
  EXPECT_EQ(error_of("lognormal(0h, 0.5)"), "out-of-range");
  EXPECT_EQ(error_of("uniform(0h, 0h)"), "out-of-range");
  EXPECT_EQ(error_of("normal(0h, 0s)"), "out-of-range");
  EXPECT_EQ(error_of("normal(-1h, 1h)"), "bad-duration");
  EXPECT_EQ(error_of("10000d"), "bad-duration");  // beyond the clock
}

TEST(DurationModel, SuggestsTheNameMeant) {
  try {
    parse("exponental(2h)");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(error.diagnostics()[0].help.find("exponential"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::duration_model_test
