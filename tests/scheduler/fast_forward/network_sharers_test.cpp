// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fast_forward/network_sharers.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/check.hpp"

namespace weft::network_sharers_test {
namespace {

// Without CoupledJobs all that share the network are one set, in order of their starts.
TEST(NetworkSharers, AreOneSetWithoutCoupledJobs) {
  JobList running(4);
  for (const std::uint32_t job : {2U, 0U, 3U}) running.push_back(JobId(job));
  NetworkSharers sharers(running, 4, nullptr);
  EXPECT_TRUE(sharers.others_of(JobId(2)).empty());
  sharers.join(JobId(2));
  sharers.join(JobId(3));
  EXPECT_EQ(sharers.others_of(JobId(0)), (std::vector{JobId(2), JobId(3)}));
  EXPECT_EQ(sharers.others_of(JobId(3)), std::vector{JobId(2)});
  sharers.leave(JobId(2));
  EXPECT_FALSE(sharers.shares(JobId(2)));
  EXPECT_TRUE(sharers.others_of(JobId(3)).empty());
  EXPECT_THROW(sharers.leave(JobId(2)), CheckFailure);
}

}  // namespace
}  // namespace weft::network_sharers_test
