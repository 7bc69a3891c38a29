// SPDX-License-Identifier: Apache-2.0
#include "core/values/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

__extension__ using Wide = __int128;  // 128 bits: products of two 64-bit quantities

constexpr std::int64_t bits_per_byte = 8;

struct Unit {
  std::string_view name;
  // Base units (ticks, bytes, bits per second, millimetres) per 1, multiplied by `scale_divisor`
  std::int64_t scale;
};

// Durations are counted in tenths of a tick here so that the picosecond (a tenth of a tick) has an
// integer scale.
constexpr std::int64_t duration_divisor = 10;
constexpr std::array<Unit, 8> duration_units = {{{"ps", 1},
                                                 {"ns", 1'000},
                                                 {"us", 1'000'000},
                                                 {"ms", 1'000'000'000},
                                                 {"s", 1'000'000'000'000},
                                                 {"min", 60'000'000'000'000},
                                                 {"h", 3'600'000'000'000'000},
                                                 {"d", 86'400'000'000'000'000}}};
constexpr std::array<Unit, 9> bytes_units = {{{"B", 1},
                                              {"kB", 1'000},
                                              {"MB", 1'000'000},
                                              {"GB", 1'000'000'000},
                                              {"TB", 1'000'000'000'000},
                                              {"KiB", 1LL << 10},
                                              {"MiB", 1LL << 20},
                                              {"GiB", 1LL << 30},
                                              {"TiB", 1LL << 40}}};
constexpr std::array<Unit, 5> bandwidth_units = {
    {{"bps", 1}, {"Kbps", 1'000}, {"Mbps", 1'000'000}, {"Gbps", 1'000'000'000}, {"Tbps", 1'000'000'000'000}}};
// Other spellings that people use, those with a capital B of bytes per second.
constexpr std::array<Unit, 17> bandwidth_spellings = {{{"b/s", 1},
                                                       {"kbps", 1'000},
                                                       {"kb/s", 1'000},
                                                       {"Kb/s", 1'000},
                                                       {"Mb/s", 1'000'000},
                                                       {"Gb/s", 1'000'000'000},
                                                       {"Tb/s", 1'000'000'000'000},
                                                       {"bit/s", 1},
                                                       {"kbit/s", 1'000},
                                                       {"Mbit/s", 1'000'000},
                                                       {"Gbit/s", 1'000'000'000},
                                                       {"Tbit/s", 1'000'000'000'000},
                                                       {"B/s", 8},
                                                       {"kB/s", 8'000},
                                                       {"MB/s", 8'000'000},
                                                       {"GB/s", 8'000'000'000},
                                                       {"TB/s", 8'000'000'000'000}}};
constexpr std::array<Unit, 4> length_units = {{{"mm", 1}, {"cm", 10}, {"m", 1'000}, {"km", 1'000'000}}};

std::string unit_list(std::span<const Unit> units) {
  std::string list;
  for (const Unit& unit : units) {
    if (!list.empty()) list += ", ";
    list += unit.name;
  }
  return list;
}

struct ParsedCount {
  std::optional<std::int64_t> value;
  QuantityError error;
};

/// Reads "<number><unit>" into base units exactly: decimal digits are kept as an integer and a
/// power of ten, so "0.1us" is exactly 10,000 ticks and a value finer than the base unit is an
/// error rather than a silent rounding.
ParsedCount parse_count(std::string_view text, std::span<const Unit> units, std::int64_t divisor, std::string_view what,
                        std::string_view example, std::span<const Unit> spellings = {}) {
  const auto fail = [&](std::string message, std::string help) {
    return ParsedCount{std::nullopt, {std::move(message), std::move(help)}};
  };
  // Texts are made where something is wrong only.
  const auto fail_by_units = [&](std::string message) {
    return fail(std::move(message), fmt::format("units are {}; for example \"{}\"", unit_list(units), example));
  };
  std::size_t i = 0;
  const bool negative = i < text.size() && text[i] == '-';
  if (negative) ++i;
  Wide digits = 0;
  int exponent = 0;
  int significant = 0;
  bool any_digit = false;
  bool after_point = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      any_digit = true;
      if (significant > 0 || c != '0') {
        if (++significant > 30) return fail(fmt::format("\"{}\" has too many digits", text), "write it with a larger unit");
      }
      digits = digits * 10 + (c - '0');
      if (after_point) --exponent;
    } else if (c == '.' && !after_point) {
      after_point = true;
    } else {
      break;
    }
  }
  if (!any_digit) return fail_by_units(fmt::format("\"{}\" is not a {}", text, what));
  if (i + 1 < text.size() && (text[i] == 'e' || text[i] == 'E') &&
      (text[i + 1] == '+' || text[i + 1] == '-' || (text[i + 1] >= '0' && text[i + 1] <= '9'))) {
    const char* first = text.data() + i + (text[i + 1] == '+' ? 2 : 1);
    int written = 0;
    const auto [end, ec] = std::from_chars(first, text.data() + text.size(), written);
    if (ec != std::errc() || written > 40 || written < -40) {
      return fail_by_units(fmt::format("\"{}\" is out of range", text));
    }
    exponent += written;
    i = static_cast<std::size_t>(end - text.data());
  }
  while (i < text.size() && text[i] == ' ') ++i;
  const std::string_view suffix = text.substr(i);
  if (suffix.empty()) return fail_by_units(fmt::format("\"{}\" has no unit", text));
  const Unit* unit = nullptr;
  for (const std::span<const Unit> known : {units, spellings}) {
    for (const Unit& candidate : known) {
      if (candidate.name == suffix) unit = &candidate;
    }
  }
  if (unit == nullptr) {
    return fail_by_units(fmt::format("\"{}\" is not a unit of {}", suffix, what));
  }
  if (negative && digits != 0) return fail(fmt::format("\"{}\" is negative", text), fmt::format("a {} here is zero or more", what));
  constexpr Wide limit = static_cast<Wide>(1) << 120;
  const auto fail_by_range = [&] {
    return fail(fmt::format("\"{}\" is out of range", text),
                fmt::format("the largest {} is {}{}", what, Wide{INT64_MAX} * divisor / unit->scale, unit->name));
  };
  Wide value = digits;
  if (value != 0) {
    if (value > limit / unit->scale) return fail_by_range();
    value *= unit->scale;
    for (; exponent > 0; --exponent) {
      if (value > limit / 10) return fail_by_range();
      value *= 10;
    }
    constexpr Wide nine_digits = 1'000'000'000;
    for (; exponent <= -9 && value % nine_digits == 0; exponent += 9) value /= nine_digits;
    for (; exponent < 0 && value % 10 == 0; ++exponent) value /= 10;
    if (exponent < 0 || value % divisor != 0) {
      return fail(fmt::format("\"{}\" is finer than can be represented", text),
                  divisor == 1 ? fmt::format("the smallest step is 1{}", units.front().name) : "the smallest step is 10ps");
    }
    value /= divisor;
    if (value > std::numeric_limits<std::int64_t>::max()) return fail_by_range();
  }
  return ParsedCount{static_cast<std::int64_t>(value), {}};
}

template <class Quantity, class Make>
ParsedQuantity<Quantity> finish(ParsedCount count, Make make) {
  if (!count.value) return {std::nullopt, std::move(count.error)};
  return {make(*count.value), {}};
}

/// Prints `count` (in 1/divisor base units) with the unit that needs the fewest characters without
/// losing a digit.
std::string count_text(Wide count, std::span<const Unit> units) {
  if (count == 0) return "0" + std::string(units.front().name);
  std::string best;
  const bool negative = count < 0;
  const Wide magnitude = negative ? -count : count;
  for (const Unit& unit : units) {
    Wide whole = magnitude / unit.scale;
    Wide rest = magnitude % unit.scale;
    if (whole == 0) continue;  // "400Gbps" rather than "0.4Tbps"
    std::string text;
    do {
      text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(whole % 10)));
      whole /= 10;
    } while (whole != 0);
    if (rest != 0) {
      text += '.';
      int places = 0;
      while (rest != 0 && places < 18) {
        rest *= 10;
        text += static_cast<char>('0' + static_cast<int>(rest / unit.scale));
        rest %= unit.scale;
        ++places;
      }
      if (rest != 0) continue;  // not a finite decimal in this unit
    }
    text += unit.name;
    if (best.empty() || text.size() <= best.size()) best = text;
  }
  return negative ? "-" + best : best;
}

Duration nearest_tick(double ticks, const char* what) {
  const double whole = std::round(ticks);
  if (!(std::abs(whole) < 9.2e18)) fail_unit_overflow(what);
  return Duration::ticks(static_cast<std::int64_t>(whole));
}

}  // namespace

void fail_unit_overflow(const char* operation) { throw OverflowFailure(fmt::format("{} does not fit 64 bits", operation)); }

Duration Duration::from_seconds(double seconds) {
  return nearest_tick(seconds * static_cast<double>(ticks_per_s), "Duration::from_seconds");
}
Duration Duration::from_us(double us) { return nearest_tick(us * static_cast<double>(ticks_per_us), "Duration::from_us"); }

Duration transmit_time(Bytes size, Bandwidth rate) {
  WEFT_CHECK(size.count() >= 0 && rate.in_bps() > 0, "transmit_time of a size >= 0 at a rate > 0");
  const Wide bit_ticks = static_cast<Wide>(size.count()) * bits_per_byte * Duration::ticks_per_s;
  const Wide ticks = (bit_ticks + rate.in_bps() - 1) / rate.in_bps();
  if (ticks > std::numeric_limits<std::int64_t>::max()) fail_unit_overflow("transmit_time");
  return Duration::ticks(static_cast<std::int64_t>(ticks));
}

Duration propagation_delay(Length length) {
  WEFT_CHECK(length.in_millimetres() >= 0, "propagation_delay of a length >= 0");
  // 5 ns per metre are 5 ps, half a tick, per millimetre.
  return Duration::ticks(length.in_millimetres() / 2 + length.in_millimetres() % 2);
}

ParsedQuantity<Duration> parse_duration(std::string_view text) {
  return finish<Duration>(parse_count(text, duration_units, duration_divisor, "duration", "1.5us"),
                          [](std::int64_t n) { return Duration::ticks(n); });
}
ParsedQuantity<Bytes> parse_bytes(std::string_view text) {
  return finish<Bytes>(parse_count(text, bytes_units, 1, "size", "4MiB"), [](std::int64_t n) { return Bytes::of(n); });
}
ParsedQuantity<Bandwidth> parse_bandwidth(std::string_view text) {
  return finish<Bandwidth>(parse_count(text, bandwidth_units, 1, "bandwidth", "400Gbps", bandwidth_spellings),
                           [](std::int64_t n) { return Bandwidth::bps(n); });
}
ParsedQuantity<Length> parse_length(std::string_view text) {
  return finish<Length>(parse_count(text, length_units, 1, "length", "30m"), [](std::int64_t n) { return Length::millimetres(n); });
}

std::string to_text(Duration value) {
  return count_text(static_cast<Wide>(value.in_ticks()) * duration_divisor, std::span(duration_units).first(5));
}
std::string to_text(Bytes value) { return count_text(value.count(), bytes_units); }
std::string to_text(Bandwidth value) { return count_text(value.in_bps(), bandwidth_units); }
std::string to_text(Length value) { return count_text(value.in_millimetres(), length_units); }

Bytes part_of(Bytes size, std::uint32_t parts, std::uint32_t i) {
  WEFT_CHECK(parts > 0 && i < parts, "a size is split into one or more parts");
  const std::int64_t n = parts;
  return Bytes::of(size.count() / n + (i < size.count() % n ? 1 : 0));
}

}  // namespace weft
