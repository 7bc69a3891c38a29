// SPDX-License-Identifier: Apache-2.0
#include "tools/projections/iteration_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft::iteration_fit_test {

namespace {

/// Iterations as vTrain measured them, of all its sizes, without their times.
std::vector<MeasuredIteration> small_iterations() {
  std::string text =
      "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data parallelism,"
      "pipeline parallelism,iteration time (ms)\n";
  for (const int hidden : {1024, 2048}) {
    for (const int microbatch : {1, 4}) {
      for (const auto& [tensor, data, pipeline] : {std::array{1, 2, 1}, std::array{2, 1, 2}, std::array{1, 1, 4}})
        text += fmt::format("{},16,{},{},16,12,1024,{},{},{},1\n", tensor * data * pipeline, microbatch, hidden, tensor, data,
                            pipeline);
    }
  }
  return read_vtrain_iterations(SourceText("small.csv", text));
}

ProfileParameter parameter(const char* name, const char* unit, double minimum, double maximum, double start, double grain) {
  return {.range = {.name = name, .minimum = minimum, .maximum = maximum, .start = start, .grain = grain}, .unit = unit};
}

std::vector<std::size_t> numbers_below(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = i;
  return numbers;
}

}  // namespace

TEST(IterationFit, SettingsHaveUnits) {
  EXPECT_EQ(parameter("analytical.dispatch", "us", 0, 200, 0, 0.1).setting(65.9), "analytical.dispatch=65.9us");
  EXPECT_EQ(parameter("gpu.training_share", "", 0.6, 1, 0.8, 0.001).setting(0.882), "gpu.training_share=0.882");
}

TEST(IterationFit, EstimatesFollowSettings) {
  IterationEstimates estimates(small_iterations());
  const std::vector<std::string> slow = {"gpu.training_share=0.44"};
  const std::vector<double> before = estimates.seconds(std::vector<std::string>());
  const std::vector<double> after = estimates.seconds(slow);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_GT(after[i], before[i]);
    EXPECT_LT(after[i], 2 * before[i]);  // products alone take twice as long as at 0.88
  }
  EXPECT_EQ(estimates.seconds(std::vector<std::string>()), before);
  EXPECT_THROW(estimates.seconds(std::vector<std::string>{"gpu.training=0.5"}), InputError);
}

// Times of known parameters, which the fit starts far from.
TEST(IterationFit, FindsParametersThatWerePlanted) {
  std::vector<MeasuredIteration> iterations = small_iterations();
  {
    IterationEstimates truth(iterations);
    const std::vector<double> planted_s =
        truth.seconds(std::vector<std::string>{"gpu.training_share=0.75", "analytical.dispatch=40us"});
    for (std::size_t i = 0; i < iterations.size(); ++i) iterations[i].measured_s = planted_s[i];
  }
  IterationEstimates estimates(std::move(iterations));
  const std::vector<ProfileParameter> parameters = {parameter("gpu.training_share", "", 0.5, 1, 0.95, 0.001),
                                                    parameter("analytical.dispatch", "us", 0, 200, 0, 0.1)};
  const IterationFit fit = fit_iterations(estimates, numbers_below(estimates.iterations().size()), parameters, 400);
  EXPECT_LT(fit.error, 0.002);
  EXPECT_LE(fit.points, 400U);
  ASSERT_EQ(fit.settings.size(), 2U);
  EXPECT_NEAR(std::stod(fit.settings[0].substr(fit.settings[0].find('=') + 1)), 0.75, 0.005);
  EXPECT_NEAR(std::stod(fit.settings[1].substr(fit.settings[1].find('=') + 1)), 40, 1);
}

TEST(IterationFit, IsTheSameEachTime) {
  std::vector<MeasuredIteration> iterations = small_iterations();
  for (MeasuredIteration& iteration : iterations) iteration.measured_s = 0.2;
  IterationEstimates estimates(std::move(iterations));
  const std::vector<ProfileParameter> parameters = {parameter("analytical.dispatch", "us", 0, 200, 0, 0.1)};
  const auto fitted = [&] { return fit_iterations(estimates, numbers_below(4), parameters, 50).settings; };
  EXPECT_EQ(fitted(), fitted());
}

// Of plans that a table leaves open: the fastest that fits. A microbatch of 8 is faster than one of
// 1, as 1 takes 8 times as many small products; but of 70B on one H100 nothing fits.
TEST(IterationFit, OpenPlansAreTheFastestThatFit) {
  MeasuredIteration iteration = small_iterations().front();
  iteration.gpu = "h100_sxm";
  iteration.server = "hgx_h100";
  ParallelPlan larger = iteration.plan;
  larger.microbatch = 8;
  iteration.alternatives = {larger};
  EXPECT_EQ(IterationEstimates({iteration}).iterations().front().plan.microbatch, 8U);
  iteration.model.layers = 1200;
  iteration.plan.layout = larger.layout = {{.first = 0, .count = 1200}};
  iteration.alternatives = {larger};
  EXPECT_EQ(IterationEstimates({iteration}).iterations().front().plan.microbatch, 1U);
}

// --- Splits ---

TEST(IterationFit, NoFittedRowIsScored) {
  std::vector<MeasuredIteration> iterations;
  for (int i = 0; i < 100; ++i) {
    MeasuredIteration one;
    one.table = i < 60 ? "a" : "b";
    one.what = fmt::format("kind {}", i % 8);
    iterations.push_back(one);
  }
  const std::vector<std::size_t> all = numbers_below(iterations.size());
  for (const std::uint64_t seed : {1, 2, 35}) {
    for (const bool by_kind : {false, true}) {
      const FitSplit split = draw_split(iterations, all, 0.25, by_kind, seed);
      std::set<std::size_t> seen;
      for (const auto* numbers : {&split.fitted, &split.scored, &split.related}) seen.insert(numbers->begin(), numbers->end());
      EXPECT_EQ(seen.size(), split.fitted.size() + split.scored.size() + split.related.size()) << "no row is two things";
      EXPECT_EQ(seen.size(), iterations.size());
      if (!by_kind) {
        EXPECT_EQ(split.fitted.size(), 25U);  // 15 of 60 and 10 of 40
        EXPECT_TRUE(split.related.empty());
        continue;
      }
      // Two of 8 kinds of each table, one row each; none of their kinds is scored.
      EXPECT_EQ(split.fitted.size(), 4U);
      for (const std::size_t fitted : split.fitted) {
        for (const std::size_t scored : split.scored) {
          EXPECT_FALSE(iterations[fitted].table == iterations[scored].table && iterations[fitted].what == iterations[scored].what);
        }
      }
    }
  }
  EXPECT_EQ(draw_split(iterations, all, 0.25, true, 7).fitted, draw_split(iterations, all, 0.25, true, 7).fitted);
  EXPECT_NE(draw_split(iterations, all, 0.25, false, 7).fitted, draw_split(iterations, all, 0.25, false, 8).fitted);
  // One at least.
  EXPECT_EQ(draw_split(iterations, std::vector<std::size_t>{0, 1, 2}, 0.1, false, 1).fitted.size(), 1U);
}

}  // namespace weft::iteration_fit_test
