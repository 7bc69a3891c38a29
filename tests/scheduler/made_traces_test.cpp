// SPDX-License-Identifier: Apache-2.0
// Traces made from job templates, replayed on a cluster of the size they were published of: do jobs
// wait about as long as there?
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/scheduler/scheduler_run.hpp"
#include "workloads/job_templates/job_templates.hpp"

namespace weft::made_traces_test {
namespace {

using testing_scheduler::FinishedRun;
using testing_scheduler::policy_called;
using testing_scheduler::run_jobs;
using testing_scheduler::settings_with;

std::vector<JobSpec> jobs_like(const std::string& name, std::uint64_t seed) {
  const SourcePlace place = SourcePlace::named("test");
  const auto& module = find_module(job_templates(), name, place);
  std::vector<JobSpec> jobs = jobs_of_trace(module.make(ParamSet(name, module.info.params), seed, place), name);
  sort_by_submission(jobs);
  return jobs;
}

/// In seconds, sorted.
std::vector<double> waits_under(const std::string& policy, const std::vector<JobSpec>& jobs, std::uint32_t hosts) {
  const FinishedRun run = run_jobs(jobs, ClusterState(hosts, 8), settings_with(policy_called(policy)));
  EXPECT_EQ(run.counters.finished, jobs.size());
  std::vector<double> waits;
  for (const JobRecord& record : run.records) waits.push_back(record.wait.in_s());
  std::sort(waits.begin(), waits.end());
  return waits;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.) / static_cast<double>(values.size());
}

// Venus: 1,022 GPUs, here 128 hosts of 8. Its jobs waited 1,253.288 s in the mean, half of them not
// at all (cluster_summary.csv of the Helios data set). The mean of a made trace depends on when its
// few longest jobs meet: seeds 1 to 5 give 486 to 5,839 s where small jobs pass large ones, as they
// did on Venus. There each virtual cluster had its own nodes, which lengthens waiting, and users of
// a full cluster hold back, which shortens it; neither is in the trace or in job mode. What can be
// held against it is the order of magnitude, and that a strict order is far off: behind every large
// job all wait.
TEST(MadeTraces, JobsLikeThoseOfVenusWaitAboutAsLong) {
  const double published_s = 1253.288;
  std::vector<double> means;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const std::vector<JobSpec> jobs = jobs_like("helios_venus", seed);
    ASSERT_EQ(jobs.size(), 125'303U);
    const std::vector<double> waits = waits_under("fcfs_fill", jobs, 128);
    EXPECT_EQ(waits[waits.size() / 2], 0) << seed;
    means.push_back(mean(waits));
    EXPECT_GT(means.back(), published_s / 10) << seed;
    EXPECT_LT(means.back(), published_s * 10) << seed;
    if (seed > 1) continue;
    EXPECT_GT(mean(waits_under("fcfs", jobs, 128)), published_s * 100);
  }
  std::sort(means.begin(), means.end());
  EXPECT_GT(means[1], published_s / 4);
  EXPECT_LT(means[1], published_s * 4);
}

}  // namespace
}  // namespace weft::made_traces_test
