// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/regression_trees.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/text_pieces.hpp"

namespace weft {

void RegressionTrees::add(const Tree& tree) {
  WEFT_CHECK(!tree.empty(), "a tree has a leaf at least");
  starts_.push_back(nodes_.size());
  nodes_.insert(nodes_.end(), tree.begin(), tree.end());
}

void RegressionTrees::keep_first(std::size_t trees) {
  if (trees >= starts_.size()) return;
  nodes_.resize(starts_[trees]);
  starts_.resize(trees);
}

double RegressionTrees::leaf_of(std::size_t tree, std::span<const float> features) const {
  const std::size_t start = starts_[tree];
  std::size_t at = start;
  while (nodes_[at].feature != Node::leaf)
    at = features[nodes_[at].feature] < nodes_[at].number ? at + 1 : start + nodes_[at].right;
  return static_cast<double>(nodes_[at].number);
}

double RegressionTrees::predict(std::span<const float> features) const {
  double sum = 0;
  for (std::size_t tree = 0; tree < size(); ++tree) sum += leaf_of(tree, features);
  return sum;
}

std::string RegressionTrees::tree_text(std::size_t tree) const {
  const std::size_t end = tree + 1 < starts_.size() ? starts_[tree + 1] : nodes_.size();
  std::string text;
  for (std::size_t at = starts_[tree]; at < end; ++at) {
    if (!text.empty()) text += ' ';
    const Node& node = nodes_[at];
    text += node.feature == Node::leaf ? fmt::format("={}", node.number) : fmt::format("{}<{}", node.feature, node.number);
  }
  return text;
}

std::optional<RegressionTrees::Tree> RegressionTrees::parse(std::string_view text, std::uint32_t feature_count) {
  Tree tree;
  std::vector<std::uint32_t> open;  // nodes whose right child is still to come
  bool is_whole = false;
  while (!text.empty()) {
    const std::string_view word = next_part(text, " ");
    if (is_whole) return std::nullopt;
    const std::size_t mark = word.find_first_of("<=");
    if (mark == std::string_view::npos) return std::nullopt;
    const std::optional<float> number = plain_number<float>(word.substr(mark + 1));
    if (!number || !std::isfinite(*number)) return std::nullopt;
    const auto at = static_cast<std::uint32_t>(tree.size());
    if (word[mark] == '<') {
      const std::optional<std::uint32_t> feature = plain_number<std::uint32_t>(word.substr(0, mark));
      if (!feature || *feature >= feature_count) return std::nullopt;
      tree.push_back({*feature, *number, 0});
      open.push_back(at);
      continue;
    }
    if (mark != 0) return std::nullopt;
    tree.push_back({Node::leaf, *number, 0});
    // A subtree has ended: the next node is the right child of the last one that waits for it.
    if (open.empty()) {
      is_whole = true;
    } else {
      tree[open.back()].right = at + 1;
      open.pop_back();
    }
  }
  if (!is_whole) return std::nullopt;
  return tree;
}

}  // namespace weft
