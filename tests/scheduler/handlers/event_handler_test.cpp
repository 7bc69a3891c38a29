// SPDX-License-Identifier: Apache-2.0
// What handlers are told, when, and what becomes of what they do; and the handlers that come along.
#include "scheduler/handlers/event_handler.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/scheduler_run.hpp"

namespace weft::event_handler_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::fcfs_first_fit;
using testing_scheduler::FinishedRun;
using testing_scheduler::job;
using testing_scheduler::policy_called;
using testing_scheduler::run_jobs;
using testing_scheduler::settings_with;

NamedHandler handler_called(const std::string& name, const std::vector<std::pair<std::string, std::string>>& settings) {
  const SourcePlace place = SourcePlace::named("test");
  const auto& module = find_module(event_handlers(), name, place);
  ParamSet params(name, module.info.params);
  for (const auto& [key, value] : settings) params.set(key, value, place);
  return {name, module.make(params)};
}

/// The rows of events.csv.
class EventLog final : public JobObserver {
 public:
  void event_happened(const EventRecord& record) override {
    rows += fmt::format("{} {} {} {}\n", static_cast<std::int64_t>(record.at.in_s()), record.event, record.subject, record.by);
  }
  std::string rows;
};

/// Writes down what it is told, and does what the test says.
class Told final : public EventHandler {
 public:
  using Act = void (*)(const ClusterEvent& cluster_event, ClusterControl& control);
  Told(std::string& text, Act act) : text_(text), act_(act) {}
  void happened(const ClusterEvent& cluster_event, ClusterControl& control) override {
    static constexpr std::array names = {"arrived",  "started",   "preempted", "failed",  "moved", "ended",  "cancelled", "part",
                                         "repaired", "announced", "drains",    "drained", "spare", "called", "timer"};
    text_ +=
        fmt::format("{} {}", static_cast<std::int64_t>(control.now().in_s()), names[static_cast<std::size_t>(cluster_event.kind)]);
    if (!cluster_event.job.is_none()) text_ += " " + control.name_of(cluster_event.job);
    if (!cluster_event.host.is_none()) text_ += " host" + std::to_string(cluster_event.host.index());
    text_ += "\n";
    if (act_ != nullptr) act_(cluster_event, control);
  }

 private:
  std::string& text_;
  Act act_;
};

// Host 0 fails at 10 and host 1, a hot spare, stands in; B comes at 12 and takes it from A, as it
// has a higher priority, until 17. At 20 host 1 is drained, as was announced at 15. A moves to host
// 0, which is repaired at 25, and ends at 25 + 100 - 12 - 3. B is of 5 s.
TEST(EventHandlers, AreToldWhatHappens) {
  std::string text;
  JobLifecycleSettings settings = settings_with(policy_called("priority"));
  settings.failures.hot_spares = 1;
  settings.failures.log = {{at_s(10), {PartKind::gpu, 0}, Duration::s(15)}};
  settings.maintenance.drains = {{at_s(20), HostId(1), Duration::s(10), Duration::s(5)}};
  settings.handlers.push_back({"told", std::make_unique<Told>(text, nullptr)});
  settings.events = {{at_s(13), ScriptedEvent::Kind::call, "told"}};
  std::vector<JobSpec> jobs = {job("A", 0, 4, Duration::s(100)), job("B", 12, 4, Duration::s(5)), job("C", 30, 1, Duration::s(1))};
  jobs[1].priority = 1;
  run_jobs(jobs, ClusterState(2, 4), std::move(settings));
  EXPECT_EQ(text,
            "0 arrived A\n0 started A\n"
            "10 part host0\n10 failed A\n10 spare host1\n10 started A\n"
            "12 arrived B\n12 preempted A\n12 started B\n"
            "13 called\n"
            "15 announced host1\n"
            "17 ended B\n"
            "20 drains host1\n"
            "25 repaired host0\n25 spare host0\n25 started A\n"
            "30 arrived C\n30 drained host1\n"
            "113 ended A\n113 started C\n");
}

// What a handler does holds at once, is told in turn, and stands in events.csv under its name.
TEST(EventHandlers, Act) {
  std::string text;
  EventLog log;
  JobLifecycleSettings settings = fcfs_first_fit(&log);
  settings.handlers.push_back({"deed", std::make_unique<Told>(text, [](const ClusterEvent& cluster_event, ClusterControl& control) {
                                 if (cluster_event.kind == ClusterEvent::Kind::job_started && cluster_event.job == JobId(0)) {
                                   control.wake_at(control.now() + Duration::s(99));
                                   control.wake_at(control.now() + Duration::s(10));
                                 }
                                 if (cluster_event.kind != ClusterEvent::Kind::timer) return;
                                 EXPECT_TRUE(control.cancel(JobId(0)));
                                 EXPECT_FALSE(control.cancel(JobId(0)));
                                 EXPECT_TRUE(control.drain(HostId(0), Duration::s(5)));
                                 EXPECT_FALSE(control.drain(HostId(0), Duration::s(5)));
                                 EXPECT_TRUE(control.set_priority(JobId(1), 7));
                                 EXPECT_FALSE(control.set_priority(JobId(1), 7));
                                 EXPECT_EQ(control.job(JobId(1)).priority, 7);
                                 control.note("done", "all");
                               })});
  const FinishedRun run =
      run_jobs({job("A", 0, 4, Duration::s(50)), job("B", 1, 4, Duration::s(2))}, ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(log.rows, "10 cancel A deed\n10 drain host0 deed\n10 priority B=7 deed\n10 done all deed\n");
  EXPECT_EQ(text,
            "0 arrived A\n0 started A\n1 arrived B\n10 timer\n10 cancelled A\n10 announced host0\n10 drains host0\n"
            "15 drained host0\n15 started B\n");
  EXPECT_EQ(run.records[1].start, at_s(15));
}

// Host 0 fails at 10 and at 40, which makes two within 100 s: it is drained from 40 to 90. At 200
// it fails again, and host 1 has failed but once, at 20.
TEST(DrainRepeatOffenders, DrainsThem) {
  for (const std::string window : {"100s", "20s"}) {
    EventLog log;
    JobLifecycleSettings settings = fcfs_first_fit(&log);
    settings.failures.scope = FailureScope::gpu;
    for (const auto& [at, gpu] : {std::pair(10, 0), {20, 4}, {40, 1}, {200, 2}})
      settings.failures.log.push_back({at_s(at), {PartKind::gpu, static_cast<std::uint32_t>(gpu)}, Duration::s(1)});
    settings.handlers.push_back(
        handler_called("drain_repeat_offenders", {{"failures", "2"}, {"window", window}, {"duration", "50s"}}));
    const FinishedRun run =
        run_jobs({job("A", 50, 8, Duration::s(1)), job("B", 300, 8, Duration::s(1))}, ClusterState(2, 4), std::move(settings));
    EXPECT_EQ(log.rows, window == "100s" ? "40 drain host0 drain_repeat_offenders\n" : "");
    EXPECT_EQ(run.records[0].start, at_s(window == "100s" ? 90 : 50));
    EXPECT_EQ(run.records[1].start, at_s(300));
  }
}

// X leaves host 0 at 15. B was on host 1 when that failed at 10, and A, which came before B, wants
// both hosts. At 15 host 1 works again.
TEST(PriorityBoost, LetsThoseWhoFailedGoFirst) {
  for (const bool boosts : {true, false}) {
    EventLog log;
    JobLifecycleSettings settings = settings_with(policy_called("priority", {{"preempt", "false"}}), &log);
    settings.failures.log = {{at_s(10), {PartKind::host, 1}, Duration::s(5)}};
    if (boosts) settings.handlers.push_back(handler_called("priority_boost", {{"boost", "5"}, {"most", "2"}}));
    const FinishedRun run =
        run_jobs({job("X", 0, 4, Duration::s(15)), job("A", 5, 8, Duration::s(10)), job("B", 6, 4, Duration::s(100))},
                 ClusterState(2, 4), std::move(settings));
    // With no iterations and no interval of checkpoints all that B did counts.
    EXPECT_EQ(log.rows, boosts ? "10 priority B=2 priority_boost\n" : "");
    EXPECT_EQ(run.records[1].start, at_s(boosts ? 15 + 96 : 15));
    EXPECT_EQ(run.records[2].end, at_s(boosts ? 15 + 96 : 15 + 10 + 96));
  }
}

// B waits for all GPUs from 10 on while A holds half of them until 100; the alarm says so once.
// From 101 to 120 C and D do the same, but not for long enough.
TEST(StrandingAlarm, SaysItOnce) {
  EventLog log;
  JobLifecycleSettings settings = fcfs_first_fit(&log);
  settings.handlers.push_back(handler_called("stranding_alarm", {{"after", "30s"}}));
  settings.events = {{at_s(5), ScriptedEvent::Kind::call, "stranding_alarm"},
                     {at_s(50), ScriptedEvent::Kind::call, "stranding_alarm"}};
  run_jobs({job("A", 0, 4, Duration::s(100)), job("B", 10, 8, Duration::s(1)), job("C", 20, 4, Duration::s(19)),
            job("D", 30, 8, Duration::s(1))},
           ClusterState(2, 4), std::move(settings));
  EXPECT_EQ(log.rows,
            "5 call stranding_alarm scenario\n5 stranded 0 GPUs stranding_alarm\n40 stranding 4 GPUs stranding_alarm\n"
            "50 call stranding_alarm scenario\n50 stranded 4 GPUs stranding_alarm\n");
}

}  // namespace
}  // namespace weft::event_handler_test
