// SPDX-License-Identifier: Apache-2.0
// Timelines in job mode, derived by hand.
#include "scheduler/lifecycle/job_lifecycle.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/check.hpp"
#include "tests/scheduler/scheduler_run.hpp"

namespace weft::job_lifecycle_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::fcfs_first_fit;
using testing_scheduler::FinishedRun;
using testing_scheduler::job;
using testing_scheduler::run_jobs;

/// Writes down what it is told, one line per call.
class Log final : public JobObserver {
 public:
  void job_started(const JobSpec& spec, const JobRecord& record) override {
    lines.push_back(fmt::format("{} starts at {} on {}", spec.name, static_cast<int>(record.start->in_s()), record.placement));
  }
  void job_finished(const JobSpec& spec, const JobRecord& record) override {
    lines.push_back(fmt::format("{} ends at {}", spec.name, static_cast<int>(record.end->in_s())));
  }
  std::vector<std::string> lines;
};

// Two hosts of four GPUs.
//   t=0   A takes host 0.
//   t=1   B wants six: host 1 is wholly free, but the other two do not fit beside A. B waits.
//   t=2   C wants one, which is free, but B is ahead of it.
//   t=10  A ends. B takes host 0 and two GPUs of host 1 (host 1 is larger than the two that are
//         missing), C the next one there.
//   t=11  C ends and D arrives: D takes the two that are left.
//   t=14  D ends.   t=15  B ends.
TEST(JobLifecycle, FollowsATimelineByHand) {
  const std::vector<JobSpec> jobs{job("A", 0, 4, Duration::s(10)), job("B", 1, 6, Duration::s(5)), job("C", 2, 1, Duration::s(1)),
                                  job("D", 11, 2, Duration::s(3))};
  Log log;
  const FinishedRun run = run_jobs(jobs, ClusterState(2, 4), fcfs_first_fit(&log));
  EXPECT_EQ(log.lines, (std::vector<std::string>{"A starts at 0 on host0:0-3", "A ends at 10",
                                                 "B starts at 10 on host0:0-3,host1:0-1", "C starts at 10 on host1:2",
                                                 "C ends at 11", "D starts at 11 on host1:2-3", "D ends at 14", "B ends at 15"}));
  EXPECT_EQ(run.records[1].wait, Duration::s(9));
  EXPECT_EQ(run.records[1].run, Duration::s(5));
  EXPECT_EQ(run.records[1].completion(), Duration::s(14));
  EXPECT_EQ(run.counters.arrived, 4U);
  EXPECT_EQ(run.counters.started, 4U);
  EXPECT_EQ(run.counters.finished, 4U);
  EXPECT_EQ(run.counters.makespan(), Duration::s(15));
  EXPECT_DOUBLE_EQ(run.counters.busy_gpu_s, 4 * 10 + 6 * 5 + 1 * 1 + 2 * 3);
  EXPECT_DOUBLE_EQ(run.counters.gpus_busy_mean, 77.0 / 15);
  EXPECT_EQ(run.counters.gpus_busy_max, 8U);  // from 11 on: B's six and D's two
  EXPECT_EQ(run.counters.queue_length_max, 2U);
  EXPECT_DOUBLE_EQ(run.counters.queue_length_mean, (9.0 + 8.0) / 15);  // B waits 9 s, C 8 s
}

TEST(JobLifecycle, ScatterUsesWhatIsFree) {
  const std::vector<JobSpec> jobs{job("A", 0, 3, Duration::s(10)), job("B", 1, 5, Duration::s(5))};
  const FinishedRun run = run_jobs(jobs, ClusterState(2, 4), fcfs_first_fit(nullptr, true));
  EXPECT_EQ(run.records[1].start, at_s(1));
  EXPECT_EQ(run.records[1].placement, "host0:3,host1:0-3");
}

TEST(JobLifecycle, WhatEndsNowIsFreeForWhatArrivesNow) {
  const FinishedRun run =
      run_jobs({job("A", 0, 8, Duration::s(10)), job("B", 10, 8, Duration::s(1))}, ClusterState(1, 8), fcfs_first_fit());
  EXPECT_EQ(run.records[1].wait, Duration::zero());
  EXPECT_EQ(run.counters.queue_length_max, 0U);  // nobody waited for longer than an instant
  EXPECT_EQ(run.counters.passes, 3U);            // at 0, at 10 for both, and at 11 when B ended
}

TEST(JobLifecycle, AnInstantHasOnePass) {
  std::vector<JobSpec> jobs(5, job("same", 3, 1, Duration::s(2)));
  const FinishedRun run = run_jobs(jobs, ClusterState(1, 8), fcfs_first_fit());
  EXPECT_EQ(run.counters.passes, 2U);  // five arrivals at 3, five ends at 5
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(run.records[i].placement, "host0:" + std::to_string(i));
}

TEST(JobLifecycle, JobsOfNoDurationTakeTurnsWithinAnInstant) {
  const FinishedRun run =
      run_jobs({job("A", 5, 8, {}), job("B", 5, 8, {}), job("C", 5, 8, Duration::s(1))}, ClusterState(1, 8), fcfs_first_fit());
  for (const JobRecord& record : run.records) EXPECT_EQ(record.start, at_s(5));
  EXPECT_EQ(run.records[1].end, at_s(5));
  EXPECT_EQ(run.counters.last_end, at_s(6));
  EXPECT_EQ(run.counters.makespan(), Duration::s(1));
}

TEST(JobLifecycle, DeclaredIterationsGiveAMeanTime) {
  JobSpec with = job("with", 0, 1, Duration::s(100));
  with.iterations = 4;
  const FinishedRun run = run_jobs({with, job("without", 0, 1, Duration::s(100))}, ClusterState(1, 8), fcfs_first_fit());
  EXPECT_EQ(run.records[0].mean_iteration, Duration::s(25));
  EXPECT_EQ(run.records[0].iterations, 4U);
  EXPECT_FALSE(run.records[1].mean_iteration);
}

// Host 0 works at half the speed, up to 60 s. The slowest host counts, and its speed at the start:
// A takes 200 s and C 20 s where B takes 10 s. D starts after 60 s. Of E's 7 s, measured, hosts
// compute 4: 8 s at half the speed, and 3 s for the rest.
TEST(JobLifecycle, SlowHostsTakeLonger) {
  const HostSpeedEntry slow{{HostId(0)}, 0.5, at_s(0), at_s(60)};
  const HostSpeeds speeds(3, std::vector{slow}, {});
  const auto ends_of = [&](std::vector<JobSpec> jobs) {
    JobLifecycleSettings settings = fcfs_first_fit();
    settings.speeds = &speeds;
    std::vector<Time> ends;
    for (const JobRecord& record : run_jobs(std::move(jobs), ClusterState(3, 4), std::move(settings)).records)
      ends.push_back(record.end.value());
    return ends;
  };
  JobSpec c = job("C", 0, 2, Duration::s(10));
  c.iterations = 5;
  JobSpec e = job("E", 0, 12, Duration::s(7));
  e.compute_share = 4.0 / 7;
  EXPECT_EQ(ends_of({job("A", 0, 8, Duration::s(100)), job("B", 0, 4, Duration::s(10))}), (std::vector{at_s(200), at_s(10)}));
  EXPECT_EQ(ends_of({c, job("D", 60, 4, Duration::s(30))}), (std::vector{at_s(20), at_s(90)}));
  EXPECT_EQ(ends_of({e}), std::vector{at_s(11)});
}

// A did a quarter of its work when host 0, at half the speed, fails at 50 s; host 1 does the other
// 75 s.
TEST(JobLifecycle, WorkOfASlowHostIsKeptAsWork) {
  const HostSpeedEntry slow{{HostId(0)}, 0.5, at_s(0), Time::max()};
  const HostSpeeds speeds(2, std::vector{slow}, {});
  const auto record_of = [&](std::int64_t failing_host) {
    JobLifecycleSettings settings = fcfs_first_fit();
    settings.speeds = &speeds;
    settings.failures.log = {{at_s(50), {PartKind::host, static_cast<std::uint32_t>(failing_host)}, Duration::s(1'000)}};
    return run_jobs({job("A", 0, 4, Duration::s(100))}, ClusterState(2, 4), std::move(settings)).records[0];
  };
  const JobRecord moved = record_of(0);
  EXPECT_EQ(moved.end, at_s(125));
  EXPECT_EQ(moved.lost_to_failures, Duration::zero());
  EXPECT_EQ(moved.useful(), Duration::s(125));
  EXPECT_EQ(record_of(1).end, at_s(200));
}

TEST(JobLifecycle, DurationsAreDrawnBySeed) {
  std::vector<JobSpec> jobs(50, job("random", 0, 1, {}));
  for (JobSpec& spec : jobs) spec.duration = DurationModel::parse("exponential(1h)", {});
  const auto ends = [&](std::uint64_t seed) {
    JobLifecycleSettings settings = fcfs_first_fit();
    settings.seed = seed;
    std::vector<std::optional<Time>> result;
    for (const JobRecord& record : run_jobs(jobs, ClusterState(2, 8), std::move(settings)).records) result.push_back(record.end);
    return result;
  };
  EXPECT_EQ(ends(1), ends(1));
  EXPECT_NE(ends(1), ends(2));
}

TEST(JobLifecycle, NoJobsIsARunToo) {
  const FinishedRun run = run_jobs({}, ClusterState(1, 8), fcfs_first_fit());
  EXPECT_EQ(run.report.events, 0U);
  EXPECT_DOUBLE_EQ(run.counters.gpus_busy_mean, 0);
}

TEST(JobLifecycle, AJobThatOutlivesTheClockIsTheUsersError) {
  // The clock ends after 1,067 days; together the two take 1,800 on one GPU.
  std::vector<JobSpec> jobs{job("A", 0, 1, Duration::s(900 * 86'400)), job("B", 0, 1, Duration::s(900 * 86'400))};
  jobs[1].place = {"jobs.csv", 3, 0, 1, ""};
  try {
    run_jobs(jobs, ClusterState(1, 1), fcfs_first_fit());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics()[0].code, "beyond-clock");
    EXPECT_EQ(error.diagnostics()[0].place.line, 3);
  }
}

// 8,000 h at a millionth of the speed is longer than a duration can be.
TEST(JobLifecycle, SlowHostsTakeNobodyBeyondTheClock) {
  const HostSpeedEntry slow{{HostId(0)}, 1e-6, at_s(0), Time::max()};
  const HostSpeeds speeds(1, std::vector{slow}, {});
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.speeds = &speeds;
  try {
    run_jobs({job("A", 0, 1, Duration::s(8'000 * 3'600))}, ClusterState(1, 1), std::move(settings));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics()[0].code, "beyond-clock");
  }
}

TEST(JobLifecycle, AnUnfinishedRunIsNotSilent) {
  EngineBuilder builder;
  std::vector<JobSpec> jobs{job("A", 0, 8, Duration::s(10)), job("B", 1, 8, Duration::s(10)), job("C", 9, 8, Duration::s(10))};
  const EntityId id = JobLifecycle::add_to(builder, std::make_unique<JobLifecycle>(jobs, ClusterState(1, 8), fcfs_first_fit()));
  Engine engine = std::move(builder).build({});
  RunControl control;
  control.until = at_s(5);
  engine.run(control);
  const JobLifecycle& lifecycle = engine.entity_as<JobLifecycle>(id);
  EXPECT_FALSE(lifecycle.all_finished());
  try {
    lifecycle.require_all_finished();
    FAIL();
  } catch (const CheckFailure& failure) {
    const std::string text = failure.what();
    EXPECT_NE(text.find("3 of 3"), std::string::npos) << text;
    EXPECT_NE(text.find("job \"A\" is running"), std::string::npos) << text;
    EXPECT_NE(text.find("job \"B\" waits for 8 GPUs"), std::string::npos) << text;
    EXPECT_NE(text.find("job \"C\" has not arrived"), std::string::npos) << text;
  }
  engine.run({});
  EXPECT_NO_THROW(lifecycle.require_all_finished());
  EXPECT_EQ(lifecycle.state_text(JobId(2)), "job \"C\" has ended");
}

TEST(JobLifecycle, RefusesJobsThatWereNotChecked) {
  const auto make = [](std::vector<JobSpec> jobs) { JobLifecycle(std::move(jobs), ClusterState(1, 8), fcfs_first_fit()); };
  EXPECT_THROW(make({job("late", 5, 1, {}), job("early", 1, 1, {})}), CheckFailure);
  EXPECT_THROW(make({job("big", 0, 9, {})}), CheckFailure);
  EXPECT_THROW(make({job("none", 0, 0, {})}), CheckFailure);
}

/// Starts everybody who fits, in any order of size: what backfilling will do.
class Greedy final : public SchedulingPolicy {
 public:
  void schedule(SchedulingPass& pass) override {
    for (auto at = pass.queue().begin(); at != pass.queue().end();) {
      const JobId waiting = *at;
      ++at;
      const std::size_t queued = pass.queue().size();
      const bool started = pass.try_start(waiting);
      EXPECT_EQ(pass.queue().size(), queued - (started ? 1 : 0));
      EXPECT_EQ(pass.job(waiting).start.has_value(), started);
      EXPECT_EQ(pass.running().contains(waiting), started);
      if (started) {
        EXPECT_EQ(pass.job(waiting).start, pass.now());
      }
      EXPECT_EQ(pass.job(waiting).declared_run, Duration::s(waiting.index() + 1));
    }
  }
};

TEST(JobLifecycle, APolicyMayOvertake) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.policy = std::make_unique<Greedy>();
  // Six hold the host, the next eight cannot start, the last two can and do.
  const FinishedRun run =
      run_jobs({job("six", 0, 6, Duration::s(1)), job("eight", 0, 8, Duration::s(2)), job("two", 0, 2, Duration::s(3))},
               ClusterState(1, 8), std::move(settings));
  EXPECT_EQ(run.records[2].start, at_s(0));
  EXPECT_EQ(run.records[1].start, at_s(3));
}

}  // namespace
}  // namespace weft::job_lifecycle_test
