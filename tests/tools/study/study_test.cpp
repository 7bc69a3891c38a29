// SPDX-License-Identifier: Apache-2.0
// Studies: which runs there are, what is noted of them, and that nothing is lost or repeated when a
// study is cut off.
#include "tools/study/study.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/mean_interval.hpp"
#include "core/values/units.hpp"
#include "tests/error_code.hpp"
#include "tools/results/memory_sink.hpp"
#include "tools/simulation/run.hpp"
#include "tools/study/study_points.hpp"
#include "tools/study/study_runner.hpp"

namespace weft::study_test {
namespace {

namespace fs = std::filesystem;

class Studies : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weft_study_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write("cluster.textproto",
          "topology { builder: \"fat_tree\" set { name: \"k\" value: \"4\" } }\n"
          "job { name: \"a\" gpus: 8 iterations: 3 workload { file: \"ops.textproto\" } }\n"
          "job { name: \"b\" gpus: 8 iterations: 2 workload { file: \"ops.textproto\" } }\n");
    write("ops.textproto",
          "ranks: 8 role { name: \"all\" op { name: \"gather\" collective { type: ALL_GATHER size: \"1MB\" } } }\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  std::string read(const fs::path& path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  Study study(const std::string& text) const {
    write("study.textproto", "base { scenario: \"cluster.textproto\" }\n" + text);
    return read_study((folder_ / "study.textproto").string());
  }
  std::string code_of(const std::string& text) const {
    return error_code_of([&] { study(text); });
  }
  StudyOptions options(const std::string& out) const {
    StudyOptions made;
    made.out = (folder_ / out).string();
    made.threads = 2;
    return made;
  }
  std::string table_of(const std::string& out) const { return read(folder_ / out / "study.csv"); }

  fs::path folder_;
};

constexpr const char* metric = "metric { name: \"makespan_s\" }";
const std::string two_axes =
    "axis { name: \"flow.wqe_latency\" value: \"1us\" value: \"2us\" value: \"4us\" }\n"
    "axis { name: \"fat_tree.fabric_rate\" value: \"100Gbps\" value: \"400Gbps\" }\n"
    "replicates: 2 metric { name: \"makespan_s\" } metric { name: \"last\" column: \"jobs.end_s\" statistic: MAX }\n";

}  // namespace

TEST_F(Studies, AGridHasEveryValueWithEveryOtherAndTheLastAxisIsFastest) {
  const std::vector<StudyPoint> points = points_of(study(two_axes));
  ASSERT_EQ(points.size(), 3U * 2 * 2);
  EXPECT_EQ(points.size(), point_count(study(two_axes)));
  std::vector<std::string> order;
  for (const StudyPoint& point : points) {
    EXPECT_EQ(point.seed, 1 + point.replicate);
    if (point.replicate == 0) order.push_back(point.value_of("flow.wqe_latency") + " " + point.value_of("fat_tree.fabric_rate"));
  }
  EXPECT_EQ(order,
            (std::vector<std::string>{"1us 100Gbps", "1us 400Gbps", "2us 100Gbps", "2us 400Gbps", "4us 100Gbps", "4us 400Gbps"}));
}

TEST_F(Studies, OneAtATimeMovesOneAxisFromTheFirstValues) {
  std::vector<std::string> order;
  const Study one = study("sampling: ONE_AT_A_TIME " + two_axes);
  for (const StudyPoint& point : points_of(one)) {
    if (point.replicate == 0) order.push_back(point.value_of("flow.wqe_latency") + " " + point.value_of("fat_tree.fabric_rate"));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"1us 100Gbps", "2us 100Gbps", "4us 100Gbps", "1us 400Gbps"}));
  EXPECT_EQ(point_count(one), 2 * order.size());
}

// Of 20 samples each has another twentieth of the range, and of two values either has half.
TEST_F(Studies, ALatinHypercubeHasASampleInEveryPartOfEveryAxis) {
  const Study cube = study(std::string("sampling: LATIN_HYPERCUBE samples: 20\n"
                                       "axis { name: \"flow.wqe_latency\" range { from: 2 to: 42 unit: \"us\" } }\n"
                                       "axis { name: \"fat_tree.fabric_rate\" value: \"100Gbps\" value: \"400Gbps\" }\n") +
                           metric);
  const std::vector<StudyPoint> points = points_of(cube);
  ASSERT_EQ(points.size(), 20U);
  std::set<int> parts;
  int slow = 0;
  for (const StudyPoint& point : points) {
    const double latency_us = parse_duration(point.value_of("flow.wqe_latency")).value->in_ns() / 1000;
    parts.insert(static_cast<int>(std::floor((latency_us - 2) / 2)));
    slow += point.value_of("fat_tree.fabric_rate") == "100Gbps" ? 1 : 0;
  }
  EXPECT_EQ(parts.size(), 20U);
  EXPECT_EQ(*parts.begin(), 0);
  EXPECT_EQ(*parts.rbegin(), 19);
  EXPECT_EQ(slow, 10);
}

// Equal steps or ratios, to the tick, byte or whole number that the parameter can be set to.
TEST_F(Studies, RangesHaveBothEndsAndValuesThatTheirParametersCanHave) {
  const auto values_of = [&](const std::string& name, const std::string& range) {
    std::vector<std::string> values;
    const Study asked = study("axis { name: \"" + name + "\" range { " + range + " } } " + metric);
    for (const StudyPoint& point : points_of(asked)) values.push_back(point.value_of(name));
    return values;
  };
  EXPECT_EQ(values_of("flow.wqe_latency", "from: 1 to: 9 unit: \"us\" values: 5"),
            (std::vector<std::string>{"1us", "3us", "5us", "7us", "9us"}));
  EXPECT_EQ(values_of("packet.buffer", "from: 1 to: 16 unit: \"MB\" values: 3 scale: LOG"),
            (std::vector<std::string>{"1MB", "4MB", "16MB"}));
  // 0.1 us x 10^(2/3) is 46,415.9 ps, and a tick is 10 ps.
  EXPECT_EQ(values_of("flow.wqe_latency", "from: 0.1 to: 10 unit: \"us\" values: 4 scale: LOG")[1], "464.16ns");
  EXPECT_EQ(values_of("flow.queue_pairs", "from: 1 to: 4 values: 3"), (std::vector<std::string>{"1", "3", "4"}));
  const StudyRange flag{.from = 1, .to = 2000001, .values = 3};
  EXPECT_EQ(flag.value_at(0.5), "1000001");
  EXPECT_EQ(flag.value_at(1), "2000001");
  const StudyRange millions{.from = 1000000, .to = 4000000, .values = 2};
  EXPECT_EQ(millions.value_at(1), "4000000");
}

TEST_F(Studies, WhatGoesAlongAnAxisMovesWithIt) {
  const Study zipped = study(std::string("axis { name: \"flow.wqe_latency\" value: \"1us\" value: \"2us\" "
                                         "along { name: \"mode\" value: \"flow\" value: \"packet\" } }\n") +
                             metric);
  const std::vector<StudyPoint> points = points_of(zipped);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(flags_of(zipped, points[0]).mode, "flow");
  EXPECT_EQ(flags_of(zipped, points[1]).mode, "packet");
  EXPECT_EQ(flags_of(zipped, points[1]).settings, std::vector<std::string>{"flow.wqe_latency=2us"});
}

// What a run of the command would say.
TEST_F(Studies, MetricsAreWhatTheRunsThemselvesTell) {
  const Study asked = study(
      "axis { name: \"fat_tree.fabric_rate\" value: \"100Gbps\" value: \"400Gbps\" }\n"
      "metric { name: \"mean_iteration_s\" }\n"
      "metric { name: \"longest_of_a\" column: \"jobs.run_s\" statistic: MAX where { column: \"job\" value: \"a\" } }\n"
      "metric { name: \"iterations\" column: \"iterations.job\" statistic: COUNT }\n"
      "metric { name: \"fct_p90_ns\" column: \"flows.fct_ns\" statistic: P90 }\n"
      "metric { name: \"packets.drops\" }\n");
  const StudyResult result = run_study(asked, options("out"));
  ASSERT_EQ(result.missing(), 0U);
  ASSERT_EQ(result.failed(), 0U);
  for (const StudyPoint& point : result.points) {
    MemorySink rows;
    const RunSummary summary = finish_run(load_scenario(flags_of(asked, point)), rows, {}).summary;
    const StudyRecord& record = *result.records[point.number];
    EXPECT_EQ(record.fingerprint, summary.fingerprint);
    EXPECT_NEAR(record.values[0].value(), summary.mean_iteration_s, summary.mean_iteration_s * 1e-14);
    const auto a = std::ranges::find(rows.jobs, std::string_view("a"), &JobRow::job);
    ASSERT_NE(a, rows.jobs.end());
    EXPECT_DOUBLE_EQ(record.values[1].value(), (*a->end - *a->start).in_s());
    EXPECT_EQ(record.values[2], 5.0);  // three of a, two of b
    EXPECT_NEAR(record.values[3].value() / 1e9, summary.fct_s->p90, summary.fct_s->p90 * 1e-12);
    EXPECT_FALSE(record.values[4].has_value());  // of packet mode
  }
}

// Below one switch all ranks are alike, and rows stand for several.
TEST_F(Studies, RowsThatStandForSeveralCountAsMany) {
  write("alike.textproto",
        "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"16\" } }\n"
        "job { name: \"a\" gpus: 16 iterations: 3 workload { file: \"exchange.textproto\" } }\n");
  write("exchange.textproto",
        "ranks: 16 role { name: \"all\" op { name: \"exchange\" collective { type: ALL_TO_ALL size: \"1MB\" } } }\n");
  const Study asked = study(
      "axis { name: \"scenario\" value: \"alike.textproto\" along { name: \"host.fold_ranks\" value: \"on\" } }\n"
      "metric { name: \"ranks_simulated\" } metric { name: \"flows_finished\" } metric { name: \"payload_bytes\" }\n"
      "metric { name: \"fct_p90_s\" } metric { name: \"mean_fct_s\" }\n"
      "metric { name: \"count\" column: \"flows.fct_ns\" statistic: COUNT }\n"
      "metric { name: \"sum\" column: \"flows.size_bytes\" statistic: SUM }\n"
      "metric { name: \"p90\" column: \"flows.fct_ns\" statistic: P90 }\n"
      "metric { name: \"mean\" column: \"flows.fct_ns\" }\n");
  const StudyResult result = run_study(asked, options("out"));
  ASSERT_EQ(result.failed() + result.missing(), 0U);
  const std::vector<std::optional<double>>& values = result.records[0]->values;
  ASSERT_GT(values[0].value(), 0);  // folded
  EXPECT_EQ(values[5], values[1]);
  EXPECT_EQ(values[6], values[2]);
  EXPECT_NEAR(values[7].value() / 1e9, values[3].value(), values[3].value() * 1e-12);
  EXPECT_NEAR(values[8].value() / 1e9, values[4].value(), values[4].value() * 1e-12);
}

TEST_F(Studies, ThreadsSharesAndInterruptionsChangeNothing) {
  const Study asked = study(two_axes);
  run_study(asked, options("whole"));
  const std::string whole = table_of("whole");
  ASSERT_EQ(std::ranges::count(whole, '\n'), 1 + 12);

  StudyOptions one = options("one");
  one.threads = 1;
  run_study(asked, one);
  EXPECT_EQ(table_of("one"), whole);

  for (std::uint32_t share = 3; share >= 1; --share) {
    StudyOptions of_share = options("shares");
    of_share.share = share;
    of_share.shares = 3;
    of_share.earlier = StudyFolder::Earlier::kept;
    const StudyResult result = run_study(asked, of_share);
    EXPECT_EQ(result.missing(), 4U * (share - 1));
    EXPECT_EQ(fs::exists(folder_ / "shares" / "study.csv"), share == 1);
  }
  EXPECT_EQ(table_of("shares"), whole);

  // Stopped after three runs, and with a record that was cut off.
  std::atomic<bool> stop = false;
  StudyOptions stopped = options("stopped");
  stopped.threads = 1;
  stopped.interrupt = &stop;
  stopped.progress = [&](const StudyProgress& progress) { stop = progress.done >= 3; };
  EXPECT_EQ(run_study(asked, stopped).missing(), 9U);
  EXPECT_FALSE(fs::exists(folder_ / "stopped" / "study.csv"));
  const fs::path first = folder_ / "stopped" / "points" / "000000.json";
  const std::string record = read(first);
  std::ofstream(first) << record.substr(0, record.size() / 2);
  StudyOptions resumed = options("stopped");
  resumed.earlier = StudyFolder::Earlier::kept;
  std::uint64_t carried_out = 0;
  resumed.progress = [&](const StudyProgress&) { ++carried_out; };
  run_study(asked, resumed);
  EXPECT_EQ(carried_out, 12U - 2);
  EXPECT_EQ(table_of("stopped"), whole);
  EXPECT_EQ(read(first), record);
}

// Expectation: of two points with topologies of their own, the one whose file changed is carried
// out again, and the other is not.
TEST_F(Studies, RunsWhoseInputsHaveChangedAreCarriedOutAgain) {
  write("first.textproto", "builder: \"fat_tree\" set { name: \"k\" value: \"4\" }\n");
  write("second.textproto", "builder: \"fat_tree\" set { name: \"k\" value: \"4\" }\n");
  const Study asked = study(
      std::string("axis { name: \"topology\" value: \"first.textproto\" value: \"second.textproto\" } replicates: 2 ") + metric);
  run_study(asked, options("out"));
  const std::string before = table_of("out");
  write("second.textproto",
        "builder: \"fat_tree\" set { name: \"k\" value: \"4\" } set { name: \"fabric_rate\" value: \"50Gbps\" }\n");
  StudyOptions resumed = options("out");
  resumed.earlier = StudyFolder::Earlier::kept;
  const StudyResult result = run_study(asked, resumed);
  EXPECT_EQ(result.repeated, 2U);
  EXPECT_NE(table_of("out"), before);
  EXPECT_EQ(result.records[2]->fingerprint, result.records[3]->fingerprint);
  EXPECT_NE(result.records[0]->fingerprint, result.records[2]->fingerprint);
  EXPECT_EQ(run_study(asked, resumed).repeated, 0U);
}

TEST_F(Studies, ARunThatFailsIsARowAndTheOthersGoOn) {
  write("broken.textproto", "topology { builder: \"fat_tree\" set { name: \"k\" value: \"3\" } }\n");
  const Study asked =
      study(std::string("axis { name: \"scenario\" value: \"cluster.textproto\" value: \"broken.textproto\" }\n") + metric);
  const StudyResult result = run_study(asked, options("out"));
  EXPECT_EQ(result.failed(), 1U);
  EXPECT_FALSE(result.records[0]->has_failed());
  EXPECT_NE(result.records[1]->error.find("broken.textproto"), std::string::npos) << result.records[1]->error;
  EXPECT_NE(table_of("out").find(result.records[1]->error.substr(0, 20)), std::string::npos);
}

TEST_F(Studies, AFolderIsOfOneStudy) {
  const Study asked = study(two_axes);
  run_study(asked, options("out"));
  const auto code_of_run = [&](const Study& other, StudyFolder::Earlier earlier) -> std::string {
    StudyOptions again = options("out");
    again.earlier = earlier;
    try {
      run_study(other, again);
    } catch (const InputError& error) {
      return error.diagnostics().front().code;
    }
    return "";
  };
  EXPECT_EQ(code_of_run(asked, StudyFolder::Earlier::refused), "study-there");
  EXPECT_EQ(code_of_run(asked, StudyFolder::Earlier::kept), "");
  EXPECT_EQ(code_of_run(study("seed: 2 " + two_axes), StudyFolder::Earlier::kept), "other-study");

  // What the base reads is part of it.
  const std::string ops = read(folder_ / "ops.textproto");
  write("ops.textproto", ops + "\n");
  EXPECT_EQ(code_of_run(study(two_axes), StudyFolder::Earlier::kept), "other-study");
  write("ops.textproto", ops);
  EXPECT_EQ(code_of_run(study(two_axes), StudyFolder::Earlier::kept), "");

  // Something else of that name, and records without it.
  write("out/study.json", "{\"digest\": 1}");
  EXPECT_EQ(code_of_run(study(two_axes), StudyFolder::Earlier::kept), "other-study");
  fs::remove(folder_ / "out" / "study.json");
  EXPECT_EQ(code_of_run(study(two_axes), StudyFolder::Earlier::refused), "study-there");
}

// Neither the base nor an axis by itself is a run.
TEST_F(Studies, TheBaseNeedNotBeARunByItself) {
  write("study.textproto", std::string("axis { name: \"scenario\" value: \"cluster.textproto\" } ") + metric);
  EXPECT_EQ(points_of(read_study((folder_ / "study.textproto").string())).size(), 1U);
}

TEST_F(Studies, MistakesAreFoundBeforeAnythingRuns) {
  const std::string axis = "axis { name: \"flow.wqe_latency\" value: \"1us\" } ";
  EXPECT_EQ(code_of(axis), "missing-field");
  EXPECT_EQ(code_of(metric), "missing-field");
  EXPECT_EQ(code_of(std::string("axis { name: \"flow.wqe_latency\" } ") + metric), "empty-axis");
  EXPECT_EQ(code_of(std::string("axis { name: \"flow.wqe_latenzy\" value: \"1us\" } ") + metric), "unknown-param");
  EXPECT_EQ(code_of(std::string("axis { name: \"buffers\" value: \"1us\" } ") + metric), "unknown-axis");
  EXPECT_EQ(code_of(std::string("axis { name: \"flow.wqe_latency\" value: \"1MB\" } ") + metric), "bad-value");
  EXPECT_EQ(code_of(std::string("axis { name: \"mode\" value: \"fast\" } ") + metric), "bad-value");
  EXPECT_EQ(code_of(std::string("axis { name: \"seed\" value: \"2\" } ") + metric), "bad-axis");
  EXPECT_EQ(code_of(axis + axis + metric), "duplicate-setting");
  EXPECT_EQ(code_of(axis + "metric { name: \"speed\" }"), "unknown-metric");
  EXPECT_EQ(code_of(axis + "metric { name: \"x\" column: \"job.run_s\" }"), "unknown-column");
  EXPECT_EQ(code_of(axis + "metric { name: \"x\" column: \"jobs.walk_s\" }"), "unknown-column");
  EXPECT_EQ(code_of(axis + "metric { name: \"x\" column: \"jobs.run_s\" where { column: \"jop\" value: \"a\" } }"),
            "unknown-column");
  EXPECT_EQ(code_of(axis + "metric { name: \"x\" column: \"jobs.job\" }"), "not-a-number");
  EXPECT_EQ(code_of(axis + metric + metric), "duplicate-setting");
  EXPECT_EQ(code_of(axis + "metric { name: \"makespan_s\" statistic: MAX }"), "unused-field");
  EXPECT_EQ(code_of(axis + "metric { name: \"makespan_s\" where { column: \"job\" value: \"a\" } }"), "unused-field");
  EXPECT_EQ(code_of(axis + "metric { name: \"a,b\" column: \"jobs.run_s\" }"), "bad-name");
  EXPECT_EQ(code_of(axis + "metric { name: \"seed\" column: \"jobs.run_s\" }"), "bad-name");
  EXPECT_EQ(code_of(axis + "metric { name: \"flow.wqe_latency\" column: \"jobs.run_s\" }"), "bad-name");
  EXPECT_EQ(code_of(axis + "metric { name: \"machine.run_wall_time_s\" }"), "unknown-metric");
  EXPECT_EQ(code_of(std::string("axis { name: \"scheduler\" value: \"fcsf\" } ") + metric), "unknown-module");
  EXPECT_EQ(code_of(std::string("axis { name: \"flow.routing\" range { from: 1 to: 2 values: 2 } } ") + metric), "bad-value");
  EXPECT_EQ(code_of(std::string("axis { name: \"mode\" range { from: 1 to: 2 values: 2 } } ") + metric), "bad-value");
  EXPECT_EQ(code_of(std::string("axis { name: \"flow.queue_pairs\" range { from: 1 to: 3 values: 9 } } ") + metric), "bad-axis");
  EXPECT_EQ(code_of(std::string("axis { name: \"flow.queue_pairs\" range { from: 1 to: 3 values: 99999 } } ") + metric),
            "out-of-range");
  EXPECT_EQ(code_of(std::string("axis { name: \"flow.queue_pairs\" value: \"1\" value: \"1\" } ") + metric), "duplicate-value");
  EXPECT_EQ(code_of(std::string("axis { name: \"topology.k\" value: \"4\" } axis { name: \"fat_tree.k\" value: \"8\" } ") + metric),
            "duplicate-setting");
  EXPECT_EQ(code_of(axis + metric + " seed: 18446744073709551615 replicates: 2"), "out-of-range");
  EXPECT_EQ(code_of(axis + metric + " replicates: 0"), "out-of-range");
  EXPECT_EQ(code_of(axis + metric + " samples: 3"), "unused-field");
  EXPECT_EQ(code_of(axis + metric + " sampling: LATIN_HYPERCUBE"), "missing-field");
  EXPECT_EQ(code_of(axis + metric + " point { set { name: \"mode\" value: \"flow\" } }"), "bad-axis");
  EXPECT_EQ(code_of(std::string("axis { name: \"flow.wqe_latency\" range { from: 1 to: 2 unit: \"us\" } } ") + metric), "bad-axis");
  EXPECT_EQ(code_of(std::string("axis { name: \"flow.wqe_latency\" value: \"1us\" value: \"2us\" along { name: \"mode\" value: "
                                "\"flow\" } } ") +
                    metric),
            "bad-axis");
}

// Flow mode with one queue pair hashes paths by the seed, so that runs differ; with many, hardly.
const std::string with_stop =
    "axis { name: \"flow.queue_pairs\" value: \"1\" value: \"32\" }\n"
    "axis { name: \"fat_tree.fabric_rate\" value: \"100Gbps\" value: \"400Gbps\" }\n"
    "replicates: 12 metric { name: \"mean_iteration_s\" }\n";

/// What the rule says, by the definition: the first count of runs whose interval is narrow.
TEST_F(Studies, APointEndsWithTheFirstRunThatMakesItsIntervalNarrow) {
  const Study all = study(with_stop);
  const StudyResult whole = run_study(all, options("all"));
  constexpr double precision = 0.05;
  std::vector<std::uint32_t> expected;
  for (std::size_t point = 0; point < 4; ++point) {
    std::vector<double> values;
    for (std::uint32_t replicate = 0; replicate < 12; ++replicate) {
      values.push_back(*whole.records[point * 12 + replicate]->values[0]);
      const std::optional<MeanInterval> interval = mean_interval(values);
      if (values.size() >= 3 && *interval->half_width <= precision * interval->mean) break;
    }
    expected.push_back(static_cast<std::uint32_t>(values.size()));
  }
  EXPECT_GT(*std::ranges::max_element(expected), 3U);
  EXPECT_EQ(*std::ranges::min_element(expected), 3U);
  const Study stopped = study(with_stop + "stop { precision: 0.05 }");
  for (const std::uint32_t threads : {1U, 3U}) {
    StudyOptions how = options("stopped" + std::to_string(threads));
    how.threads = threads;
    const StudyResult result = run_study(stopped, how);
    for (std::size_t point = 0; point < 4; ++point) {
      std::uint32_t counted = 0;
      for (std::size_t run = point * 12; run < (point + 1) * 12; ++run) {
        if (!result.records[run]) continue;
        ++counted;
        EXPECT_EQ(result.records[run]->values, whole.records[run]->values);
      }
      EXPECT_EQ(counted, expected[point]) << threads << ' ' << point;
    }
    EXPECT_EQ(result.missing(), 0U);
  }
  EXPECT_EQ(table_of("stopped1"), table_of("stopped3"));
  for (std::uint32_t share = 1; share <= 2; ++share) {
    StudyOptions how = options("shares");
    how.earlier = StudyFolder::Earlier::kept;
    how.share = share;
    how.shares = 2;
    run_study(stopped, how);
  }
  EXPECT_EQ(table_of("shares"), table_of("stopped1"));
}

// Three runs for each of four points, then a run in turn for each that is not narrow: no point has
// two more than another that is not narrow either.
TEST_F(Studies, ABudgetIsDealtToPointsInTurn) {
  const Study one = study(with_stop + "stop { precision: 0.000001 runs: 15 }");
  StudyOptions how = options("budget");
  const StudyResult result = run_study(one, how);
  EXPECT_EQ(result.ended(), 15U);
  EXPECT_EQ(result.missing(), 0U);
  std::vector<std::uint64_t> runs(4);
  for (std::size_t run = 0; run < result.records.size(); ++run) runs[run / 12] += result.records[run] ? 1U : 0U;
  EXPECT_EQ(*std::ranges::min_element(runs), 3U);
  for (const std::uint64_t count : runs) EXPECT_TRUE(count == 3 || count + 1 >= *std::ranges::max_element(runs)) << count;
  how.out = (folder_ / "share").string();
  how.shares = 2;
  EXPECT_THROW(run_study(one, how), InputError);
}

TEST_F(Studies, TimeThatIsUpLeavesATableOfWhatThereIsAndTheRestForLater) {
  const Study one = study(two_axes);
  run_study(one, options("whole"));
  StudyOptions how = options("short");
  how.threads = 1;
  how.time_limit = std::chrono::nanoseconds(1);
  EXPECT_EQ(run_study(one, how).ended(), 0U);
  EXPECT_FALSE(fs::exists(folder_ / "short" / "study.csv"));
  how.earlier = StudyFolder::Earlier::kept;
  how.time_limit = std::chrono::hours(1);
  std::atomic<bool> interrupt = false;
  how.interrupt = &interrupt;
  how.progress = [&](const StudyProgress& progress) { interrupt = progress.done == 4; };
  EXPECT_EQ(run_study(one, how).ended(), 4U);
  how.interrupt = nullptr;
  how.time_limit = std::chrono::nanoseconds(1);
  const StudyResult part = run_study(one, how);
  EXPECT_TRUE(part.is_out_of_time);
  EXPECT_EQ(part.missing(), 8U);
  const std::string table = table_of("short");
  EXPECT_EQ(std::ranges::count(table, '\n'), 1 + 4);
  how.time_limit = std::chrono::seconds(0);
  EXPECT_FALSE(run_study(one, how).is_out_of_time);
  EXPECT_EQ(table_of("short"), table_of("whole"));
}

TEST_F(Studies, MistakesOfAStoppingRuleHaveTheirPlaces) {
  const std::string axis = "axis { name: \"flow.queue_pairs\" value: \"1\" } metric { name: \"makespan_s\" }\n";
  EXPECT_EQ(code_of(axis + "stop { precision: 0.1 }"), "missing-field");
  EXPECT_EQ(code_of(axis + "replicates: 9 stop { }"), "out-of-range");
  EXPECT_EQ(code_of(axis + "replicates: 9 stop { precision: -1 }"), "out-of-range");
  EXPECT_EQ(code_of(axis + "replicates: 2 stop { precision: 0.1 }"), "out-of-range");
  EXPECT_EQ(code_of(axis + "replicates: 9 stop { precision: 0.1 replicates_min: 1 }"), "out-of-range");
  EXPECT_EQ(code_of(axis + "replicates: 9 stop { precision: 0.1 metric: \"makespan\" }"), "unknown-metric");
  EXPECT_EQ(code_of(axis + "replicates: 9 stop { precision: 0.1 metric: \"makespan_s\" }"), "");
  EXPECT_EQ(code_of("axis { name: \"placement\" value: \"packed\" value: \"pakced\" } metric { name: \"makespan_s\" }\n"),
            "unknown-module");
}

TEST_F(Studies, ParametersOfTemplatesAreAxes) {
  write(
      "made.textproto",
      "topology { builder: \"rail_optimized\" set { name: \"server\" value: \"hgx_h100\" } }\n"
      "job { workload { template: \"llm\" set { name: \"layers\" value: \"4\" } set { name: \"microbatches\" value: \"2\" } } }\n");
  write("study.textproto",
        "base { scenario: \"made.textproto\" } metric { name: \"gpus\" }\n"
        "axis { name: \"llm.dp\" value: \"1\" value: \"2\" along { name: \"rail_optimized.hosts\" value: \"4\" value: \"8\" } }\n"
        "axis { name: \"llm.tflops\" range { from: 300 to: 500 values: 3 } }\n");
  const StudyResult result = run_study(read_study((folder_ / "study.textproto").string()), options("out"));
  ASSERT_EQ(result.points.size(), 6U);
  EXPECT_EQ(result.failed(), 0U);
  EXPECT_EQ(*result.records[0]->values[0], 32);
  EXPECT_EQ(*result.records[3]->values[0], 64);
  EXPECT_EQ(result.points[1].value_of("llm.tflops"), "400");
  EXPECT_NE(result.records[0]->fingerprint, result.records[1]->fingerprint);
}

// What the machine is measured for are processes of their own: none of them knows of the others'
// memory, and one that is killed is a run that failed.
TEST_F(Studies, TheMachineIsMeasuredRunByRun) {
  const std::string machine =
      "axis { name: \"flow.wqe_latency\" value: \"1us\" value: \"2us\" } metric { name: \"machine.cpu_time_s\" } "
      "metric { name: \"machine.peak_memory_bytes\" } metric { name: \"makespan_s\" }\n";
  EXPECT_EQ(code_of(machine), "unknown-metric");
  EXPECT_EQ(code_of("measure_machine: true replicates: 3 stop { precision: 0.1 } " + machine), "unused-field");
  const Study one = study("measure_machine: true " + machine);
  EXPECT_THROW(run_study(one, options("none")), InputError);
  StudyOptions how = options("out");
  std::vector<std::size_t> begun;
  how.run_alone = [&](std::size_t run, std::size_t runs) -> std::string {
    begun.push_back(run);
    if (run == 1) return "it was killed";
    StudyOptions alone = options("out");
    alone.earlier = StudyFolder::Earlier::kept;
    alone.share = static_cast<std::uint32_t>(run + 1);
    alone.shares = static_cast<std::uint32_t>(runs);
    alone.run_alone = [](std::size_t /*run*/, std::size_t /*runs*/) -> std::string { return "a share of one run needs no other"; };
    run_study(one, alone);
    return "";
  };
  const StudyResult result = run_study(one, how);
  EXPECT_EQ(begun, (std::vector<std::size_t>{0, 1}));
  EXPECT_GT(*result.records[0]->values[0], 0);
  EXPECT_GT(*result.records[0]->values[1], 1e6);
  EXPECT_EQ(result.records[1]->error, "it was killed");
  EXPECT_EQ(result.failed(), 1U);
}

// A fat tree of 4 has 16 hosts with a port each, 20 switches of four ports and 48 cables.
TEST_F(Studies, PricesOfPartsAddUp) {
  const std::string priced_metrics =
      "axis { name: \"fat_tree.fabric_rate\" value: \"100Gbps\" value: \"400Gbps\" } metric { name: \"prices.fabric_cost\" } "
      "metric { name: \"prices.nic_watts\" } metric { name: \"prices.cost\" }\n";
  EXPECT_EQ(code_of(priced_metrics), "unknown-metric");
  write("prices.textproto",
        "switch { capacity: \"400Gbps\" cost: 7 }\n"
        "switch { capacity: \"1Tbps\" cost: 10 }\n"
        "switch { capacity: \"1600Gbps\" cost: 30 }\n"
        "cable { rate: \"100Gbps\" cost: 1 }\n"
        "cable { rate: \"400Gbps\" cost: 2 }\n"
        "cable { rate: \"400Gbps\" length_max: \"1m\" cost: 0.5 }\n"
        "nic { rate: \"400Gbps\" cost: 5 watts: 25 }\n"
        "host { cost: 1000 }\n");
  const Study one = study("prices: \"prices.textproto\" " + priced_metrics);
  const StudyResult result = run_study(one, options("out"));
  ASSERT_EQ(result.failed(), 0U);
  constexpr double gbps_of_hosts = 400;
  for (std::size_t i = 0; i < 2; ++i) {
    const double between = i == 0 ? 100 : 400;
    const auto of_switch = [](double gbps) { return gbps <= 400 ? 7.0 : gbps <= 1000 ? 10.0 : 30.0; };
    const auto of_cable = [](double gbps) { return gbps <= 100 ? 1.0 : 2.0; };
    const double cost = 8 * of_switch(2 * gbps_of_hosts + 2 * between) + 12 * of_switch(4 * between) +
                        16 * of_cable(gbps_of_hosts) + 32 * of_cable(between);
    EXPECT_DOUBLE_EQ(*result.records[i]->values[0], cost);
    EXPECT_DOUBLE_EQ(*result.records[i]->values[1], 16 * 25.0);
    EXPECT_DOUBLE_EQ(*result.records[i]->values[2], cost + 16 * 5.0 + 16 * 1000.0);
  }
}

TEST_F(Studies, PricesAreRefusedWhereTheyAreNone) {
  const std::string priced_metrics =
      "prices: \"prices.textproto\" axis { name: \"flow.wqe_latency\" value: \"1us\" } metric { name: \"prices.cost\" }\n";
  const auto code_with = [&](const std::string& prices) {
    write("prices.textproto", prices);
    return code_of(priced_metrics);
  };
  EXPECT_EQ(code_with("switch { cost: 7 }"), "missing-field");
  EXPECT_EQ(code_with("switch { capacity: \"many\" }"), "bad-value");
  EXPECT_EQ(code_with("nic { rate: \"400Gbps\" cost: -1 }"), "out-of-range");
  EXPECT_EQ(code_with("host { watts: inf }"), "out-of-range");
  EXPECT_EQ(code_with("cable { rate: \"400Gbps\" length_max: \"0m\" }"), "out-of-range");
  // A run whose parts nothing does for says which; only its prices are empty.
  EXPECT_EQ(code_with("switch { capacity: \"1Gbps\" cost: 7 }"), "");
  const StudyResult result = run_study(study(priced_metrics + "metric { name: \"makespan_s\" }\n"), options("out"));
  EXPECT_EQ(result.records[0]->error, "");
  EXPECT_FALSE(result.records[0]->values[0].has_value());
  EXPECT_TRUE(result.records[0]->values[1].has_value());
  EXPECT_TRUE(std::ranges::any_of(result.records[0]->notes, [](const std::string& note) { return note.starts_with("no cost"); }));
}

}  // namespace weft::study_test
