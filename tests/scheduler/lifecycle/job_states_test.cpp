// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_states.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/check.hpp"

namespace weft::job_states_test {
namespace {

JobAttempt& start(JobStates& states, JobId job) {
  return states.start({job, 1, 0, 1, {}, {}}, Placement{{GpuSlot(job.index())}}, Time::zero(), {});
}

std::vector<std::uint32_t> numbers(const JobList& jobs) {
  std::vector<std::uint32_t> result;
  for (const JobId job : jobs) result.push_back(job.index());
  return result;
}

TEST(JobStates, TakeAJobThroughItsLife) {
  JobStates states(2);
  const JobId a(0);
  EXPECT_TRUE(states.is<JobStates::NotArrived>(a));
  states.arrive(a);
  EXPECT_TRUE(states.is<JobStates::Waiting>(a));
  EXPECT_EQ(states.attempt(a), nullptr);
  EXPECT_EQ(start(states, a).job(), a);
  EXPECT_TRUE(states.queue().empty());
  EXPECT_EQ(states.running(a).placement().gpus.front(), GpuSlot(0));
  states.stop(a);
  EXPECT_TRUE(states.queue().contains(a));
  start(states, a);
  states.end(a);
  EXPECT_TRUE(states.is_over(a));
  EXPECT_TRUE(states.running().empty());
  EXPECT_THROW(states.running(a), CheckFailure);
}

// A plain list of letters knows the same: n not arrived, w waits, r runs, e ended, c cancelled.
TEST(JobStates, AgreeWithANaiveList) {
  constexpr std::uint32_t jobs = 9;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    JobStates states(jobs);
    std::string naive(jobs, 'n');
    std::vector<std::uint32_t> running;
    std::vector<std::uint32_t> arrived;  // in order, as the queue is
    const auto expect = [&](bool is_allowed, const auto& transition) {
      if (is_allowed) {
        transition();
      } else {
        EXPECT_THROW(transition(), CheckFailure);
      }
      return is_allowed;
    };
    for (int step = 0; step < 80; ++step) {
      const std::uint32_t number = random() % jobs;
      const JobId job(number);
      char& state = naive[number];
      switch (random() % 6) {
        case 0:
          if (expect(state == 'n', [&] { states.arrive(job); })) {
            state = 'w';
            arrived.push_back(number);
          }
          break;
        case 1:
          if (expect(state == 'w', [&] { start(states, job); })) {
            state = 'r';
            running.push_back(number);
          }
          break;
        case 2:
          if (expect(state == 'r', [&] { states.stop(job); })) state = 'w';
          break;
        case 3:
          if (expect(state == 'r', [&] { states.end(job); })) state = 'e';
          break;
        case 4:
          if (random() % 4 > 0) break;
          if (expect(state != 'e' && state != 'c', [&] { states.cancel(job); })) state = 'c';
          break;
        default:
          if (random() % 8 > 0) break;
          if (expect(state == 'n', [&] { states.restore_over(job, true); })) state = 'c';
      }
      if (state != 'r') std::erase(running, number);
      std::vector<std::uint32_t> waiting;
      for (const std::uint32_t other : arrived) {
        if (naive[other] == 'w') waiting.push_back(other);
      }
      for (std::uint32_t other = 0; other < jobs; ++other) {
        EXPECT_EQ(states.is_over(JobId(other)), naive[other] == 'e' || naive[other] == 'c');
        EXPECT_EQ(states.attempt(JobId(other)) != nullptr, naive[other] == 'r');
      }
      ASSERT_EQ(numbers(states.queue()), waiting) << "seed " << seed << " step " << step;
      ASSERT_EQ(numbers(states.running()), running) << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace weft::job_states_test
