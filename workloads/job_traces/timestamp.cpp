// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/timestamp.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "core/text/csv_reader.hpp"

namespace weft {

namespace {

constexpr std::int64_t seconds_per_day = 86'400;
// Epoch numbers are of these instants, in whatever unit.
constexpr std::uint64_t year_1990 = 631'152'000;
constexpr std::uint64_t year_2100 = 4'102'444'800;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes characters off the front of a text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  /// Exactly `count` digits.
  std::optional<int> digits(std::size_t count) {
    if (rest_.size() < count) return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_digit(rest_[i])) return std::nullopt;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }
  /// ".25" as a part of a second; zero if there is no point, none if no digit follows it. What is
  /// below a tick is cut off.
  std::optional<Duration> fraction() {
    if (!take('.')) return Duration::zero();
    std::int64_t ticks = 0;
    std::int64_t digit_ticks = Duration::ticks_per_s;
    std::size_t count = 0;
    for (; count < rest_.size() && is_digit(rest_[count]); ++count) {
      digit_ticks /= 10;
      ticks += digit_ticks * (rest_[count] - '0');
    }
    if (count == 0) return std::nullopt;
    rest_.remove_prefix(count);
    return Duration::ticks(ticks);
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// "+08:00", "+0800" or "+08" in seconds.
std::optional<std::int64_t> take_offset(Cursor& cursor) {
  const bool minus = cursor.take('-');
  if (!minus && !cursor.take('+')) return std::nullopt;
  const auto hours = cursor.digits(2);
  if (!hours || *hours > 23) return std::nullopt;
  int minutes = 0;
  if (cursor.take(':') || !cursor.at_end()) {
    const auto given = cursor.digits(2);
    if (!given || *given > 59) return std::nullopt;
    minutes = *given;
  }
  const std::int64_t offset = (*hours * 60 + minutes) * std::int64_t{60};
  return minus ? -offset : offset;
}

/// A number whose whole part is `whole` and whose fraction is `fraction` of its unit.
struct Decimal {
  std::uint64_t whole = 0;
  Duration fraction;  ///< as if the unit were the second

  Timestamp in_units(std::uint64_t units_per_s) const {
    const auto units = static_cast<std::int64_t>(units_per_s);
    return {static_cast<std::int64_t>(whole / units_per_s),
            Duration::ticks(static_cast<std::int64_t>(whole % units_per_s) * (Duration::ticks_per_s / units) +
                            fraction.in_ticks() / units)};
  }
};

std::optional<Decimal> parse_decimal(std::string_view text) {
  std::uint64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error != std::errc{}) return std::nullopt;
  Cursor cursor(text.substr(static_cast<std::size_t>(end - text.data())));
  const auto fraction = cursor.fraction();
  if (!fraction || !cursor.at_end()) return std::nullopt;
  return Decimal{whole, *fraction};
}

std::optional<Timestamp> parse_epoch(std::string_view text) {
  const std::optional<Decimal> number = parse_decimal(text);
  if (!number) return std::nullopt;
  for (const std::uint64_t units_per_s : {1ULL, 1'000ULL, 1'000'000ULL, 1'000'000'000ULL}) {
    const std::uint64_t seconds = number->whole / units_per_s;
    if (seconds >= year_1990 && seconds < year_2100) return number->in_units(units_per_s);
  }
  return std::nullopt;
}

std::int64_t days_since_1970(std::chrono::year_month_day date) { return std::chrono::local_days(date).time_since_epoch().count(); }

/// The days since 1970 of a Sunday of a month.
template <typename Sunday>
std::int64_t day_of(std::chrono::year year, std::chrono::month month, Sunday sunday) {
  return std::chrono::local_days(year / month / sunday).time_since_epoch().count();
}

}  // namespace

std::optional<Duration> between(const Timestamp& earlier, const Timestamp& later) {
  constexpr std::int64_t held_s = INT64_MAX / Duration::ticks_per_s - 1;
  std::int64_t seconds = 0;
  if (__builtin_sub_overflow(later.seconds, earlier.seconds, &seconds)) return std::nullopt;
  if (seconds > held_s || seconds < -held_s) return std::nullopt;
  return Duration::s(seconds) + later.fraction - earlier.fraction;
}

struct TimeZone::Named {
  std::string_view name;
  int standard_offset_min;
  Rule summer;
};

std::span<const TimeZone::Named> TimeZone::known() {
  static constexpr std::array zones = {
      Named{"UTC", 0, Rule::none},
      Named{"America/Los_Angeles", -480, Rule::united_states},
      Named{"America/Denver", -420, Rule::united_states},
      Named{"America/Chicago", -360, Rule::united_states},
      Named{"America/New_York", -300, Rule::united_states},
      Named{"Europe/London", 0, Rule::european_union},
      Named{"Europe/Berlin", 60, Rule::european_union},
      Named{"Europe/Paris", 60, Rule::european_union},
      Named{"Asia/Kolkata", 330, Rule::none},
      Named{"Asia/Shanghai", 480, Rule::none},
      Named{"Asia/Singapore", 480, Rule::none},
      Named{"Asia/Tokyo", 540, Rule::none},
      Named{"Asia/Seoul", 540, Rule::none},
  };
  return zones;
}

TimeZone TimeZone::parse(std::string_view text, const SourcePlace& place) {
  TimeZone zone;
  zone.name_ = std::string(text);
  Cursor cursor(text);
  if (const auto offset = take_offset(cursor); offset && cursor.at_end()) {
    zone.standard_offset_s_ = *offset;
    return zone;
  }
  std::vector<std::string> names;
  for (const Named& named : known()) {
    if (named.name == text) {
      zone.standard_offset_s_ = std::int64_t{named.standard_offset_min} * 60;
      zone.summer_ = named.summer;
      return zone;
    }
    names.emplace_back(named.name);
  }
  ZoneLookup found = read_zone(text);
  if (found.changes) return of_changes(text, std::move(*found.changes));
  const bool is_misspelt = !closest(text, names).empty();
  // A name that looks misspelt is told the same way on every machine.
  const std::string message = found.fault.empty() || (is_misspelt && !found.is_there)
                                  ? fmt::format("there is no time zone \"{}\"", text)
                                  : fmt::format("time zone \"{}\" cannot be looked up: {}", text, found.fault);
  fail("unknown-time-zone", message, place,
       fmt::format("{}{}", suggestion(text, names, "zone"), is_misspelt ? "" : ", or an offset such as +08:00"));
}

std::optional<TimeZone> TimeZone::from_database(std::string_view name) {
  ZoneLookup found = read_zone(name);
  if (!found.changes) return std::nullopt;
  return of_changes(name, std::move(*found.changes));
}

TimeZone TimeZone::of_changes(std::string_view name, ClockChanges changes) {
  TimeZone zone;
  zone.name_ = std::string(name);
  zone.changes_ = std::make_shared<ClockChanges>(std::move(changes));
  return zone;
}

TimeZone::Local TimeZone::local(std::int64_t local_seconds) const {
  if (changes_ == nullptr) return local_by_rule(local_seconds);
  // No clock is further from UTC than this, so that all spans in which it may show this time begin
  // within it.
  constexpr std::int64_t reach_s = 2 * seconds_per_day;
  const std::vector<std::int64_t>& at_s = changes_->at_s;
  auto span = static_cast<std::size_t>(std::upper_bound(at_s.begin(), at_s.end(), local_seconds - reach_s) - at_s.begin());
  Local result{changes_->offset_s[span], changes_->offset_s[span], 0};
  for (; span <= at_s.size(); ++span) {
    const std::int64_t utc_s = local_seconds - changes_->offset_s[span];
    if (span > 0 && at_s[span - 1] > utc_s) {
      if (at_s[span - 1] > local_seconds + reach_s) break;
      continue;
    }
    // The first span that shows it, or else the last that it is behind.
    const bool is_inside = span == at_s.size() || utc_s < at_s[span];
    if (result.passes == 0) result.offset_s = result.last_offset_s = changes_->offset_s[span];
    if (!is_inside) continue;
    result.last_offset_s = changes_->offset_s[span];
    ++result.passes;
  }
  return result;
}

TimeZone::Local TimeZone::local_by_rule(std::int64_t local_seconds) const {
  using namespace std::chrono;  // NOLINT: the calendar reads as dates only this way
  if (summer_ == Rule::none) return {standard_offset_s_, standard_offset_s_, 1};
  const std::int64_t day = local_seconds >= 0 ? local_seconds / seconds_per_day : (local_seconds + 1) / seconds_per_day - 1;
  const year_month_day date{local_days(days(day))};
  constexpr std::int64_t seconds_per_hour = 3600;
  // Local instants, on the clock that is in force before the change, at which clocks change.
  std::int64_t begin = 0;
  std::int64_t end = 0;
  if (summer_ == Rule::united_states) {
    begin = day_of(date.year(), March, Sunday[2]) * seconds_per_day + 2 * seconds_per_hour;
    end = day_of(date.year(), November, Sunday[1]) * seconds_per_day + 2 * seconds_per_hour;
  } else {
    begin = day_of(date.year(), March, Sunday[last]) * seconds_per_day + seconds_per_hour + standard_offset_s_;
    end = day_of(date.year(), October, Sunday[last]) * seconds_per_day + seconds_per_hour + standard_offset_s_ + seconds_per_hour;
  }
  // The skipped hour, [begin, begin + 1 h), is read as standard time.
  const bool summer = local_seconds >= begin + seconds_per_hour && local_seconds < end;
  const bool is_skipped = local_seconds >= begin && local_seconds < begin + seconds_per_hour;
  const bool is_twice = local_seconds >= end - seconds_per_hour && local_seconds < end;
  const std::int64_t offset_s = standard_offset_s_ + (summer ? seconds_per_hour : 0);
  return {offset_s, is_twice ? standard_offset_s_ : offset_s, is_skipped ? 0 : (is_twice ? 2 : 1)};
}

std::optional<Timestamp> parse_instant(std::string_view text, std::string_view unit) {
  if (const std::optional<Duration> since = parse_plain_duration(text, unit)) {
    const std::int64_t ticks = since->in_ticks();
    const std::int64_t seconds = ticks / Duration::ticks_per_s - (ticks % Duration::ticks_per_s < 0 ? 1 : 0);
    return Timestamp{seconds, Duration::ticks(ticks - seconds * Duration::ticks_per_s)};
  }
  const std::optional<Decimal> number = parse_decimal(text);
  // Far beyond any clock, and far from where sums of instants and durations overflow.
  constexpr std::uint64_t whole_max = 1'000'000'000'000'000;
  if (!number || number->whole > whole_max) return std::nullopt;
  return number->in_units(unit == "ms" ? 1'000 : 1);
}

ZoneUse& ZoneUse::operator+=(const ZoneUse& other) {
  dates += other.dates;
  first_pass += other.first_pass;
  second_pass += other.second_pass;
  skipped += other.skipped;
  return *this;
}

std::optional<Timestamp> parse_timestamp(std::string_view text, const TimeZone& zone, ZoneUse* use,
                                         const std::optional<Timestamp>& not_before) {
  if (text.find('-') == std::string_view::npos) return parse_epoch(text);
  Cursor cursor(text);
  const auto year = cursor.digits(4);
  const bool first_dash = cursor.take('-');
  const auto month = cursor.digits(2);
  const bool second_dash = cursor.take('-');
  const auto day = cursor.digits(2);
  if (!year || !month || !day || !first_dash || !second_dash) return std::nullopt;
  if (!cursor.take(' ') && !cursor.take('T')) return std::nullopt;
  const auto hour = cursor.digits(2);
  if (!hour || !cursor.take(':')) return std::nullopt;
  const auto minute = cursor.digits(2);
  if (!minute) return std::nullopt;
  int second = 0;
  Timestamp result;
  if (cursor.take(':')) {
    const auto given = cursor.digits(2);
    const auto fraction = cursor.fraction();
    if (!given || !fraction) return std::nullopt;
    second = *given;
    result.fraction = *fraction;
  }
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (*year < 1 || !date.ok() || *hour > 23 || *minute > 59 || second > 59) return std::nullopt;
  result.seconds = days_since_1970(date) * seconds_per_day + *hour * 3600 + *minute * 60 + second;

  if (cursor.at_end()) {
    const TimeZone::Local local = zone.local(result.seconds);
    const Timestamp first{result.seconds - local.offset_s, result.fraction};
    const Timestamp last{result.seconds - local.last_offset_s, result.fraction};
    // A date that no pass puts behind what it follows is wrong in itself; the first pass is as good
    // as another then.
    const bool is_later_pass = not_before && first < *not_before && last >= *not_before;
    if (use != nullptr) {
      ++use->dates;
      if (local.passes == 0) ++use->skipped;
      if (local.passes > 1) ++(is_later_pass ? use->second_pass : use->first_pass);
    }
    return is_later_pass ? last : first;
  }
  const bool blank = cursor.take(' ');
  if (cursor.rest() == "Z" || cursor.rest() == "UTC") return result;
  if (blank && cursor.rest() == "PST") return Timestamp{result.seconds + 8 * 3600, result.fraction};
  if (blank && cursor.rest() == "PDT") return Timestamp{result.seconds + 7 * 3600, result.fraction};
  const auto offset = take_offset(cursor);
  if (!offset || !cursor.at_end()) return std::nullopt;
  result.seconds -= *offset;
  return result;
}

namespace {

/// `mark` stands between day and time, `zone` behind them.
std::string date_text(const Timestamp& timestamp, char mark, const char* zone) {
  const std::int64_t seconds = timestamp.seconds;
  const std::int64_t day = seconds >= 0 ? seconds / seconds_per_day : (seconds + 1) / seconds_per_day - 1;
  const auto of_day = static_cast<int>(seconds - day * seconds_per_day);
  // Epoch numbers reach beyond the calendar's years.
  constexpr std::int64_t calendar_days_max = 11'000'000;
  if (day > calendar_days_max || day < -calendar_days_max) return fmt::format("{} s since 1970 UTC", seconds);
  const std::chrono::year_month_day date{std::chrono::local_days(std::chrono::days(day))};
  std::array<char, 96> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02u%c%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), mark, of_day / 3600, of_day / 60 % 60,
                of_day % 60);
  std::string text(buffer.data());
  if (timestamp.fraction >= Duration::ms(1)) {
    std::snprintf(buffer.data(), buffer.size(), ".%03d", static_cast<int>(timestamp.fraction.in_ticks() / Duration::ticks_per_ms));
    text += buffer.data();
  }
  return text + zone;
}

}  // namespace

std::string to_utc_text(const Timestamp& timestamp) { return date_text(timestamp, ' ', " UTC"); }

std::string to_iso_text(const Timestamp& timestamp) { return date_text(timestamp, 'T', "Z"); }

std::string to_clock_text(const Timestamp& timestamp) {
  const std::optional<Duration> since_zero = between({}, timestamp);
  if (!since_zero) return fmt::format("{}s", timestamp.seconds);
  return *since_zero == Duration::zero() ? "0s" : to_text(*since_zero);
}

}  // namespace weft
