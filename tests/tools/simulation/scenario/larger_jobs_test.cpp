// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/larger_jobs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/error_code.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/snapshot_file.hpp"

namespace weft::larger_jobs_test {
namespace {

namespace fs = std::filesystem;

TraceJob job(const std::string& name, int line, std::uint32_t gpus, Duration run) {
  TraceJob result;
  result.name = name;
  result.line = line;
  result.gpus = gpus;
  result.run = run;
  return result;
}

std::vector<std::string> names_of(const JobTrace& trace) {
  std::vector<std::string> names;
  for (const TraceJob& left : trace.jobs) names.push_back(left.name);
  return names;
}

// On 8 GPUs: "b" of 16 for 1 h and "d" of 9 for 2 h are too large, 16 + 18 = 34 GPU-h. The others
// have 8 * 4 + 1 * 2 = 34 GPU-h, which makes it a half.
TEST(LargerJobs, AreLeftOutAndCounted) {
  JobTrace trace;
  trace.jobs = {job("a", 2, 8, Duration::s(4 * 3600)), job("b", 3, 16, Duration::s(3600)), job("c", 4, 1, Duration::s(7200)),
                job("d", 5, 9, Duration::s(7200))};
  const LargerJobs larger = leave_out_larger_jobs(trace, 8);
  EXPECT_EQ(names_of(trace), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(larger.jobs(), 2U);
  EXPECT_EQ(larger.names, (std::vector<std::string>{"b", "d"}));
  EXPECT_DOUBLE_EQ(larger.gpu_hours, 34);
  EXPECT_DOUBLE_EQ(larger.gpu_time_share, 0.5);
  EXPECT_EQ(
      larger.to_text(8),
      "2 jobs of 9 to 16 GPUs with 34.0 GPU-h, 50 % of the trace's GPU time, are left out: they are larger than the cluster of "
      "8 GPUs; the largest is \"b\" (line 3)");
}

TEST(LargerJobs, WithoutRunTimesHaveNoGpuTime) {
  JobTrace trace;
  trace.jobs = {job("a", 2, 2, {}), job("b", 3, 1, {})};
  EXPECT_EQ(leave_out_larger_jobs(trace, 1).to_text(1),
            "1 job of 2 GPUs is left out: \"a\" (line 2) is larger than the cluster of 1 GPU");
  JobTrace again = trace;
  EXPECT_EQ(leave_out_larger_jobs(again, 1).jobs(), 0U);
  EXPECT_EQ(again.jobs.size(), 1U);
}

class SkippedJobs : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weft_larger_jobs_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    write("jobs.csv", "job,submit_s,gpus,run_s\nbig,0,9,60\na,10,8,60\n");
    write("small.csv", "job,submit_s,gpus,run_s\nsmall,0,1,60\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  RunFlags scenario(const std::string& text) const {
    RunFlags flags;
    flags.scenario_file = write("s.textproto", text);
    return flags;
  }
  static std::string code_of(const RunFlags& flags) {
    return error_code_of([&] { check_run(load_scenario(flags)); });
  }

  fs::path folder_;
};

// What is left keeps its submission: the clock of the trace begins with "big", which is left out.
TEST_F(SkippedJobs, OfAFlag) {
  RunFlags flags;
  flags.jobs = (folder_ / "jobs.csv").string();
  flags.hosts = 1;
  EXPECT_EQ(code_of(flags), "job-too-large");
  flags.skip_larger_jobs = true;
  EXPECT_EQ(code_of(flags), "");
  const Scenario loaded = load_scenario(flags);
  ASSERT_EQ(loaded.jobs.size(), 1U);
  EXPECT_EQ(loaded.jobs.front().submit, Time::zero() + Duration::s(10));
  EXPECT_TRUE(std::ranges::any_of(loaded.assumptions,
                                  [](const std::string& note) { return note.find("1 job of 9 GPUs") != std::string::npos; }));
}

// Spares run nothing: of 2 hosts of 8 with a spare one 8 GPUs are left.
TEST_F(SkippedJobs, AreThoseLargerThanTheHostsInService) {
  RunFlags flags;
  flags.jobs = (folder_ / "jobs.csv").string();
  flags.hosts = 2;
  EXPECT_EQ(code_of(flags), "");
  flags.settings = {"failure.hot_spares=1"};
  EXPECT_EQ(code_of(flags), "job-too-large");
  flags.skip_larger_jobs = true;
  EXPECT_EQ(load_scenario(flags).jobs.size(), 1U);
}

TEST_F(SkippedJobs, OfOneTraceOfAScenario) {
  const std::string one = "jobs { file: \"jobs.csv\" format: \"weft\" skip_larger_jobs: true }\n";
  EXPECT_EQ(load_scenario(scenario("cluster { hosts: 1 gpus_per_host: 8 }\n" + one)).jobs.size(), 1U);
  // With 4 GPUs the first trace has no job left, and what it leaves out is no matter as long as
  // there are other jobs.
  const std::string of_4 = "cluster { hosts: 1 gpus_per_host: 4 }\n";
  EXPECT_EQ(code_of(scenario(of_4 + one)), "job-too-large");
  EXPECT_EQ(code_of(scenario(of_4 + one + "jobs { file: \"small.csv\" format: \"weft\" }\n")), "");
  EXPECT_EQ(code_of(scenario(of_4 + one + "jobs { file: \"jobs.csv\" format: \"weft\" }\n")), "job-too-large");
}

// A snapshot lists the jobs of its run by number, so that who reads it has to leave out the same.
TEST_F(SkippedJobs, AreLeftOutOfASnapshotToo) {
  RunFlags flags = scenario("cluster { hosts: 1 gpus_per_host: 8 }\njobs { file: \"jobs.csv\" format: \"weft\" }\n");
  flags.skip_larger_jobs = true;
  const Scenario loaded = load_scenario(flags);
  ClusterSnapshot taken;
  taken.jobs.resize(loaded.jobs.size());
  const std::string path = write("snapshot.textproto", to_snapshot_text(flags, loaded, taken));
  EXPECT_EQ(read_snapshot(path, {}).scenario.jobs.size(), 1U);
}

}  // namespace
}  // namespace weft::larger_jobs_test
