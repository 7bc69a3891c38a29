// SPDX-License-Identifier: Apache-2.0
// Several runs in one process at a time, each of several threads: every one is as it is alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/tools/results/rows_as_text.hpp"
#include "tests/validation/scenario_run.hpp"
#include "tools/simulation/run.hpp"

namespace weft::concurrent_runs_test {
namespace {

/// A run's rows and summary; what the machine took is left out.
struct Told {
  std::string rows;
  std::string summary;
};

Told tell(const Scenario& scenario, const RunOptions& options) {
  MemorySink sink;
  RunSummary summary = run(scenario, sink, options).summary;
  summary.run_wall_time_s = 0;
  summary.threads = 1;
  return {all_rows_text(sink), summary.to_json()};
}

/// Scenarios of all modes, with folding, fast forward, failures and preemption among them.
std::vector<Scenario> eight_scenarios(const ScratchFolder& folder) {
  const std::string hosts = "topology { builder: \"fat_tree\" set { name: \"k\" value: \"4\" } }\n";
  const std::string reduce =
      folder.write("reduce.textproto",
                   "ranks: 8\nrole { name: \"all\"\n  op { name: \"step\" compute { duration: \"50us\" } }\n"
                   "  op { name: \"sum\" collective { type: ALL_REDUCE size: \"1MiB\" } deps: \"step\" }\n}\n");
  const std::string jobs_of_workload = "job { name: \"a\" iterations: 4 workload { file: \"" + reduce +
                                       "\" } }\njob { name: \"b\" iterations: 3 submit: \"100us\" workload { file: \"" + reduce +
                                       "\" } }\n";
  std::string timed;
  for (int i = 0; i < 40; ++i) {
    timed += fmt::format("job {{ name: \"t{}\" gpus: {} submit: \"{}s\" priority: {} duration: \"{}s\" }}\n", i, 1 + i % 4, 7 * i,
                         i % 3, 20 + 13 * (i % 5));
  }
  const std::array<std::string, 8> texts = {
      hosts + jobs_of_workload,
      hosts + jobs_of_workload + "mode: PACKET\n",
      hosts + jobs_of_workload + "set { name: \"host.fold_ranks\" value: \"on\" }\n",
      hosts + jobs_of_workload + "set { name: \"scheduler.fast_forward\" value: \"1\" }\n",
      hosts + jobs_of_workload + "set { name: \"flow.detect_congestion\" value: \"on\" }\nseed: 7\n",
      hosts + jobs_of_workload + "mode: PACKET\nset { name: \"packet.congestion_control\" value: \"swift\" }\n",
      "cluster { hosts: 4 gpus_per_host: 4 }\nscheduler { policy: \"priority\" }\n" + timed,
      "cluster { hosts: 4 gpus_per_host: 4 }\n" + timed +
          "set { name: \"failure.gpu_mtbf_hours\" value: \"1\" }\nset { name: \"checkpoint.interval\" value: \"10s\" }\n",
  };
  std::vector<Scenario> scenarios;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    RunFlags flags;
    flags.scenario_file = folder.write(fmt::format("s{}.textproto", i), texts[i]);
    scenarios.push_back(load_scenario(flags));
  }
  return scenarios;
}

TEST(ConcurrentRuns, EightAtATimeAreAsTheyAreAlone) {
  const ScratchFolder folder;
  const std::vector<Scenario> scenarios = eight_scenarios(folder);
  RunOptions options;
  options.threads = 2;
  std::vector<Told> alone;
  for (const Scenario& scenario : scenarios) alone.push_back(tell(scenario, options));
  std::vector<Told> together(scenarios.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < scenarios.size(); ++i) threads.emplace_back([&, i] { together[i] = tell(scenarios[i], options); });
  }
  std::set<std::string> different;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    EXPECT_EQ(together[i].rows, alone[i].rows) << "scenario " << i;
    EXPECT_EQ(together[i].summary, alone[i].summary) << "scenario " << i;
    different.insert(alone[i].summary);
  }
  EXPECT_EQ(different.size(), scenarios.size()) << "the scenarios say different things";
}

TEST(ConcurrentRuns, OneScenarioSeveralTimesAtOnceIsTheSame) {
  const ScratchFolder folder;
  const Scenario scenario = eight_scenarios(folder)[1];
  std::array<Told, 4> told;
  {
    std::vector<std::jthread> threads;
    for (Told& one : told) threads.emplace_back([&] { one = tell(scenario, {}); });
  }
  for (const Told& one : told) EXPECT_EQ(one.rows, told[0].rows);
}

}  // namespace
}  // namespace weft::concurrent_runs_test
