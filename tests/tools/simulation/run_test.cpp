// SPDX-License-Identifier: Apache-2.0
// Runs as values: no folder, and nothing but rows for a sink. Several at a time:
// tests/validation/concurrent_runs_test.cpp.
#include "tools/simulation/run.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/validation/scenario_run.hpp"

namespace weft::run_test {
namespace {

Scenario small_scenario(const ScratchFolder& folder) {
  RunFlags flags;
  flags.scenario_file =
      folder.write("small.textproto",
                   "cluster { hosts: 2 gpus_per_host: 4 }\n"
                   "job { name: \"a\" gpus: 4 duration: \"1s\" }\njob { name: \"b\" gpus: 8 duration: \"1s\" }\n");
  return load_scenario(flags);
}

/// A run writes nothing, wherever it was started.
TEST(Run, LeavesNoFiles) {
  const ScratchFolder folder;
  const Scenario scenario = small_scenario(folder);
  const std::filesystem::path empty = folder.path() / "empty";
  std::filesystem::create_directory(empty);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(empty);
  ResultSink nobody;
  const RunSummary summary = run(scenario, nobody, {}).summary;
  std::filesystem::current_path(before);
  EXPECT_EQ(summary.jobs_finished, 2U);
  EXPECT_TRUE(std::filesystem::is_empty(empty));
}

/// Counts what it is told.
class Counting final : public ResultSink {
 public:
  void begin() override { ++begins; }
  void add_job(const JobRow&) override { ++jobs; }
  int begins = 0;
  int jobs = 0;
};

TEST(Run, ARefusedScenarioTellsTheSinkNothing) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.scenario_file = folder.write("s.textproto", "cluster { hosts: 1 gpus_per_host: 4 }\njob { gpus: 8 duration: \"1s\" }\n");
  const Scenario scenario = load_scenario(flags);
  Counting sink;
  EXPECT_THROW(run(scenario, sink, {}), InputError);
  EXPECT_EQ(sink.begins, 0);
}

// 512 ranks are alike, which is known once they are placed: the run begins again, and rows of its
// first beginning do not count.
TEST(Run, BeginsTheSinkAnewWithTheRun) {
  const ScratchFolder folder;
  const std::string work = folder.write(
      "work.textproto", "ranks: 64\nrole { name: \"all\" op { name: \"sum\" collective { type: ALL_REDUCE size: \"1MiB\" } } }\n");
  RunFlags flags;
  flags.scenario_file = folder.write(
      "s.textproto",
      "topology { builder: \"rail_optimized\" set { name: \"hosts\" value: \"8\" } }\njob { gpus: 64 workload { file: \"" + work +
          "\" } }\nset { name: \"flow.routing\" value: \"spray\" }\n"
          "set { name: \"collective.all_reduce\" value: \"ring\" }\n"
          "set { name: \"host.fold_ranks\" value: \"on\" }\n");
  const Scenario scenario = load_scenario(flags);
  Counting sink;
  const RunSummary summary = run(scenario, sink, {}).summary;
  ASSERT_LT(summary.ranks_simulated, 64U);
  ASSERT_GT(summary.ranks_simulated, 0U);
  EXPECT_EQ(sink.begins, 2);
  EXPECT_EQ(sink.jobs, 1);
}

}  // namespace
}  // namespace weft::run_test
