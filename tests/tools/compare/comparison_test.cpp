// SPDX-License-Identifier: Apache-2.0
// Comparisons: what counts as a difference, what chance explains, and what folders and scenarios
// say of themselves.
#include "tools/compare/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "tests/tools/weft/weft_process.hpp"

namespace weft::comparison_test {
namespace {

/// A run's side with one figure, by seed from 1 on.
ComparedSide side_of(const std::vector<double>& values, const std::string& figure = "makespan_s") {
  ComparedSide side{.name = "side", .figures = {figure}, .cases = {ComparedCase{}}};
  for (std::size_t i = 0; i < values.size(); ++i) side.cases[0].figures[i + 1][figure] = values[i];
  return side;
}

void add_figure(ComparedSide& side, const std::string& figure, const std::vector<double>& values) {
  side.figures.push_back(figure);
  for (std::size_t i = 0; i < values.size(); ++i) side.cases[0].figures[i + 1][figure] = values[i];
}

}  // namespace

TEST(Comparison, OfOneSeedAnyDifferenceCountsUnlessItIsWithinTheThreshold) {
  const ComparedSide a = side_of({100});
  EXPECT_TRUE(compare(a, a, {}).are_identical());
  EXPECT_FALSE(compare(a, a, {}).is_past_threshold());
  const Comparison changed = compare(a, side_of({104}), {});
  ASSERT_EQ(changed.figures.size(), 1U);
  EXPECT_DOUBLE_EQ(*changed.figures[0].change(), 0.04);
  EXPECT_FALSE(changed.figures[0].p_value.has_value());
  EXPECT_TRUE(changed.is_past_threshold());
  EXPECT_TRUE(compare(a, side_of({104}), {.threshold = 0.039}).is_past_threshold());
  EXPECT_FALSE(compare(a, side_of({104}), {.threshold = 0.041}).is_past_threshold());
  EXPECT_FALSE(compare(a, side_of({96}), {.threshold = 0.041}).is_past_threshold());
  EXPECT_TRUE(compare(side_of({0}), side_of({1e-9}), {.threshold = 1000}).is_past_threshold());
  EXPECT_TRUE(compare(a, side_of({100}, "mean_jct_s"), {.threshold = 1000}).is_past_threshold());
}

TEST(Comparison, OnlyFiguresThatAreWatchedCount) {
  ComparedSide a = side_of({100});
  ComparedSide b = side_of({100});
  add_figure(a, "mean_jct_s", {1});
  add_figure(b, "mean_jct_s", {2});
  EXPECT_TRUE(compare(a, b, {}).is_past_threshold());
  const Comparison watched = compare(a, b, {.figures = {"makespan_s"}});
  EXPECT_FALSE(watched.is_past_threshold());
  EXPECT_EQ(watched.figures.size(), 1U);
  EXPECT_THROW(compare(a, b, {.figures = {"makespan"}}), InputError);
}

// Seeds that vary by 10 % each, one side 1 % slower at every seed: paired, it is beyond doubt.
TEST(Comparison, RunsOfEqualSeedsArePaired) {
  const std::vector<double> values = {100, 111, 92, 105, 97};
  std::vector<double> slower;
  for (const double value : values) slower.push_back(1.01 * value);
  const Comparison paired = compare(side_of(values), side_of(slower), {});
  ASSERT_EQ(paired.figures.size(), 1U);
  EXPECT_LT(*paired.figures[0].p_value, 0.001);
  EXPECT_TRUE(paired.is_past_threshold());
  // A seed that one side has by itself does not undo the pairs of the others.
  slower.push_back(101);
  EXPECT_EQ(*compare(side_of(values), side_of(slower), {}).figures[0].p_value, *paired.figures[0].p_value);
  ComparedSide others = side_of({});
  for (std::size_t i = 0; i < slower.size(); ++i) others.cases.front().figures[100 + i]["makespan_s"] = slower[i];
  EXPECT_GT(*compare(side_of(values), others, {}).figures[0].p_value, 0.5);
}

// Of 500 comparisons of equal distributions with twenty figures each, one in twenty or fewer says
// that anything changed, 2.1 % of them more or less by chance; without Holm's correction two in
// three would (1 - 0.95^20 = 0.64).
TEST(Comparison, ManyFiguresDoNotMakeAChangeOfChance) {
  RandomStream random(5, 1, 1);
  constexpr int comparisons = 500;
  int wrong = 0;
  for (int i = 0; i < comparisons; ++i) {
    const auto draw = [&] {
      std::vector<double> values(6);
      for (double& value : values) {
        for (int k = 0; k < 12; ++k) value += random.uniform();
      }
      return values;
    };
    ComparedSide a = side_of(draw(), "f0");
    ComparedSide b = side_of(draw(), "f0");
    for (int k = 1; k < 20; ++k) {
      add_figure(a, "f" + std::to_string(k), draw());
      add_figure(b, "f" + std::to_string(k), draw());
    }
    wrong += compare(a, b, {}).is_past_threshold() ? 1 : 0;
  }
  EXPECT_LE(wrong, comparisons * 0.08);
}

// One figure by twenty names is one test, and one that is watched is tested alone.
TEST(Comparison, TheSameByOtherNamesIsOneTest) {
  const std::vector<double> of_a = {10, 11, 12, 13};
  const std::vector<double> of_b = {11, 12.5, 13, 14.2};  // p is about 0.003
  ComparedSide a = side_of(of_a, "f0");
  ComparedSide b = side_of(of_b, "f0");
  for (int k = 1; k < 20; ++k) {
    add_figure(a, "f" + std::to_string(k), of_a);
    add_figure(b, "f" + std::to_string(k), of_b);
  }
  EXPECT_TRUE(compare(a, b, {}).is_past_threshold());
  RandomStream random(7, 1, 1);
  for (int k = 0; k < 40; ++k) {
    std::vector<double> noise;
    std::vector<double> other;
    for (int i = 0; i < 4; ++i) noise.push_back(random.uniform());
    for (int i = 0; i < 4; ++i) other.push_back(random.uniform());
    add_figure(a, "noise" + std::to_string(k), noise);
    add_figure(b, "noise" + std::to_string(k), other);
  }
  EXPECT_FALSE(compare(a, b, {}).is_past_threshold());
  EXPECT_TRUE(compare(a, b, {.figures = {"f0"}}).is_past_threshold());
}

TEST(Comparison, PointsOfStudiesAreMatchedByWhatTheySet) {
  ComparedSide a = side_of({1});
  ComparedSide b = side_of({2});
  a.is_study = b.is_study = true;
  a.cases[0].label = b.cases[0].label = "flow.queue_pairs=1";
  a.cases.push_back({"flow.queue_pairs=2", {}});
  b.cases.push_back({"flow.queue_pairs=4", {}});
  const Comparison comparison = compare(a, b, {});
  EXPECT_EQ(comparison.only_a, std::vector<std::string>{"flow.queue_pairs=2"});
  EXPECT_EQ(comparison.only_b, std::vector<std::string>{"flow.queue_pairs=4"});
  ASSERT_EQ(comparison.figures.size(), 1U);
  EXPECT_EQ(comparison.figures[0].label, "flow.queue_pairs=1");
  EXPECT_THROW(compare(a, side_of({1}), {}), InputError);
}

class ComparedFolders : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("cluster.textproto",
                  "mode: PACKET\n"
                  "topology { builder: \"clos\" set { name: \"hosts\" value: \"16\" } set { name: \"leaf_uplink_rate\" value: "
                  "\"12.5Gbps\" } }\n"
                  "job { name: \"a\" workload { file: \"ops.textproto\" } }\n");
    folder_.write("ops.textproto",
                  "ranks: 16 role { name: \"all\" op { name: \"x\" collective { type: ALL_TO_ALL size: \"16MB\" } } }\n");
  }
  int weft(const std::vector<std::string>& arguments) const { return run_weft({.folder = folder_.path()}, arguments).status; }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  TestFolder folder_;
};

TEST_F(ComparedFolders, OneBufferChangedIsNamedWithWhatItDoes) {
  ASSERT_EQ(weft({"run", "cluster.textproto", "--quiet", "--out=a"}), 0);
  ASSERT_EQ(weft({"run", "cluster.textproto", "--quiet", "--out=b", "--set=packet.ecn_kmin=4MB", "--set=packet.ecn_kmax=8MB"}), 0);
  EXPECT_EQ(weft({"compare", "a", "a"}), 0);
  EXPECT_EQ(weft({"compare", "a", "b"}), 1);
  const ComparedSide a = read_side(path("a"));
  EXPECT_TRUE(compare(a, read_side(path("a")), {}).are_identical());
  const Comparison comparison = compare(a, read_side(path("b")), {});
  ASSERT_EQ(comparison.inputs.size(), 2U);
  EXPECT_EQ(comparison.inputs[0].what, "parameter packet.ecn_kmax");
  EXPECT_EQ(comparison.inputs[1].what, "parameter packet.ecn_kmin");
  EXPECT_EQ(comparison.inputs[1].b, "4MB");
  EXPECT_TRUE(
      std::ranges::any_of(comparison.figures, [](const ComparedFigure& figure) { return figure.name == "packets.ecn_marks"; }));
  EXPECT_TRUE(std::ranges::any_of(comparison.cells, [](const ComparedNumber& one) {
    return one.cell.table == "links" && one.cell.column == "peak_queue_bytes" && one.a != one.b;
  }));
  EXPECT_TRUE(std::ranges::any_of(comparison.cells, [](const ComparedNumber& one) { return one.cell.row == "a"; }));
}

TEST_F(ComparedFolders, AScenarioThatIsRunIsTheFolderThatItLeaves) {
  ASSERT_EQ(weft({"run", "cluster.textproto", "--quiet", "--out=a"}), 0);
  const ComparedSide folder = read_side(path("a"));
  RunFlags flags;
  flags.scenario_file = path("cluster.textproto");
  const Comparison same = compare(folder, run_side(flags, {}), {});
  for (const ComparedFigure& figure : same.figures) ADD_FAILURE() << figure.name;
  for (const ComparedText& text : same.inputs) ADD_FAILURE() << text.what << ' ' << text.a << ' ' << text.b;
  for (const ComparedText& text : same.texts) ADD_FAILURE() << text.what << ' ' << text.a << ' ' << text.b;
  EXPECT_GT(folder.cells.size(), 100U);
  EXPECT_TRUE(same.cells.empty()) << same.cells[0].cell.row << ' ' << same.cells[0].cell.column;
  // Likewise where one of the folder's sides is run again with what it had.
  EXPECT_EQ(weft({"compare", "a", "a", "--set-b=packet.ecn_kmin=" + folder.parameters.at("packet.ecn_kmin")}), 0);
}

TEST_F(ComparedFolders, SeedsDoNotDependOnThreads) {
  RunFlags flags;
  flags.scenario_file = path("cluster.textproto");
  const ComparedSide one = run_side(flags, {.seeds = 3, .threads = 1});
  const ComparedSide two = run_side(flags, {.seeds = 3, .threads = 2});
  EXPECT_EQ(one.cases[0].figures, two.cases[0].figures);
  EXPECT_EQ(one.cases[0].figures.size(), 3U);
}

TEST_F(ComparedFolders, StudiesAreComparedPointByPoint) {
  const std::string study =
      "base { scenario: \"cluster.textproto\" } replicates: 3 metric { name: \"makespan_s\" }\n"
      "axis { name: \"flow.queue_pairs\" value: \"1\" value: \"4\" }\n";
  folder_.write("a.textproto", study);
  folder_.write("b.textproto", study + "axis { name: \"clos.leaf_uplink_rate\" value: \"12.5Gbps\" }\n");
  folder_.write("c.textproto",
                "base { scenario: \"cluster.textproto\" set { name: \"flow.wqe_latency\" value: \"2us\" } } replicates: 3 "
                "metric { name: \"makespan_s\" } axis { name: \"flow.queue_pairs\" value: \"1\" value: \"4\" }\n");
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(weft({"study", std::string(name) + ".textproto", "--quiet"}), 0) << name;
  EXPECT_EQ(weft({"compare", "a", "a"}), 0);
  EXPECT_EQ(compare(read_side(path("a")), read_side(path("b")), {}).only_a.size(), 2U);
  const Comparison comparison = compare(read_side(path("a")), read_side(path("c")), {});
  EXPECT_EQ(comparison.seeds, 3U);
  ASSERT_EQ(comparison.figures.size(), 2U);
  EXPECT_EQ(comparison.figures[1].label, "flow.queue_pairs=4");
}

TEST_F(ComparedFolders, WhatIsNoResultIsRefused) {
  const auto code_of = [&](const std::string& name) -> std::string {
    try {
      read_side(path(name));
    } catch (const InputError& error) {
      return error.diagnostics().front().code;
    }
    return "";
  };
  EXPECT_EQ(code_of("nowhere"), "no-results");
  EXPECT_EQ(code_of("."), "no-results");
  for (const char* name : {"half", "study", "broken", "stopped"}) std::filesystem::create_directory(folder_ / name);
  folder_.write("half/manifest.json.partial", "{}");
  EXPECT_EQ(code_of("half"), "unfinished-run");
  folder_.write("study/study.json", "{}");
  EXPECT_EQ(code_of("study"), "unfinished-run");
  folder_.write("study/study.csv", "run\n");
  EXPECT_EQ(code_of("study"), "bad-results");
  folder_.write("broken/summary.json", "[");
  folder_.write("broken/manifest.json", "{}");
  EXPECT_EQ(code_of("broken"), "bad-results");
  folder_.write("stopped/summary.json", "{\"interrupted\": true}");
  folder_.write("stopped/manifest.json", "{}");
  EXPECT_EQ(code_of("stopped"), "unfinished-run");
}

}  // namespace weft::comparison_test
