// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/timestamp.hpp"

#include <gtest/gtest.h>

#include <array>
#include <ctime>

#include "tests/workloads/workload_testing.hpp"

namespace weft::timestamp_test {
namespace {

TimeZone zone(const std::string& name) { return TimeZone::parse(name, SourcePlace::named("--time-zone")); }

std::int64_t seconds(const std::string& text, const std::string& in = "UTC") {
  const auto timestamp = parse_timestamp(text, zone(in));
  EXPECT_TRUE(timestamp.has_value()) << text;
  return timestamp ? timestamp->seconds : 0;
}

/// Seconds since 1970 by the C library's calendar.
std::int64_t oracle(int year, int month, int day, int hour, int minute, int second) {
  std::tm date = {};
  date.tm_year = year - 1900;
  date.tm_mon = month - 1;
  date.tm_mday = day;
  date.tm_hour = hour;
  date.tm_min = minute;
  date.tm_sec = second;
  return timegm(&date);
}

TEST(Timestamp, ReadsDates) {
  EXPECT_EQ(seconds("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(seconds("2020-04-01 00:00:11"), oracle(2020, 4, 1, 0, 0, 11));
  EXPECT_EQ(seconds("2020-04-01T00:00:11"), oracle(2020, 4, 1, 0, 0, 11));
  EXPECT_EQ(seconds("2020-04-01 00:00"), oracle(2020, 4, 1, 0, 0, 0));
  EXPECT_EQ(seconds("2020-02-29 12:00:00"), oracle(2020, 2, 29, 12, 0, 0));
  EXPECT_EQ(seconds("1969-12-31 23:59:59"), -1);
  EXPECT_EQ(parse_timestamp("2020-04-01 00:00:11.25", TimeZone::utc())->fraction, Duration::ms(250));
}

TEST(Timestamp, AgreesWithTheCalendarOfTheSystem) {
  for (int year = 1904; year < 2100; year += 7) {
    for (int month = 1; month <= 12; ++month) {
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "%04d-%02d-%02d 07:08:09", year, month, 1 + year % 28);
      EXPECT_EQ(seconds(text.data()), oracle(year, month, 1 + year % 28, 7, 8, 9)) << text.data();
    }
  }
}

TEST(Timestamp, ReadsZonesAfterTheDate) {
  const std::int64_t noon = oracle(2023, 3, 1, 12, 0, 0);
  for (const char* text : {"2023-03-01 20:00:00+08:00", "2023-03-01 20:00:00+0800", "2023-03-01 20:00:00+08",
                           "2023-03-01 20:00:00 +08:00", "2023-03-01T12:00:00Z", "2023-03-01 12:00:00 UTC",
                           "2023-03-01 06:30:00-05:30", "2023-03-01 04:00:00 PST", "2023-03-01 05:00:00 PDT"}) {
    EXPECT_EQ(seconds(text, "Asia/Tokyo"), noon) << text;
  }
}

TEST(Timestamp, ReadsEpochTimes) {
  EXPECT_EQ(seconds("1585670411", "Asia/Shanghai"), 1'585'670'411);
  EXPECT_EQ(seconds("631152000"), oracle(1990, 1, 1, 0, 0, 0));           // the first
  EXPECT_EQ(seconds("4102444799999"), oracle(2099, 12, 31, 23, 59, 59));  // the last
  const auto milliseconds = parse_timestamp("1585670411250", TimeZone::utc());
  EXPECT_EQ(milliseconds->seconds, 1'585'670'411);
  EXPECT_EQ(milliseconds->fraction, Duration::ms(250));
  EXPECT_EQ(parse_timestamp("1585670411.5", TimeZone::utc())->fraction, Duration::ms(500));
}

// Epochs of 16 digits were taken as milliseconds, so that a trace of 2017 began in the year 49815.
TEST(Timestamp, KnowsTheUnitOfAnEpochByItsSize) {
  for (const char* text : {"1509873000", "1509873000000", "1509873000000000", "1509873000000000000"}) {
    EXPECT_EQ(seconds(text), 1'509'873'000) << text;
  }
  EXPECT_EQ(parse_timestamp("1509873000000250", TimeZone::utc())->fraction, Duration::us(250));
  EXPECT_EQ(parse_timestamp("1509873000000000250.5", TimeZone::utc())->fraction, Duration::ns(250) + Duration::ticks(50));
  // 1970, 1989, 2100 and numbers that are in no unit of these years.
  for (const char* text : {"0", "631151999", "4102444800", "99999999999", "100000000000", "150987300000000000"}) {
    EXPECT_FALSE(parse_timestamp(text, TimeZone::utc())) << text;
  }
}

TEST(Timestamp, InstantsOfAClockOfTheTrace) {
  EXPECT_EQ(parse_instant("90.25", "s"), (Timestamp{90, Duration::ms(250)}));
  EXPECT_EQ(parse_instant("1e2", "s"), (Timestamp{100, {}}));
  EXPECT_EQ(parse_instant("1534500.5", "ms"), (Timestamp{1534, Duration::ms(500) + Duration::us(500)}));
  // Beyond the 2.9 years of a Duration.
  EXPECT_EQ(parse_instant("1700000000.5", "s"), (Timestamp{1'700'000'000, Duration::ms(500)}));
  EXPECT_EQ(parse_instant("1700000000250", "ms"), (Timestamp{1'700'000'000, Duration::ms(250)}));
  EXPECT_EQ(parse_instant("-0.25", "s"), (Timestamp{-1, Duration::ms(750)}));
  for (const char* text : {"", "soon", "5s", "99999999999999999999", "9999999999999999", "nan"}) {
    EXPECT_FALSE(parse_instant(text, "s")) << text;
  }
  EXPECT_EQ(to_clock_text({0, {}}), "0s");
  EXPECT_EQ(to_clock_text({1, Duration::ms(500)}), "1.5s");
  EXPECT_EQ(to_clock_text({1'700'000'000, Duration::ms(500)}), "1700000000s");
}

TEST(Timestamp, RefusesEverythingElse) {
  for (const char* text : {"",
                           "yesterday",
                           "2017-02-29 00:00:00",
                           "2017-13-01 00:00:00",
                           "2017-00-01 00:00:00",
                           "2017-01-01 24:00:00",
                           "2017-01-01 00:60:00",
                           "2017-01-01 00:00:60",
                           "2017-01-01",
                           "2017-1-1 0:00:00",
                           "2017-01-01 00:00:00.",
                           "2017-01-01 00:00:00 CET",
                           "2017-01-01 00:00:00+24:00",
                           "2017-01-01 00:00:00+8",
                           "0000-01-01 00:00:00",
                           "-5",
                           "1e9",
                           "99999999999999999999",
                           "5 ",
                           "12:00:00",
                           "nan"}) {
    EXPECT_FALSE(parse_timestamp(text, TimeZone::utc())) << text;
  }
}

TEST(TimeZone, KnowsDaylightSavingOfTheUnitedStates) {
  // 2017: from 12 March to 5 November.
  const std::string pacific = "America/Los_Angeles";
  EXPECT_EQ(seconds("2017-03-12 01:59:59", pacific), oracle(2017, 3, 12, 9, 59, 59));
  // never was: read as standard time
  EXPECT_EQ(seconds("2017-03-12 02:30:00", pacific), oracle(2017, 3, 12, 10, 30, 0));
  EXPECT_EQ(seconds("2017-03-12 03:00:00", pacific), oracle(2017, 3, 12, 10, 0, 0));
  // was twice: the first
  EXPECT_EQ(seconds("2017-11-05 01:59:59", pacific), oracle(2017, 11, 5, 8, 59, 59));
  EXPECT_EQ(seconds("2017-11-05 02:00:00", pacific), oracle(2017, 11, 5, 10, 0, 0));
}

TEST(TimeZone, KnowsDaylightSavingOfTheEuropeanUnion) {
  // 2024: from 31 March 2:00 to 27 October 3:00 in Berlin.
  EXPECT_EQ(seconds("2024-03-31 01:59:59", "Europe/Berlin"), oracle(2024, 3, 31, 0, 59, 59));
  EXPECT_EQ(seconds("2024-03-31 03:00:00", "Europe/Berlin"), oracle(2024, 3, 31, 1, 0, 0));
  EXPECT_EQ(seconds("2024-10-27 02:59:59", "Europe/Berlin"), oracle(2024, 10, 27, 0, 59, 59));
  EXPECT_EQ(seconds("2024-10-27 03:00:00", "Europe/Berlin"), oracle(2024, 10, 27, 2, 0, 0));
  EXPECT_EQ(seconds("2024-07-01 12:00:00", "Europe/London"), oracle(2024, 7, 1, 11, 0, 0));
}

TEST(TimeZone, CountsWhatClocksShowTwiceOrNever) {
  // Los Angeles in 2017: 2:00 to 3:00 of 12 March never was, 1:00 to 2:00 of 5 November was twice.
  ZoneUse use;
  for (const char* text :
       {"2017-03-12 01:59:59", "2017-03-12 02:00:00", "2017-03-12 02:59:59", "2017-03-12 03:00:00", "2017-11-05 00:59:59",
        "2017-11-05 01:00:00", "2017-11-05 01:59:59", "2017-11-05 02:00:00", "2017-11-05 01:30:00 PST", "1509873000"}) {
    EXPECT_TRUE(parse_timestamp(text, zone("America/Los_Angeles"), &use)) << text;
  }
  EXPECT_EQ(use.dates, 8U);  // two name their zone
  EXPECT_EQ(use.skipped, 2U);
  EXPECT_EQ(use.first_pass, 2U);
  EXPECT_EQ(use.second_pass, 0U);
}

TEST(TimeZone, AnHourThatPassesTwiceIsTheSecondPassWhereTheFirstIsTooEarly) {
  // Each date was taken as the first pass, so that what lasted from 1:59:59 of the first to 1:00:10
  // of the second ended before it began.
  ZoneUse use;
  const TimeZone there = zone("America/Los_Angeles");
  const auto begin = parse_timestamp("2017-11-05 01:59:59", there, &use);
  EXPECT_EQ(begin->seconds, oracle(2017, 11, 5, 8, 59, 59));
  EXPECT_EQ(parse_timestamp("2017-11-05 01:00:10", there, &use, begin)->seconds, oracle(2017, 11, 5, 9, 0, 10));
  // Nothing to mend: the first pass is late enough; neither pass is; the hour passes once.
  EXPECT_EQ(parse_timestamp("2017-11-05 01:59:59", there, &use, begin)->seconds, oracle(2017, 11, 5, 8, 59, 59));
  const Timestamp noon{oracle(2017, 11, 5, 12, 0, 0), Duration::zero()};
  EXPECT_EQ(parse_timestamp("2017-11-05 01:00:10", there, &use, noon)->seconds, oracle(2017, 11, 5, 8, 0, 10));
  EXPECT_EQ(parse_timestamp("2017-11-05 03:00:10", there, &use, noon)->seconds, oracle(2017, 11, 5, 11, 0, 10));
  EXPECT_EQ(use.dates, 5U);
  EXPECT_EQ(use.first_pass, 3U);
  EXPECT_EQ(use.second_pass, 1U);
}

/// A compiled time zone of version 2 whose offset is 3600 s less from `at_s` on; `footer` is the
/// rule for later.
std::string zone_file(std::int64_t at_s, const std::string& footer, int leaps = 0) {
  const auto big_endian = [](std::int64_t value, int bytes) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
  };
  const auto header = [&](int times, int types, int of_leaps) {
    std::string text = "TZif2" + std::string(15, '\0');
    for (const int count : {0, 0, of_leaps, times, types, types}) text += big_endian(count, 4);
    return text;
  };
  const std::string type = big_endian(0, 4) + std::string(2, '\0');
  return header(0, 1, 0) + type + std::string(1, '\0') +  // in 32 bits
         header(1, 2, leaps) + big_endian(at_s, 8) + std::string(1, '\1') + type + big_endian(-3600, 4) + std::string(4, '\0') +
         std::string(static_cast<std::size_t>(12 * leaps), '\0') + "\n" + footer + "\n";
}

TEST(TimeZone, SaysWhyTheDatabaseDoesNotServe) {
  // Where the database was missing, or held slim files, every zone was said not to exist.
  const TemporaryFolder folder;
  const std::string database = folder.path("").substr(0, folder.path("").size() - 1);
  const std::int64_t in_2007 = oracle(2007, 11, 4, 6, 0, 0);
  const std::string rule = "EST5EDT,M3.2.0,M11.1.0";
  folder.write("Slim", zone_file(in_2007, rule));
  EXPECT_EQ(read_zone("Slim", database).fault, database +
                                                   "/Slim lists clock changes up to 2007 only and leaves the later ones to a "
                                                   "rule, which is not read (a slim file; needed is a fat one, up to 2037)");
  folder.write("Leaps", zone_file(in_2007, "EST5", 1));
  EXPECT_EQ(read_zone("Leaps", database).fault, database + "/Leaps counts leap seconds");
  folder.write("Text", "# no zone\n");
  EXPECT_EQ(read_zone("Text", database).fault, database + "/Text is no time-zone file of version 2 or later, or a damaged one");
  const ZoneLookup none = read_zone("Slim", database + "/none");
  EXPECT_FALSE(none.changes || none.is_there);
  EXPECT_EQ(none.fault, "this machine has no time-zone database (" + database + "/none)");
  // One that just is not there is no fault of the database, and clocks that no longer change need
  // no rule.
  EXPECT_EQ(read_zone("Other", database).fault, "");
  folder.write("Still", zone_file(in_2007, "EST5"));
  folder.write("Fat", zone_file(oracle(2037, 11, 1, 6, 0, 0), rule));
  for (const char* name : {"Still", "Fat"}) {
    const ZoneLookup found = read_zone(name, database);
    ASSERT_TRUE(found.changes) << name << ": " << found.fault;
    EXPECT_EQ(found.changes->offset_s, (std::vector<std::int64_t>{0, -3600})) << name;
  }
}

// Only thirteen names were known; now the machine's database is asked for others.
TEST(TimeZone, OthersAreOfTheDatabaseOfTheMachine) {
  const auto sao_paulo = TimeZone::from_database("America/Sao_Paulo");
  if (!sao_paulo) GTEST_SKIP() << "the machine has no time-zone database";
  // Brazil's summer time ended on 17 February 2019 at 0:00, for good: 2 hours behind UTC, then 3.
  EXPECT_EQ(seconds("2019-02-16 22:30:00", "America/Sao_Paulo"), oracle(2019, 2, 17, 0, 30, 0));
  EXPECT_EQ(seconds("2019-02-17 00:30:00", "America/Sao_Paulo"), oracle(2019, 2, 17, 3, 30, 0));
  EXPECT_EQ(seconds("2024-01-01 00:00:00", "America/Sao_Paulo"), oracle(2024, 1, 1, 3, 0, 0));
  EXPECT_EQ(sao_paulo->local(oracle(2019, 2, 16, 23, 30, 0)).passes, 2);
  EXPECT_TRUE(zone("America/Sao_Paulo").is_from_database());
  EXPECT_FALSE(zone("America/Los_Angeles").is_from_database());
  for (const char* name : {"../zoneinfo/UTC", "/etc/passwd", "zone.tab", "America", "right/America/Sao_Paulo"}) {
    EXPECT_FALSE(TimeZone::from_database(name)) << name;
  }
}

TEST(TimeZone, RulesAgreeWithTheDatabase) {
  for (const char* name : {"America/Los_Angeles", "Europe/Berlin", "Europe/London", "Asia/Shanghai"}) {
    const auto database = TimeZone::from_database(name);
    if (!database) GTEST_SKIP() << "the machine has no time-zone database";
    const TimeZone rule = zone(name);
    int differences = 0;
    for (std::int64_t local_s = oracle(2008, 1, 1, 0, 0, 0); local_s < oracle(2030, 1, 1, 0, 0, 0); local_s += 1800) {
      const TimeZone::Local a = rule.local(local_s);
      const TimeZone::Local b = database->local(local_s);
      if (a.offset_s != b.offset_s || a.last_offset_s != b.last_offset_s || a.passes != b.passes) ++differences;
    }
    EXPECT_EQ(differences, 0) << name;
  }
}

TEST(TimeZone, FixedOnes) {
  EXPECT_EQ(seconds("2020-04-01 00:00:11", "Asia/Shanghai"), oracle(2020, 3, 31, 16, 0, 11));
  EXPECT_EQ(seconds("2020-04-01 00:00:11", "+05:30"), oracle(2020, 3, 31, 18, 30, 11));
  EXPECT_EQ(seconds("2020-04-01 00:00:11", "-08:00"), oracle(2020, 4, 1, 8, 0, 11));
}

TEST(TimeZone, UnknownOnesHaveASuggestion) {
  const std::string errors = errors_of([] { zone("Asia/Shangai"); });
  EXPECT_HAS(errors, "there is no time zone \"Asia/Shangai\" [unknown-time-zone]");
  EXPECT_HAS(errors, "did you mean \"Asia/Shanghai\"?");
  EXPECT_HAS(errors_of([] { zone("Mars"); }), "or an offset such as +08:00");
}

TEST(Timestamp, Differences) {
  const Timestamp a{10, Duration::ms(750)};
  const Timestamp b{12, Duration::ms(250)};
  EXPECT_EQ(between(a, b), Duration::ms(1500));
  EXPECT_EQ(between(b, a), Duration::zero() - Duration::ms(1500));
  EXPECT_FALSE(between(Timestamp{0, {}}, Timestamp{99'999'999'999, {}}));  // 3,000 years
}

TEST(Timestamp, WritesUtc) {
  EXPECT_EQ(to_utc_text({1'504'546'241, {}}), "2017-09-04 17:30:41 UTC");
  EXPECT_EQ(to_utc_text({-1, Duration::ms(5)}), "1969-12-31 23:59:59.005 UTC");
  EXPECT_EQ(to_utc_text({INT64_MAX / 2, {}}), "4611686018427387903 s since 1970 UTC");
}

}  // namespace
}  // namespace weft::timestamp_test
