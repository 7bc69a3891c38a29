// SPDX-License-Identifier: Apache-2.0
// Compute clock: ends of ops at changing speeds, derived by hand.
#include "host/ranks/compute_clock.hpp"

#include <gtest/gtest.h>

namespace weft::compute_clock_test {
namespace {

Time at_us(std::int64_t us) { return Time::zero() + Duration::us(us); }

TEST(ComputeClock, AtFullSpeedAnOpTakesItsDurationToTheTick) {
  ComputeClock clock;
  const Duration odd = Duration::ticks(123'456'789'012'345);
  const ComputeClock::End end = clock.start(OpId(7), Processor::gpu, odd, at_us(1));
  EXPECT_EQ(end.in, odd);
  EXPECT_TRUE(clock.finish(OpId(7), end.version));
  EXPECT_FALSE(clock.finish(OpId(7), end.version)) << "an op ends once";
}

TEST(ComputeClock, WorkLeftGoesOnAtTheNewSpeed) {
  ComputeClock clock;
  const ComputeClock::End first = clock.start(OpId(0), Processor::gpu, Duration::us(10), at_us(0));
  // 4 us are done; the other 6 take 12 at half speed.
  const auto slowed = clock.set_host_speed(0.5, at_us(4));
  ASSERT_EQ(slowed.size(), 1U);
  EXPECT_EQ(slowed[0].in, Duration::us(12));
  EXPECT_FALSE(clock.finish(OpId(0), first.version)) << "the end at 10 us is no more";
  // 2 us later 1 more is done; the other 5 take 2.5 at double speed.
  const auto sped = clock.set_host_speed(2, at_us(6));
  ASSERT_EQ(sped.size(), 1U);
  EXPECT_EQ(sped[0].in, Duration::ns(2500));
  EXPECT_TRUE(clock.finish(OpId(0), sped[0].version));
}

TEST(ComputeClock, GpuSpeedLeavesCpuOpsAlone) {
  ComputeClock clock;
  const ComputeClock::End cpu = clock.start(OpId(0), Processor::cpu, Duration::us(10), at_us(0));
  clock.start(OpId(1), Processor::gpu, Duration::us(10), at_us(0));
  const auto ends = clock.set_gpu_speed(0.25, at_us(2));
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].op, OpId(1));
  EXPECT_EQ(ends[0].in, Duration::us(32));  // 8 / 0.25
  EXPECT_TRUE(clock.finish(OpId(0), cpu.version));
  // Both factors apply to what starts now: 10 / (0.5 x 0.25).
  clock.set_host_speed(0.5, at_us(2));
  EXPECT_EQ(clock.start(OpId(2), Processor::gpu, Duration::us(10), at_us(2)).in, Duration::us(80));
}

}  // namespace
}  // namespace weft::compute_clock_test
