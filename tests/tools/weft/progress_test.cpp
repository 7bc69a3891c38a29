// SPDX-License-Identifier: Apache-2.0
// The progress line shows share, simulated time, speed and time left.
#include "tools/weft/progress.hpp"

#include <gtest/gtest.h>

namespace weft::progress_test {
namespace {

TEST(ProgressText, EstimatesTheTimeLeftFromTheShareDone) {
  // A quarter done in 10 s: 30 s left; 20 million events in 10 s are 2 M events/s.
  const RunState state{Time::zero() + Duration::ms(1500), 20'000'000, 30, 120, "iterations"};
  EXPECT_EQ(progress_text(state, 10), " 25 % of 120 iterations  sim 1.5 s  2.0 M events/s  30 s left");
}

TEST(ProgressText, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(progress_text({Time::zero() + Duration::us(7), 3, 0, 0, ""}, 0), "sim 7 us");
  EXPECT_EQ(progress_text({Time::zero(), 0, 0, 4, "jobs"}, 2), "  0 % of 4 jobs  sim 0 ns  0.0 events/s");
}

}  // namespace
}  // namespace weft::progress_test
