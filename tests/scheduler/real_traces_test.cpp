// SPDX-License-Identifier: Apache-2.0
// Traces of real clusters, replayed in job mode; skipped where the data is not there.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/scheduler/scheduler_run.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"

namespace weft::real_traces_test {
namespace {

using testing_scheduler::fcfs_first_fit;
using testing_scheduler::find_double_booking;
using testing_scheduler::FinishedRun;
using testing_scheduler::run_jobs;

const std::string traces = WEFT_SOURCE_DIR "/../shared/data/traces/";

std::vector<JobSpec> jobs_of(const std::string& file, const std::string& format, const ClusterState& cluster) {
  std::vector<JobSpec> jobs = jobs_of_trace(load_job_trace(traces + file, format), file);
  sort_by_submission(jobs);
  Diagnostics diagnostics;
  check_jobs(jobs, cluster, FirstFit(), diagnostics);
  diagnostics.throw_if_errors();
  return jobs;
}

double gpu_time_s(const std::vector<JobSpec>& jobs) {
  double sum = 0;
  for (const JobSpec& job : jobs) sum += job.gpus * job.duration.mean().in_s();
  return sum;
}

void expect_a_schedule(const std::vector<JobSpec>& jobs, const FinishedRun& run) {
  ASSERT_EQ(run.records.size(), jobs.size());
  EXPECT_EQ(run.counters.finished, jobs.size());
  EXPECT_EQ(find_double_booking(run.records), "");
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_GE(run.records[i].start, jobs[i].submit);
    ASSERT_EQ(run.records[i].run, jobs[i].duration.mean());
    if (i > 0) {
      ASSERT_GE(run.records[i].start, run.records[i - 1].start);
    }
  }
  EXPECT_NEAR(run.counters.busy_gpu_s, gpu_time_s(jobs), 1e-9 * gpu_time_s(jobs));
}

TEST(RealTraces, MuriOnItsCluster) {
  if (!std::filesystem::exists(traces + "muri/cluster_trace.csv")) GTEST_SKIP() << "no data at " << traces;
  const ClusterState cluster(8, 8);
  const std::vector<JobSpec> jobs = jobs_of("muri/cluster_trace.csv", "muri", cluster);
  ASSERT_EQ(jobs.size(), 400U);
  // 65,986.13 GPU-h (sum of iterations x iteration_time x num_gpu) on 64 GPUs: no schedule is
  // shorter than 3,711,719.8 s.
  EXPECT_NEAR(gpu_time_s(jobs) / 64, 3'711'719.8, 0.1);
  const FinishedRun run = run_jobs(jobs, cluster, fcfs_first_fit());
  expect_a_schedule(jobs, run);
  EXPECT_GE(run.counters.makespan().in_s(), 3'711'719);
  EXPECT_LE(run.counters.gpus_busy_max, 64U);
  EXPECT_EQ(run.report.fingerprint.value(), run_jobs(jobs, cluster, fcfs_first_fit(), 2).report.fingerprint.value());
}

TEST(RealTraces, PhillyOn300HostsOf8) {
  if (!std::filesystem::exists(traces + "philly/philly_82247jobs.csv.gz")) GTEST_SKIP() << "no data at " << traces;
  const ClusterState cluster(300, 8);
  const std::vector<JobSpec> jobs = jobs_of("philly/philly_82247jobs.csv.gz", "philly", cluster);
  ASSERT_EQ(jobs.size(), 82'247U);
  EXPECT_NEAR(gpu_time_s(jobs) / 3600, 978'078.47, 0.01);
  const FinishedRun run = run_jobs(jobs, cluster, fcfs_first_fit());
  expect_a_schedule(jobs, run);
  EXPECT_GE(run.counters.makespan().in_s(), gpu_time_s(jobs) / 2400);
  EXPECT_LE(run.counters.gpus_busy_max, 2400U);
}

}  // namespace
}  // namespace weft::real_traces_test
