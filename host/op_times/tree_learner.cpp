// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/tree_learner.hpp"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft {

namespace {

/// Inputs were checked, so whatever XGBoost refuses is our mistake.
void check_xgboost(int status) { WEFT_CHECK(status == 0, std::string("XGBoost does what it is asked to: ") + XGBGetLastError()); }

class LearningMatrix {
 public:
  explicit LearningMatrix(const TreeSamples& samples) {
    check_xgboost(XGDMatrixCreateFromMat_omp(samples.features.data(), samples.rows(), samples.feature_count,
                                             std::numeric_limits<float>::quiet_NaN(), &handle_, 1));
    check_xgboost(XGDMatrixSetFloatInfo(handle_, "label", samples.targets.data(), samples.rows()));
  }
  ~LearningMatrix() { XGDMatrixFree(handle_); }
  LearningMatrix(const LearningMatrix&) = delete;
  LearningMatrix& operator=(const LearningMatrix&) = delete;
  DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

class TreeBooster {
 public:
  explicit TreeBooster(const LearningMatrix& matrix) {
    const DMatrixHandle handle = matrix.handle();
    check_xgboost(XGBoosterCreate(&handle, 1, &handle_));
  }
  ~TreeBooster() { XGBoosterFree(handle_); }
  TreeBooster(const TreeBooster&) = delete;
  TreeBooster& operator=(const TreeBooster&) = delete;
  TreeBooster(TreeBooster&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  TreeBooster& operator=(TreeBooster&&) = delete;

  void set(const char* name, const std::string& value) { check_xgboost(XGBoosterSetParam(handle_, name, value.c_str())); }
  void grow(int round, const LearningMatrix& matrix) { check_xgboost(XGBoosterUpdateOneIter(handle_, round, matrix.handle())); }
  void grow(std::vector<float>& gradients, std::vector<float>& curvatures, const LearningMatrix& matrix) {
    check_xgboost(XGBoosterBoostOneIter(handle_, matrix.handle(), gradients.data(), curvatures.data(), gradients.size()));
  }
  nlohmann::json model() const {
    bst_ulong size = 0;
    const char* bytes = nullptr;
    check_xgboost(XGBoosterSaveModelToBuffer(handle_, R"({"format": "json"})", &size, &bytes));
    return nlohmann::json::parse(std::string_view(bytes, size));
  }

 private:
  BoosterHandle handle_ = nullptr;
};

/// A tree as XGBoost keeps it, in arrays by node number.
struct GrownTree {
  std::vector<int> left;
  std::vector<int> right;
  std::vector<std::uint32_t> feature;
  std::vector<float> number;
};

/// In preorder. Depth is limited, so that this may call itself.
void copy_tree(const GrownTree& from, std::size_t node, RegressionTrees::Tree& to) {
  const bool is_leaf = from.left[node] < 0;
  const std::size_t at = to.size();
  to.push_back({is_leaf ? RegressionTrees::Node::leaf : from.feature[node], from.number[node], 0});
  if (is_leaf) return;
  copy_tree(from, static_cast<std::size_t>(from.left[node]), to);
  to[at].right = static_cast<std::uint32_t>(to.size());
  copy_tree(from, static_cast<std::size_t>(from.right[node]), to);
}

RegressionTrees::Tree in_preorder(const GrownTree& tree) {
  RegressionTrees::Tree copied;
  copy_tree(tree, 0, copied);
  return copied;
}

std::vector<GrownTree> trees_of(const TreeBooster& booster) {
  std::vector<GrownTree> trees;
  const nlohmann::json model = booster.model();
  for (const nlohmann::json& tree : model.at("learner").at("gradient_booster").at("model").at("trees")) {
    trees.push_back({tree.at("left_children").get<std::vector<int>>(), tree.at("right_children").get<std::vector<int>>(),
                     tree.at("split_indices").get<std::vector<std::uint32_t>>(),
                     tree.at("split_conditions").get<std::vector<float>>()});
  }
  return trees;
}

TreeBooster booster_for(const LearningMatrix& matrix, const TreeSettings& settings, std::uint64_t seed) {
  TreeBooster booster(matrix);
  booster.set("verbosity", "0");
  booster.set("nthread", "1");
  booster.set("seed", fmt::to_string(seed % std::numeric_limits<std::int32_t>::max()));
  // So that chance depends on nothing that this thread did before.
  booster.set("seed_per_iteration", "true");
  booster.set("objective", "reg:squarederror");
  booster.set("base_score", "0");
  booster.set("tree_method", "exact");
  booster.set("max_depth", fmt::to_string(settings.depth));
  booster.set("eta", fmt::to_string(settings.is_forest ? 1.0 : settings.learning_rate));
  booster.set("lambda", settings.is_forest ? "0" : "1");
  booster.set("min_child_weight", fmt::to_string(settings.min_child_weight));
  booster.set("subsample", fmt::to_string(settings.rows_share));
  booster.set("colsample_bynode", fmt::to_string(settings.features_share));
  booster.set("num_parallel_tree", settings.is_forest ? fmt::to_string(settings.trees) : "1");
  return booster;
}

RegressionTrees trees_of_means(const LearningMatrix& matrix, const TreeSettings& settings, std::uint64_t seed) {
  TreeBooster booster = booster_for(matrix, settings, seed);
  const int rounds = settings.is_forest ? 1 : static_cast<int>(settings.trees);
  for (int round = 0; round < rounds; ++round) booster.grow(round, matrix);
  RegressionTrees grown;
  for (const GrownTree& tree : trees_of(booster)) {
    grown.add(in_preorder(tree));
  }
  return grown;
}

std::size_t leaf_of(const GrownTree& tree, std::span<const float> features) {
  std::size_t node = 0;
  while (tree.left[node] >= 0) {
    const bool is_left = features[tree.feature[node]] < tree.number[node];
    node = static_cast<std::size_t>(is_left ? tree.left[node] : tree.right[node]);
  }
  return node;
}

/// The x with the least mean of |e^x - e^r| / e^r. Sorts `rests`.
double weighted_median(std::vector<double>& rests) {
  std::ranges::sort(rests);
  double all = 0;
  for (const double rest : rests) all += portable_exp(-rest);
  double below = 0;
  for (const double rest : rests) {
    below += portable_exp(-rest);
    if (2 * below >= all) return rest;
  }
  return rests.back();
}

/// Puts the median of the rests of its rows, times `factor`, in the place of each leaf. Returns the
/// leaves of all rows.
std::vector<std::size_t> put_medians(GrownTree& tree, const TreeSamples& samples, const std::vector<double>& rests, double factor) {
  std::vector<std::size_t> leaves(rests.size());
  std::vector<std::vector<double>> of_leaves(tree.left.size());
  for (std::size_t row = 0; row < rests.size(); ++row) {
    leaves[row] = leaf_of(tree, samples.row(row));
    of_leaves[leaves[row]].push_back(rests[row]);
  }
  for (std::size_t node = 0; node < of_leaves.size(); ++node) {
    if (!of_leaves[node].empty()) tree.number[node] = static_cast<float>(factor * weighted_median(of_leaves[node]));
  }
  return leaves;
}

RegressionTrees boosted_medians(const TreeSamples& samples, const LearningMatrix& matrix, const TreeSettings& settings,
                                std::uint64_t seed) {
  RegressionTrees grown;
  std::vector<double> rests(samples.targets.begin(), samples.targets.end());
  std::vector<float> gradients(rests.size());
  std::vector<float> curvatures(rests.size(), 1.0F);
  std::vector<double> sizes(rests.size());
  for (std::uint32_t round = 0; round < settings.trees; ++round) {
    std::ranges::transform(rests, sizes.begin(), [](double rest) { return std::abs(rest); });
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::ranges::nth_element(sizes, middle);
    const double cut = *middle;
    std::ranges::transform(rests, gradients.begin(), [&](double rest) { return static_cast<float>(-std::clamp(rest, -cut, cut)); });
    TreeBooster booster = booster_for(matrix, settings, seed + round);
    booster.grow(gradients, curvatures, matrix);
    GrownTree tree = trees_of(booster).front();
    const std::vector<std::size_t> leaves = put_medians(tree, samples, rests, settings.learning_rate);
    for (std::size_t row = 0; row < rests.size(); ++row) rests[row] -= double{tree.number[leaves[row]]};
    grown.add(in_preorder(tree));
  }
  return grown;
}

}  // namespace

std::string to_text(const TreeSettings& settings) {
  const std::string rest = fmt::format("depth {}, min_child_weight {}, rows {}, features {}", settings.depth,
                                       settings.min_child_weight, settings.rows_share, settings.features_share);
  if (settings.is_forest) return fmt::format("random forest, {} trees, {}", settings.trees, rest);
  return fmt::format("boosted trees{}, {} rounds of {}, {}", settings.of_medians ? " of medians" : "", settings.trees,
                     settings.learning_rate, rest);
}

RegressionTrees grow_trees(const TreeSamples& samples, const TreeSettings& settings, std::uint64_t seed) {
  WEFT_CHECK(samples.rows() > 0 && samples.features.size() == samples.rows() * samples.feature_count, "rows have their features");
  const LearningMatrix matrix(samples);
  return settings.of_medians ? boosted_medians(samples, matrix, settings, seed) : trees_of_means(matrix, settings, seed);
}

}  // namespace weft
