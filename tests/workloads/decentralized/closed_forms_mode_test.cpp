// SPDX-License-Identifier: Apache-2.0
// Modes of training across sites that settings ask for, in place of the one that memory leads to.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "tests/error_code.hpp"
#include "workloads/decentralized/closed_forms.hpp"

namespace weft::closed_forms_mode_test {
namespace {

DecentralizedForecast forecast(const std::vector<std::string>& settings) {
  ParamSet params("decentralized", decentralized_params());
  for (const std::string& text : settings) {
    const std::size_t equals = text.find('=');
    params.set(text.substr(0, equals), text.substr(equals + 1), {});
  }
  return forecast_decentralized(filled<DecentralizedSettings>(params), false, SourcePlace::named("test"));
}

/// Code and help of the first error.
std::string refusal(const std::vector<std::string>& settings) {
  try {
    forecast(settings);
  } catch (const InputError& error) {
    return error.diagnostics().front().code + ": " + error.diagnostics().front().help;
  }
  return "";
}

void expect_equal(const std::vector<std::string>& settings, const std::vector<std::string>& others) {
  const DecentralizedForecast one = forecast(settings);
  const DecentralizedForecast other = forecast(others);
  EXPECT_EQ(one.mode, other.mode);
  EXPECT_EQ(one.has_regions, other.has_regions);
  ASSERT_EQ(one.quantities.size(), other.quantities.size());
  for (const SiteQuantity& quantity : one.quantities) EXPECT_EQ(quantity.value, other.of(quantity.name)) << quantity.name;
}

// To ask for what memory leads to anyway changes nothing.
TEST(ModesOfSites, AskedForAreThoseThatMemoryLeadsTo) {
  expect_equal({"mode=diloco"}, {});
  expect_equal({"mode=hierarchical", "hierarchicalEnabled=true"}, {"hierarchicalEnabled=true"});
  expect_equal({"mode=pipeline", "parameters=300", "numNodes=5"}, {"parameters=300", "numNodes=5"});
  expect_equal({"mode=pipeline_groups", "parameters=300"}, {"parameters=300"});
}

// DiLoCo knows no regions, and hierarchical DiLoCo has them, whatever else is said of them.
TEST(ModesOfSites, SayWhetherThereAreRegions) {
  expect_equal({"mode=diloco", "hierarchicalEnabled=true"}, {});
  expect_equal({"mode=hierarchical"}, {"hierarchicalEnabled=true"});
  EXPECT_TRUE(forecast({"mode=pipeline_groups", "hierarchicalEnabled=true"}).has_regions);
  EXPECT_FALSE(forecast({"mode=pipeline_groups"}).has_regions);
  EXPECT_FALSE(forecast({"mode=pipeline", "hierarchicalEnabled=true"}).has_regions);
}

// A model that fits a node is cut in two: 8 microbatches and one more slot, in each of which a
// sixteenth of a step is computed and an eighth of the activations sent.
TEST(ModesOfSites, CutModelsThatFitANodeInTwo) {
  const DecentralizedForecast one = forecast({"mode=pipeline", "stragglerCoefficient=0"});
  EXPECT_EQ(one.of("S"), 2);
  EXPECT_EQ(one.of("nodes_used"), 2);
  const double slot_s = 8.84736 / 16 + one.of("A") / 8 * 8 / 100e6 + 0.1;
  EXPECT_NEAR(one.of("T_step"), 9 * slot_s, 1e-9 * slot_s);
  const DecentralizedForecast groups = forecast({"mode=pipeline_groups", "stragglerCoefficient=0"});
  EXPECT_EQ(groups.of("G"), 36);
  EXPECT_EQ(groups.of("T_PP_step"), one.of("T_step"));
}

// Several groups and one pipeline over as many nodes: where there are four, either can be.
TEST(ModesOfSites, OfPipelinesDoNotDependOnWhatElseTheNodesWouldDo) {
  EXPECT_EQ(forecast({"mode=pipeline", "parameters=300"}).mode, DecentralizedMode::pipeline);
  EXPECT_EQ(forecast({"mode=pipeline_groups", "numNodes=4"}).of("G"), 2);
  // A region of eight has no say in pipelines of two.
  EXPECT_EQ(forecast({"mode=pipeline_groups", "numNodes=4", "hierarchicalEnabled=true"}).of("G"), 2);
  EXPECT_EQ(forecast({"mode=pipeline", "numNodes=2", "hierarchicalEnabled=true"}).of("S"), 2);
}

TEST(ModesOfSites, ThatCannotBeAreRefusedWithTheLegalRange) {
  EXPECT_EQ(refusal({"mode=diloco", "parameters=300"}),
            "bad-plan: mode is auto, pipeline or pipeline_groups; or raise vramPerNode to 4800 GB");
  EXPECT_EQ(refusal({"mode=hierarchical", "parameters=300"}),
            "bad-plan: mode is auto, pipeline or pipeline_groups; or raise vramPerNode to 4800 GB");
  EXPECT_EQ(refusal({"mode=hierarchical", "numNodes=4"}), "bad-plan: nodesPerGroup is from 1 to 4, as numNodes says");
  EXPECT_EQ(refusal({"mode=pipeline", "numNodes=1"}), "bad-plan: numNodes is at least 2, a node for each stage");
  EXPECT_EQ(refusal({"mode=pipeline_groups", "numNodes=3"}), "bad-plan: numNodes is at least 4, two groups of 2 stages");
  // 300 billion parameters at 16 bytes are 4,800 GB, three nodes of 2,304.
  EXPECT_EQ(refusal({"mode=pipeline_groups", "parameters=300", "numNodes=5"}),
            "bad-plan: numNodes is at least 6, two groups of 3 stages");
  // Layers are of DiLoCo alone.
  EXPECT_EQ(forecast({"mode=diloco", "layers=4", "streamingEnabled=false", "hierarchicalEnabled=true"}).mode,
            DecentralizedMode::data_parallel);
  EXPECT_EQ(refusal({"mode=hierarchical", "layers=4", "streamingEnabled=false"}), "bad-plan: layers is 1 with them");
  EXPECT_EQ(refusal({"mode=pipeline", "layers=4", "streamingEnabled=false"}), "bad-plan: layers is 1 with them");
  EXPECT_EQ(error_code_of([] { forecast({"mode=A"}); }), "bad-value");
}

}  // namespace
}  // namespace weft::closed_forms_mode_test
