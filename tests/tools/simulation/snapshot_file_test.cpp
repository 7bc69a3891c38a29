// SPDX-License-Identifier: Apache-2.0
// Snapshots that are written and read again.
#include "tools/simulation/snapshot_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tools/simulation/run.hpp"

namespace weft::snapshot_file_test {
namespace {

namespace fs = std::filesystem;

class Snapshots : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weft_snapshot_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

void expect_same(const KeptWork& a, const KeptWork& b) {
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.work, b.work);
}

// Three jobs run: fast-forwarded, in iterations that are simulated and in job mode; one waits, one
// has ended and one has not arrived. What follows is the same from the file as from memory.
TEST_F(Snapshots, HoldAllThatARunNeedsToGoOn) {
  std::ofstream(folder_ / "cluster.textproto")
      << "topology { builder: \"clos\" set { name: \"hosts\" value: \"4\" } set { name: \"leafs_per_pod\" value: \"2\" }"
         " set { name: \"aggs_per_pod\" value: \"2\" } set { name: \"spines\" value: \"2\" } }\n"
         "job { name: \"forwards\" iterations: 90000 workload { template: \"dlrm\" set { name: \"ranks\" value: \"16\" } } }\n"
         "job { name: \"over\" gpus: 8 duration: \"10s\" }\n"
         "job { name: \"timed\" submit: \"11s\" gpus: 8 iterations: 7 duration: \"300s\" }\n"
         "job { name: \"new\" submit: \"59.99s\" iterations: 50 workload { template: \"dlrm\" set { name: \"ranks\" value: \"8\" } "
         "} }\n"
         "job { name: \"waits\" submit: \"59.995s\" gpus: 32 duration: \"1s\" }\n"
         "job { name: \"later\" submit: \"2h\" gpus: 8 duration: \"1h\" }\n"
         "job { name: \"measured\" submit: \"3h\" mode: JOB iterations: 50 workload { template: \"dlrm\" set { name: \"ranks\" "
         "value: \"8\" } } }\n";
  RunFlags flags;
  flags.scenario_file = (folder_ / "cluster.textproto").string();
  flags.settings = {"scheduler.fast_forward=2", "checkpoint.every=4", "checkpoint.write=2ms"};
  Scenario scenario = load_scenario(flags);
  ClusterSnapshot taken;
  RunOptions options;
  options.until = options.snapshot_at = Time::zero() + Duration::s(60);
  options.on_snapshot = [&](const ClusterSnapshot& snapshot) { taken = snapshot; };
  ResultSink nobody;
  finish_run(scenario, nobody, options);
  using State = ClusterSnapshot::State;
  std::vector<State> states;
  for (const ClusterSnapshot::Job& job : taken.jobs) states.push_back(job.state);
  ASSERT_EQ(states, (std::vector{State::runs, State::ended, State::runs, State::runs, State::waits, State::not_arrived,
                                 State::not_arrived}));
  taken.out_of_service = {};

  const std::string path = (folder_ / snapshot_file).string();
  std::ofstream(path) << to_snapshot_text(flags, scenario, taken);
  const LoadedSnapshot read = read_snapshot(path, {"scheduler.fast_forward=3"});
  EXPECT_EQ(read.scenario.parameters.of("scheduler").integer("fast_forward"), 3);
  EXPECT_EQ(read.scenario.parameters.of("checkpoint").integer("every"), 4);
  EXPECT_EQ(read.snapshot.at, taken.at);
  for (std::size_t i = 0; i < taken.jobs.size(); ++i) {
    SCOPED_TRACE(scenario.jobs[i].name);
    const ClusterSnapshot::Job& job = taken.jobs[i];
    const ClusterSnapshot::Job& again = read.snapshot.jobs[i];
    EXPECT_EQ(again.state, job.state);
    expect_same(again.kept, job.kept);
    EXPECT_EQ(again.queued, job.queued);
    EXPECT_EQ(again.record.start, job.record.start);
    EXPECT_EQ(again.record.wait, job.record.wait);
    EXPECT_EQ(again.record.run_whole, job.record.run_whole);
    if (job.state != State::runs) continue;
    EXPECT_EQ(again.placement, job.placement);
    EXPECT_EQ(again.since, job.since);
    EXPECT_EQ(again.part_since, job.part_since);
    EXPECT_EQ(again.past.overhead, job.past.overhead);
    EXPECT_EQ(again.past.writing, job.past.writing);
    EXPECT_EQ(again.past.work, job.past.work);
    EXPECT_EQ(again.past.work_whole, job.past.work_whole);
    expect_same(again.past.kept, job.past.kept);
    expect_same(again.past.whole, job.past.whole);
    ASSERT_EQ(again.pace.has_value(), job.pace.has_value());
    if (!job.pace) continue;
    EXPECT_EQ(again.pace->period, job.pace->period);
    EXPECT_EQ(again.pace->spread, job.pace->spread);
  }
  EXPECT_TRUE(read.snapshot.jobs[0].pace);
  EXPECT_EQ(read.snapshot.jobs[2].record.iterations, 7U);
  EXPECT_GT(scenario.jobs[6].duration.mean(), Duration::zero());
  EXPECT_EQ(read.scenario.jobs[6].duration, scenario.jobs[6].duration);
}

TEST_F(Snapshots, NeedAScenario) {
  RunFlags flags;
  flags.jobs = "jobs.csv:philly";
  try {
    check_snapshot_flags(flags);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "cannot-snapshot");
  }
}

}  // namespace
}  // namespace weft::snapshot_file_test
