// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/drains.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/check.hpp"
#include "tests/scheduler/failures/service_log.hpp"
#include "tests/scheduler/scheduler_parts.hpp"

namespace weft::drains_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::event_text;
using testing_scheduler::RecordingContext;
using testing_scheduler::ServiceLog;
using testing_scheduler::text_of;
using Kind = ClusterEvent::Kind;

/// Two hosts of two GPUs, of which job 0 holds the first; host 0 is drained for 20 s.
class DrainsTest : public testing::Test {
 protected:
  DrainsTest() { cluster.take(JobId(0), Placement{{GpuSlot(0)}}); }

  ClusterState cluster{2, 2};
  FailureSettings failures;
  MaintenanceSettings settings{{{at_s(10), HostId(0), Duration::s(20)}}, {}, true};
  ProgressWatch watch{1'000, 1, 2};
  ServiceLog log;
  RecordingContext context;
  Outages outages{cluster, failures, {}, 1, watch, log};
  Drains drains{cluster, settings, outages, watch, log};
};

// From the announcement on the host gets no jobs; the job that is there keeps its GPU. Work begins
// when the job has left.
TEST_F(DrainsTest, WaitForTheHostToBeEmpty) {
  drains.announce(0);
  EXPECT_EQ(log.take(), event_text(Kind::drain_announced));
  EXPECT_EQ(cluster.free_gpus(), 2U);
  EXPECT_EQ(cluster.held_gpus(), 1U);
  context.set_now(at_s(10));
  drains.begin(0, context);
  EXPECT_EQ(log.take(), event_text(Kind::drain_began) + ", wanted 0, wanted 1");
  drains.begin_work_on_idle_hosts(context);
  EXPECT_EQ(text_of(context.take()), "");
  context.set_now(at_s(14));
  cluster.release(JobId(0), Placement{{GpuSlot(0)}});
  drains.begin_work_on_idle_hosts(context);
  const std::vector<Event> posted = context.take();
  ASSERT_EQ(text_of(posted), "drain ends");
  EXPECT_EQ(posted[0].key.time, at_s(34));
  drains.begin_work_on_idle_hosts(context);
  EXPECT_EQ(text_of(context.take()), "");
  drains.end(0, context);
  EXPECT_EQ(log.take(), "pass, " + event_text(Kind::drain_ended));
  EXPECT_EQ(cluster.free_gpus(), 4U);
}

TEST_F(DrainsTest, MayWaitForJobsToEnd) {
  settings.moves_jobs = false;
  drains.announce(0);
  drains.begin(0, context);
  EXPECT_EQ(log.take(), event_text(Kind::drain_announced) + ", " + event_text(Kind::drain_began));
}

// Host 0 has been announced, host 1 has not. A drain of host 1 is one more of the plan.
TEST_F(DrainsTest, AHostIsDrainedOnceAtATime) {
  drains.announce(0);
  EXPECT_FALSE(drains.begin_now(HostId(0), Duration::s(5), context));
  EXPECT_TRUE(drains.begin_now(HostId(1), Duration::s(5), context));
  EXPECT_FALSE(drains.begin_now(HostId(1), Duration::s(5), context));
  ASSERT_EQ(settings.drains.size(), 2U);
  EXPECT_EQ(settings.drains[1].host, HostId(1));
  drains.begin_work_on_idle_hosts(context);
  EXPECT_EQ(context.take()[0].payload_as<DrainTimer>().drain, 1U);
  drains.end(1, context);
  EXPECT_TRUE(drains.begin_now(HostId(1), Duration::s(5), context));
  EXPECT_THROW(drains.begin_now(HostId(1), Duration::zero(), context), CheckFailure);
}

}  // namespace
}  // namespace weft::drains_test
