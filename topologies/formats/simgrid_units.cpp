// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/simgrid_units.hpp"

#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "topologies/link_limits.hpp"

namespace weft {

namespace {

struct Number {
  double value = 0;
  std::string_view unit;
};

std::optional<Number> split(std::string_view text) {
  Number number;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (error != std::errc() || !std::isfinite(number.value)) return std::nullopt;
  number.unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  while (number.unit.starts_with(' ')) number.unit.remove_prefix(1);
  return number;
}

/// Factor of "", k, M, G, T, Ki, Mi, Gi, Ti.
std::optional<double> prefix_factor(std::string_view prefix) {
  static const std::map<std::string_view, double> factors = {
      {"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"Ki", 1024.0}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}};
  const auto found = factors.find(prefix);
  if (found == factors.end()) return std::nullopt;
  return found->second;
}

std::optional<double> seconds_of(std::string_view unit) {
  static const std::map<std::string_view, double> units = {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
                                                           {"m", 60},     {"h", 3600},  {"d", 86400}, {"w", 604800}};
  const auto found = units.find(unit);
  if (found == units.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<Bandwidth> SimgridUnits::rate(std::string_view text, const SourcePlace& place) {
  const std::optional<Number> number = split(text);
  if (!number) {
    diagnostics_.error("bad-value", fmt::format("{} is no rate", in_quotes(text)), place,
                       "write a number and a unit, such as 125MBps or 10Gbps");
    return std::nullopt;
  }
  double factor = 8;
  if (number->unit.empty()) {
    ++without_unit_;
  } else {
    const bool bytes = number->unit.ends_with("Bps");
    const bool bits = number->unit.ends_with("bps");
    const std::optional<double> prefix =
        bytes || bits ? prefix_factor(number->unit.substr(0, number->unit.size() - 3)) : std::nullopt;
    if (!prefix) {
      diagnostics_.error("unknown-unit", fmt::format("there is no unit of rate {}", in_quotes(number->unit)), place,
                         "bps (bits) or Bps (bytes) with k, M, G, T or Ki, Mi, Gi, Ti before it");
      return std::nullopt;
    }
    factor = *prefix * (bytes ? 8 : 1);
  }
  const double bps = number->value * factor;
  if (bps == 0) {
    diagnostics_.error("zero-bandwidth", fmt::format("a link needs a rate above zero, not {}", in_quotes(text)), place,
                       "leave a link out to take it away");
    return std::nullopt;
  }
  if (!(bps >= 1) || bps > static_cast<double>(link_rate_max.in_bps())) {
    diagnostics_.error("out-of-range", fmt::format("the rate {} is not what a link may have", in_quotes(text)), place,
                       fmt::format("1bps to {}", to_text(link_rate_max)));
    return std::nullopt;
  }
  return Bandwidth::bps(std::llround(bps));
}

std::optional<Duration> SimgridUnits::time(std::string_view text, const SourcePlace& place) {
  const std::optional<Number> number = split(text);
  if (!number) {
    diagnostics_.error("bad-value", fmt::format("{} is no time", in_quotes(text)), place,
                       "write a number and a unit, such as 50us");
    return std::nullopt;
  }
  double seconds = number->value;
  if (number->unit.empty()) {
    if (seconds != 0) ++without_unit_;
  } else {
    const std::optional<double> unit = seconds_of(number->unit);
    if (!unit) {
      diagnostics_.error("unknown-unit", fmt::format("there is no unit of time {}", in_quotes(number->unit)), place,
                         "one of ps, ns, us, ms, s, m, h, d and w");
      return std::nullopt;
    }
    seconds *= *unit;
  }
  if (!(seconds >= 0) || seconds > link_delay_max.in_s()) {
    diagnostics_.error("out-of-range", fmt::format("a link cannot take {}", in_quotes(text)), place,
                       fmt::format("zero to {}", to_text(link_delay_max)));
    return std::nullopt;
  }
  return Duration::from_seconds(seconds);
}

}  // namespace weft
