// SPDX-License-Identifier: Apache-2.0
// Regression trees: ways through a tree worked out by hand, text and back, texts that are no tree.
#include "host/op_times/regression_trees.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weft::regression_trees_test {
namespace {

constexpr const char* tree_text = "1<0.5 0<2 =-0.5 =0.25 =1";

RegressionTrees trees_of(std::initializer_list<const char*> texts) {
  RegressionTrees trees;
  for (const char* text : texts) trees.add(RegressionTrees::parse(text, 2).value());
  return trees;
}

// Feature 1 below 0.5: then feature 0 below 2 is -0.5, else 0.25. A threshold itself goes right.
TEST(RegressionTrees, GoesLeftBelowAThreshold) {
  const RegressionTrees trees = trees_of({tree_text});
  const auto at = [&](float zero, float one) { return trees.predict(std::array{zero, one}); };
  EXPECT_EQ(at(1.0F, 0.0F), -0.5);
  EXPECT_EQ(at(2.0F, 0.0F), 0.25);
  EXPECT_EQ(at(1.0F, 0.5F), 1.0);
}

TEST(RegressionTrees, SumsItsTrees) {
  RegressionTrees trees = trees_of({tree_text, "=2", "0<1 =10 =20"});
  EXPECT_EQ(trees.predict(std::array{1.0F, 0.0F}), -0.5 + 2 + 20);
  EXPECT_EQ(trees.node_count(), 5U + 1U + 3U);
  trees.keep_first(2);
  EXPECT_EQ(trees.size(), 2U);
  EXPECT_EQ(trees.node_count(), 6U);
  EXPECT_EQ(trees.predict(std::array{1.0F, 0.0F}), 1.5);
}

TEST(RegressionTrees, TextReadsBackToTheSameNumbers) {
  const RegressionTrees trees = trees_of({tree_text, "0<0.1 =1e-20 =3.4028235e+38", "=0.333333343"});
  RegressionTrees again;
  for (std::size_t i = 0; i < trees.size(); ++i) again.add(RegressionTrees::parse(trees.tree_text(i), 2).value());
  EXPECT_EQ(trees.tree_text(0), tree_text);
  for (std::size_t i = 0; i < trees.size(); ++i) EXPECT_EQ(again.tree_text(i), trees.tree_text(i));
  EXPECT_EQ(again.predict(std::array{0.05F, 1.0F}), trees.predict(std::array{0.05F, 1.0F}));
}

TEST(RegressionTrees, RefusesWhatIsNoWholeTree) {
  for (const char* text : {"", "0<1 =1", "=1 =2", "2<1 =1 =1", "0<1 =1 =x", "0<inf =1 =2", "=nan", "0=1", "x<1 =1 =1", "-1<1 =1 =1",
                           "0<1  =1 =1", "0 =1", "<1 =1 =1"}) {
    EXPECT_FALSE(RegressionTrees::parse(text, 2)) << text;
  }
}

}  // namespace
}  // namespace weft::regression_trees_test
