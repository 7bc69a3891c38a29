// SPDX-License-Identifier: Apache-2.0
// Tree learner: grows regression trees by XGBoost, as a random forest or by gradient boosting.
//
// Where it sits: regressor_search tries settings with it. Nothing else of Weft knows XGBoost:
// what it has grown is copied into RegressionTrees, and predictions need no library.
// Model: squared error. Boosting (Chen and Guestrin, "XGBoost", KDD 2016): each tree is fitted to
// what those before it leave, and shrunk by the learning rate. Forest (Breiman 2001): one round of
// `trees` parallel trees, each of a random sample of rows and of a random share of features at
// every split, learning rate 1, no shrinkage of leaves, and the mean of all.
// Boosting of medians instead: where some rows were slowed down and none sped up, the mean of a
// kernel's logarithms of times is no time that it took. Targets are logarithms, and leaves hold
// the x that makes the mean of |e^x - e^r| / e^r least over their rows, r being what is left of the
// targets: the weighted median (Friedman, "Greedy function approximation", Annals of Statistics
// 2001, algorithm 3). Splits are those of r cut at the median of |r| (its algorithm 4).
// XGBoost has no min_samples_split and no min_samples_leaf. What stands for them is
// min_child_weight: the sum of second derivatives that each child of a split has at least, which
// for squared error is its number of rows - a split needs twice as many.
// Threads: any number of calls at a time; each uses one thread. The same rows, settings and seed
// give the same trees, whatever else runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/op_times/regression_trees.hpp"

namespace weft {

struct TreeSettings {
  bool is_forest = false;
  std::uint32_t trees = 0;  ///< of a forest, or rounds of boosting at most
  std::uint32_t depth = 0;  ///< from root to leaf, at most
  double learning_rate = 1;
  double min_child_weight = 1;
  double rows_share = 1;      ///< of the rows that a tree sees; drawn without replacement
  double features_share = 1;  ///< of the features that a split chooses from
  bool of_medians = false;    ///< of boosting

  friend bool operator==(const TreeSettings&, const TreeSettings&) = default;
};

/// "random_forest 100 trees, depth 12, ...".
std::string to_text(const TreeSettings& settings);

/// Rows of `feature_count` features each, one after the other, and what is to be predicted.
struct TreeSamples {
  std::size_t feature_count = 0;
  std::vector<float> features;
  std::vector<float> targets;

  std::size_t rows() const { return targets.size(); }
  std::span<const float> row(std::size_t i) const { return std::span(features).subspan(i * feature_count, feature_count); }
};

/// Requires: a row and a feature at least, all numbers finite.
RegressionTrees grow_trees(const TreeSamples& samples, const TreeSettings& settings, std::uint64_t seed);

}  // namespace weft
