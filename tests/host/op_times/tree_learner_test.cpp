// SPDX-License-Identifier: Apache-2.0
// Tree learner: trees of means and of medians, on rows whose best prediction is known.
#include "host/op_times/tree_learner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/values/random.hpp"

namespace weft::tree_learner_test {
namespace {

/// Rows of one feature.
TreeSamples samples_of(const std::vector<float>& features, const std::vector<double>& times) {
  TreeSamples samples;
  samples.feature_count = 1;
  samples.features = features;
  for (const double time : times) samples.targets.push_back(static_cast<float>(std::log(time)));
  return samples;
}

double time_of(const RegressionTrees& trees, float feature) { return std::exp(trees.predict(std::vector<float>{feature})); }

/// The mean absolute percentage error of one time for all.
double error_of(double predicted, const std::vector<double>& times) {
  double sum = 0;
  for (const double time : times) sum += std::abs(predicted - time) / time;
  return sum / static_cast<double>(times.size());
}

constexpr TreeSettings one_median{.trees = 1, .depth = 1, .of_medians = true};

}  // namespace

// Five runs of a kernel at one clock and two at a lower one: the mean of logarithms lies between.
TEST(TreeLearner, MediansAreTimesThatWereTakenMeansAreNot) {
  const std::vector<double> times = {100, 100, 125, 100, 100, 125, 100};
  const TreeSamples samples = samples_of(std::vector<float>(times.size(), 1), times);
  EXPECT_NEAR(time_of(grow_trees(samples, one_median, 1), 1), 100, 1e-3);
  const TreeSettings forest{.is_forest = true, .trees = 1, .depth = 1, .min_child_weight = 1};
  const double mean_of_logarithms = 100 * std::pow(1.25, 2.0 / 7.0);
  EXPECT_NEAR(time_of(grow_trees(samples, forest, 1), 1), mean_of_logarithms, 1e-3);
}

// No other time that was taken has a smaller mean absolute percentage error.
TEST(TreeLearner, AMedianHasTheLeastPercentageErrorOfItsRows) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream chance(seed, 0, 1);
    std::vector<double> times(1 + chance.below(12));
    for (double& time : times) time = 10 + static_cast<double>(chance.below(1000));
    const double found = time_of(grow_trees(samples_of(std::vector<float>(times.size(), 1), times), one_median, 1), 1);
    double least = error_of(times.front(), times);
    for (const double time : times) least = std::min(least, error_of(time, times));
    EXPECT_NEAR(error_of(found, times), least, 1e-5) << seed;
  }
}

// Two kernels, told apart by the feature, each with a row that was slowed down; each further tree
// takes half of what is left of the way.
TEST(TreeLearner, BoostedMediansComeCloserTreeByTree) {
  const TreeSamples samples = samples_of({1, 1, 1, 2, 2, 2}, {0.8, 0.8, 1, 1.25, 1.25, 1.5});
  TreeSettings settings = one_median;
  settings.learning_rate = 0.5;
  for (const std::uint32_t trees : {1U, 2U, 20U}) {
    settings.trees = trees;
    const RegressionTrees grown = grow_trees(samples, settings, 1);
    EXPECT_EQ(grown.size(), trees);
    const double way = 1 - std::pow(0.5, trees);
    EXPECT_NEAR(time_of(grown, 1), std::exp(way * std::log(0.8)), 1e-3) << trees;
    EXPECT_NEAR(time_of(grown, 2), std::exp(way * std::log(1.25)), 1e-3) << trees;
  }
}

TEST(TreeLearner, TheSameSeedGivesTheSameTrees) {
  RandomStream chance(3, 0, 1);
  TreeSamples samples;
  samples.feature_count = 2;
  for (int row = 0; row < 60; ++row) {
    samples.features.push_back(static_cast<float>(chance.below(10)));
    samples.features.push_back(static_cast<float>(chance.below(10)));
    samples.targets.push_back(static_cast<float>(chance.below(100)) / 100);
  }
  for (const bool of_medians : {false, true}) {
    const TreeSettings settings{.trees = 5, .depth = 3, .learning_rate = 0.1, .rows_share = 0.5, .of_medians = of_medians};
    const RegressionTrees one = grow_trees(samples, settings, 7);
    const RegressionTrees two = grow_trees(samples, settings, 7);
    const RegressionTrees other = grow_trees(samples, settings, 8);
    bool differs = false;
    for (std::size_t tree = 0; tree < one.size(); ++tree) {
      EXPECT_EQ(one.tree_text(tree), two.tree_text(tree));
      differs = differs || one.tree_text(tree) != other.tree_text(tree);
    }
    EXPECT_TRUE(differs);
  }
}

}  // namespace weft::tree_learner_test
