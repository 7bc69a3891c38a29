// SPDX-License-Identifier: Apache-2.0
// What a scenario has happen by hand: cancellations of jobs in every state, drains with a notice of
// their own, and the record of events; and whole runs of random traces with random events, in which
// no work may get lost or counted twice.
#include "scheduler/handlers/scripted_events.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/scheduler/scheduler_run.hpp"

namespace weft::scripted_events_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::Attempts;
using testing_scheduler::fcfs_first_fit;
using testing_scheduler::FinishedRun;
using testing_scheduler::job;
using testing_scheduler::policy_called;
using testing_scheduler::policy_names;
using testing_scheduler::run_jobs;
using testing_scheduler::settings_with;

ScriptedEvent cancel(std::int64_t at, std::string job) { return {at_s(at), ScriptedEvent::Kind::cancel, std::move(job)}; }

/// The rows of events.csv.
class EventLog final : public JobObserver {
 public:
  void event_happened(const EventRecord& record) override {
    rows += fmt::format("{} {} {} {}\n", static_cast<std::int64_t>(record.at.in_s()), record.event, record.subject, record.by);
  }
  std::string rows;
};

// One host. A runs from 0 and is cancelled at 30, so that B runs from 30 to 80. C waits from 20 to
// 40. D never arrives, and neither does what happens to B when it has ended. E runs from 80 to 90.
TEST(ScriptedEvents, CancelJobsInEveryState) {
  EventLog log;
  JobLifecycleSettings settings = fcfs_first_fit(&log);
  settings.events = {cancel(30, "A"), cancel(40, "C"), cancel(60, "D"), cancel(85, "B")};
  const FinishedRun run =
      run_jobs({job("A", 0, 4, Duration::s(100)), job("B", 10, 4, Duration::s(50)), job("C", 20, 4, Duration::s(1)),
                job("D", 60, 4, Duration::s(1)), job("E", 70, 4, Duration::s(10))},
               ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(log.rows, "30 cancel A scenario\n40 cancel C scenario\n60 cancel D scenario\n");
  EXPECT_EQ(run.records[0].cancelled, at_s(30));
  EXPECT_EQ(run.records[0].end, std::nullopt);
  EXPECT_EQ(run.records[0].run, Duration::s(30));
  EXPECT_EQ(run.records[0].lost_to_cancellation, Duration::s(30));
  EXPECT_EQ(run.records[0].useful(), Duration::zero());
  EXPECT_EQ(run.records[1].start, at_s(30));
  EXPECT_EQ(run.records[1].end, at_s(80));
  EXPECT_EQ(run.records[2].start, std::nullopt);
  EXPECT_EQ(run.records[2].wait, Duration::s(20));
  EXPECT_EQ(run.records[3].cancelled, at_s(60));
  EXPECT_EQ(run.records[3].wait, Duration::zero());
  EXPECT_EQ(run.records[4].start, at_s(80));
  EXPECT_EQ(run.counters.cancelled, 3U);
  EXPECT_EQ(run.counters.finished, 2U);
  EXPECT_EQ(run.counters.arrived, 4U);
  EXPECT_DOUBLE_EQ(run.counters.lost_to_cancellations_gpu_s, 120);
  EXPECT_DOUBLE_EQ(run.counters.busy_gpu_s, 4 * (30 + 50 + 10.0));
}

// A event comes before all else of its instant: A, which has done all of its work at 50, has ended
// by then, and C, which arrives at 50, never does.
TEST(ScriptedEvents, ComeFirstOfTheirInstant) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.events = {cancel(50, "A"), cancel(50, "C")};
  const FinishedRun run =
      run_jobs({job("A", 0, 4, Duration::s(50)), job("B", 0, 4, Duration::s(7)), job("C", 50, 4, Duration::s(1))},
               ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(run.records[0].end, at_s(50));
  EXPECT_EQ(run.records[1].end, at_s(57));
  EXPECT_EQ(run.records[2].cancelled, at_s(50));
  EXPECT_EQ(run.counters.arrived, 2U);
}

// All of a run: it is over at the last cancellation, and what was to happen later does not.
TEST(ScriptedEvents, CancelEverything) {
  EventLog log;
  JobLifecycleSettings settings = fcfs_first_fit(&log);
  settings.events = {cancel(5, "A"), cancel(6, "B"), {at_s(7), ScriptedEvent::Kind::drain, "host0"}};
  settings.maintenance.drains = {{at_s(7), HostId(0), Duration::s(10)}};
  const FinishedRun run =
      run_jobs({job("A", 0, 4, Duration::s(50)), job("B", 1000, 4, Duration::s(7))}, ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(log.rows, "5 cancel A scenario\n6 cancel B scenario\n");
  EXPECT_EQ(run.counters.finished, 0U);
  EXPECT_EQ(run.counters.last_end, at_s(5));
  EXPECT_EQ(run.counters.makespan(), Duration::s(5));
}

// A job that moves, one that has failed without anybody knowing, and one that was sent back and
// waits.
TEST(ScriptedEvents, CancelJobsThatAreInTrouble) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.checkpoints.write = Duration::s(10);
  settings.failures.detection = Duration::s(10);
  settings.failures.log = {{at_s(20), {PartKind::host, 1}, Duration::s(5)}};
  settings.maintenance.drains = {{at_s(20), HostId(0), Duration::s(100)}};
  settings.events = {cancel(25, "moves"), cancel(26, "failed")};
  const FinishedRun run =
      run_jobs({job("moves", 0, 4, Duration::s(50)), job("failed", 0, 4, Duration::s(50)), job("waits", 1, 4, Duration::s(5))},
               ClusterState(2, 4), std::move(settings));
  // Host 1 works again at 20 + 10 + 5.
  EXPECT_EQ(run.records[2].start, at_s(35));
  EXPECT_EQ(run.records[0].run, Duration::s(25));
  EXPECT_EQ(run.records[1].run, Duration::s(26));
  EXPECT_EQ(run.records[0].useful() + run.records[1].useful(), Duration::zero());
  EXPECT_EQ(run.counters.moved, 0U);
}

// Without the failure at 50 s, of which nobody knows before 650 s, it would have ended before it is
// cancelled.
TEST(ScriptedEvents, CancelJobsThatWouldHaveEnded) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.failures.detection = Duration::s(600);
  settings.failures.log = {{at_s(50), {PartKind::host, 0}, Duration::s(5)}};
  settings.events = {cancel(200, "A")};
  const FinishedRun run = run_jobs({job("A", 0, 4, Duration::s(100))}, ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(run.records[0].cancelled, at_s(200));
  EXPECT_EQ(run.records[0].end, std::nullopt);
}

// The drain says 40 s, the plan's parameter nothing: at 10 host 0 is given to nobody any more, so
// that B waits for A on host 1.
TEST(ScriptedEvents, DrainsHaveNoticesOfTheirOwn) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.maintenance.drains = {{at_s(50), HostId(0), Duration::s(10), Duration::s(40)}};
  const FinishedRun run =
      run_jobs({job("A0", 0, 4, Duration::s(5)), job("A1", 0, 4, Duration::s(20)), job("B", 15, 4, Duration::s(100))},
               ClusterState(2, 4), std::move(settings));
  EXPECT_EQ(run.records[2].start, at_s(20));
  EXPECT_EQ(run.records[2].placement, "host1:0-3");
}

ScriptedEvent set_at(std::int64_t at) { return {at_s(at), ScriptedEvent::Kind::set, ""}; }

// B and C wait for A. Under fcfs B would go first.
TEST(ScriptedEvents, ANewPolicyKnowsThoseWhoWait) {
  const std::vector<JobSpec> jobs = {job("A", 0, 4, Duration::s(100)), job("B", 10, 4, Duration::s(50)),
                                     job("C", 20, 4, Duration::s(10))};
  for (const std::string policy : {"sjf", "srtf"}) {
    JobLifecycleSettings settings = fcfs_first_fit();
    settings.events = {set_at(50)};
    settings.changes.emplace_back().policy = policy_called(policy);
    const FinishedRun run = run_jobs(jobs, ClusterState(1, 4), std::move(settings));
    // srtf preempts A for C at once. Then A and B have 50 s left each, and A came first.
    const bool preempts = policy == "srtf";
    EXPECT_EQ(run.records[0].end, at_s(preempts ? 110 : 100)) << policy;
    EXPECT_EQ(run.records[1].start, at_s(110)) << policy;
    EXPECT_EQ(run.records[2].start, at_s(preempts ? 50 : 100)) << policy;
  }
}

// A holds one of host 0's GPUs. First fit would put B beside it; spread takes the emptier host 1.
TEST(ScriptedEvents, ANewPlacerPlacesWhoStartsFromThenOn) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.events = {set_at(5)};
  const auto& spread = find_module(placers(), "spread", SourcePlace::named("test"));
  settings.changes.emplace_back().placer = spread.make(ParamSet("spread", spread.info.params), {});
  const FinishedRun run =
      run_jobs({job("A", 0, 1, Duration::s(50)), job("B", 5, 1, Duration::s(1))}, ClusterState(2, 2), std::move(settings));
  EXPECT_EQ(run.records[1].placement, "host1:0");
}

// Rounds of 100 s would start A at 100. With those of 30 s from 20 on it starts at 30.
TEST(ScriptedEvents, RoundsChange) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.round = Duration::s(100);
  settings.events = {set_at(20)};
  settings.changes.emplace_back().round = Duration::s(30);
  const FinishedRun run = run_jobs({job("A", 10, 4, Duration::s(5))}, ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(run.records[0].start, at_s(30));
}

// The host fails at 25, which is known at 32, and works again at 35. All that A had done counts; it
// starts with the new overhead and writes a checkpoint of 3 s after 10 s of its work, which it does
// not before.
TEST(ScriptedEvents, StartsAndCheckpointsChangeWithTheNextStart) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.failures.log = {{at_s(25), {PartKind::host, 0}, Duration::s(3)}};
  settings.events = {set_at(10)};
  SettingsChange& change = settings.changes.emplace_back();
  change.start_overhead = Duration::s(5);
  change.checkpoints = CheckpointPlan{1, Duration::s(10), Duration::s(3)};
  change.detection = Duration::s(7);
  const FinishedRun run = run_jobs({job("A", 0, 4, Duration::s(40))}, ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(run.records[0].end, at_s(35 + 5 + 10 + 3 + 5));
  EXPECT_EQ(run.records[0].overhead, Duration::s(5));
  EXPECT_EQ(run.records[0].checkpointing, Duration::s(3));
}

/// Drains, cancels and ranks anew whatever it comes across.
class Havoc final : public EventHandler {
 public:
  Havoc(std::uint32_t seed, std::uint32_t jobs) : random_(seed), jobs_(jobs) {}
  void happened(const ClusterEvent&, ClusterControl& control) override {
    const JobId job(static_cast<std::uint32_t>(random_() % jobs_));
    switch (random_() % 24) {
      case 0:
        control.cancel(job);
        break;
      case 1:
        control.drain(HostId(static_cast<std::uint32_t>(random_() % control.cluster().host_count())),
                      Duration::s(1 + static_cast<std::int64_t>(random_() % 20)));
        break;
      case 2:
      case 3:
        control.set_priority(job, static_cast<std::int32_t>(random_() % 3));
        break;
      case 4:
        control.wake_at(control.now() + Duration::s(1 + static_cast<std::int64_t>(random_() % 9)));
        break;
      default:
        break;
    }
  }

 private:
  std::mt19937 random_;
  std::uint32_t jobs_;
};

class EveryPolicyWithEvents : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, EveryPolicyWithEvents, testing::ValuesIn(policy_names()),
                         [](const auto& given) { return given.param; });

TEST_P(EveryPolicyWithEvents, ConservesWork) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::uint32_t hosts = 2 + random() % 3;
    const std::uint32_t size = 1 + random() % 4;
    const ClusterState cluster(hosts, size);
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 30; ++i) {
      jobs.push_back(job("job" + std::to_string(i), random() % 60, 1 + random() % (hosts * size), Duration::s(random() % 20)));
      jobs.back().priority = static_cast<std::int32_t>(random() % 3);
      if (random() % 2 == 0) jobs.back().iterations = 1 + random() % 20;
    }
    sort_by_submission(jobs);
    std::vector<ScriptedEvent> events;
    std::vector<LoggedFailure> failures;
    std::vector<Drain> drains;
    DrainBook book;
    std::vector<std::string> policies;
    for (int i = 0; i < 25; ++i) {
      const Time at = at_s(random() % 150);
      const auto host = static_cast<std::uint32_t>(random() % hosts);
      if (i >= 22) {
        events.push_back({at, ScriptedEvent::Kind::set, ""});
        policies.push_back(policy_names()[random() % policy_names().size()]);
      } else if (i % 4 == 0) {
        const Drain drain{at, HostId(host), Duration::s(random() % 30), Duration::s(random() % 10)};
        if (!book.add(drain, "")) drains.push_back(drain);
      } else if (i % 4 == 1) {
        failures.push_back({at, {PartKind::host, host}, Duration::s(random() % 20)});
      } else {
        events.push_back({at, ScriptedEvent::Kind::cancel, "job" + std::to_string(random() % 30)});
      }
    }
    std::ranges::stable_sort(events, {}, &ScriptedEvent::at);
    std::ranges::stable_sort(drains, {}, &Drain::at);
    const Duration detection = Duration::s(random() % 5);
    const Duration overhead = Duration::s(random() % 3);
    const CheckpointPlan plan{random() % 5, Duration::s(random() % 6), Duration::s(random() % 3)};
    const auto settings = [&](JobObserver* observer) {
      JobLifecycleSettings result = settings_with(policy_called(GetParam()), observer);
      result.start_overhead = overhead;
      result.checkpoints = plan;
      result.failures.detection = detection;
      result.failures.log = failures;
      result.maintenance.drains = drains;
      result.events = events;
      if (seed % 2 == 0) result.handlers.push_back({"havoc", std::make_unique<Havoc>(seed, 30)});
      for (const std::string& policy : policies) result.changes.emplace_back().policy = policy_called(policy);
      return result;
    };
    Attempts attempts;
    const FinishedRun run = run_jobs(jobs, cluster, settings(&attempts));
    EXPECT_EQ(attempts.double_booking(), "");
    EXPECT_NEAR(run.counters.busy_gpu_s, attempts.gpu_s(), 1e-6);
    std::uint64_t cancelled = 0;
    double gpu_s = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const JobRecord& record = run.records[i];
      EXPECT_NE(record.end.has_value(), record.cancelled.has_value()) << "job " << i;
      EXPECT_EQ(record.useful(), record.end ? jobs[i].duration.mean() : Duration::zero()) << "job " << i;
      if (record.cancelled && *record.cancelled >= record.submit && record.lost() + record.wait > Duration::zero()) {
        EXPECT_EQ(record.submit + record.wait + record.run, *record.cancelled) << "job " << i;
      }
      if (record.end) {
        EXPECT_EQ(record.completion(), record.wait + record.run) << "job " << i;
      }
      cancelled += record.cancelled.has_value();
      gpu_s += record.run.in_s() * record.gpus;
    }
    EXPECT_EQ(run.counters.cancelled, cancelled);
    EXPECT_NEAR(run.counters.busy_gpu_s, gpu_s, 1e-6);
    EXPECT_EQ(run_jobs(jobs, cluster, settings(nullptr), 2).report.fingerprint.value(), run.report.fingerprint.value());
  }
}

}  // namespace
}  // namespace weft::scripted_events_test
