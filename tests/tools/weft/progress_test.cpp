// The progress line shows share, simulated time, speed and time left.
#include "tools/weft/progress.hpp"

#include <gtest/gtest.h>

namespace weft::progress_test {
namespace {

TEST(ProgressText, EstimatesTheTimeLeftFromTheShareDone) {
  // A quarter done in 10 s: 30 s left; 20 million events in 10 s are 2 M events/s.
  EXPECT_EQ(progress_text(Time::zero() + Duration::ms(1500), 20'000'000, 0.25, 10), " 25 %  sim 1.5 s  2.0 M events/s  30 s left");
}

TEST(ProgressText, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(progress_text(Time::zero() + Duration::us(7), 3, -1, 0), "sim 0.007 ms");
  EXPECT_EQ(progress_text(Time::zero(), 0, 0, 2), "  0 %  sim 0 ms  0.0 events/s");
}

}  // namespace
}  // namespace weft::progress_test
