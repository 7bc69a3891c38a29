// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_spec.hpp"

#include <gtest/gtest.h>

#include "scheduler/placement/first_fit.hpp"
#include "tests/scheduler/scheduler_run.hpp"

namespace weft::job_spec_test {
namespace {

using testing_scheduler::job;

std::vector<std::string> codes(const std::vector<JobSpec>& jobs, const ClusterState& cluster, const Placer& placer) {
  Diagnostics diagnostics;
  check_jobs(jobs, cluster, placer, diagnostics);
  std::vector<std::string> result;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    EXPECT_FALSE(diagnostic.help.empty());
    result.push_back(diagnostic.code);
  }
  return result;
}

/// Has a place for even numbers of GPUs only.
class EvenOnly final : public Placer {
 public:
  std::optional<Placement> place(const ClusterState& cluster, std::uint32_t gpus) const override {
    return gpus % 2 == 0 ? FirstFit().place(cluster, gpus) : std::nullopt;
  }
};

std::shared_ptr<const Workload> workload_of(std::uint32_t ranks) {
  auto workload = std::make_shared<Workload>();
  workload->name = "toy";
  workload->rank_count = ranks;
  return workload;
}

TEST(JobSpec, TraceRowsBecomeJobs) {
  JobTrace trace;
  trace.jobs.push_back({"a", "ann", "vc1", "llm", Duration::s(5), Duration::s(60), 4, 120, 2, 17});
  trace.jobs.back().min_gpus = 3;
  const std::vector<JobSpec> jobs = jobs_of_trace(trace, "jobs.csv");
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].name, "a");
  EXPECT_EQ(jobs[0].user, "ann");
  EXPECT_EQ(jobs[0].group, "vc1");
  EXPECT_EQ(jobs[0].model, "llm");
  EXPECT_EQ(jobs[0].submit, testing_scheduler::at_s(5));
  EXPECT_EQ(jobs[0].duration, DurationModel::fixed(Duration::s(60)));
  EXPECT_EQ(jobs[0].gpus, 4U);
  EXPECT_EQ(jobs[0].min_gpus, 3U);
  EXPECT_EQ(jobs[0].iterations, 120U);
  EXPECT_EQ(jobs[0].priority, 2);
  EXPECT_EQ(jobs[0].place.file, "jobs.csv");
  EXPECT_EQ(jobs[0].place.line, 17);
}

TEST(JobSpec, SortingKeepsTheOrderOfOneInstant) {
  std::vector<JobSpec> jobs{job("late", 5, 1, {}), job("a", 2, 1, {}), job("b", 2, 1, {}), job("first", 0, 1, {})};
  sort_by_submission(jobs);
  EXPECT_EQ(jobs[0].name, "first");
  EXPECT_EQ(jobs[1].name, "a");
  EXPECT_EQ(jobs[2].name, "b");
  EXPECT_EQ(jobs[3].name, "late");
}

TEST(JobSpec, GoodJobsPass) {
  JobSpec with_workload = job("w", 0, 4, {});
  with_workload.workload = workload_of(4);
  with_workload.iterations = 10;
  EXPECT_TRUE(
      codes({job("a", 0, 1, Duration::s(1)), job("b", 0, 16, Duration::zero()), with_workload}, ClusterState(2, 8), FirstFit())
          .empty());
  EXPECT_TRUE(codes({}, ClusterState(2, 8), FirstFit()).empty());
}

TEST(JobSpec, ImpossibleJobsAreNamedAllTogether) {
  std::vector<JobSpec> jobs{job("ok", 0, 16, Duration::s(1)), job("big", 1, 17, Duration::s(1)), job("none", 2, 0, Duration::s(1)),
                            job("huge", 3, 4'000'000'000U, Duration::s(1))};
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].place = {"jobs.csv", static_cast<int>(i) + 2, 0, 1, ""};
  jobs.push_back(job("early", -1, 1, Duration::s(1)));
  EXPECT_EQ(codes(jobs, ClusterState(2, 8), FirstFit()),
            (std::vector<std::string>{"job-too-large", "no-gpus", "job-too-large", "negative-submit"}));

  Diagnostics diagnostics;
  check_jobs(jobs, ClusterState(2, 8), FirstFit(), diagnostics);
  EXPECT_EQ(diagnostics.all()[0].to_text(),
            "jobs.csv:3: error: job \"big\" wants 17 GPUs but the cluster has 16 GPUs on 2 hosts [job-too-large]\n"
            "  help: use a larger cluster or leave the job out\n");
}

// A job of a trace cannot be left out of it as easily, so that the message says how all of them
// are.
TEST(JobSpec, JobsOfTracesThatAreTooLargeCanBeLeftOut) {
  JobTrace trace;
  trace.jobs.emplace_back().gpus = 17;
  Diagnostics diagnostics;
  check_jobs(jobs_of_trace(trace, "jobs.csv"), ClusterState(2, 8), FirstFit(), diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 1U);
  EXPECT_EQ(diagnostics.all()[0].code, "job-too-large");
  EXPECT_NE(diagnostics.all()[0].help.find("--skip-larger-jobs"), std::string::npos) << diagnostics.all()[0].help;
}

TEST(JobSpec, JobsWithoutAnyPlacementAreFound) {
  EXPECT_EQ(codes({job("even", 0, 4, {}), job("odd", 0, 3, {}), job("odd too", 0, 3, {})}, ClusterState(2, 8), EvenOnly()),
            (std::vector<std::string>{"unplaceable-job", "unplaceable-job"}));
}

TEST(JobSpec, WorkloadsNeedOneGpuPerRankAndIterations) {
  JobSpec wrong_ranks = job("w", 0, 4, {});
  wrong_ranks.workload = workload_of(8);
  wrong_ranks.iterations = 1;
  JobSpec idle = job("i", 0, 4, {});
  idle.workload = workload_of(4);
  JobSpec endless = idle;
  endless.iterations = std::uint64_t{1} << 32;
  EXPECT_EQ(codes({wrong_ranks, idle, endless}, ClusterState(2, 8), FirstFit()),
            (std::vector<std::string>{"rank-count-mismatch", "no-iterations", "too-many-iterations"}));
}

TEST(JobSpec, MoreWorkThanTheClockHolds) {
  // The clock ends after 2^63 ticks of 10 ps = 1,067.5 days: 2 GPUs cannot do 4 x 600 GPU-days, 4
  // GPUs can.
  std::vector<JobSpec> jobs(4, job("long", 0, 1, Duration::s(600 * 86'400)));
  EXPECT_EQ(codes(jobs, ClusterState(2, 1), FirstFit()), std::vector<std::string>{"too-much-work"});
  EXPECT_TRUE(codes(jobs, ClusterState(4, 1), FirstFit()).empty());
}

}  // namespace
}  // namespace weft::job_spec_test
