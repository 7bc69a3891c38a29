// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/congestion_periods.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace weft::congestion_periods_test {
namespace {

Time at(std::int64_t s) { return Time::zero() + Duration::s(s); }

JobInCongestion job(std::uint32_t id, std::int64_t begin_s, std::int64_t end_s, bool slowed = true) {
  JobInCongestion in;
  in.job = JobId(id);
  in.first = at(begin_s);
  in.last = at(end_s);
  if (slowed) {
    in.since = at(begin_s);
    in.until = at(end_s);
    in.congested = Duration::s(end_s - begin_s);
    in.possible_bits = 100 * static_cast<double>(end_s - begin_s);
    in.lost_bits = in.possible_bits / 2;
  }
  return in;
}

CongestionPeriod period(std::int64_t begin_s, std::int64_t end_s, std::initializer_list<JobInCongestion> jobs,
                        CongestionCause cause = CongestionCause::others, std::uint32_t link = 7) {
  CongestionPeriod made;
  made.link = LinkId(link);
  made.cause = cause;
  made.begin = at(begin_s);
  made.end = at(end_s);
  made.congested = Duration::s(end_s - begin_s);
  made.jobs = jobs;
  return made;
}

const Duration kGap = Duration::s(10);

TEST(CongestionPeriods, JoinWithinTheGapAndOnlyThoseOfOneLinkAndCause) {
  const auto two = {job(0, 0, 5), job(1, 0, 5)};
  const auto later = {job(0, 15, 20), job(2, 16, 20)};
  // 10 s lie between them, 11 in the second case.
  auto joined = join_periods({period(0, 5, two), period(15, 20, later)}, {}, kGap);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].end, at(20));
  EXPECT_EQ(joined[0].congested, Duration::s(10));
  EXPECT_DOUBLE_EQ(joined[0].congested_share(), 0.5);
  EXPECT_DOUBLE_EQ(joined[0].lost_share(), 0.5);
  EXPECT_EQ(joined[0].slowed(), (std::vector{JobId(0), JobId(1), JobId(2)}));
  EXPECT_EQ(joined[0].jobs[0].until, at(20));
  EXPECT_EQ(joined[0].jobs[0].congested, Duration::s(10));
  EXPECT_EQ(join_periods({period(0, 5, two), period(16, 20, later)}, {}, kGap).size(), 2U);
  EXPECT_EQ(join_periods({period(0, 5, two), period(6, 20, later, CongestionCause::own)}, {}, kGap).size(), 2U);
  joined = join_periods({period(6, 20, later, CongestionCause::others, 3), period(0, 5, two)}, {}, kGap);
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_EQ(joined[0].begin, at(0)) << "in order of time";
}

TEST(CongestionPeriods, GoOnWhileTheirJobsAreFastForwarded) {
  // Both are seen until 8 and are fast-forwarded from 9: one until it resumes at 1000, one until it
  // ends at 900.
  const FastForwardSpans fast_forwards = {{JobId(0), {{at(9), at(1000)}}}, {JobId(1), {{at(9), at(900)}}}};
  const auto joined = join_periods({period(2, 8, {job(0, 2, 8), job(1, 2, 8)})}, fast_forwards, kGap);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].end, at(900));
  EXPECT_EQ(joined[0].fast_forwarded, Duration::s(891));
  // 6 s of the 7 that were simulated.
  EXPECT_DOUBLE_EQ(joined[0].congested_share(), 6.0 / 7);
  EXPECT_EQ(time_in_periods(JobId(0), joined), Duration::s(898));
}

TEST(CongestionPeriods, GoOnAfterFastForwardWhenTheyAreSeenAgain) {
  const FastForwardSpans fast_forwards = {{JobId(0), {{at(9), at(100)}, {at(110), at(200)}}},
                                          {JobId(1), {{at(9), at(100)}, {at(110), at(200)}}}};
  const auto first = period(2, 8, {job(0, 2, 8), job(1, 2, 8)});
  const auto again = period(103, 108, {job(0, 103, 108), job(1, 103, 108)});
  auto joined = join_periods({first, again}, fast_forwards, kGap);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].end, at(200));
  EXPECT_EQ(joined[0].fast_forwarded, Duration::s(91 + 90));
  // If nothing is seen of it between the two, it is over with the first.
  joined = join_periods({first}, fast_forwards, kGap);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].end, at(100));
}

TEST(CongestionPeriods, DoNotGoOnForOneJobFastForwardedAlone) {
  const FastForwardSpans fast_forwards = {{JobId(0), {{at(9), at(1000)}}}};
  EXPECT_EQ(join_periods({period(2, 8, {job(0, 2, 8), job(1, 2, 8)})}, fast_forwards, kGap)[0].end, at(8));
  EXPECT_EQ(join_periods({period(2, 8, {job(0, 2, 8)}, CongestionCause::own)}, fast_forwards, kGap)[0].end, at(1000));
  // Too long after it was seen.
  const FastForwardSpans late = {{JobId(0), {{at(19), at(1000)}}}, {JobId(1), {{at(19), at(1000)}}}};
  EXPECT_EQ(join_periods({period(2, 8, {job(0, 2, 8), job(1, 2, 8)})}, late, kGap)[0].end, at(8));
}

TEST(CongestionPeriods, TheLatestStartOfThoseThereAtTheBeginningIsToBlame) {
  const auto of = period(50, 90, {job(0, 50, 90), job(1, 50, 90, false), job(2, 50, 60), job(3, 70, 90)});
  // Job 0 started again at 45, and once more after the period had begun; job 3 came to the link
  // later, though it had started last.
  JobStarts starts = {{JobId(0), {at(1), at(45), at(80)}}, {JobId(1), {at(30)}}, {JobId(2), {at(44)}}, {JobId(3), {at(49)}}};
  EXPECT_EQ(trigger_of(of, starts), JobId(0));
  starts[JobId(1)] = {at(46)};
  EXPECT_EQ(trigger_of(of, starts), JobId(1)) << "who is not slowed itself can slow others";
  starts[JobId(2)] = {at(46)};
  EXPECT_EQ(trigger_of(of, starts), JobId(2)) << "of two that started at one instant";
}

TEST(CongestionPeriods, TimeInPeriodsCountsOnce) {
  const std::vector<CongestionPeriod> periods = {period(0, 10, {job(0, 0, 10)}), period(5, 20, {job(0, 5, 20)}),
                                                 period(6, 8, {job(0, 6, 8)}), period(30, 40, {job(0, 30, 40), job(1, 30, 35)})};
  EXPECT_EQ(time_in_periods(JobId(0), periods), Duration::s(30));
  EXPECT_EQ(time_in_periods(JobId(1), periods), Duration::s(5));
  EXPECT_EQ(time_in_periods(JobId(2), periods), Duration::zero());
}

}  // namespace
}  // namespace weft::congestion_periods_test
