// SPDX-License-Identifier: Apache-2.0
#include "core/values/units.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft::units_test {
namespace {

TEST(Units, OneTickIsTenPicoseconds) {
  EXPECT_EQ(Duration::ns(1).in_ticks(), 100);
  EXPECT_EQ(Duration::us(1), Duration::ns(1000));
  EXPECT_EQ(Duration::ms(1), Duration::us(1000));
  EXPECT_EQ(Duration::s(1), Duration::ms(1000));
  EXPECT_EQ(parse_duration("10ps").value, Duration::ticks(1));
  EXPECT_EQ(Bytes::mib(1).count(), 1048576);
  EXPECT_EQ(Bandwidth::gbps(400).in_bps(), 400000000000);
}

TEST(Units, InstantAndDistance) {
  const Time t = Time::zero() + Duration::us(3);
  EXPECT_EQ(t - Time::zero(), Duration::us(3));
  EXPECT_EQ(t - Duration::us(1), Time::zero() + Duration::us(2));
  EXPECT_EQ(t.since_start(), Duration::us(3));
  EXPECT_LT(t, Time::max());
}

TEST(Units, OverflowStopsTheRun) {
  EXPECT_THROW(Duration::s(INT64_MAX), CheckFailure);
  EXPECT_THROW(Duration::max() + Duration::ticks(1), CheckFailure);
  EXPECT_THROW(Duration::ticks(INT64_MIN) - Duration::ticks(1), CheckFailure);
  EXPECT_THROW(Duration::max() * 2, CheckFailure);
  EXPECT_THROW(Time::max() + Duration::ticks(1), CheckFailure);
  EXPECT_THROW(Bytes::of(INT64_MAX) + Bytes::of(1), CheckFailure);
  EXPECT_THROW(Bytes::mib(INT64_MAX), CheckFailure);
  EXPECT_THROW(Bandwidth::gbps(INT64_MAX), CheckFailure);
  EXPECT_THROW(Duration::from_seconds(1e12), CheckFailure);
  EXPECT_THROW(Duration::from_us(1e18), CheckFailure);
  EXPECT_THROW(Duration::from_seconds(std::numeric_limits<double>::quiet_NaN()), CheckFailure);
}

TEST(Units, FromSecondsTakesTheNearestTick) {
  EXPECT_EQ(Duration::from_seconds(1.5e-9), Duration::ticks(150));
  EXPECT_EQ(Duration::from_seconds(1.49e-11), Duration::ticks(1));
  EXPECT_EQ(Duration::from_seconds(1.51e-11), Duration::ticks(2));
  EXPECT_EQ(Duration::from_seconds(-2e-11), Duration::ticks(-2));
  EXPECT_EQ(Duration::from_us(812.5), Duration::ns(812'500));
  EXPECT_EQ(Duration::from_us(1.51e-5), Duration::ticks(2));
}

TEST(Units, TransmitTimeRoundsUp) {
  // 1000 B at 100 Gb/s: 8000 bits / 100 bits per ns = 80 ns.
  EXPECT_EQ(transmit_time(Bytes::of(1000), Bandwidth::gbps(100)), Duration::ns(80));
  // One byte at 800 Gb/s is one tick: 8 bits / 800 bits per ns = 10 ps.
  EXPECT_EQ(transmit_time(Bytes::of(1), Bandwidth::gbps(800)), Duration::ticks(1));
  // 1 B at 3 bit/s is 8/3 s = 2.666... s.
  EXPECT_EQ(transmit_time(Bytes::of(1), Bandwidth::bps(3)), Duration::ticks(266666666667));
  EXPECT_EQ(transmit_time(Bytes::zero(), Bandwidth::bps(1)), Duration::zero());
  // 1 TiB x 8 x 10^11 ticks/s exceeds 64 bits; the quotient does not: 8.796e12 bits / 1e9 bits per
  // s = 8,796.093022208 s.
  EXPECT_EQ(transmit_time(Bytes::mib(1 << 20), Bandwidth::gbps(1)), Duration::ticks(879609302220800));
  EXPECT_THROW(transmit_time(Bytes::of(1), Bandwidth::zero()), CheckFailure);
  EXPECT_THROW(transmit_time(Bytes::of(-1), Bandwidth::gbps(1)), CheckFailure);
  EXPECT_THROW(transmit_time(Bytes::of(INT64_MAX), Bandwidth::bps(1)), CheckFailure);
}

// A link never drifts: ceil means less than one tick too much, against 128-bit arithmetic.
TEST(Units, TransmitTimeFuzz) {
  __extension__ using Wide = __int128;
  RandomStream random(1, 0, 0);
  for (int i = 0; i < 20000; ++i) {
    const auto bytes = static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(40)));
    const auto bps = static_cast<std::int64_t>(1000000 + random.below(std::uint64_t{1} << random.below(41)));
    const Wide ticks = transmit_time(Bytes::of(bytes), Bandwidth::bps(bps)).in_ticks();
    const Wide bit_ticks = static_cast<Wide>(bytes) * 8 * 100'000'000'000;
    EXPECT_GE(ticks * bps, bit_ticks);
    EXPECT_LT((ticks - 1) * bps, bit_ticks == 0 ? 1 : bit_ticks);
  }
}

TEST(Units, ScaledRoundsDownAndDoesNotOverflowInBetween) {
  // 7 x 2 / 3 = 4.67; 2.9 years x 3 / 4 by way of 8.8 years.
  EXPECT_EQ(scaled(Duration::ticks(7), 2, 3), Duration::ticks(4));
  EXPECT_EQ(scaled(Duration::max(), 3, 4), Duration::ticks(INT64_MAX / 4 * 3 + 2));
  EXPECT_EQ(scaled(Duration::max(), INT64_MAX, INT64_MAX), Duration::max());
}

TEST(Units, FluidTimes) {
  // 1e6 bits at 1e9 bit/s = 1 ms.
  EXPECT_EQ(fluid_transmit_time(1e6, 1e9), Duration::ms(1));
  EXPECT_EQ(fluid_transmit_time(0, 1e9), Duration::zero());
  EXPECT_EQ(fluid_transmit_time(1e-9, 1e9), Duration::ticks(1));
  EXPECT_EQ(fluid_transmit_time(1, 0), Duration::max());
  EXPECT_EQ(fluid_transmit_time(1e30, 1), Duration::max());
  EXPECT_EQ(fluid_bits(1e9, Duration::ms(1)), 1e6);
}

// To the nearest tick, halves up, as the library rounds; at a rate of a tick's bit each, bits are
// ticks.
TEST(Units, FluidTimesAreRoundedAsTheLibraryDoes) {
  const auto rate = static_cast<double>(Duration::ticks_per_s);
  RandomStream random(1, 2, 3);
  for (int exponent = 0; exponent < 62; ++exponent) {
    for (int i = 0; i < 100; ++i) {
      const double half = std::ldexp(1.0, exponent) + static_cast<double>(random.below(std::uint64_t{1} << exponent)) + 0.5;
      for (const double bits : {half, std::nextafter(half, 0.0), std::nextafter(half, 1e300)}) {
        const double ticks = bits / rate * rate;
        ASSERT_EQ(fluid_transmit_time(bits, rate), Duration::ticks(static_cast<std::int64_t>(std::round(ticks)))) << bits;
      }
    }
  }
}

TEST(Units, PropagationIsFiveNanosecondsPerMetre) {
  EXPECT_EQ(propagation_delay(Length::metres(30)), Duration::ns(150));
  EXPECT_EQ(propagation_delay(Length::millimetres(1)), Duration::ticks(1));  // 5 ps, rounded up
  EXPECT_EQ(propagation_delay(Length::metres(0)), Duration::zero());
}

TEST(Units, ParsesExactDecimals) {
  EXPECT_EQ(parse_duration("1.5us").value, Duration::ns(1500));
  EXPECT_EQ(parse_duration("0.1us").value, Duration::ticks(10000));
  EXPECT_EQ(parse_duration("0.000025ms").value, Duration::ns(25));
  EXPECT_EQ(parse_duration("2.50 min").value, Duration::s(150));
  EXPECT_EQ(parse_duration("1e3ns").value, Duration::us(1));
  EXPECT_EQ(parse_duration("15E-1s").value, Duration::ms(1500));
  EXPECT_EQ(parse_duration("0s").value, Duration::zero());
  EXPECT_EQ(parse_duration(".5s").value, Duration::ms(500));
  EXPECT_EQ(parse_bytes("4MiB").value, Bytes::mib(4));
  EXPECT_EQ(parse_bytes("1.5kB").value, Bytes::of(1500));
  EXPECT_EQ(parse_bandwidth("2880Gbps").value, Bandwidth::gbps(2880));
  EXPECT_EQ(parse_bandwidth("0.4Tbps").value, Bandwidth::gbps(400));
  // As people write it; a capital B is bytes.
  for (const char* const text : {"400 Gb/s", "400Gbit/s", "50GB/s", "50 GB/s", "400000 Mb/s", "0.05TB/s"})
    EXPECT_EQ(parse_bandwidth(text).value, Bandwidth::gbps(400)) << text;
  EXPECT_EQ(parse_length("2.5km").value, Length::metres(2500));
}

struct Refused {
  std::string text;
  std::string reason;
};

TEST(Units, RefusesWhatIsNotExact) {
  const std::vector<Refused> durations = {{"", "is not a duration"},
                                          {"us", "is not a duration"},
                                          {"5", "has no unit"},
                                          {"5 ", "has no unit"},
                                          {"5x", "\"x\" is not a unit of duration"},
                                          {"5US", "is not a unit"},
                                          {"5us x", "is not a unit"},
                                          {"1.2.3us", "is not a unit"},
                                          {"-5us", "is negative"},
                                          {"5ps", "is finer than can be represented"},
                                          {"0.001ns", "is finer than can be represented"},
                                          {"4y", "is not a unit"},
                                          {"2000d", "is out of range"},
                                          {"1e99s", "is out of range"},
                                          {"1e30s", "is out of range"},
                                          {"99999999999999999999999999999999s", "too many digits"},
                                          {"nan s", "is not a duration"},
                                          {"+5us", "is not a duration"},
                                          {"\xff", "is not a duration"}};
  for (const Refused& refused : durations) {
    const auto parsed = parse_duration(refused.text);
    EXPECT_FALSE(parsed.value.has_value()) << refused.text;
    EXPECT_NE(parsed.error.message.find(refused.reason), std::string::npos) << refused.text << ": " << parsed.error.message;
    EXPECT_FALSE(parsed.error.help.empty()) << refused.text;
  }
  EXPECT_EQ(parse_duration("5").error.help, "units are ps, ns, us, ms, s, min, h, d; for example \"1.5us\"");
  EXPECT_FALSE(parse_bytes("1.5B").value);
  EXPECT_FALSE(parse_bytes("10000000TiB").value);
  EXPECT_FALSE(parse_bandwidth("400").value);
  EXPECT_FALSE(parse_bandwidth("400gbps").value);
  EXPECT_FALSE(parse_length("0.1mm").value);
}

// The limits of the 64-bit range, digit by digit: 2^63 - 1 ticks.
TEST(Units, LargestValues) {
  EXPECT_EQ(parse_duration("92233720368547758070ps").value, Duration::max());
  EXPECT_FALSE(parse_duration("92233720368547758080ps").value);
  EXPECT_EQ(parse_bytes("9223372036854775807B").value, Bytes::of(INT64_MAX));
  EXPECT_FALSE(parse_bytes("9223372036854775808B").value);
}

TEST(Units, PrintsTheShortestText) {
  EXPECT_EQ(to_text(Duration::ns(1500)), "1.5us");
  EXPECT_EQ(to_text(Duration::ns(100)), "100ns");
  EXPECT_EQ(to_text(Duration::ticks(1)), "10ps");
  EXPECT_EQ(to_text(Duration::zero()), "0ps");
  EXPECT_EQ(to_text(Duration::s(90)), "90s");
  EXPECT_EQ(to_text(Duration::ns(-5)), "-5ns");
  EXPECT_EQ(to_text(Bytes::mib(4)), "4MiB");
  EXPECT_EQ(to_text(Bytes::of(1500)), "1.5kB");
  EXPECT_EQ(to_text(Bytes::of(1501)), "1501B");
  EXPECT_EQ(to_text(Bandwidth::gbps(400)), "400Gbps");
  EXPECT_EQ(to_text(Length::metres(30)), "30m");
}

// Whatever is printed is read back to the same value.
TEST(Units, RoundTrips) {
  RandomStream random(2, 0, 0);
  for (int i = 0; i < 20000; ++i) {
    const auto n = static_cast<std::int64_t>(random.next_u64() >> (1 + random.below(63)));
    ASSERT_EQ(parse_duration(to_text(Duration::ticks(n))).value, Duration::ticks(n));
    ASSERT_EQ(parse_bytes(to_text(Bytes::of(n))).value, Bytes::of(n));
    ASSERT_EQ(parse_bandwidth(to_text(Bandwidth::bps(n))).value, Bandwidth::bps(n));
    ASSERT_EQ(parse_length(to_text(Length::millimetres(n))).value, Length::millimetres(n));
    const Duration round = Duration::ticks(static_cast<std::int64_t>(random.below(1000)) * Duration::ticks_per_us);
    ASSERT_EQ(parse_duration(to_text(round)).value, round);
  }
}

}  // namespace
}  // namespace weft::units_test
