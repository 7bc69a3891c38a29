// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_attempt.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/check.hpp"

namespace weft::job_attempt_test {
namespace {

const Duration message = Duration::us(10);

Time at_s(std::int64_t seconds) { return Time::zero() + Duration::s(seconds); }

Placement gpus(std::uint32_t count) {
  Placement placement;
  for (std::uint32_t gpu = 0; gpu < count; ++gpu) placement.gpus.emplace_back(gpu);
  return placement;
}

/// Ten iterations of one rank, from `first` on.
RunningJob published(std::uint32_t attempt, std::uint64_t first = 0) {
  RunningJob job;
  job.attempt = AttemptId(attempt);
  job.job = JobId(3);
  job.endpoint_of_rank = std::make_shared<const std::vector<NodeId>>(1);
  job.first_iteration = first;
  job.iterations = 10;
  return job;
}

IterationDone report(std::uint32_t attempt, std::uint32_t iteration, Time end) {
  return {AttemptId(attempt), RankId(0), iteration, 0, end, Duration::s(1)};
}

/// The third start of job 3, at 0 s, on the one GPU that it wants.
JobAttempt workload_attempt() { return {{JobId(3), 1, 2, 1, {}, {0, {}, {}}}, gpus(1), at_s(0), {}}; }

// The job wants 8 GPUs and holds 4 at half the speed: what takes all of them 10 s takes it 20 / 0.5
// = 40 s.
TEST(JobAttempt, ScalesByGpusAndSpeed) {
  const JobAttempt attempt({JobId(0), 8, 0, 0.5, {}, {}}, gpus(4), at_s(0), {0, Duration::s(30)});
  EXPECT_EQ(attempt.time_for(Duration::s(10)), Duration::s(40));
  EXPECT_EQ(attempt.of_all_gpus(Duration::s(40)), Duration::s(20));
  EXPECT_EQ(attempt.on_common_scale({5, Duration::s(40)}).work, Duration::s(10));
  EXPECT_EQ(attempt.on_common_scale({5, Duration::s(40)}).iterations, 5U);
  // 30 s of work were kept from before.
  EXPECT_EQ(attempt.past().kept.work, Duration::s(120));
}

/// From 100 s on: 5 s of overhead, and 6 iterations of 10 s with a checkpoint of 1 s after every
/// two but the last.
JobAttempt model_attempt() {
  JobAttempt attempt({JobId(3), 8, 2, 1, Duration::s(5), {2, {}, Duration::s(1)}}, gpus(8), at_s(100), {});
  const JobTimer timer = attempt.run_by_model(Duration::s(60), 6, Duration::s(5));
  EXPECT_EQ(timer.job, JobId(3));
  EXPECT_EQ(timer.generation, (Generation{2, 0}));
  return attempt;
}

// It ends after 5 + 60 + 2 = 67 s. At 130 s it has written for 1 s and worked for 24: two
// iterations count.
TEST(JobAttempt, GoesOnByItsModel) {
  const JobAttempt attempt = model_attempt();
  EXPECT_EQ(attempt.model()->held(), Duration::s(67));
  EXPECT_TRUE(attempt.awaits(job_ends, {2, 0}));
  EXPECT_FALSE(attempt.awaits(job_ends, {1, 0}));
  EXPECT_FALSE(attempt.awaits(job_moves, {2, 0}));
  EXPECT_FALSE(attempt.has_done_all(at_s(166)));
  EXPECT_TRUE(attempt.has_done_all(at_s(167)));
  const AttemptAccount account = attempt.account(at_s(130));
  EXPECT_EQ(account.overhead, Duration::s(5));
  EXPECT_EQ(account.writing, Duration::s(1));
  EXPECT_EQ(account.work, Duration::s(20));
  EXPECT_EQ(account.kept.iterations, 2U);
}

TEST(JobAttempt, StandsStillOnceItFails) {
  JobAttempt attempt = model_attempt();
  attempt.fail(at_s(130));
  EXPECT_FALSE(attempt.awaits(job_ends, {2, 0}));
  EXPECT_FALSE(attempt.gets_on());
  EXPECT_FALSE(attempt.has_done_all(at_s(300)));
  EXPECT_EQ(attempt.got_on_until(at_s(300)), at_s(130));
  EXPECT_EQ(attempt.account(at_s(300)).writing, Duration::s(1));
  EXPECT_EQ(attempt.account(at_s(300)).work, Duration::s(20));
  EXPECT_NE(attempt.model(), nullptr);
}

// It begins to move at 130 s and fails at 133: what counts is what it had done at 130.
TEST(JobAttempt, MayFailWhileItMoves) {
  JobAttempt attempt = model_attempt();
  const JobTimer timer = attempt.move(at_s(130));
  EXPECT_TRUE(attempt.awaits(job_moves, timer.generation));
  EXPECT_FALSE(attempt.awaits(job_ends, timer.generation)) << "its end has the same numbers";
  attempt.send_last_checkpoint(AttemptId(8), 2);
  EXPECT_TRUE(attempt.hears_data_of(AttemptId(8)));
  EXPECT_FALSE(attempt.take_arrival(at_s(131)));
  attempt.fail(at_s(133));
  EXPECT_FALSE(attempt.hears_data_of(AttemptId(8)));
  EXPECT_EQ(attempt.as<JobAttempt::Failed>().at, at_s(133));
  EXPECT_EQ(attempt.got_on_until(at_s(200)), at_s(130));
  EXPECT_EQ(attempt.account(at_s(200)).work, Duration::s(20));
}

TEST(JobAttempt, FetchesDataBeforeItsRanksBegin) {
  JobAttempt attempt = workload_attempt();
  attempt.await_ranks();
  EXPECT_TRUE(attempt.awaits(ranks_begin, {2, 0}));
  attempt.fetch(AttemptId(5), 2, {HostId(1), HostId(4)});
  EXPECT_FALSE(attempt.awaits(ranks_begin, {2, 0}));
  EXPECT_TRUE(attempt.hears_data_of(AttemptId(5)));
  EXPECT_FALSE(attempt.hears_data_of(AttemptId(4)));
  EXPECT_FALSE(attempt.take_arrival(at_s(6)));
  EXPECT_TRUE(attempt.take_arrival(at_s(7)));
  EXPECT_TRUE(attempt.is<JobAttempt::Starting>());
  EXPECT_EQ(attempt.start_overhead(), Duration::s(7));
  EXPECT_FALSE(attempt.hears_data_of(AttemptId(5)));
}

// Ranks begin at 10 us; the first iteration ends 10 s later and is known another 10 us later. From
// its end on the job is fast-forwarded at 10 s an iteration, and would end after nine more, 90 s
// later. It is told to resume at iteration 4, which begins 30 s into that.
TEST(JobAttempt, IsFastForwardedAndResumes) {
  JobAttempt attempt = workload_attempt();
  const RunningJob first = published(7);
  attempt.simulate(first, at_s(0) + message, message);
  EXPECT_TRUE(attempt.hears_ranks_of(AttemptId(7)));
  const Time first_end = at_s(10) + message;
  ASSERT_TRUE(attempt.take_report(report(7, 0, first_end)));
  const JobTimer end = attempt.fast_forward(attempt.ranks()->landmark(Duration::s(10)), Duration::s(10), 10, first_end + message);
  EXPECT_EQ(end.generation, (Generation{2, 1}));
  EXPECT_FALSE(attempt.hears_ranks_of(AttemptId(7)));
  EXPECT_EQ(attempt.part_since(), first_end);
  EXPECT_EQ(attempt.model()->held(), Duration::s(90));
  EXPECT_EQ(attempt.as<JobAttempt::FastForwarded>().simulated_up_to, 1U);
  EXPECT_EQ(attempt.account(at_s(45)).whole.iterations, 4U);

  const JobTimer resume = attempt.plan_resume(4);
  EXPECT_EQ(resume.generation, (Generation{2, 2}));
  EXPECT_FALSE(attempt.awaits(job_ends, end.generation));
  EXPECT_TRUE(attempt.awaits(job_resumes, resume.generation));
  EXPECT_EQ(attempt.resumed_part_since(), first_end + Duration::s(30));

  const RunningJob second = published(9, 4);
  attempt.resume(second);
  EXPECT_TRUE(attempt.hears_ranks_of(AttemptId(9)));
  EXPECT_FALSE(attempt.awaits(job_resumes, resume.generation));
  EXPECT_EQ(attempt.part_since(), at_s(40) + message);
  EXPECT_EQ(attempt.account(at_s(45)).whole.iterations, 4U);
  EXPECT_EQ(attempt.account(at_s(45)).work_whole, Duration::s(40));
}

// Folded in another way before its first iteration has ended, it begins that one anew at 4 s.
TEST(JobAttempt, IsSimulatedAnew) {
  JobAttempt attempt = workload_attempt();
  const RunningJob first = published(7);
  attempt.simulate(first, at_s(0) + message, message);
  const RunningJob second = published(8);
  attempt.simulate_anew(attempt.ranks()->landmark(Duration::zero()), second, at_s(4));
  EXPECT_FALSE(attempt.hears_ranks_of(AttemptId(7)));
  EXPECT_TRUE(attempt.hears_ranks_of(AttemptId(8)));
  ASSERT_TRUE(attempt.take_report(report(8, 0, at_s(14))));
  EXPECT_EQ(attempt.ranks()->last_period(), Duration::s(10));
}

// --- Every transition in every phase -------------------------------------------------------------

struct Phase {
  std::string name;
  std::function<JobAttempt()> make;
};

/// What outlives the attempts that keep references to it.
struct Published {
  RunningJob first = published(7);
  RunningJob second = published(9, 4);
};

std::vector<Phase> phases(const Published& jobs) {
  const auto simulated = [&jobs] {
    JobAttempt attempt = workload_attempt();
    attempt.simulate(jobs.first, at_s(0) + message, message);
    attempt.take_report(report(7, 0, at_s(10) + message));
    return attempt;
  };
  const auto forwarded = [simulated] {
    JobAttempt attempt = simulated();
    attempt.fast_forward(attempt.ranks()->landmark(Duration::s(10)), Duration::s(10), 10, at_s(11));
    return attempt;
  };
  return {
      {"starting", workload_attempt},
      {"fetching",
       [] {
         JobAttempt attempt = workload_attempt();
         attempt.fetch(AttemptId(5), 2, {HostId(0)});
         return attempt;
       }},
      {"by model", model_attempt},
      {"simulated", simulated},
      {"forwarded", forwarded},
      {"to resume",
       [forwarded] {
         JobAttempt attempt = forwarded();
         attempt.plan_resume(4);
         return attempt;
       }},
      {"moving",
       [simulated] {
         JobAttempt attempt = simulated();
         attempt.move(at_s(12));
         return attempt;
       }},
      {"failed",
       [simulated] {
         JobAttempt attempt = simulated();
         attempt.fail(at_s(12));
         return attempt;
       }},
  };
}

struct Transition {
  std::string name;
  std::set<std::string> from;
  std::function<void(JobAttempt&)> go;
};

std::vector<Transition> transitions(const Published& jobs) {
  return {
      {"restore", {"starting"}, [](JobAttempt& attempt) { attempt.restore(at_s(1), std::nullopt); }},
      {"begin_later_part", {"starting"}, [](JobAttempt& attempt) { attempt.begin_later_part(at_s(1)); }},
      {"fetch", {"starting"}, [](JobAttempt& attempt) { attempt.fetch(AttemptId(5), 1, {}); }},
      {"take_arrival", {"fetching"}, [](JobAttempt& attempt) { attempt.take_arrival(at_s(12)); }},
      {"run_by_model", {"starting"}, [](JobAttempt& attempt) { attempt.run_by_model(Duration::s(9), 3, {}); }},
      {"simulate", {"starting"}, [&jobs](JobAttempt& attempt) { attempt.simulate(jobs.first, at_s(13), message); }},
      {"take_report", {"simulated"}, [](JobAttempt& attempt) { attempt.take_report(report(7, 1, at_s(20) + message)); }},
      {"simulate_anew",
       {"simulated"},
       [&jobs](JobAttempt& attempt) {
         attempt.simulate_anew({at_s(10), 1, {}}, jobs.first, at_s(13));
       }},
      {"fast_forward",
       {"simulated"},
       [](JobAttempt& attempt) {
         attempt.fast_forward({at_s(10), 1, {}}, Duration::s(10), 10, at_s(11));
       }},
      {"restore_fast_forward",
       {"starting"},
       [](JobAttempt& attempt) { attempt.restore_fast_forward(AttemptId(7), Duration::s(10), 10, at_s(11)); }},
      {"plan_resume", {"forwarded"}, [](JobAttempt& attempt) { attempt.plan_resume(5); }},
      {"resume", {"to resume"}, [&jobs](JobAttempt& attempt) { attempt.resume(jobs.second); }},
      {"move",
       {"starting", "fetching", "by model", "simulated", "forwarded", "to resume"},
       [](JobAttempt& attempt) { attempt.move(at_s(12)); }},
      {"send_last_checkpoint", {"moving"}, [](JobAttempt& attempt) { attempt.send_last_checkpoint(AttemptId(8), 1); }},
      {"fail",
       {"starting", "fetching", "by model", "simulated", "forwarded", "to resume", "moving"},
       [](JobAttempt& attempt) { attempt.fail(at_s(12)); }},
  };
}

TEST(JobAttempt, RefusesEveryTransitionButThoseOfItsPhase) {
  const Published jobs;
  for (const Phase& phase : phases(jobs)) {
    for (const Transition& transition : transitions(jobs)) {
      SCOPED_TRACE(transition.name + " while " + phase.name);
      JobAttempt attempt = phase.make();
      if (transition.from.contains(phase.name)) {
        EXPECT_NO_THROW(transition.go(attempt));
      } else {
        EXPECT_THROW(transition.go(attempt), CheckFailure);
      }
    }
  }
}

// Whatever happens, the attempt awaits the last timer that was set, until a transition that ends
// the wait; never an earlier one.
TEST(JobAttempt, AwaitsOneTimerAtMost) {
  using Issued = std::pair<std::uint16_t, Generation>;
  std::mt19937 random(1);
  const Published jobs;
  for (int walk = 0; walk < 2'000; ++walk) {
    JobAttempt attempt = workload_attempt();
    std::vector<Issued> issued;
    std::optional<Issued> live;
    const auto set = [&](std::uint16_t kind, const JobTimer& timer) { issued.push_back(*(live = Issued{kind, timer.generation})); };
    for (int step = 0; step < 8 && !attempt.is<JobAttempt::Failed>(); ++step) {
      const std::uint32_t draw = random() % 10;
      if (draw == 0) {
        attempt.fail(at_s(20));
        live.reset();
      } else if (draw == 1 && attempt.gets_on()) {
        set(job_moves, attempt.move(at_s(20)));
      } else if (attempt.is<JobAttempt::Fetching>()) {
        attempt.take_arrival(at_s(5));
      } else if (attempt.is<JobAttempt::Starting>()) {
        if (draw < 4 && issued.empty()) {
          set(ranks_begin, attempt.await_ranks());
        } else if (draw < 6 && attempt.published().is_none()) {
          attempt.fetch(AttemptId(5), 1, {});
          live.reset();
        } else {
          attempt.simulate(jobs.first, at_s(6), message);
          live.reset();
          attempt.take_report(report(7, 0, at_s(16)));
        }
      } else if (attempt.is<JobAttempt::Simulated>()) {
        set(job_ends, attempt.fast_forward(attempt.ranks()->landmark(Duration::zero()), Duration::s(10), 10, at_s(20)));
      } else if (attempt.is<JobAttempt::FastForwarded>()) {
        if (attempt.as<JobAttempt::FastForwarded>().resumes_at) {
          attempt.resume(jobs.second);
          live.reset();
        } else {
          set(job_resumes, attempt.plan_resume(4));
        }
      }
      for (const Issued& timer : issued)
        EXPECT_EQ(attempt.awaits(timer.first, timer.second), live == timer) << "walk " << walk << " step " << step;
    }
  }
}

}  // namespace
}  // namespace weft::job_attempt_test
