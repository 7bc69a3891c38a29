// SPDX-License-Identifier: Apache-2.0
// Timestamp: the dates and epoch times of job traces, brought to one clock.
//
// Where it sits: under the readers in workloads/job_traces/. Each format knows the zone of dates
// that name none (helios and acme Asia/Shanghai, philly America/Los_Angeles); --time-zone overrides
// it.
//
// Read are dates such as "2020-04-01 00:00:11" or "2020-04-01T00:00:11.25", with or without a zone
// behind them ("Z", " UTC", "+08:00", " PST"), and times since 1970-01-01 UTC such as "1585670411"
// in seconds, milliseconds, microseconds or nanoseconds. There are no leap seconds, as on Unix
// clocks.
//
// Zones: "UTC", a fixed offset such as "+05:30", or a name. Thirteen names are known here, so that
// they mean the same on every machine; other names are looked up in the machine's database
// (zone_database.hpp). An hour that passes twice in autumn is taken as its first pass, or as its
// second where the first lies before what the date is known to follow; one that is skipped in
// spring as standard time. ZoneUse counts them. docs/internals/workload_readers.md has the rules.
// Thread safety: values and pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/units.hpp"
#include "workloads/job_traces/zone_database.hpp"

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
  /// What a clock of the zone says about an instant.
  struct Local {
    /// To subtract from local seconds since 1970 to get UTC; of the first pass.
    std::int64_t offset_s = 0;
    std::int64_t last_offset_s = 0;  ///< the same of the last pass
    /// How often the clocks show this time: 2 or 0 where they are changed.
    int passes = 1;
  };

  static TimeZone utc() { return {}; }
  /// Throws InputError [unknown-time-zone] at `place`; it says what is wrong with the database
  /// where that is the reason.
  static TimeZone parse(std::string_view text, const SourcePlace& place);
  /// None if the machine's database has no such zone, or not in a form that is read.
  static std::optional<TimeZone> from_database(std::string_view name);

  Local local(std::int64_t local_seconds) const;
  const std::string& name() const { return name_; }
  bool is_from_database() const { return changes_ != nullptr; }

 private:
  enum class Rule : std::uint8_t { none, united_states, european_union };
  struct Named;
  static std::span<const Named> known();
  static TimeZone of_changes(std::string_view name, ClockChanges changes);
  Local local_by_rule(std::int64_t local_seconds) const;

  std::string name_ = "UTC";
  std::int64_t standard_offset_s_ = 0;
  Rule summer_ = Rule::none;
  std::shared_ptr<const ClockChanges> changes_;  ///< of a zone of the database
};

/// What a zone was needed for.
struct ZoneUse {
  std::uint64_t dates = 0;  ///< that name no zone
  /// Of these, in an hour that passes twice, taken as its first pass.
  std::uint64_t first_pass = 0;
  std::uint64_t second_pass = 0;  ///< the same, taken as its second
  std::uint64_t skipped = 0;      ///< of these, in an hour that never was

  ZoneUse& operator+=(const ZoneUse& other);
};

/// None if `text` is none of the texts above. `not_before`: what the date is known to follow.
std::optional<Timestamp> parse_timestamp(std::string_view text, const TimeZone& zone, ZoneUse* use = nullptr,
                                         const std::optional<Timestamp>& not_before = {});

/// A plain number of `unit`, "s" or "ms", on a clock of the trace's own; beyond a Duration in
/// digits only. None for anything else.
std::optional<Timestamp> parse_instant(std::string_view text, std::string_view unit);

/// "2017-09-04 17:30:41 UTC", with milliseconds where there are any.
std::string to_utc_text(const Timestamp& timestamp);
/// The same as "2017-09-04T17:30:41Z".
std::string to_iso_text(const Timestamp& timestamp);
/// "90s", of a clock of the trace's own; of an instant beyond a Duration the whole seconds.
std::string to_clock_text(const Timestamp& timestamp);

}  // namespace weft
