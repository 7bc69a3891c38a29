// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weft::job_list_test {
namespace {

std::vector<std::uint32_t> contents(const JobList& list) {
  std::vector<std::uint32_t> result;
  for (const JobId job : list) result.push_back(job.index());
  return result;
}

TEST(JobList, KeepsTheOrderOfAddition) {
  JobList list(5);
  EXPECT_TRUE(list.empty());
  list.push_back(JobId(3));
  list.push_back(JobId(1));
  list.push_back(JobId(4));
  EXPECT_EQ(contents(list), (std::vector<std::uint32_t>{3, 1, 4}));
  EXPECT_EQ(list.front(), JobId(3));
  list.remove(JobId(1));
  list.push_back(JobId(1));
  EXPECT_EQ(contents(list), (std::vector<std::uint32_t>{3, 4, 1}));
  EXPECT_TRUE(list.contains(JobId(4)));
  EXPECT_FALSE(list.contains(JobId(0)));
  EXPECT_EQ(list.size(), 3U);
}

TEST(JobList, RefusesWhatBreaksIt) {
  JobList list(2);
  EXPECT_THROW(list.front(), CheckFailure);
  EXPECT_THROW(list.remove(JobId(0)), CheckFailure);
  EXPECT_THROW(list.push_back(JobId(2)), CheckFailure);
  list.push_back(JobId(0));
  EXPECT_THROW(list.push_back(JobId(0)), CheckFailure);
}

/// A policy walks the queue and starts jobs on the way: it steps on before it removes.
TEST(JobList, OtherIteratorsSurviveRemoval) {
  JobList list(6);
  for (std::uint32_t i = 0; i < 6; ++i) list.push_back(JobId(i));
  for (auto at = list.begin(); at != list.end();) {
    const JobId job = *at;
    ++at;
    if (job.index() % 2 == 0) list.remove(job);
  }
  EXPECT_EQ(contents(list), (std::vector<std::uint32_t>{1, 3, 5}));
}

TEST(JobList, AgreesWithAVector) {
  std::mt19937 random(4);
  JobList list(30);
  std::vector<std::uint32_t> expected;
  for (int step = 0; step < 5000; ++step) {
    const std::uint32_t job = random() % 30;
    const auto found = std::find(expected.begin(), expected.end(), job);
    ASSERT_EQ(list.contains(JobId(job)), found != expected.end());
    if (found == expected.end()) {
      list.push_back(JobId(job));
      expected.push_back(job);
    } else {
      list.remove(JobId(job));
      expected.erase(found);
    }
    ASSERT_EQ(contents(list), expected);
    ASSERT_EQ(list.size(), expected.size());
  }
}

}  // namespace
}  // namespace weft::job_list_test
