// SPDX-License-Identifier: Apache-2.0
// Studies whose points are projections of training across sites: which figures they have, what is
// empty, and what is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "tests/error_code.hpp"
#include "tools/projections/site_figures.hpp"
#include "tools/study/study.hpp"
#include "tools/study/study_points.hpp"
#include "tools/study/study_projection.hpp"
#include "tools/study/study_runner.hpp"

namespace weft::projection_study_test {
namespace {

namespace fs = std::filesystem;

class StudiesOfProjections : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weft_projection_study_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Study study(const std::string& text) const {
    std::ofstream(folder_ / "study.textproto") << text;
    return read_study((folder_ / "study.textproto").string());
  }
  std::string code_of(const std::string& text) const {
    return error_code_of([&] { study(text); });
  }
  StudyResult run(const Study& asked, const std::string& out, std::uint32_t threads = 1) const {
    StudyOptions options;
    options.out = (folder_ / out).string();
    options.threads = threads;
    return run_study(asked, options);
  }
  std::string table_of(const std::string& out) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / out / "study.csv").rdbuf();
    return text.str();
  }

  fs::path folder_;
};

const std::string forms = "base { projection: \"decentralized\" } ";
const std::string simulated = "base { projection: \"decentralized\" simulate: true set { name: \"sites.rounds\" value: \"1\" } } ";
const std::string nodes = "axis { name: \"decentralized.numNodes\" value: \"3\" value: \"16\" value: \"72\" } ";

std::string metrics(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += "metric { name: \"" + name + "\" } ";
  return text;
}

DecentralizedForecast forecast(const std::vector<std::string>& settings) {
  ParamSet params("decentralized", decentralized_params());
  for (const std::string& text : settings) {
    const std::size_t equals = text.find('=');
    params.set(text.substr(0, equals), text.substr(equals + 1), {});
  }
  return forecast_decentralized(filled<DecentralizedSettings>(params), false, SourcePlace::named("test"));
}

}  // namespace

TEST_F(StudiesOfProjections, HaveTheQuantitiesOfEachPointAndOfEachMode) {
  const Study asked = study(forms + nodes +
                            metrics({"T_outer", "T_effective", "global_MFU", "mode", "T_global_cycle", "diloco.T_effective",
                                     "hierarchical.T_effective", "pipeline.T_step", "pipeline_groups.T_effective"}));
  const StudyResult result = run(asked, "out");
  ASSERT_EQ(result.records.size(), 3U);
  EXPECT_EQ(result.failed(), 0U);
  for (const auto& [point, count] : {std::pair(0, "numNodes=3"), std::pair(1, "numNodes=16"), std::pair(2, "numNodes=72")}) {
    SCOPED_TRACE(count);
    const std::vector<std::optional<double>>& values = result.records[static_cast<std::size_t>(point)]->values;
    const DecentralizedForecast own = forecast({count});
    EXPECT_EQ(values[0], own.of("T_outer"));
    EXPECT_EQ(values[1], own.of("T_effective"));
    EXPECT_EQ(values[2], own.of("global_MFU"));
    EXPECT_EQ(values[3], 0);
    EXPECT_EQ(values[4], std::nullopt) << "T_global_cycle is of the hierarchical mode";
    EXPECT_EQ(values[5], own.of("T_effective"));
    EXPECT_EQ(values[7], forecast({count, "mode=pipeline"}).of("T_step"));
    // A region has eight nodes, and two groups of two stages have four.
    if (point == 0) {
      EXPECT_EQ(values[6], std::nullopt);
      EXPECT_EQ(values[8], std::nullopt);
    } else {
      EXPECT_EQ(values[6], forecast({count, "mode=hierarchical"}).of("T_effective"));
      EXPECT_EQ(values[8], forecast({count, "mode=pipeline_groups"}).of("T_effective"));
    }
  }
}

// The winner is the mode with the smallest run, by formula and simulated.
TEST_F(StudiesOfProjections, NameTheModeThatWins) {
  const std::vector<std::string> modes = {"diloco", "hierarchical", "pipeline", "pipeline_groups"};
  std::vector<std::string> names = {"winner", "winner.T_effective", "simulated.winner", "regret", "winner.formula_error"};
  for (const std::string& mode : modes) {
    for (const char* figure : {"T_effective", "simulated.T_effective", "formula_error"}) names.push_back(mode + "." + figure);
  }
  const StudyResult result = run(study(simulated +
                                       "axis { name: \"decentralized.innerSteps\" value: \"1\" value: \"16\" } "
                                       "axis { name: \"decentralized.bandwidthMbps\" value: \"10\" value: \"1000\" } "
                                       "axis { name: \"decentralized.numNodes\" value: \"4\" value: \"16\" } " +
                                       metrics(names)),
                                 "out");
  std::set<double> winners;
  for (const std::optional<StudyRecord>& record : result.records) {
    ASSERT_EQ(record->error, "");
    const auto smallest = [&](std::size_t figure) {
      std::optional<std::size_t> best;
      for (std::size_t mode = 0; mode < modes.size(); ++mode) {
        const std::optional<double> value = record->values[5 + 3 * mode + figure];
        if (value && (!best || *value < *record->values[5 + 3 * *best + figure])) best = mode;
      }
      return *best;
    };
    const std::size_t winner = smallest(0);
    const std::size_t best = smallest(1);
    EXPECT_EQ(record->values[0], static_cast<double>(winner));
    EXPECT_EQ(record->values[1], record->values[5 + 3 * winner]);
    EXPECT_EQ(record->values[2], static_cast<double>(best));
    EXPECT_DOUBLE_EQ(*record->values[3], *record->values[6 + 3 * winner] / *record->values[6 + 3 * best] - 1);
    EXPECT_EQ(record->values[4], record->values[7 + 3 * winner]);
    winners.insert(*record->values[0]);
    for (std::size_t mode = 0; mode < modes.size(); ++mode) {
      const std::size_t at = 5 + 3 * mode;
      ASSERT_EQ(record->values[at].has_value(), record->values[at + 2].has_value()) << modes[mode];
      if (record->values[at]) {
        EXPECT_NEAR(*record->values[at] / *record->values[at + 1] - 1, *record->values[at + 2], 1e-9) << modes[mode];
      }
    }
  }
  EXPECT_GT(winners.size(), 1U);
}

TEST_F(StudiesOfProjections, AreTheSameOnAnyNumberOfThreadsAndGoOnWhereTheyStopped) {
  const std::string text = simulated + nodes + "axis { name: \"sites.exchange\" value: \"star\" value: \"ring\" } replicates: 2 " +
                           "axis { name: \"sites.bandwidthSpread\" value: \"0\" value: \"0.3\" } " +
                           metrics({"simulated.round_s", "simulated.utilisation", "formula_error"});
  const Study asked = study(text);
  run(asked, "one", 1);
  run(asked, "three", 3);
  EXPECT_EQ(table_of("one"), table_of("three"));
  // A share of the runs, and then the others.
  StudyOptions options;
  options.out = (folder_ / "shares").string();
  options.shares = 2;
  run_study(asked, options);
  EXPECT_EQ(table_of("shares"), "");
  options.shares = 1;
  options.earlier = StudyFolder::Earlier::kept;
  run_study(asked, options);
  EXPECT_EQ(table_of("shares"), table_of("one"));
}

// Replicates draw their lines anew; where lines are equal, nothing is drawn.
TEST_F(StudiesOfProjections, DrawWithTheReplicatesSeed) {
  const Study asked = study(simulated + "axis { name: \"sites.bandwidthSpread\" value: \"0\" value: \"0.3\" } replicates: 2 " +
                            metrics({"simulated.round_s"}));
  const StudyResult result = run(asked, "out");
  EXPECT_EQ(result.records[0]->values, result.records[1]->values);
  EXPECT_NE(result.records[2]->values, result.records[3]->values);
  EXPECT_NE(result.records[0]->fingerprint, result.records[2]->fingerprint);
}

// 300 billion parameters take three nodes: settings that fit nowhere are a failed run, and leave
// the figures of the modes empty.
TEST_F(StudiesOfProjections, SayWhatFitsNowhere) {
  const std::string large =
      "point { set { name: \"decentralized.parameters\" value: \"300\" } "
      "set { name: \"decentralized.numNodes\" value: \"2\" } } ";
  const StudyResult own = run(study(forms + large + metrics({"T_effective"})), "own");
  EXPECT_NE(own.records[0]->error.find("the model takes 3 nodes, and there are 2 [does-not-fit]"), std::string::npos);
  const StudyResult map = run(study(forms + large + metrics({"winner", "diloco.T_effective"})), "map");
  EXPECT_EQ(map.records[0]->error, "");
  EXPECT_EQ(map.records[0]->values, (std::vector<std::optional<double>>{std::nullopt, std::nullopt}));
}

// Ten nodes are no regions of eight where they are simulated, though formulas know 1.25 of them.
TEST_F(StudiesOfProjections, NoteWhatCannotBeSimulated) {
  const StudyResult result = run(study(simulated + "axis { name: \"decentralized.numNodes\" value: \"10\" } " +
                                       metrics({"hierarchical.T_effective", "hierarchical.formula_error"})),
                                 "out");
  EXPECT_TRUE(result.records[0]->values[0].has_value());
  EXPECT_FALSE(result.records[0]->values[1].has_value());
  ASSERT_EQ(result.records[0]->notes.size(), 1U);
  EXPECT_EQ(result.records[0]->notes[0].find("mode hierarchical is not simulated: numNodes = 10"), 0U);
}

TEST_F(StudiesOfProjections, HaveRangesOfVariables) {
  const Study asked = study(forms + "axis { name: \"decentralized.numNodes\" range { from: 10 to: 1000 values: 3 scale: LOG } } " +
                            metrics({"T_effective"}));
  std::vector<std::string> values;
  for (const StudyPoint& point : points_of(asked)) values.push_back(point.value_of("decentralized.numNodes"));
  EXPECT_EQ(values, (std::vector<std::string>{"10", "100", "1000"}));
}

TEST_F(StudiesOfProjections, HaveUnitsOfTheirFigures) {
  const Study asked = study(simulated + nodes + metrics({"T_effective", "pipeline.M_req", "simulated.round_s", "winner"}));
  std::vector<std::string> units;
  for (const StudyMetric& metric : asked.metrics) units.push_back(unit_of(metric));
  EXPECT_EQ(units, (std::vector<std::string>{"d", "GB", "s", ""}));
  EXPECT_EQ(asked.metrics[0].numbering, "");
  EXPECT_EQ(asked.metrics[3].numbering, "0 diloco, 1 hierarchical, 2 pipeline, 3 pipeline_groups");
  // Every quantity that the modes have is known.
  for (const char* mode : {"diloco", "hierarchical", "pipeline", "pipeline_groups"}) {
    for (const SiteQuantity& quantity : forecast({std::string("mode=") + mode, "zeroBubble=true"}).quantities)
      EXPECT_EQ(projected_figure(std::string(quantity.name), *asked.projection, SourcePlace::named("test")).unit, quantity.unit);
  }
}

TEST_F(StudiesOfProjections, RefuseWhatIsOfRuns) {
  const std::string metric = metrics({"T_effective"});
  EXPECT_EQ(code_of("base { projection: \"training\" } " + nodes + metric), "bad-value");
  EXPECT_EQ(code_of("base { projection: \"decentralized\" workload: \"a.textproto\" } " + nodes + metric), "unused-field");
  EXPECT_EQ(code_of("base { projection: \"decentralized\" mode: \"flow\" } " + nodes + metric), "unused-field");
  EXPECT_EQ(code_of("base { scenario: \"a.textproto\" simulate: true } " + nodes + metric), "unused-field");
  EXPECT_EQ(code_of(forms + "prices: \"prices.textproto\" " + nodes + metric), "unused-field");
  EXPECT_EQ(code_of(forms + "measure_machine: true " + nodes + metric), "unused-field");
  EXPECT_EQ(code_of(forms + "replicates: 2 " + nodes + metric), "unused-field");
  EXPECT_EQ(code_of(forms + nodes + "metric { name: \"wait\" column: \"jobs.wait_s\" }"), "unused-field");
  EXPECT_EQ(code_of(forms + nodes + "metric { name: \"T_effective\" statistic: MAX }"), "unused-field");
  EXPECT_EQ(code_of(forms + nodes + metrics({"makespan_s"})), "unknown-metric");
  EXPECT_EQ(code_of(forms + nodes + metrics({"formula_error"})), "unknown-metric");
  EXPECT_EQ(code_of(forms + nodes), "missing-field");
  const auto axis_of = [&](const std::string& name, const std::string& value) {
    return code_of(forms + "axis { name: \"" + name + "\" value: \"" + value + "\" } " + metric);
  };
  EXPECT_EQ(axis_of("decentralized.nodes", "3"), "unknown-param");
  EXPECT_EQ(axis_of("decentralized.numNodes", "0"), "out-of-range");
  EXPECT_EQ(axis_of("decentralized.numNodes", "many"), "bad-value");
  EXPECT_EQ(axis_of("flow.queue_pairs", "3"), "unknown-axis");
  EXPECT_EQ(axis_of("mode", "flow"), "unknown-axis");
  EXPECT_EQ(axis_of("sites.exchange", "ring"), "unused-setting");
  EXPECT_EQ(code_of(simulated + "axis { name: \"sites.seed\" value: \"1\" } " + metric), "unused-setting");
  EXPECT_EQ(code_of("base { projection: \"decentralized\" set { name: \"decentralized.mfu\" value: \"2\" } } " + nodes + metric),
            "out-of-range");
}

}  // namespace weft::projection_study_test
