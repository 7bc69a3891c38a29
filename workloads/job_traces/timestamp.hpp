// Timestamp: the dates and epoch times of job traces, brought to one clock.
//
// Where it sits: under the readers in workloads/job_traces/. Each format knows the zone of dates that name none (helios and acme
// Asia/Shanghai, philly America/Los_Angeles); --time-zone overrides it.
//
// Texts that are read
//   "2020-04-01 00:00:11", "2020-04-01T00:00:11.25"      date and time of the zone given; seconds and their fraction may be absent
//   the same with "Z", " UTC", "+08:00", "+0800" or "+08" after it     of that zone
//   the same with " PST" or " PDT" after it                     8 and 7 hours behind UTC (as in Philly's utilisation logs)
//   "1585670411", "1585670411.25"                         seconds since 1970-01-01 UTC
//   "1585670411250"                                       from 1e11 on: milliseconds since 1970-01-01 UTC (1e11 ms is March 1973,
//                                                         1e11 s the year 5138)
// Years run from 1 to 9999. There are no leap seconds, as on Unix clocks.
//
// Zones: "UTC", a fixed offset such as "+05:30", or a name of time_zone_names(). The compilers' libraries do not have the IANA database
// yet, so the names are few and their rules stated here: the United States since 2007 (second Sunday of March 2:00 to first Sunday of November
// 2:00, local time) and the European Union since 1996 (last Sundays of March and October, 1:00 UTC); they are applied to every year. An hour
// that passes twice in autumn is taken as its first pass, one that is skipped in spring as standard time.
// Thread safety: values and pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/diagnostics.hpp"
#include "core/units.hpp"

namespace weft {

/// An instant: seconds since 1970-01-01 00:00:00 UTC, or on a clock of the trace's own.
struct Timestamp {
  std::int64_t seconds = 0;
  Duration fraction;  ///< below one second, not negative

  friend auto operator<=>(const Timestamp&, const Timestamp&) = default;
};

/// later - earlier; none if that is more than a Duration holds.
std::optional<Duration> between(const Timestamp& earlier, const Timestamp& later);

class TimeZone {
 public:
  static TimeZone utc() { return {}; }
  /// Throws InputError [unknown-time-zone] at `place`.
  static TimeZone parse(std::string_view text, const SourcePlace& place);

  /// What to subtract from local seconds since 1970 to get UTC.
  std::int64_t offset_s(std::int64_t local_seconds) const;
  const std::string& name() const { return name_; }

 private:
  enum class Rule : std::uint8_t { none, united_states, european_union };
  struct Named;
  static std::span<const Named> known();

  std::string name_ = "UTC";
  std::int64_t standard_offset_s_ = 0;
  Rule summer_ = Rule::none;
};

/// None if `text` is none of the texts above.
std::optional<Timestamp> parse_timestamp(std::string_view text, const TimeZone& zone);

/// "2017-09-04 17:30:41 UTC", with milliseconds where there are any.
std::string to_utc_text(const Timestamp& timestamp);

}  // namespace weft
