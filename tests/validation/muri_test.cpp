// SPDX-License-Identifier: Apache-2.0
// The 400 jobs of Muri (Zhao et al., SIGCOMM 2022) on 8 hosts of 8 GPUs, against what the cluster's
// log says that became of each under SRTF and Tiresias.
//
// The log is of a scheduler that decides every 6 minutes. A start took 65 s to 78 s: the slope of
// (time that a job held GPUs - iterations x iteration_time) over its starts. That scheduler starts
// every running job anew whenever anything changes (6,232 starts under Tiresias); Weft starts those
// that were stopped, which is why it stays below the measured means.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include "scenario_run.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"

namespace weft::muri_test {
namespace {

struct Measured {
  const char* policy;
  const char* log;
};

void PrintTo(const Measured& measured, std::ostream* out) { *out << measured.policy; }

class Muri : public testing::TestWithParam<Measured> {};

INSTANTIATE_TEST_SUITE_P(Policies, Muri,
                         testing::Values(Measured{"srtf", "result_SRTF_job.csv"}, Measured{"tiresias", "result_tiresias_job.csv"}),
                         [](const auto& given) { return given.param.policy; });

TEST_P(Muri, CompletionTimesAreThoseOfTheCluster) {
  const std::string trace = real_data("traces/muri/cluster_trace.csv");
  const std::string log = real_data(std::string("traces/muri/") + GetParam().log);
  if (trace.empty() || log.empty()) GTEST_SKIP() << "../shared/data is not there";
  RunFlags flags;
  flags.jobs = trace + ":muri";
  flags.hosts = 8;
  flags.gpus_per_host = 8;
  flags.scheduler = GetParam().policy;
  flags.settings = {"scheduler.round=6min", "scheduler.start_overhead=65s"};
  const ScenarioRun run = run_scenario(flags);

  std::map<std::string, double> measured_s;
  double measured_makespan_s = 0;
  for (const TraceJob& job : load_job_trace(log, "muri-result").jobs) {
    ASSERT_TRUE(job.real.has_value());
    measured_s[job.name] = job.real->completion.in_s();
    measured_makespan_s = std::max(measured_makespan_s, (job.submit + job.real->completion).in_s());
  }
  ASSERT_EQ(measured_s.size(), 400U);
  ASSERT_EQ(run.jobs.size(), 400U);

  double mean_s = 0;
  double measured_mean_s = 0;
  std::map<int, std::pair<double, double>> of_size;  // number of GPUs: simulated, measured
  for (const auto& row : run.jobs) {
    const double simulated = std::stod(row.at("jct_s"));
    const double measured = measured_s.at(row.at("job"));
    mean_s += simulated / 400;
    measured_mean_s += measured / 400;
    auto& sums = of_size[std::stoi(row.at("gpus"))];
    sums.first += simulated;
    sums.second += measured;
  }
  RecordProperty("mean_s", std::to_string(mean_s));
  RecordProperty("measured_mean_s", std::to_string(measured_mean_s));
  EXPECT_NEAR(mean_s / measured_mean_s, 1, 0.08);
  EXPECT_NEAR(run.summary.makespan.in_s() / measured_makespan_s, 1, 0.03);
  // 287 jobs want 8 GPUs, 40 want 32: together four fifths and more of the mean.
  EXPECT_NEAR(of_size.at(8).first / of_size.at(8).second, 1, 0.1);
  EXPECT_NEAR(of_size.at(32).first / of_size.at(32).second, 1, 0.1);
}

}  // namespace
}  // namespace weft::muri_test
