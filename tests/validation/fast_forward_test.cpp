// SPDX-License-Identifier: Apache-2.0
// Fast forward against the full simulation: how far off it is, whether it says so, and what it must
// not change.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "scenario_run.hpp"

namespace weft::fast_forward_test {
namespace {

/// Twelve data-parallel jobs that arrive one after the other on a fat tree of 16 hosts, spread so
/// that they meet on its links: 60 to 400 iterations of 5 to 20 ms of computation and an all-reduce
/// of 20 to 160 MB.
std::string small_cluster(const ScratchFolder& folder, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto one_of = [&random](const std::array<int, 4>& choices) { return std::to_string(choices[random() % choices.size()]); };
  std::string scenario =
      "topology { builder: \"fat_tree\" set { name: \"k\" value: \"4\" } set { name: \"nic_rate\" value: \"100Gbps\" } "
      "set { name: \"fabric_rate\" value: \"100Gbps\" } }\nscheduler { placement: \"spread\" }\n";
  double submit_s = 0;
  for (int job = 0; job < 12; ++job) {
    const std::string work = fmt::format("work{}.textproto", job);
    folder.write(work, "ranks: " + one_of({2, 4, 6, 8}) + "\nrole {\n  op { name: \"compute\" compute { duration: \"" +
                           one_of({5, 8, 13, 20}) +
                           "ms\" } }\n  op { name: \"reduce\" deps: \"compute\" collective { type: ALL_REDUCE size: \"" +
                           one_of({20, 50, 90, 160}) + "MB\" } }\n}\n");
    submit_s -= 0.6 * std::log((static_cast<double>(random() % 1'000'000) + 1) / 1e6);
    scenario += fmt::format("job {{ name: \"job{}\" iterations: {} submit: \"{:f}s\" workload {{ file: \"{}\" }} }}\n", job,
                            60 + random() % 341, submit_s, work);
  }
  return folder.write("scenario.textproto", scenario);
}

RunSummary run_forward(const std::string& scenario, int iterations) {
  RunFlags flags;
  flags.scenario_file = scenario;
  flags.settings = {"scheduler.fast_forward=" + std::to_string(iterations)};
  Scenario loaded = load_scenario(flags);
  state_collectives(loaded);
  ResultSink nobody;
  return finish_run(loaded, nobody, {}).summary;
}

TEST(FastForward, IsNearTheFullSimulationAndKnowsHowNear) {
  constexpr int clusters = 40;
  constexpr std::array iterations = {2, 4, 8};
  std::array<double, 3> error{};
  std::array<int, 3> covered{};
  for (std::uint32_t seed = 0; seed < clusters; ++seed) {
    const ScratchFolder folder;
    const std::string scenario = small_cluster(folder, seed);
    const RunSummary full = run_forward(scenario, 0);
    ASSERT_EQ(full.jobs_finished, 12U);
    EXPECT_FALSE(full.fast_forward.has_value());
    for (std::size_t i = 0; i < iterations.size(); ++i) {
      const RunSummary forward = run_forward(scenario, iterations[i]);
      ASSERT_EQ(forward.jobs_finished, 12U);
      ASSERT_TRUE(forward.fast_forward.has_value());
      EXPECT_GT(forward.fast_forward->skipped, forward.fast_forward->simulated);
      const double off_s = std::abs(forward.mean_jct_s - full.mean_jct_s);
      error[i] += off_s / full.mean_jct_s / clusters;
      covered[i] += off_s <= forward.fast_forward->jct_risk_mean_s ? 1 : 0;
    }
  }
  RecordProperty("mean_error_at_2", std::to_string(error[0]));
  RecordProperty("mean_error_at_4", std::to_string(error[1]));
  RecordProperty("mean_error_at_8", std::to_string(error[2]));
  EXPECT_LT(error[0], 0.02);
  EXPECT_LT(error[1], error[0]);
  EXPECT_LT(error[2], error[1]);
  for (std::size_t i = 0; i < iterations.size(); ++i) EXPECT_GE(covered[i] * 10, clusters * 9) << iterations[i];
  RecordProperty("covered_at_2", covered[0]);
}

// Jobs that do not meet: every iteration takes as long as every other, and nothing is risked. Ends
// are the same but for the rounding of fluid rates.
TEST(FastForward, IsExactWhereNothingVaries) {
  const ScratchFolder folder;
  folder.write("work.textproto",
               "ranks: 4\nrole {\n  op { name: \"compute\" compute { duration: \"7ms\" } }\n"
               "  op { name: \"reduce\" deps: \"compute\" collective { type: ALL_REDUCE size: \"33MB\" } }\n}\n");
  for (const char* mode : {"FLOW", "PACKET"}) {
    const std::string scenario = folder.write(
        "scenario.textproto", std::string("mode: ") + mode +
                                  "\ntopology { builder: \"single_switch\" set { name: \"hosts\" value: \"8\" } }\n"
                                  "job { name: \"a\" iterations: 30 workload { file: \"work.textproto\" } }\n"
                                  "job { name: \"b\" iterations: 12 submit: \"31ms\" workload { file: \"work.textproto\" } }\n"
                                  "job { name: \"c\" iterations: 9 submit: \"40ms\" workload { file: \"work.textproto\" } }\n");
    const RunSummary full = run_forward(scenario, 0);
    const RunSummary forward = run_forward(scenario, 2);
    EXPECT_NEAR(forward.mean_jct_s / full.mean_jct_s, 1, 1e-6) << mode;
    EXPECT_LT(forward.fast_forward->spread_max, 1e-4);
    EXPECT_EQ(forward.fast_forward->simulated + forward.fast_forward->skipped, 51U);
    EXPECT_LT(forward.events * 2, full.events);
  }
}

// Jobs come and go, meet on sprayed uplinks, and are folded anew whenever their set changes. Ranks
// that stand for others change nothing but the rounding of rates; where an iteration is cut off
// because its job is folded in another way, up to that much does not count, which the risk says.
TEST(FastForward, FoldsTheRanksOfEverySetAnew) {
  const ScratchFolder folder;
  for (const int ranks : {4, 8}) {
    folder.write(fmt::format("work{}.textproto", ranks),
                 "ranks: " + std::to_string(ranks) +
                     "\nrole {\n  op { name: \"compute\" compute { duration: \"7ms\" } }\n"
                     "  op { name: \"reduce\" deps: \"compute\" collective { type: ALL_REDUCE size: \"96MB\" } }\n}\n");
  }
  const std::string scenario = folder.write(
      "scenario.textproto",
      "topology { builder: \"clos\" set { name: \"hosts\" value: \"16\" } set { name: \"gpus_per_host\" value: \"1\" } "
      "set { name: \"hosts_per_leaf\" value: \"4\" } set { name: \"leafs_per_pod\" value: \"2\" } set { name: \"aggs_per_pod\" "
      "value: "
      "\"2\" } set { name: \"spines\" value: \"4\" } set { name: \"leaf_uplink_rate\" value: \"400Gbps\" } }\n"
      "scheduler { placement: \"spread\" }\nset { name: \"flow.routing\" value: \"spray\" }\n"
      "job { name: \"a\" iterations: 300 workload { file: \"work8.textproto\" } }\n"
      "job { name: \"b\" iterations: 120 submit: \"600ms\" workload { file: \"work4.textproto\" } }\n"
      "job { name: \"c\" iterations: 90 submit: \"601ms\" workload { file: \"work4.textproto\" } }\n"
      "job { name: \"d\" iterations: 50 submit: \"900ms\" workload { file: \"work8.textproto\" } }\n");
  RunFlags flags;
  flags.scenario_file = scenario;
  flags.settings = {"scheduler.fast_forward=2", "host.fold_ranks=off"};
  const ScenarioRun whole = run_scenario(flags, ScenarioRunOptions{});
  flags.settings = {"scheduler.fast_forward=2", "host.fold_ranks=on"};
  const ScenarioRun folded = run_scenario(flags, ScenarioRunOptions{});
  flags.settings = {"scheduler.fast_forward=2", "host.fold_tolerance=5us"};
  const ScenarioRun loose = run_scenario(flags, ScenarioRunOptions{});
  ASSERT_EQ(whole.jobs.size(), 4U);
  EXPECT_EQ(whole.summary.ranks_simulated, 0U);
  EXPECT_GT(folded.summary.ranks_simulated, 0U);
  EXPECT_LT(folded.summary.ranks_simulated, folded.summary.ranks_total);
  EXPECT_LT(loose.summary.ranks_simulated, folded.summary.ranks_simulated);
  for (const ScenarioRun* run : {&folded, &loose}) {
    ASSERT_EQ(run->jobs.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      const double whole_s = std::stod(whole.jobs[i].at("jct_s"));
      // An iteration takes some 15 ms.
      EXPECT_NEAR(std::stod(run->jobs[i].at("jct_s")), whole_s, 0.02) << run->jobs[i].at("job");
      EXPECT_EQ(run->jobs[i].at("iterations"), whole.jobs[i].at("iterations"));
    }
    EXPECT_LT(run->summary.events, whole.summary.events);
  }
}

// Two jobs below leafs of their own, of which one starts and ends while the other runs: that one is
// fast-forwarded once, from start to end.
TEST(FastForward, LeavesJobsAloneThatNobodySlowsDown) {
  const ScratchFolder folder;
  folder.write("work.textproto",
               "ranks: 4\nrole {\n  op { name: \"compute\" compute { duration: \"7ms\" } }\n"
               "  op { name: \"reduce\" deps: \"compute\" collective { type: ALL_REDUCE size: \"33MB\" } }\n}\n");
  RunFlags flags;
  flags.scenario_file =
      folder.write("scenario.textproto",
                   "topology { builder: \"clos\" set { name: \"hosts\" value: \"8\" } set { name: \"gpus_per_host\" value: \"1\" } "
                   "set { name: \"hosts_per_leaf\" value: \"4\" } set { name: \"leafs_per_pod\" value: \"2\" } set { name: "
                   "\"aggs_per_pod\" value: "
                   "\"2\" } set { name: \"spines\" value: \"0\" } }\n"
                   "job { name: \"long\" iterations: 100 workload { file: \"work.textproto\" } }\n"
                   "job { name: \"short\" iterations: 20 submit: \"90ms\" workload { file: \"work.textproto\" } }\n");
  flags.settings = {"scheduler.fast_forward=2"};
  const ScenarioRun run = run_scenario(flags, ScenarioRunOptions{});
  EXPECT_EQ(run.summary.fast_forward->jumps, 2U);
  EXPECT_EQ(run.summary.fast_forward->simulated, 4U);
  EXPECT_EQ(run.summary.fast_forward->skipped, 116U);
}

}  // namespace
}  // namespace weft::fast_forward_test
