// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fast_forward/fast_forward_control.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "host/collectives/collective_library.hpp"
#include "tests/scheduler/scheduler_parts.hpp"

namespace weft::fast_forward_control_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::SchedulerParts;
using testing_scheduler::text_of;
using testing_scheduler::workload_job;

const Duration message = Duration::us(10);
const JobId a(0);
const JobId b(1);

/// Jobs A and B of one rank and ten iterations each, launched at 0 s, with ranks that begin a
/// message later. Two iterations of each are simulated before they are fast-forwarded.
class FastForwardControlTest : public testing::Test {
 protected:
  FastForwardControlTest() {
    for (const JobId job : {a, b}) {
      parts.arrive(job);
      parts.start(job);
    }
    EXPECT_TRUE(parts.starts.launch(parts.context));
    parts.context.take();
  }

  /// An iteration has ended, which is known a message later. Returns what is sent.
  std::string report(JobId job, std::uint32_t iteration, std::int64_t end_s) {
    JobAttempt& attempt = parts.states.running(job);
    const Time end = at_s(end_s) + message;
    parts.context.set_now(end + message);
    EXPECT_TRUE(attempt.take_report({attempt.published(), RankId(0), iteration, 0, end, Duration::s(1)}));
    parts.forward.complete_iteration(job, attempt.ranks()->last_period(), Duration::s(1));
    parts.forward.consider(job, parts.context);
    posted = parts.context.take();
    return text_of(posted);
  }
  bool is_forwarded(JobId job) const { return parts.states.running(job).is<JobAttempt::FastForwarded>(); }

  /// A takes 10 s an iteration and B 15 s. Both are known when B has done two, at 30 s.
  void forward_both() {
    EXPECT_EQ(report(a, 0, 10), "");
    EXPECT_EQ(report(b, 0, 15), "");
    EXPECT_EQ(report(a, 1, 20), "");
    EXPECT_EQ(report(a, 2, 30), "");
    EXPECT_EQ(report(b, 1, 30), "stop 0, stopped 900, ends, stop 1, stopped 900, ends");
  }

  SchedulerParts parts{{workload_job("A", at_s(0), 1, 10), workload_job("B", at_s(0), 1, 10)}, 2, 1, 2};
  std::vector<Event> posted;
};

// A has 7 iterations left at 30 s, and B 8: they end at 100 s and 150 s, a message after their
// ranks' begin, which is known a message later.
TEST_F(FastForwardControlTest, BeginsOnceAllAreKnown) {
  forward_both();
  EXPECT_TRUE(is_forwarded(a));
  EXPECT_TRUE(is_forwarded(b));
  EXPECT_EQ(posted[0].payload_as<StopJob>().is_over, 0U);
  EXPECT_EQ(posted[2].key.time, at_s(100) + message * 2);
  EXPECT_EQ(posted[5].key.time, at_s(150) + message * 2);
  EXPECT_TRUE(parts.states.running(a).awaits(job_ends, posted[2].payload_as<JobTimer>().generation));
  EXPECT_EQ(parts.forward.report().jumps, 1U);
}

// B is stopped at 45 s. A, in its fifth iteration, is told at once, and is simulated from its sixth
// on: as all of its iterations take 10 s and it began a message late, that one begins at 50 s and a
// message. The timer is a message before that.
TEST_F(FastForwardControlTest, ResumesWhenTheSetChanges) {
  forward_both();
  parts.context.set_now(at_s(45));
  parts.forward.skip(b, parts.states.running(b).account(at_s(45)).whole.iterations, at_s(45));
  parts.forward.leave(b, parts.context);
  const std::vector<Event> planned = parts.context.take();
  ASSERT_EQ(text_of(planned), "resumes");
  EXPECT_EQ(planned[0].key.time, at_s(50));
  // B's third iteration would end a message after 45 s: none was left out.
  EXPECT_EQ(parts.accounts.record(b).exposed_communication, Duration::zero());

  parts.context.set_now(at_s(50));
  parts.forward.resume(a, parts.context);
  EXPECT_EQ(text_of(parts.context.take()), "start 0");
  EXPECT_FALSE(is_forwarded(a));
  EXPECT_EQ(parts.messages.published(parts.states.running(a)).first_iteration, 5U);
  EXPECT_EQ(parts.states.running(a).part_since(), at_s(50) + message);
  // Iterations 3 and 4 were left out, each with 1 s of exposed communication as those that were
  // simulated.
  EXPECT_EQ(parts.accounts.record(a).exposed_communication, Duration::s(2));
  EXPECT_EQ(parts.forward.report().skipped, 2U);
}

// While data is on its way nobody is fast-forwarded, and what was measured before does not count
// afterwards.
TEST_F(FastForwardControlTest, WaitsForDataToArrive) {
  report(a, 0, 10);
  report(b, 0, 15);
  parts.forward.note_data(1, parts.context);
  report(a, 1, 20);
  report(a, 2, 30);
  EXPECT_EQ(report(b, 1, 30), "");
  parts.forward.note_data(-1, parts.context);
  report(a, 3, 40);
  report(b, 2, 45);
  report(a, 4, 50);
  report(a, 5, 60);
  EXPECT_EQ(report(b, 3, 60), "") << "the third of B was under way when the data had arrived";
  report(a, 6, 70);
  EXPECT_EQ(report(b, 4, 75), "stop 0, stopped 900, ends, stop 1, stopped 900, ends");
}

// A has one iteration left when both are known, and ends within one of B: nothing would be left
// out.
TEST_F(FastForwardControlTest, DoesNotBeginForNothing) {
  for (std::uint32_t iteration = 0; iteration < 9; ++iteration) EXPECT_EQ(report(a, iteration, 10 * (iteration + 1)), "");
  EXPECT_EQ(report(b, 0, 91), "");
  EXPECT_EQ(report(b, 1, 92), "");
  EXPECT_FALSE(is_forwarded(a));
}

TEST_F(FastForwardControlTest, ClosesWhatIsForwardedWhenTheRunIsCutOff) {
  forward_both();
  parts.forward.close_open_attempts(at_s(61));
  EXPECT_EQ(parts.accounts.record(a).iterations, 6U);
  EXPECT_EQ(parts.accounts.record(b).iterations, 4U);
}

// --- Folding -------------------------------------------------------------------------------------

/// Two leafs of two hosts with one GPU each, and a spine. A runs on hosts 0 and 2, B on hosts 1 and
/// 3: each of them alone can fill the links of the spine, so that they are coupled. All ranks of a
/// job are alike, as they all-reduce with one on the other leaf.
class FoldedJobsTest : public testing::Test {
 protected:
  FoldedJobsTest() {
    TopologyBuilder builder("two leafs");
    const std::array leafs = {builder.add_switch(1), builder.add_switch(1)};
    const NodeId spine = builder.add_switch(2);
    for (std::size_t host = 0; host < 4; ++host)
      builder.add_cable(builder.add_endpoint(builder.add_host(), NodeKind::gpu), leafs[host / 2], Bandwidth::gbps(100),
                        Duration::ns(10));
    for (const NodeId leaf : leafs) builder.add_cable(leaf, spine, Bandwidth::gbps(100), Duration::ns(10));
    topology = std::move(builder).build(nullptr, {});
    library = std::make_unique<CollectiveLibrary>(ParamSet("collective", CollectiveLibrary::params()), std::vector<ParamSet>());
    speeds = std::make_unique<HostSpeeds>(4);
    coupled = std::make_unique<CoupledJobs>(*topology, settings, *speeds, Duration::zero());
    parts = std::make_unique<SchedulerParts>(std::vector{workload_job("A", at_s(0), 2, 10), workload_job("B", at_s(0), 2, 10)}, 4,
                                             1, 2, StorageSettings{}, coupled.get());
    for (std::size_t gpu = 0; gpu < 4; ++gpu) parts->wiring.endpoint_of_gpu[gpu] = topology->endpoints()[gpu];
    parts->wiring.prepare = [this](RunningJob& job) { complete(job); };
  }

  /// One all-reduce of both ranks.
  void complete(RunningJob& job) const {
    auto workload = std::make_shared<Workload>();
    workload->name = "one all-reduce";
    workload->rank_count = 2;
    workload->communicators.push_back(Communicator::world(2));
    RoleBuilder role;
    Op op;
    op.kind = OpKind::collective;
    op.collective = CollectiveType::all_reduce;
    op.bytes = Bytes::of(1'000'000);
    role.add(op);
    workload->roles.push_back(std::move(role).finish().dag);
    workload->role_of.assign(2, 0);
    job.collectives = library->prepare(*workload, *topology, *job.endpoint_of_rank, nullptr);
    job.workload = std::move(workload);
  }
  void launch(JobId job, std::uint32_t first_gpu) {
    parts->arrive(job);
    parts->start_on(job, Placement{{GpuSlot(first_gpu), GpuSlot(first_gpu + 2)}});
    ASSERT_TRUE(parts->starts.launch(parts->context));
  }
  const RunningJob& published(JobId job) const { return parts->messages.published(parts->states.running(job)); }

  FlowSettings settings{ParamSet("flow", flow_params())};
  std::shared_ptr<const Topology> topology;
  std::unique_ptr<CollectiveLibrary> library;
  std::unique_ptr<HostSpeeds> speeds;
  std::unique_ptr<CoupledJobs> coupled;
  std::unique_ptr<SchedulerParts> parts;
};

// A is alone, and one rank stands for both. B joins at 1 s, before A has ended an iteration: A
// begins its first one anew, folded with B's ranks.
TEST_F(FoldedJobsTest, AreFoldedAnewWhenTheirSetChanges) {
  launch(a, 0);
  EXPECT_EQ(text_of(parts->context.take()), "start 0");
  ASSERT_NE(published(a).folding, nullptr);
  const AttemptId first = published(a).attempt;
  parts->context.set_now(at_s(1));
  launch(b, 1);
  const std::vector<Event> posted = parts->context.take();
  ASSERT_GE(posted.size(), 3U);
  EXPECT_EQ(posted[0].kind, stop_job);
  EXPECT_EQ(posted[0].payload_as<StopJob>().attempt, first);
  EXPECT_EQ(posted[0].payload_as<StopJob>().is_over, 0U);
  EXPECT_EQ(published(a).folding, parts->forward.folding_of(a));
  EXPECT_EQ(published(b).folding, parts->forward.folding_of(b));
  EXPECT_EQ(&published(a).folding->whole(), &published(b).folding->whole());
  EXPECT_EQ(published(a).first_iteration, 0U);
  EXPECT_EQ(parts->states.running(a).part_since(), at_s(1) + message);
}

// A has ended an iteration of 10 s when B joins at 14 s. It is fast-forwarded at that pace, and
// simulated from its third on, which begins at 20 s and a message.
TEST_F(FoldedJobsTest, FinishTheirIterationAtTheirPace) {
  launch(a, 0);
  const RunningJob& alone = published(a);
  JobAttempt& attempt = parts->states.running(a);
  const Time end = at_s(10) + message;
  ASSERT_TRUE(attempt.take_report({alone.attempt, RankId(0), 0, 0, end, {}}));
  parts->forward.complete_iteration(a, attempt.ranks()->last_period(), {});
  parts->context.take();
  parts->context.set_now(at_s(14));
  launch(b, 1);
  EXPECT_TRUE(attempt.is<JobAttempt::FastForwarded>());
  EXPECT_EQ(attempt.as<JobAttempt::FastForwarded>().resumes_at, 2U);
  EXPECT_EQ(attempt.resumed_part_since(), at_s(20) + message);
  parts->context.set_now(at_s(20));
  parts->forward.resume(a, parts->context);
  EXPECT_EQ(published(a).folding, parts->forward.folding_of(a));
  EXPECT_EQ(published(a).first_iteration, 2U);
}

}  // namespace
}  // namespace weft::fast_forward_control_test
