// SPDX-License-Identifier: Apache-2.0
// Regression trees: a sum of binary trees over features of an operator, as random forests and
// gradient boosting leave them behind.
//
// Where it sits: tree_learner grows them, regressors ask them, profiles keep them as text.
// Model: every tree goes left where feature < threshold (float, as XGBoost compares) down to a
// leaf; the prediction is the sum of all leaves in the order of trees, in double. A forest's leaves
// are divided by its number of trees already.
// Text of a tree, nodes in preorder, left before right:
//   3<0.125 7<2 =-0.5 =0.25 =1          feature 3 below 0.125? then feature 7 below 2? ...
// Numbers read back to the same float.
// Threads: values; const functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class RegressionTrees {
 public:
  struct Node {
    static constexpr std::uint32_t leaf = UINT32_MAX;
    std::uint32_t feature = leaf;
    float number = 0;         ///< threshold, or what a leaf adds
    std::uint32_t right = 0;  ///< place of the right child in the tree; the left one is next
  };
  using Tree = std::vector<Node>;  ///< in preorder

  /// Requires: a tree in preorder.
  void add(const Tree& tree);
  std::size_t size() const { return starts_.size(); }
  std::size_t node_count() const { return nodes_.size(); }
  /// Only the first trees remain.
  void keep_first(std::size_t trees);

  /// What one tree adds. Requires: a value for every feature that it asks for.
  double leaf_of(std::size_t tree, std::span<const float> features) const;
  double predict(std::span<const float> features) const;

  std::string tree_text(std::size_t tree) const;
  /// None unless the text is one whole tree over features below `feature_count` with finite
  /// numbers.
  static std::optional<Tree> parse(std::string_view text, std::uint32_t feature_count);

 private:
  std::vector<Node> nodes_;  ///< of all trees; `right` counts from the tree's first
  std::vector<std::size_t> starts_;
};

}  // namespace weft
