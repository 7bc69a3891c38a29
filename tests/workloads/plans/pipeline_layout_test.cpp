// SPDX-License-Identifier: Apache-2.0
// Layers of pipeline positions.
#include "workloads/plans/pipeline_layout.hpp"

#include <gtest/gtest.h>

namespace weft::pipeline_layout_test {

namespace {

std::vector<std::uint64_t> counts(const LayoutRequest& request) {
  const auto result = pipeline_layout(request);
  EXPECT_TRUE(std::holds_alternative<PipelineLayout>(result)) << std::get<std::string>(result);
  std::vector<std::uint64_t> all;
  std::uint64_t next = 0;
  for (const LayerRange& range : std::get<PipelineLayout>(result)) {
    EXPECT_EQ(range.first, next);
    next = range.end();
    all.push_back(range.count);
  }
  EXPECT_EQ(next, request.layers);
  return all;
}

std::string rule(const LayoutRequest& request) {
  const auto result = pipeline_layout(request);
  return std::holds_alternative<std::string>(result) ? std::get<std::string>(result) : "";
}

using Counts = std::vector<std::uint64_t>;

}  // namespace

TEST(PipelineLayout, GivesWhatIsLeftToTheFirstPositions) {
  // 61 layers over 4 stages; a floor would lose one, and 62 two.
  EXPECT_EQ(counts({.layers = 61, .stages = 4}), (Counts{16, 15, 15, 15}));
  EXPECT_EQ(counts({.layers = 62, .stages = 4}), (Counts{16, 16, 15, 15}));
  EXPECT_EQ(counts({.layers = 10, .stages = 2, .chunks = 2}), (Counts{3, 3, 2, 2}));
}

TEST(PipelineLayout, CountsEndsAsLayers) {
  // 126 layers and two ends are 128: two for each of 8 x 8 positions.
  const Counts all = counts({.layers = 126, .stages = 8, .chunks = 8, .count_embedding = true, .count_output = true});
  EXPECT_EQ(all.size(), 64U);
  EXPECT_EQ(all.front(), 1U);
  EXPECT_EQ(all[1], 2U);
  EXPECT_EQ(all.back(), 1U);
}

TEST(PipelineLayout, TakesGivenEnds) {
  EXPECT_EQ(counts({.layers = 61, .stages = 4, .first_stage_layers = 16, .last_stage_layers = 13}), (Counts{16, 16, 16, 13}));
  EXPECT_EQ(counts({.layers = 20, .stages = 4, .last_stage_layers = 2}), (Counts{6, 6, 6, 2}));
  EXPECT_EQ(counts({.layers = 14, .stages = 2, .chunks = 2, .first_stage_layers = 8}), (Counts{4, 3, 4, 3}));
}

TEST(PipelineLayout, ReadsMegatronsText) {
  EXPECT_EQ(counts({.layers = 5, .stages = 2, .text = "Et*3|ttL"}), (Counts{3, 2}));
  EXPECT_EQ(counts({.layers = 61, .stages = 31, .text = "Et*3|(tt|)*29,L"}).size(), 31U);
}

TEST(PipelineLayout, NamesTheRuleThatATextBreaks) {
  EXPECT_EQ(rule({.layers = 5, .stages = 2, .text = "Et*3|tL"}), "layout has 4 layers, the model 5");
  EXPECT_EQ(rule({.layers = 5, .stages = 2, .text = "Et*5L"}), "layout has 1 positions; stages x chunks are 2 x 1");
  EXPECT_EQ(rule({.layers = 5, .stages = 2, .text = "t*3|ttL"}), "layout begins with E, the embedding");
  EXPECT_EQ(rule({.layers = 5, .stages = 2, .text = "Et*3|tt"}), "layout ends with L, the output layer");
  EXPECT_EQ(rule({.layers = 5, .stages = 2, .text = "Et*x|ttL"}), "layout has no number behind * at character 4");
  EXPECT_EQ(rule({.layers = 5, .stages = 2, .text = "E(t|ttL"}), "layout has a ( that no ) ends");
  EXPECT_EQ(rule({.layers = 5, .stages = 2, .text = "Et)|ttL"}), "layout has a ) too many, at character 3");
  EXPECT_EQ(rule({.layers = 5, .stages = 2, .text = "Em|ttL"}), "layout has \"m\" at character 2: letters are E, t, L and |");
  EXPECT_EQ(rule({.layers = 5, .stages = 2, .text = "E(t*1000000)*1000000|L"}), "layout has more than a million letters");
}

TEST(PipelineLayout, NeedsALayerPerPosition) {
  EXPECT_EQ(rule({.layers = 7, .stages = 4, .chunks = 2}), "every position has a layer at least: 7 layers, 4 stages x 2 chunks");
  EXPECT_EQ(rule({.layers = 20, .stages = 4, .chunks = 3, .last_stage_layers = 2}),
            "every position has a layer at least: stage 3 has 2 layers for 3 chunks");
}

}  // namespace weft::pipeline_layout_test
