// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/attempt_messages.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/scheduler/scheduler_parts.hpp"

namespace weft::attempt_messages_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::SchedulerParts;
using testing_scheduler::text_of;
using testing_scheduler::workload_job;

const JobId a(0);

/// Four ranks on hosts 0 and 1, of which host 2 stores checkpoints of 8 bytes and data of 10.
SchedulerParts parts_with_storage() {
  JobSpec spec = workload_job("A", at_s(0), 4, 10);
  spec.checkpoint = Bytes::of(8);
  spec.data = Bytes::of(10);
  return SchedulerParts({spec}, 3, 2, 0, {{HostId(2)}, Bandwidth::gbps(8)});
}

JobAttempt& start_attempt(SchedulerParts& parts) {
  parts.arrive(a);
  return parts.states.start({a, 4, 0, 1, {}, {3, {}, Duration::s(2)}}, Placement{{GpuSlot(0), GpuSlot(1), GpuSlot(2), GpuSlot(3)}},
                            at_s(0), {});
}

TEST(AttemptMessages, DescribeAnAttempt) {
  SchedulerParts parts = parts_with_storage();
  const RunningJob described = parts.messages.describe(start_attempt(parts), 7);
  EXPECT_EQ(described.job, a);
  EXPECT_EQ(described.first_iteration, 7U);
  EXPECT_EQ(described.iterations, 10U);
  EXPECT_EQ(described.checkpoint_every, 3U);
  EXPECT_EQ(described.checkpoint_write, Duration::s(2));
  EXPECT_EQ(*described.endpoint_of_rank, (std::vector{NodeId(100), NodeId(101), NodeId(102), NodeId(103)}));
  // 2 bytes of each rank, in turn to both endpoints of the store.
  ASSERT_EQ(described.checkpoint->size(), 4U);
  EXPECT_EQ((*described.checkpoint)[0].store, NodeId(104));
  EXPECT_EQ((*described.checkpoint)[1].store, NodeId(105));
  EXPECT_EQ((*described.checkpoint)[2].store, NodeId(104));
  EXPECT_EQ((*described.checkpoint)[3].size, Bytes::of(2));
}

TEST(AttemptMessages, NumberAttemptsAsTheyArePublished) {
  SchedulerParts parts = parts_with_storage();
  const JobAttempt& attempt = start_attempt(parts);
  RunningJob second = parts.messages.prepare(attempt, 0, 1);
  EXPECT_EQ(second.attempt, AttemptId(1));
  EXPECT_EQ(parts.messages.publish(parts.messages.describe(attempt, 0)).attempt, AttemptId(0));
  EXPECT_EQ(parts.messages.publish(std::move(second)).attempt, AttemptId(1));
}

// Each host of ranks is told once, and when the attempt stops, so is the network.
TEST(AttemptMessages, ReachHostsOfRanks) {
  SchedulerParts parts = parts_with_storage();
  JobAttempt& attempt = start_attempt(parts);
  const RunningJob& published = parts.messages.publish(parts.messages.describe(attempt, 0));
  attempt.simulate(published, at_s(0), Duration::us(10));
  parts.context.set_now(at_s(1));
  parts.messages.start_ranks(attempt, published, parts.context);
  const std::vector<Event> starts = parts.context.take();
  EXPECT_EQ(text_of(starts), "start 0, start 1");
  EXPECT_EQ(starts[0].key.time, at_s(1) + Duration::us(10));
  EXPECT_EQ(starts[0].payload_as<StartJob>().attempt, published.attempt);
  parts.messages.stop(attempt, false, parts.context);
  const std::vector<Event> stops = parts.context.take();
  EXPECT_EQ(text_of(stops), "stop 0, stop 1, stopped 900");
  EXPECT_EQ(stops[0].payload_as<StopJob>().is_over, 0U);
}

// 10 bytes for four ranks: 3, 3, 2 and 2. The store sends them, and is told where they are not
// wanted any more.
TEST(AttemptMessages, HaveStoresSendData) {
  SchedulerParts parts = parts_with_storage();
  JobAttempt& attempt = start_attempt(parts);
  const std::vector<RankData> data = parts.messages.data_to_fetch(attempt, {});
  ASSERT_EQ(data.size(), 4U);
  EXPECT_EQ(data[0].size, Bytes::of(3));
  EXPECT_EQ(data[3].size, Bytes::of(2));
  // A job that goes on from a checkpoint needs that, too.
  EXPECT_EQ(parts.messages.data_to_fetch(attempt, {5, {}}).size(), 8U);

  parts.messages.fetch(attempt, {}, data, parts.context);
  EXPECT_EQ(text_of(parts.context.take()), "data 2");
  EXPECT_EQ(attempt.parts_left(), 4U);
  EXPECT_EQ(parts.messages.published(attempt).data->at(1).store, NodeId(105));
  parts.messages.stop(attempt, true, parts.context);
  EXPECT_EQ(text_of(parts.context.take()), "stop 2, stopped 900");
}

TEST(AttemptMessages, HaveRanksSendTheirLastCheckpoint) {
  SchedulerParts parts = parts_with_storage();
  JobAttempt& attempt = start_attempt(parts);
  attempt.move(at_s(3));
  EXPECT_TRUE(parts.messages.send_last_checkpoint(attempt, 6, parts.context));
  EXPECT_EQ(text_of(parts.context.take()), "checkpoint 0, checkpoint 1");
  EXPECT_EQ(attempt.parts_left(), 4U);
  EXPECT_TRUE(parts.messages.published(attempt).is_last_checkpoint);
  EXPECT_EQ(parts.messages.published(attempt).first_iteration, 6U);
}

TEST(AttemptMessages, SendNoCheckpointWithoutAStore) {
  SchedulerParts parts({workload_job("A", at_s(0), 4, 10)}, 3, 2);
  JobAttempt& attempt = start_attempt(parts);
  attempt.move(at_s(3));
  EXPECT_FALSE(parts.messages.send_last_checkpoint(attempt, 6, parts.context));
  EXPECT_EQ(text_of(parts.context.take()), "");
}

}  // namespace
}  // namespace weft::attempt_messages_test
