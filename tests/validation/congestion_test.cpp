// SPDX-License-Identifier: Apache-2.0
// Congestion in whole runs: found where it was put, blamed on the job that came last, whether ranks
// are folded, iterations left out, or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "scenario_run.hpp"

namespace weft::congestion_test {
namespace {

/// Three pods of four hosts, two below each leaf, with two cables of 100 Gb/s from each pod to the
/// spines, over which packets are sprayed. Job "small" has hosts 0-1; "first" has 2-3 in pod 0 and
/// 4-5 in pod 1, "second" 6-7 in pod 1 and 8-9 in pod 2. Two of a job's hosts exchange 1 GB with
/// the other two every 100 ms, 80 ms of them at 100 Gb/s each: what a pod's cables can do for one
/// of the jobs.
std::string two_wide_jobs(const ScratchFolder& folder, const std::string& spine_cable = "100Gbps") {
  const auto work = [&](const std::string& name, const std::string& ranks, const std::string& stride) {
    return folder.write(name,
                        "ranks: " + ranks + "\ncommunicator { name: \"across\" size: 2 stride: " + stride +
                            " }\nrole {\n  op { name: \"compute\" compute { duration: \"20ms\" } }\n"
                            "  op { name: \"reduce\" deps: \"compute\" collective { type: ALL_REDUCE communicator: \"across\" "
                            "size: \"1GB\" } }\n}\n");
  };
  work("wide.textproto", "4", "2");
  work("small.textproto", "2", "1");
  return folder.write(
      "scenario.textproto",
      "topology { builder: \"clos\" set { name: \"hosts\" value: \"12\" } set { name: \"gpus_per_host\" value: \"1\" } "
      "set { name: \"hosts_per_leaf\" value: \"2\" } set { name: \"leafs_per_pod\" value: \"2\" } "
      "set { name: \"aggs_per_pod\" value: \"2\" } set { name: \"spines\" value: \"2\" } "
      "set { name: \"nic_rate\" value: \"100Gbps\" } set { name: \"leaf_uplink_rate\" value: \"100Gbps\" } "
      "set { name: \"agg_uplink_rate\" value: \"" +
          spine_cable +
          "\" } }\n"
          "job { name: \"small\" iterations: 60 workload { file: \"small.textproto\" } }\n"
          "job { name: \"first\" iterations: 60 workload { file: \"wide.textproto\" } }\n"
          "job { name: \"second\" submit: \"1005ms\" iterations: 20 workload { file: \"wide.textproto\" } }\n"
          "set { name: \"flow.routing\" value: \"spray\" }\nset { name: \"flow.protocol\" value: \"none\" }\n"
          "set { name: \"flow.detect_congestion\" value: \"on\" }\n"
          "set { name: \"flow.congestion_gap\" value: \"300ms\" }\n");
}

double number(const std::map<std::string, std::string>& row, const std::string& column) {
  return std::atof(row.at(column).c_str());
}

ScenarioRun run_with(const std::string& scenario, const std::vector<std::string>& settings) {
  RunFlags flags;
  flags.scenario_file = scenario;
  flags.settings = settings;
  return run_scenario(flags, ScenarioRunOptions{});
}

const std::map<std::string, std::string>& job_called(const Table& jobs, const std::string& name) {
  return *std::ranges::find_if(jobs, [&](const auto& row) { return row.at("job") == name; });
}

// The second job computes until 1.025 s, when the first one communicates. Then every transfer
// between pods of both has half until one of them computes. Both see the same from then on, and
// pause together until the second one ends.
TEST(Congestion, IsBlamedOnTheJobThatCameLast) {
  const ScratchFolder folder;
  const ScenarioRun run = run_with(two_wide_jobs(folder), {});
  ASSERT_EQ(run.congestion.size(), 2U) << "up from pod 1, and down to it";
  const double second_end_s = number(job_called(run.jobs, "second"), "end_s");
  for (const auto& row : run.congestion) {
    EXPECT_TRUE(row.at("link") == "agg2->spine0" || row.at("link") == "spine0->agg2") << row.at("link");
    EXPECT_EQ(row.at("cause"), "others");
    EXPECT_EQ(row.at("trigger"), "second");
    EXPECT_EQ(row.at("slowed"), "first;second");
    EXPECT_NEAR(number(row, "begin_s"), 1.025, 1e-4);
    EXPECT_NEAR(number(row, "end_s"), second_end_s, 0.1);
    EXPECT_NEAR(number(row, "lost_share"), 0.5, 1e-9);
  }
  ASSERT_EQ(run.congested_jobs.size(), 2U);
  EXPECT_EQ(run.congested_jobs[1].at("triggered"), "2");
  EXPECT_NEAR(number(run.congested_jobs[0], "in_periods_s"), number(run.congestion[0], "duration_s"), 0.01);
  EXPECT_EQ(run.summary.congestion->links, 2U);
  EXPECT_EQ(run.summary.congestion->jobs_slowed_by_others, 2U);
  EXPECT_EQ(run.summary.congestion->longest->trigger, "second");
}

TEST(Congestion, IsTheSameWhereIterationsAreLeftOut) {
  const ScratchFolder folder;
  const std::string scenario = two_wide_jobs(folder);
  const ScenarioRun full = run_with(scenario, {});
  const ScenarioRun forward = run_with(scenario, {"scheduler.fast_forward=2"});
  EXPECT_GT(forward.summary.fast_forward->skipped, 100U);
  ASSERT_EQ(forward.congestion.size(), full.congestion.size());
  for (std::size_t i = 0; i < full.congestion.size(); ++i) {
    for (const char* column : {"link", "cause", "trigger", "slowed", "jobs"}) {
      EXPECT_EQ(forward.congestion[i].at(column), full.congestion[i].at(column));
    }
    // The jobs go on being simulated from their next iteration on.
    EXPECT_NEAR(number(forward.congestion[i], "begin_s"), number(full.congestion[i], "begin_s"), 0.2);
    EXPECT_NEAR(number(forward.congestion[i], "end_s"), number(full.congestion[i], "end_s"), 0.2);
    EXPECT_NEAR(number(forward.congestion[i], "congested_share"), number(full.congestion[i], "congested_share"), 0.05);
    EXPECT_NEAR(number(forward.congestion[i], "lost_share"), 0.5, 1e-9);
  }
}

TEST(Congestion, IsTheSameWhereRanksAreFolded) {
  const ScratchFolder folder;
  const std::string scenario = two_wide_jobs(folder);
  const ScenarioRun whole = run_with(scenario, {});
  const ScenarioRun folded = run_with(scenario, {"host.fold_ranks=on"});
  EXPECT_GT(folded.summary.ranks_simulated, 0U);
  EXPECT_LT(folded.summary.ranks_simulated, folded.summary.ranks_total);
  ASSERT_EQ(whole.congestion.size(), 2U);
  ASSERT_EQ(folded.congestion.size(), 1U);
  EXPECT_EQ(folded.congestion[0].at("multiplicity"), "4")
      << "both cables between pod 1 and the spines are alike, in both directions";
  EXPECT_EQ(folded.congestion[0].at("trigger"), "second");
  EXPECT_EQ(folded.congestion[0].at("slowed"), "first;second");
  for (const char* column : {"begin_s", "end_s", "congested_share", "lost_share"}) {
    EXPECT_NEAR(number(folded.congestion[0], column), number(whole.congestion[0], column), 1e-6) << column;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(number(folded.congested_jobs[i], "congested_s"), number(whole.congested_jobs[i], "congested_s"), 1e-6);
  }
}

// Where the two cables of a pod have 60 Gb/s each, "first" can use 120 of 200 Gb/s out of pod 0 as
// long as it is alone. Beside "second" it gets a quarter of 240 at pod 1, where both ask for 200:
// 30 Gb/s for each host instead of 100.
TEST(Congestion, OfAJobByItself) {
  const ScratchFolder folder;
  const ScenarioRun run = run_with(two_wide_jobs(folder, "60Gbps"), {});
  bool found_own = false;
  bool found_others = false;
  for (const auto& row : run.congestion) {
    if (row.at("link") == "agg0->spine0") {
      found_own = true;
      EXPECT_EQ(row.at("cause"), "own");
      EXPECT_EQ(row.at("trigger"), "first");
      EXPECT_EQ(row.at("slowed"), "first");
      EXPECT_EQ(row.at("jobs"), "first");
      EXPECT_NEAR(number(row, "lost_share"), 0.4, 1e-9);
    }
    if (row.at("link") == "spine0->agg2" && row.at("cause") == "others") {
      found_others = true;
      EXPECT_EQ(row.at("trigger"), "second");
      EXPECT_NEAR(number(row, "lost_share"), 0.7, 1e-9);
    }
  }
  EXPECT_TRUE(found_own);
  EXPECT_TRUE(found_others);
  EXPECT_EQ(run.summary.congestion->periods, run.congestion.size());
  EXPECT_GT(run.summary.congestion->jobs_slowed_by_own, 0U);
  EXPECT_FALSE(run.summary.congestion->longest->is_own) << "what others cause comes first";
}

}  // namespace
}  // namespace weft::congestion_test
