// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/tree_learner.hpp"

#include <xgboost/c_api.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/check.hpp"

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

  void set(const char* name, const std::string& value) { check_xgboost(XGBoosterSetParam(handle_, name, value.c_str())); }
  void grow(int round, const LearningMatrix& matrix) { check_xgboost(XGBoosterUpdateOneIter(handle_, round, matrix.handle())); }
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

}  // namespace

std::string to_text(const TreeSettings& settings) {
  const std::string rest = fmt::format("depth {}, min_child_weight {}, rows {}, features {}", settings.depth,
                                       settings.min_child_weight, settings.rows_share, settings.features_share);
  if (settings.is_forest) return fmt::format("random forest, {} trees, {}", settings.trees, rest);
  return fmt::format("boosted trees, {} rounds of {}, {}", settings.trees, settings.learning_rate, rest);
}

RegressionTrees grow_trees(const TreeSamples& samples, const TreeSettings& settings, std::uint64_t seed) {
  WEFT_CHECK(samples.rows() > 0 && samples.features.size() == samples.rows() * samples.feature_count, "rows have their features");
  const LearningMatrix matrix(samples);
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
  const int rounds = settings.is_forest ? 1 : static_cast<int>(settings.trees);
  for (int round = 0; round < rounds; ++round) booster.grow(round, matrix);

  RegressionTrees grown;
  const nlohmann::json model = booster.model();
  for (const nlohmann::json& tree : model.at("learner").at("gradient_booster").at("model").at("trees")) {
    const GrownTree arrays{tree.at("left_children").get<std::vector<int>>(), tree.at("right_children").get<std::vector<int>>(),
                           tree.at("split_indices").get<std::vector<std::uint32_t>>(),
                           tree.at("split_conditions").get<std::vector<float>>()};
    RegressionTrees::Tree copied;
    copy_tree(arrays, 0, copied);
    grown.add(copied);
  }
  return grown;
}

}  // namespace weft
