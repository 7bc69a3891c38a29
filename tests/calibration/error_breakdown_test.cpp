// SPDX-License-Identifier: Apache-2.0
#include "calibration/error_breakdown.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace weft::error_breakdown_test {

namespace {

TimedError row(double measured_s, double before_s, double after_s) { return {measured_s, before_s, after_s, {}, {}, "", false}; }

TimedError of_size(std::uint64_t size_bytes, double measured_s, double before_s, double after_s) {
  TimedError error = row(measured_s, before_s, after_s);
  error.size_bytes = size_bytes;
  return error;
}

TimedError of_job(std::uint64_t gpus, double measured_s, double before_s, double after_s) {
  TimedError error = row(measured_s, before_s, after_s);
  error.gpus = gpus;
  return error;
}

TimedError of_host(const std::string& host, double measured_s, double before_s, double after_s) {
  TimedError error = row(measured_s, before_s, after_s);
  error.host = host;
  return error;
}

/// "64 KiB 2, 256 KiB 1": labels and counts in their order.
std::string classes_text(const std::vector<ErrorClass>& classes) {
  std::string text;
  for (const ErrorClass& c : classes) text += (text.empty() ? "" : ", ") + c.label + " " + std::to_string(c.count);
  return text;
}

}  // namespace

// 64 KiB is 4^8 bytes and 256 KiB 4^9. The first class has |12 - 8|/8 = 1/2 and |7 - 8|/8 = 1/8
// before, in the mean 5/16, and |9 - 8|/8 = 1/8 and 0 after, in the mean 1/16.
TEST(ErrorBreakdown, MessageSizesAreClassedByPowersOfFour) {
  const std::vector<TimedError> rows = {of_size(262'144, 4, 5, 4), of_size(65'536, 8, 12, 9), of_size(262'143, 8, 7, 8)};
  const ErrorBreakdown breakdown = break_down_errors(rows);
  ASSERT_EQ(classes_text(breakdown.by_message_size), "64 KiB 2, 256 KiB 1");
  const ErrorClass& first = breakdown.by_message_size.front();
  EXPECT_EQ(first.minimum, 65'536U);
  EXPECT_EQ(first.maximum, 262'143U);
  EXPECT_EQ(first.before_mape, 5.0 / 16);
  EXPECT_EQ(first.after_mape, 1.0 / 16);
  EXPECT_EQ(breakdown.by_message_size.back().before_mape, 0.25);
  EXPECT_EQ(breakdown.by_message_size.back().after_mape, 0);
  EXPECT_TRUE(breakdown.by_job_size.empty());
  EXPECT_TRUE(breakdown.by_host.empty());
  EXPECT_TRUE(breakdown.host_cdf_before.empty());
}

TEST(ErrorBreakdown, TheSmallestAndTheLargestSizesHaveClasses) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::vector<TimedError> rows = {of_size(0, 1, 1, 1),   of_size(1, 1, 1, 1),    of_size(3, 1, 1, 1),
                                        of_size(4, 1, 1, 1),   of_size(1024, 1, 1, 1), of_size(std::uint64_t{1} << 30, 1, 1, 1),
                                        of_size(most, 1, 1, 1)};
  const ErrorBreakdown breakdown = break_down_errors(rows);
  EXPECT_EQ(classes_text(breakdown.by_message_size), "0 B 1, 1 B 2, 4 B 1, 1 KiB 1, 1 GiB 1, 4 EiB 1");
  EXPECT_EQ(breakdown.by_message_size.front().maximum, 0U);
  EXPECT_EQ(breakdown.by_message_size.back().maximum, most);
}

TEST(ErrorBreakdown, JobsAreClassedByPowersOfTwo) {
  const std::vector<TimedError> rows = {of_job(16, 2, 1, 2), of_job(15, 2, 3, 2), of_job(8, 2, 2, 2), of_job(1, 2, 2, 2),
                                        of_job(4096, 2, 2, 2)};
  const ErrorBreakdown breakdown = break_down_errors(rows);
  ASSERT_EQ(classes_text(breakdown.by_job_size), "1 GPU 1, 8 GPUs 2, 16 GPUs 1, 4096 GPUs 1");
  // |3 - 2|/2 and 0
  EXPECT_EQ(breakdown.by_job_size[1].before_mape, 0.25);
  EXPECT_EQ(breakdown.by_job_size[1].maximum, 15U);
}

// Errors with their signs are -20 %, -10 %, 0, 10 % and 20 %. Their quartiles are the second and
// the fourth; 5 % lies a fifth of the way from the first to the second (rank 0.05 x 4), and 95 %
// likewise at the other end.
TEST(ErrorBreakdown, SpreadsHaveSigns) {
  std::vector<TimedError> rows;
  for (const double simulated_s : {100.0, 80.0, 120.0, 90.0, 110.0}) rows.push_back(of_size(1, 100, simulated_s, 100));
  const ErrorBreakdown breakdown = break_down_errors(rows);
  const ErrorSpread& before = breakdown.by_message_size.front().before;
  EXPECT_NEAR(before.percentile_5, -0.18, 1e-15);
  EXPECT_NEAR(before.lower_quartile, -0.1, 1e-15);
  EXPECT_EQ(before.median, 0);
  EXPECT_NEAR(before.upper_quartile, 0.1, 1e-15);
  EXPECT_NEAR(before.percentile_95, 0.18, 1e-15);
  EXPECT_EQ(breakdown.by_message_size.front().after.percentile_95, 0);
}

// Means of hosts: a has (1/2 + 0)/2 = 1/4 before and 1/4 after, b 1/4 and 0, c 1 and 1/4. So before
// two of three hosts have at most 1/4 and all at most 1; after, one has 0 and all at most 1/4.
TEST(ErrorBreakdown, HostsMakeTheCurveOfTheirMeans) {
  const std::vector<TimedError> rows = {of_host("c", 4, 8, 5), of_host("a", 4, 6, 4), of_host("b", 4, 3, 4), of_host("a", 4, 4, 6)};
  const ErrorBreakdown breakdown = break_down_errors(rows);
  ASSERT_EQ(breakdown.by_host.size(), 3U);
  EXPECT_EQ(breakdown.by_host[0].host, "b");
  EXPECT_EQ(breakdown.by_host[1].host, "a");
  EXPECT_EQ(breakdown.by_host[1].count, 2U);
  EXPECT_EQ(breakdown.by_host[2].host, "c");
  ASSERT_EQ(breakdown.host_cdf_before.size(), 2U);
  EXPECT_EQ(breakdown.host_cdf_before[0].error, 0.25);
  EXPECT_EQ(breakdown.host_cdf_before[0].hosts, 2.0 / 3);
  EXPECT_EQ(breakdown.host_cdf_before[1].error, 1);
  EXPECT_EQ(breakdown.host_cdf_before[1].hosts, 1);
  ASSERT_EQ(breakdown.host_cdf_after.size(), 2U);
  EXPECT_EQ(breakdown.host_cdf_after[0].error, 0);
  EXPECT_EQ(breakdown.host_cdf_after[0].hosts, 1.0 / 3);
  EXPECT_EQ(breakdown.host_cdf_after[1].error, 0.25);
  EXPECT_EQ(breakdown.host_cdf_after[1].hosts, 1);
}

TEST(ErrorBreakdown, RowsWithoutATimeAreLeftOut) {
  const double unmatched = std::nan("");
  const double endless = std::numeric_limits<double>::infinity();
  const std::vector<TimedError> rows = {
      of_size(8, 1, unmatched, unmatched), of_size(8, 1, 1, endless), of_size(8, 0, 1, 1), of_size(8, -1, 1, 1),
      of_size(8, 1e-308, 1e308, 1),        of_size(8, 1, 2, 1)};
  const ErrorBreakdown breakdown = break_down_errors(rows);
  EXPECT_EQ(breakdown.left_out, 5U);
  ASSERT_EQ(classes_text(breakdown.by_message_size), "4 B 1");
  EXPECT_EQ(breakdown.by_message_size.front().before_mape, 1);
  EXPECT_EQ(break_down_errors({}).left_out, 0U);
}

// Sums of quarters are exact, so any order gives the same.
TEST(ErrorBreakdown, OrderOfRowsDoesNotMatter) {
  std::vector<TimedError> rows;
  for (std::uint64_t i = 0; i < 24; ++i) {
    TimedError error = of_size(i * i, 4, static_cast<double>(2 + i % 5), static_cast<double>(3 + i % 3));
    error.gpus = i;
    error.host = "host" + std::to_string(i % 7);
    rows.push_back(error);
  }
  const std::string csv = break_down_errors(rows).to_csv();
  std::reverse(rows.begin(), rows.end());
  EXPECT_EQ(break_down_errors(rows).to_csv(), csv);
}

TEST(ErrorBreakdown, CsvHasARowPerClassAndHost) {
  TimedError first = of_size(65'536, 8, 12, 9);
  first.gpus = 8;
  first.host = "rack 1, \"left\"";
  TimedError second = of_size(70'000, 8, 8, 8);
  second.host = "b";
  const std::vector<TimedError> rows = {first, second};
  EXPECT_EQ(break_down_errors(rows).to_csv(),
            "figure,class,count,before_mape,after_mape\n"
            "message_size,64 KiB,2,0.25,0.0625\n"
            "job_size,8 GPUs,1,0.5,0.125\n"
            "host_cdf,b,1,0,0\n"
            "host_cdf,\"rack 1, \"\"left\"\"\",1,0.5,0.125\n");
  EXPECT_EQ(break_down_errors({}).to_csv(), "figure,class,count,before_mape,after_mape\n");
}

}  // namespace weft::error_breakdown_test
