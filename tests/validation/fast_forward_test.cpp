// Fast forward against the full simulation: how far off it is, whether it says so, and what it must not change.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "scenario_run.hpp"

namespace weft {
namespace {

/// Twelve data-parallel jobs that arrive one after the other on a fat tree of 16 hosts, spread so that they meet on its links: 60 to 400
/// iterations of 5 to 20 ms of computation and an all-reduce of 20 to 160 MB.
std::string small_cluster(const ScratchFolder& folder, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto one_of = [&random](const std::array<int, 4>& choices) { return std::to_string(choices[random() % choices.size()]); };
  std::string scenario =
      "topology { builder: \"fat_tree\" set { name: \"k\" value: \"4\" } set { name: \"nic_rate\" value: \"100Gbps\" } "
      "set { name: \"fabric_rate\" value: \"100Gbps\" } }\nscheduler { placement: \"spread\" }\n";
  double submit_s = 0;
  for (int job = 0; job < 12; ++job) {
    const std::string work = "work" + std::to_string(job) + ".textproto";
    folder.write(work, "ranks: " + one_of({2, 4, 6, 8}) + "\nrole {\n  op { name: \"compute\" compute { duration: \"" +
                           one_of({5, 8, 13, 20}) +
                           "ms\" } }\n  op { name: \"reduce\" deps: \"compute\" collective { type: ALL_REDUCE size: \"" +
                           one_of({20, 50, 90, 160}) + "MB\" } }\n}\n");
    submit_s -= 0.6 * std::log((static_cast<double>(random() % 1'000'000) + 1) / 1e6);
    scenario += "job { name: \"job" + std::to_string(job) + "\" iterations: " + std::to_string(60 + random() % 341) +
                " submit: \"" + std::to_string(submit_s) + "s\" workload { file: \"" + work + "\" } }\n";
  }
  return folder.write("scenario.textproto", scenario);
}

RunSummary run_forward(const std::string& scenario, int iterations) {
  RunFlags flags;
  flags.scenario_file = scenario;
  flags.settings = {"scheduler.fast_forward=" + std::to_string(iterations)};
  const ScratchFolder folder;
  Scenario loaded = load_scenario(flags);
  SimulationOptions options;
  options.out = folder.path() / "out";
  return run_simulation(loaded, options);
}

TEST(FastForward, IsNearTheFullSimulationAndKnowsHowNear) {
  constexpr int clusters = 20;
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
  for (std::size_t i = 0; i < iterations.size(); ++i) EXPECT_GE(covered[i], 18) << iterations[i];
}

// Jobs that do not meet: every iteration takes as long as every other, and nothing is risked. Ends are the same but for the rounding of fluid rates.
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
    EXPECT_LT(forward.fast_forward->deviation_max, 1e-4);
    EXPECT_EQ(forward.fast_forward->simulated + forward.fast_forward->skipped, 51U);
    EXPECT_LT(forward.events * 2, full.events);
  }
}

}  // namespace
}  // namespace weft
