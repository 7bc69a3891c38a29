// SPDX-License-Identifier: Apache-2.0
#include "calibration/search.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics.hpp"

namespace weft::search_test {

namespace {

using Scale = FitParameter::Scale;
using CostOfOne = std::function<double(const FitPoint&)>;

Evaluations::Costs each(CostOfOne cost) {
  return [cost = std::move(cost)](std::span<const FitPoint> points) {
    std::vector<double> costs;
    for (const FitPoint& point : points) costs.push_back(cost(point));
    return costs;
  };
}

ParamSet params_of(std::string_view name) {
  return ParamSet(std::string(name), find_module(searches(), name, SourcePlace::named("test")).info.params);
}

std::unique_ptr<Search> search_called(std::string_view name) {
  return find_module(searches(), name, SourcePlace::named("test")).make(params_of(name));
}

const std::vector<FitParameter> three = {
    {"a", 0, 10, 1, Scale::linear, 0}, {"b", 1, 1000, 1, Scale::logarithmic, 0}, {"c", 0, 1, 0.5, Scale::linear, 0}};

double square(double x) { return x * x; }

/// Least at (7, 50, 0.2), with a valley between a and c: 100 in one direction, 1 in the other.
double bent_valley(const FitPoint& at) {
  const double along = (at[0] - 7) / 10 + (at[2] - 0.2);
  const double across = (at[0] - 7) / 10 - (at[2] - 0.2);
  return 1 + square(along) + 100 * square(across) + square(std::log(at[1] / 50));
}

}  // namespace

class EverySearch : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Searches, EverySearch, testing::Values("hill_climbing", "bobyqa", "sbplx"));

TEST_P(EverySearch, FindsTheFootOfAValley) {
  Evaluations evaluations(each(bent_valley), 5000);
  search_called(GetParam())->run(three, evaluations);
  ASSERT_TRUE(evaluations.has_best());
  EXPECT_NEAR(evaluations.best()[0], 7, 0.02);
  EXPECT_NEAR(evaluations.best()[1], 50, 0.2);
  EXPECT_NEAR(evaluations.best()[2], 0.2, 0.002);
  EXPECT_NEAR(evaluations.best_cost(), 1, 1e-4);
}

TEST_P(EverySearch, FindsOneParameterAtTheEndOfItsRange) {
  const std::vector<FitParameter> one = {{"a", 0, 10, 4, Scale::linear, 0}};
  Evaluations evaluations(each([](const FitPoint& at) { return 12 - at[0]; }), 1000);
  search_called(GetParam())->run(one, evaluations);
  EXPECT_NEAR(evaluations.best()[0], 10, 1e-3);
}

TEST_P(EverySearch, StaysWithinItsBudgetAndKeepsTheBest) {
  std::uint64_t runs = 0;
  Evaluations evaluations(each([&](const FitPoint& at) {
                            ++runs;
                            return bent_valley(at);
                          }),
                          12);
  search_called(GetParam())->run(three, evaluations);
  EXPECT_LE(runs, 12U);
  EXPECT_EQ(evaluations.points(), runs);
  EXPECT_TRUE(evaluations.is_over());
  EXPECT_LE(evaluations.best_cost(), bent_valley({1, 1, 0.5}));
}

TEST_P(EverySearch, GoesAroundWhatCannotBeSimulated) {
  const auto cost = [](const FitPoint& at) { return at[2] > 0.6 ? std::numeric_limits<double>::infinity() : bent_valley(at); };
  Evaluations evaluations(each(cost), 5000);
  search_called(GetParam())->run(three, evaluations);
  EXPECT_NEAR(evaluations.best_cost(), 1, 1e-3);
}

TEST_P(EverySearch, LooksAtTheSamePointsEveryTime) {
  std::array<std::vector<FitPoint>, 2> ways;
  for (std::vector<FitPoint>& way : ways) {
    Evaluations evaluations(each([&](const FitPoint& at) {
                              way.push_back(at);
                              return bent_valley(at);
                            }),
                            3000);
    search_called(GetParam())->run(three, evaluations);
  }
  EXPECT_EQ(ways[0], ways[1]);
}

TEST(HillClimbing, ChoosesAmongWholeNumbers) {
  const std::vector<FitParameter> two = {{"a", 1, 64, 1, Scale::logarithmic, 1}, {"b", 0, 7, 0, Scale::linear, 1}};
  Evaluations evaluations(each([](const FitPoint& at) {
                            EXPECT_EQ(at[0], std::round(at[0]));
                            EXPECT_EQ(at[1], std::round(at[1]));
                            return square(at[0] - 24) + square(at[1] - 5);
                          }),
                          2000);
  search_called("hill_climbing")->run(two, evaluations);
  EXPECT_EQ(evaluations.best(), (FitPoint{24, 5}));
}

// A hollow at 1 that is 0.5 deep, one at 9 that is 1 deep; a step of 0.1 leads into the first.
TEST(HillClimbing, RestartsLeaveAHollow) {
  const std::vector<FitParameter> one = {{"a", 0, 10, 0.5, Scale::linear, 0}};
  const auto hollows = [](const FitPoint& at) {
    return 2 - 0.5 * std::exp(-square(at[0] - 1) / 0.5) - std::exp(-square(at[0] - 9) / 2);
  };
  ParamSet params = params_of("hill_climbing");
  params.set("restarts", "0", {});
  const auto& module = find_module(searches(), "hill_climbing", SourcePlace::named("test"));
  Evaluations without(each(hollows), 1000);
  module.make(params)->run(one, without);
  EXPECT_NEAR(without.best()[0], 1, 0.05);
  params.set("restarts", "8", {});
  Evaluations with(each(hollows), 2000);
  module.make(params)->run(one, with);
  EXPECT_NEAR(with.best()[0], 9, 0.05);
}

TEST(Evaluations, EachPointIsPaidForOnce) {
  std::uint64_t runs = 0;
  Evaluations evaluations(each([&](const FitPoint& at) {
                            ++runs;
                            return at[0];
                          }),
                          10);
  std::vector<double> costs;
  const std::vector<FitPoint> points = {{2}, {1}, {2}};
  EXPECT_TRUE(evaluations.look_at(points, costs));
  EXPECT_EQ(costs, (std::vector<double>{2, 1, 2}));
  EXPECT_TRUE(evaluations.look_at(points, costs));
  EXPECT_EQ(runs, 2U);
  EXPECT_EQ(evaluations.best(), FitPoint{1});
}

TEST(Evaluations, EndWhenToldToStop) {
  bool stop = false;
  Evaluations evaluations(each([](const FitPoint& at) { return at[0]; }), 10, [&] { return stop; });
  std::vector<double> costs;
  EXPECT_TRUE(evaluations.look_at(std::vector<FitPoint>{{1}}, costs));
  stop = true;
  EXPECT_FALSE(evaluations.look_at(std::vector<FitPoint>{{0}}, costs));
  EXPECT_TRUE(evaluations.is_over());
  EXPECT_EQ(evaluations.best(), FitPoint{1});
}

}  // namespace weft::search_test
