#include "host/ranks/job.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/check.hpp"

namespace weft::job_test {
namespace {

// The table grows by chunks of 64, 64, 128, 256 ... slots.
TEST(JobTable, SlotsNeverMove) {
  JobTable table;
  std::vector<const RunningJob*> slots;
  for (std::uint32_t i = 0; i < 1'100; ++i) {
    ASSERT_EQ(table.next(), StayId(i));
    RunningJob stay;
    stay.stay = StayId(i);
    stay.job = JobId(2 * i);
    table.publish(std::move(stay));
    slots.push_back(&table.at(StayId(i)));
  }
  EXPECT_EQ(table.size(), 1'100U);
  for (std::uint32_t i = 0; i < 1'100; ++i) {
    EXPECT_EQ(&table.at(StayId(i)), slots[i]);
    EXPECT_EQ(slots[i]->stay, StayId(i));
    EXPECT_EQ(slots[i]->job, JobId(2 * i));
  }
}

TEST(JobTable, StaysComeInOrder) {
  JobTable table;
  RunningJob second;
  second.stay = StayId(1);
  EXPECT_THROW(table.publish(std::move(second)), CheckFailure);
}

}  // namespace
}  // namespace weft::job_test
