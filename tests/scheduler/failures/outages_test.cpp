// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/outages.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "scheduler/failures/network_parts.hpp"
#include "tests/scheduler/failures/service_log.hpp"
#include "tests/scheduler/scheduler_parts.hpp"
#include "tests/topologies/topology_help.hpp"

namespace weft::outages_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::event_text;
using testing_scheduler::RecordingContext;
using testing_scheduler::ServiceLog;
using testing_scheduler::text_of;
using Kind = ClusterEvent::Kind;

/// Hands timers of outages back to them at their times, one after another.
class OutageRun {
 public:
  OutageRun(ClusterState hosts, FailureSettings failures, std::vector<HostId> set_aside = {})
      : cluster(std::move(hosts)),
        settings(std::move(failures)),
        watch(1'000, 1, cluster.host_count()),
        outages(cluster, settings, set_aside, 1, watch, log) {
    if (outages.next() == Time::max()) return;
    context.set_now(outages.next());
    Event first;
    first.key.time = outages.next();
    first.kind = parts_fail;
    first.target = context.self();
    due_.emplace(first.key.time, first);
  }

  /// The next timer; false if there is none.
  bool step() {
    for (const Event& event : context.take()) due_.emplace(event.key.time, event);
    if (due_.empty()) return false;
    const Event event = due_.begin()->second;
    due_.erase(due_.begin());
    context.set_now(event.key.time);
    switch (event.kind) {
      case parts_fail:
        if (outages.is_next(event.key.time)) outages.fail_due(context);
        break;
      case failure_detected:
        outages.detect(event.payload_as<OutageTimer>().outage, context);
        break;
      case part_works:
        outages.end(event.payload_as<OutageTimer>().outage, context);
        break;
      default:
        EXPECT_EQ(event.kind, spare_joins);
        outages.join(event.payload_as<SpareTimer>().host, context);
    }
    return true;
  }
  /// The time and what was asked in the next step: "5 fails 0, fails 1".
  std::string next() {
    if (!step()) return "";
    return fmt::format("{} {}", static_cast<int>(context.now().in_s()), log.take());
  }

  ClusterState cluster;
  FailureSettings settings;
  ProgressWatch watch;
  ServiceLog log;
  RecordingContext context;
  Outages outages;

 private:
  std::multimap<Time, Event> due_;
};

FailureSettings with_log(std::vector<LoggedFailure> log) {
  FailureSettings settings;
  settings.detection = Duration::s(2);
  settings.repair = DurationModel::fixed(Duration::s(100));
  settings.log = std::move(log);
  return settings;
}

// Host 0 fails at 5 s, which is known at 7, and works again 10 s after that.
TEST(Outages, TakeGpusOutUntilTheRepair) {
  OutageRun run(ClusterState(3, 2), with_log({{at_s(5), {PartKind::host, 0}, Duration::s(10)}}));
  EXPECT_EQ(run.next(), "5 fails 0, fails 1");
  EXPECT_EQ(run.cluster.gpus_in_service(), 4U);
  EXPECT_EQ(run.next(), "7 " + event_text(Kind::part_failed) + ", known 0@5, known 1@5, pass");
  EXPECT_EQ(run.cluster.gpus_in_service(), 4U);
  EXPECT_EQ(run.next(), "17 pass, " + event_text(Kind::part_repaired));
  EXPECT_EQ(run.cluster.gpus_in_service(), 6U);
  EXPECT_EQ(run.next(), "");
  EXPECT_EQ(run.outages.failures(), 1U);
}

// Host 2 is a cold spare that takes 3 s to come up. Host 0 is the spare once it is repaired.
TEST(Outages, CallSparesOnceTheyKnow) {
  FailureSettings settings = with_log({{at_s(5), {PartKind::host, 0}, Duration::s(10)}});
  settings.cold_spares = 1;
  settings.cold_start = Duration::s(3);
  OutageRun run(ClusterState(3, 2), settings);
  EXPECT_EQ(run.cluster.gpus_in_service(), 4U);
  run.next();
  run.next();
  EXPECT_EQ(run.cluster.gpus_in_service(), 2U);
  EXPECT_EQ(run.next(), "10 " + event_text(Kind::spare_joined) + ", pass");
  EXPECT_EQ(run.cluster.gpus_in_service(), 4U);
  EXPECT_TRUE(run.cluster.is_in_service(GpuSlot(4)));
  run.next();
  EXPECT_EQ(run.cluster.gpus_in_service(), 4U);
  EXPECT_FALSE(run.cluster.is_in_service(GpuSlot(0)));
}

// A cable to host 0 breaks, which cuts its GPU off. Later one above the leafs carries half, which
// cuts off nobody.
TEST(Outages, TellOfCablesAndOfGpusThatTheyCutOff) {
  const auto network = std::make_shared<const NetworkParts>(build_named("fat_tree", {{"k", "4"}}));
  const auto named = [&](const std::string& name) { return network->names().at(name); };
  FailureSettings settings = with_log({{at_s(5), named("leaf0->host0/gpu0"), Duration::s(10)},
                                       {at_s(50), named("leaf0->agg0"), Duration::s(10), Fault::degrades, 0.5}});
  settings.network = network;
  OutageRun run(ClusterState(network->topology()), settings);
  EXPECT_EQ(run.next(), "5 cable at 0 %, fails 0");
  EXPECT_EQ(run.cluster.gpus_in_service(), 15U);
  EXPECT_EQ(run.next(), "7 " + event_text(Kind::part_failed) + ", known 0@5, pass");
  EXPECT_EQ(run.next(), "17 cable at 100 %, pass, " + event_text(Kind::part_repaired));
  EXPECT_EQ(run.cluster.gpus_in_service(), 16U);
  EXPECT_EQ(run.next(), "50 cable at 50 %");
  EXPECT_EQ(run.outages.slow_cables().size(), 1U);
  run.next();
  EXPECT_EQ(run.next(), "62 cable at 100 %, " + event_text(Kind::part_repaired));
  EXPECT_TRUE(run.outages.slow_cables().empty());
}

// Hosts that are set aside are out of service from the beginning.
TEST(Outages, SetHostsAside) {
  const OutageRun run(ClusterState(3, 2), with_log({}), {HostId(1)});
  EXPECT_EQ(run.cluster.gpus_in_service(), 4U);
  EXPECT_FALSE(run.cluster.is_in_service(GpuSlot(2)));
}

// Parts fail at random, several at a time. A GPU serves if and only if none of the parts that it
// needs is out, by a list of the failures and their ends.
TEST(Outages, AgreeWithANaiveListOfWhatIsOut) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<LoggedFailure> log;
    for (int i = 0; i < 25; ++i) {
      const auto kind = random() % 2 == 0 ? PartKind::host : PartKind::gpu;
      const Part part{kind, static_cast<std::uint32_t>(random() % (kind == PartKind::host ? 4 : 12))};
      log.push_back({at_s(1 + random() % 60), part, Duration::s(1 + random() % 20)});
    }
    FailureSettings settings = with_log(log);
    settings.scope = random() % 2 == 0 ? FailureScope::host : FailureScope::gpu;
    OutageRun run(ClusterState(4, 3), settings);
    while (run.step()) {
      const Time now = run.context.now();
      std::vector<bool> is_out(12, false);
      bool is_between = false;
      for (const LoggedFailure& failure : log) {
        const Time works = failure.at + settings.detection + *failure.repair;
        // Of an instant at which several things happen the list does not know which have happened
        // yet.
        is_between = is_between || failure.at == now || works == now;
        if (failure.at > now || works <= now) continue;
        for (const GpuSlot gpu : gpus_without(failure.part, settings.scope, run.cluster)) is_out[gpu.index()] = true;
      }
      for (std::uint32_t gpu = 0; gpu < 12 && !is_between; ++gpu)
        EXPECT_EQ(run.cluster.is_in_service(GpuSlot(gpu)), !is_out[gpu]) << "seed " << seed << " at " << now.in_s();
    }
    EXPECT_EQ(run.cluster.gpus_in_service(), 12U);
    EXPECT_EQ(run.outages.failures(), 25U);
  }
}

}  // namespace
}  // namespace weft::outages_test
