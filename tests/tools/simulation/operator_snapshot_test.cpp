// SPDX-License-Identifier: Apache-2.0
// States of clusters that run under Slurm, from lists of nodes and jobs.
#include "tools/simulation/operator_snapshot.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/error_code.hpp"
#include "tools/simulation/forecast.hpp"

namespace weft::operator_snapshot_test {
namespace {

namespace fs = std::filesystem;
using State = ClusterSnapshot::State;

const std::string header = "JobID|JobName|Submit|Start|End|Elapsed|Timelimit|State|AllocTRES|ReqTRES|NodeList\n";

/// Of 8 GPUs.
std::string node(const std::string& name, const std::string& more) {
  return "NodeName=" + name + " Arch=x86_64\n   Gres=gpu:8\n   " + more + "\n\n";
}
/// It began at 10:00 and has run for an hour.
std::string running(const std::string& id, const std::string& limit, int gpus, const std::string& node) {
  return id + "|name of " + id + "|2026-11-28T09:00:00|2026-11-28T10:00:00|Unknown|01:00:00|" + limit +
         "|RUNNING|gres/gpu=" + std::to_string(gpus) + "||" + node + "\n";
}
std::string waiting(const std::string& id, const std::string& limit, int gpus) {
  return id + "|" + id + "|2026-11-28T09:30:00|Unknown|Unknown|00:00:00|" + limit + "|PENDING||gres/gpu=" + std::to_string(gpus) +
         "|None assigned\n";
}

class OperatorSnapshots : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weft_operator_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  OperatorFlags flags(const std::string& nodes, const std::string& jobs) const {
    OperatorFlags all;
    all.nodes = write("nodes.txt", nodes);
    all.jobs = write("jobs.txt", header + jobs) + ":sacct";
    return all;
  }
  OperatorFlags scenario_flags(const std::string& scheduler) const {
    OperatorFlags all = flags(node("a", "State=MIXED"), running("1", "02:00:00", 4, "a") + waiting("2", "02:00:00", 8));
    all.jobs.clear();
    all.scenario = write("cluster.textproto",
                         "cluster { hosts: 1 gpus_per_host: 8 }\njobs { file: \"jobs.txt\" format: \"sacct\" }\n" + scheduler);
    return all;
  }

  fs::path folder_;
};

bool is_noted(const LoadedSnapshot& snapshot, const std::string& text) {
  return std::ranges::any_of(snapshot.scenario.assumptions,
                             [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

/// Of out_of_service, by their numbers in the cluster.
std::vector<std::uint32_t> gpus_out(const LoadedSnapshot& snapshot) {
  std::vector<std::uint32_t> gpus;
  for (const GpuSlot gpu : snapshot.snapshot.out_of_service) gpus.push_back(gpu.index());
  return gpus;
}

TEST_F(OperatorSnapshots, BackfillUnlessSomebodyNamesAPolicy) {
  const LoadedSnapshot open = read_operator_snapshot(scenario_flags(""));
  EXPECT_EQ(open.scenario.policy, "backfill");
  EXPECT_TRUE(is_noted(open, "waiting jobs start by backfill; scheduler { policy: \"...\" } or --scheduler=NAME names another"));
  // An accounting keeps what has not ended, as it does without a scenario.
  EXPECT_EQ(open.scenario.jobs.size(), 2U);

  const LoadedSnapshot placed = read_operator_snapshot(scenario_flags("scheduler { placement: \"first_fit\" }\n"));
  EXPECT_EQ(placed.scenario.policy, "backfill");

  const LoadedSnapshot named = read_operator_snapshot(scenario_flags("scheduler { policy: \"srtf\" }\n"));
  EXPECT_EQ(named.scenario.policy, "srtf");
  EXPECT_FALSE(is_noted(named, "waiting jobs start by"));

  OperatorFlags by_flag = scenario_flags("");
  by_flag.scheduler = "fcfs";
  EXPECT_EQ(read_operator_snapshot(by_flag).scenario.policy, "fcfs");
}

// Job 1 is two hours long and has run for one. Job 2 has no limit: it keeps its 4 GPUs beyond the
// 30 days, moves if its host is drained, and job 3, which wants all 16, never starts.
TEST_F(OperatorSnapshots, JobsWithoutALimitRunOn) {
  const std::string jobs =
      running("1", "02:00:00", 8, "a") + running("2", "UNLIMITED", 4, "b") + waiting("3", "Partition_Limit", 16);
  const OperatorFlags asked = flags(node("a", "State=ALLOCATED") + node("b", "State=MIXED") + node("c", "State=IDLE"), jobs);
  const LoadedSnapshot snapshot = read_operator_snapshot(asked);
  EXPECT_TRUE(is_noted(snapshot, "2 jobs that have not ended have no time limit"));
  EXPECT_FALSE(is_noted(snapshot, "left out"));
  EXPECT_EQ(gpus_out(snapshot), std::vector<std::uint32_t>());

  const ForecastOptions month{default_horizon(snapshot.scenario), 1};
  EXPECT_EQ(month.horizon, Duration::s(30 * 86400));
  const Forecast forecast = forecast_drain(snapshot, "b", month);
  EXPECT_EQ(forecast.running, 2U);
  EXPECT_EQ(forecast.waiting, 1U);
  EXPECT_EQ(forecast.date, "2026-11-28T11:00:00Z");
  ASSERT_EQ(forecast.jobs.size(), 3U);
  EXPECT_EQ(forecast.jobs[0].now.state, State::ended);
  EXPECT_EQ(forecast.jobs[0].now.end_s.value_or(0) - forecast.at.in_s(), 3600);
  EXPECT_EQ(forecast.jobs[0].called, "name of 1");
  EXPECT_TRUE(forecast.jobs[1].is_hit);
  EXPECT_EQ(forecast.jobs[1].then.state, State::runs);
  EXPECT_FALSE(forecast.jobs[1].then.end_s);
  EXPECT_EQ(forecast.jobs[1].placement, "host2:0-3");
  // Its name is its id.
  EXPECT_EQ(forecast.jobs[2].called, "");
}

// Of 8 GPUs each, a list of jobs without job 2 holds 3 on b. Slurm says that 3, 7, 8 and 8 are in
// use: 4 on b are held by nobody who is listed, and 8 on c; d has just completed its job.
TEST_F(OperatorSnapshots, GpusInUseOfJobsThatTheListLacksStayTaken) {
  const std::string nodes = node("a", "State=MIXED\n   AllocTRES=cpu=8,gres/gpu=3,gres/gpu:h100=3") +
                            node("b", "GresUsed=gpu:h100:7(IDX:1-7)\n   State=MIXED\n   AllocTRES=cpu=8") +
                            node("c", "State=ALLOCATED\n   AllocTRES=gres/gpu=8") +
                            node("d", "State=ALLOCATED+COMPLETING\n   AllocTRES=gres/gpu=8");
  const LoadedSnapshot snapshot =
      read_operator_snapshot(flags(nodes, running("1", "02:00:00", 3, "a") + running("3", "02:00:00", 3, "b")));
  EXPECT_TRUE(is_noted(snapshot, "2 nodes have 12 GPUs in use by jobs that the list lacks: they stay taken"));
  // Job 3 has the first three that b says are in use: 9, 10 and 11.
  EXPECT_EQ(gpus_out(snapshot), (std::vector<std::uint32_t>{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
}

TEST_F(OperatorSnapshots, ListsAreNotOlderThanAMonth) {
  OperatorFlags all = flags(node("a", "State=MIXED"), running("1", "02:00:00", 4, "a"));
  all.at = "2026-12-20T00:00:00";
  EXPECT_EQ(read_operator_snapshot(all).snapshot.jobs.size(), 1U);
  all.at = "2200-01-01T00:00:00";
  EXPECT_EQ(error_code_of([&] { read_operator_snapshot(all); }), "out-of-range");
}

TEST_F(OperatorSnapshots, JobsNeedAFormat) {
  OperatorFlags asked = flags(node("a", "State=IDLE"), waiting("1", "01:00:00", 8));
  asked.jobs = asked.jobs.substr(0, asked.jobs.find(':'));
  EXPECT_EQ(error_code_of([&] { read_operator_snapshot(asked); }), "missing-format");
}

// The job ahead holds all 8 GPUs for another hour.
TEST_F(OperatorSnapshots, AJobThatDoesNotFitStartsByItselfOrNotInTime) {
  const OperatorFlags asked = flags(node("a", "State=ALLOCATED"), running("1", "02:00:00", 8, "a") + waiting("2", "01:00:00", 8));
  const Forecast late = forecast_start(read_operator_snapshot(asked), "2", {Duration::s(7200), 1});
  EXPECT_FALSE(late.is_possible);
  EXPECT_TRUE(late.waits_by_itself);
  EXPECT_EQ(late.starts_by_itself_s, 3600);
  const Forecast never = forecast_start(read_operator_snapshot(asked), "2", {Duration::s(1800), 1});
  EXPECT_TRUE(never.waits_by_itself);
  EXPECT_FALSE(never.starts_by_itself_s);
}

}  // namespace
}  // namespace weft::operator_snapshot_test
