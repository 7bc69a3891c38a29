// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/progress_watch.hpp"

#include <gtest/gtest.h>

namespace weft::progress_watch_test {
namespace {

Time at(std::int64_t seconds) { return Time::zero() + Duration::s(seconds); }

TEST(ProgressWatch, IsDueAfterSoManySetbacksWithoutAnythingKept) {
  ProgressWatch watch(3, 2, 1);
  watch.is_stopped(JobId(0), Duration::s(2));
  watch.expects(at(5));
  watch.part_fails();
  EXPECT_FALSE(watch.is_due(at(5)));
  watch.is_stopped(JobId(0), Duration::s(4));
  EXPECT_TRUE(watch.is_due(at(5)));
  EXPECT_EQ(watch.streak(JobId(0)).stops, 2U);
  EXPECT_EQ(watch.streak(JobId(0)).lost, Duration::s(6));
  EXPECT_EQ(watch.stops(), 2U);
  EXPECT_EQ(watch.failures(), 1U);
  EXPECT_FALSE(watch.is_hopeless(JobId(0)));
  watch.is_stopped(JobId(0), Duration::s(1));
  EXPECT_TRUE(watch.is_hopeless(JobId(0)));
  EXPECT_FALSE(watch.is_hopeless(JobId(1)));
  watch.gets_on(JobId(0), at(6));
  EXPECT_FALSE(watch.is_due(at(6)));
  EXPECT_FALSE(watch.is_hopeless(JobId(0)));
  EXPECT_EQ(watch.begin(), at(6));
}

// What is to come when there were enough setbacks may be what all wait for; not what is to come
// after them.
TEST(ProgressWatch, WaitsForWhatIsToCome) {
  ProgressWatch watch(3, 1, 1);
  watch.expects(at(100));
  watch.expects(at(3));
  for (int i = 0; i < 3; ++i) watch.part_fails();
  watch.expects(at(500));
  watch.part_fails();
  EXPECT_FALSE(watch.is_due(at(99)));
  EXPECT_TRUE(watch.is_due(at(100)));
  watch.begin_anew(at(100));
  EXPECT_FALSE(watch.is_due(at(100)));
}

TEST(ProgressWatch, CountsAsManyAsThereAreHosts) {
  ProgressWatch watch(2, 1, 4);
  for (int i = 0; i < 3; ++i) watch.part_fails();
  EXPECT_FALSE(watch.is_due(at(2)));
  watch.part_fails();
  EXPECT_TRUE(watch.is_due(at(2)));
}

TEST(ProgressWatch, IsNeverDueWithoutABound) {
  ProgressWatch watch(0, 1, 1);
  for (int i = 0; i < 1'000; ++i) watch.is_stopped(JobId(0), Duration::s(1));
  EXPECT_FALSE(watch.is_due(at(1)));
}

}  // namespace
}  // namespace weft::progress_watch_test
