// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/wan_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "topologies/link_limits.hpp"

namespace weft {

namespace {

constexpr std::uint32_t wan_rate_draw = 0x77616e72;  ///< purposes of random streams
constexpr std::uint32_t wan_rtt_draw = 0x77616e64;

constexpr Duration rtt_max = Duration::ticks(10 * Duration::ticks_per_s);
constexpr Duration jitter_max = rtt_max;

/// Lines by their names in parameters.
class LineNames {
 public:
  LineNames(const WanSettings& settings, const SourcePlace& place)
      : sites_(settings.sites), is_hub_(settings.form == WanForm::hub), place_(place) {}

  std::size_t count() const { return is_hub_ ? sites_ : std::size_t{sites_} * (sites_ - 1) / 2; }
  std::string_view kind() const { return is_hub_ ? "site" : "pair"; }
  std::string code() const { return is_hub_ ? "bad-site" : "bad-pair"; }
  bool is_hub() const { return is_hub_; }
  const SourcePlace& place() const { return place_; }

  /// Index of a line, and whether its direction is turned: 1-0 is the line 0-1. Throws InputError.
  std::pair<std::size_t, bool> find(const std::string& text, const std::string& param) const {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, a);
    if (is_hub_) {
      if (first.ec == std::errc() && first.ptr == end && a < sites_) return {a, false};
      fail("bad-site", fmt::format("{}: \"{}\" is not a site", param, text), place_,
           fmt::format("write a site's number from 0 to {}, such as 0=1Gbps", sites_ - 1));
    }
    const bool dash = first.ec == std::errc() && first.ptr != end && *first.ptr == '-';
    const auto second = dash ? std::from_chars(first.ptr + 1, end, b) : first;
    if (!dash || second.ec != std::errc() || second.ptr != end || a == b || a >= sites_ || b >= sites_) {
      fail("bad-pair", fmt::format("{}: \"{}\" is not a pair of sites", param, text), place_,
           sites_ == 1 ? std::string("one site has no lines to others")
                       : fmt::format("write two different site numbers from 0 to {} with a dash between, such as 0-1", sites_ - 1));
    }
    const bool turned = a > b;
    if (turned) std::swap(a, b);
    return {std::size_t{a} * (2 * sites_ - a - 1) / 2 + (b - a - 1), turned};
  }

 private:
  std::uint32_t sites_;
  bool is_hub_;
  const SourcePlace& place_;
};

template <class Quantity>
struct AllowedValues {
  Quantity least;
  Quantity most;
};

ParsedQuantity<double> parse_share(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  ParsedQuantity<double> parsed;
  if (read.ec == std::errc() && read.ptr == text.data() + text.size()) {
    parsed.value = value;
  } else {
    parsed.error = {fmt::format("\"{}\" is not a number", text), "write a share of the packets, such as 0.001"};
  }
  return parsed;
}

std::string share_text(double share) { return fmt::format("{}", share); }

/// Reads "name=value" or, where each way may have its own, "name=there/back".
template <class Quantity, class Apply, class Text>
void apply_to_lines(const std::string& text, const std::string& param, const LineNames& lines, bool two_ways,
                    ParsedQuantity<Quantity> (*parse)(std::string_view), AllowedValues<Quantity> range, Text to_words,
                    Apply apply) {
  std::set<std::size_t> seen;
  for (const auto& [name, value] : split_settings(text, param, lines.place())) {
    const auto [index, turned] = lines.find(name, param);
    const auto read = [&, &name = name](std::string_view part) {
      const ParsedQuantity<Quantity> quantity = parse(part);
      if (!quantity.value)
        fail("bad-value", fmt::format("{}: {}", param, quantity.error.message), lines.place(), quantity.error.help);
      if (!(*quantity.value >= range.least && *quantity.value <= range.most)) {
        fail("out-of-range", fmt::format("{}: {}={} is out of range", param, name, part), lines.place(),
             fmt::format("allowed: {} .. {}", to_words(range.least), to_words(range.most)));
      }
      return *quantity.value;
    };
    const std::size_t slash = two_ways ? value.find('/') : std::string::npos;
    Quantity there = read(std::string_view(value).substr(0, slash));
    Quantity back = slash == std::string::npos ? there : read(std::string_view(value).substr(slash + 1));
    if (turned) std::swap(there, back);
    if (!seen.insert(index).second) {
      fail(lines.code(), fmt::format("{}: the {} {} is given twice", param, lines.kind(), name), lines.place(),
           "keep one of the two");
    }
    apply(index, there, back);
  }
}

/// Throws InputError [bad-setting] for what only the other form has.
void check_form(const WanSettings& settings, const std::string& module, const SourcePlace& place) {
  const bool is_hub = settings.form == WanForm::hub;
  const std::array<std::pair<std::string_view, const std::string*>, 8> given = {{{"pair_rate", &settings.pair_rate},
                                                                                 {"pair_rtt", &settings.pair_rtt},
                                                                                 {"pair_loss", &settings.pair_loss},
                                                                                 {"pair_jitter", &settings.pair_jitter},
                                                                                 {"site_rate", &settings.site_rate},
                                                                                 {"site_rtt", &settings.site_rtt},
                                                                                 {"site_loss", &settings.site_loss},
                                                                                 {"site_jitter", &settings.site_jitter}}};
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto& [name, value] = given[i];
    if (value->empty() || (i < 4) != is_hub) continue;
    const std::string other = fmt::format("{}{}", is_hub ? "site" : "pair", name.substr(4));
    fail("bad-setting",
         is_hub ? fmt::format("{}.{}: with wan=hub no two sites have a line of their own", module, name)
                : fmt::format("{}.{}: with wan=mesh a site has no line to a hub", module, name),
         place,
         is_hub ? fmt::format("name the site's line by {}, such as 0=..., or set wan=mesh", other)
                : fmt::format("name a pair's line by {}, such as 0-1=..., or set wan=hub", other));
  }
  if (!is_hub && settings.rate_down) {
    fail("bad-setting", fmt::format("{}.wan_rate_down: with wan=mesh no direction of a line is down", module), place,
         "give single lines two rates, such as pair_rate=0-1=400Gbps/100Gbps, or set wan=hub");
  }
}

Bandwidth times(Bandwidth rate, double factor) {
  const double bps = std::round(static_cast<double>(rate.in_bps()) * factor);
  return Bandwidth::bps(static_cast<std::int64_t>(std::clamp(bps, 1.0, static_cast<double>(link_rate_max.in_bps()))));
}

Duration times(Duration delay, double factor) {
  const double ticks = std::round(static_cast<double>(delay.in_ticks()) * factor);
  return Duration::ticks(static_cast<std::int64_t>(std::min(ticks, static_cast<double>(link_delay_max.in_ticks()))));
}

Duration half(Duration round_trip) { return Duration::ticks(round_trip.in_ticks() / 2); }

}  // namespace

std::vector<std::pair<std::string, std::string>> split_settings(std::string_view text, const std::string& param,
                                                                const SourcePlace& place) {
  std::vector<std::pair<std::string, std::string>> settings;
  constexpr std::string_view blanks = " ,\t";
  std::string_view rest = text;
  for (;;) {
    const std::size_t begin = rest.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return settings;
    rest.remove_prefix(begin);
    const std::string_view item = rest.substr(0, rest.find_first_of(blanks));
    rest.remove_prefix(item.size());
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      fail("bad-setting", fmt::format("{}: \"{}\" is not name=value", param, item), place,
           "separate settings by blanks or commas and write no blank inside one");
    }
    settings.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
}

std::vector<WanLine> wan_lines(const WanSettings& settings, const std::string& module, const SourcePlace& place) {
  check_form(settings, module, place);
  const LineNames names(settings, place);
  const Duration delay = half(names.is_hub() ? half(settings.rtt) : settings.rtt);
  const WideAreaLine like{settings.loss, settings.jitter};
  std::vector<WanLine> lines;
  for (std::uint32_t i = 0; i < names.count(); ++i) {
    const double rate = RandomStream(settings.seed, i, wan_rate_draw).lognormal_of(1, settings.rate_spread);
    const double rtt = RandomStream(settings.seed, i, wan_rtt_draw).lognormal_of(1, settings.rtt_spread);
    lines.push_back(
        {times(settings.rate, rate), times(settings.rate_down.value_or(settings.rate), rate), times(delay, rtt), like, like});
  }
  const auto param = [&](std::string_view what) { return fmt::format("{}.{}_{}", module, names.kind(), what); };
  const bool hub = names.is_hub();
  const auto words = [](const auto& value) { return to_text(value); };
  apply_to_lines<Bandwidth>(hub ? settings.site_rate : settings.pair_rate, param("rate"), names, true, parse_bandwidth,
                            {Bandwidth::bps(1), link_rate_max}, words, [&](std::size_t i, Bandwidth there, Bandwidth back) {
                              lines[i].there = there;
                              lines[i].back = back;
                            });
  apply_to_lines<Duration>(hub ? settings.site_rtt : settings.pair_rtt, param("rtt"), names, false, parse_duration,
                           {Duration::zero(), rtt_max}, words,
                           [&](std::size_t i, Duration rtt, Duration) { lines[i].delay = half(rtt); });
  constexpr double loss_max = 0.999;
  apply_to_lines<double>(hub ? settings.site_loss : settings.pair_loss, param("loss"), names, true, parse_share, {0, loss_max},
                         share_text, [&](std::size_t i, double there, double back) {
                           lines[i].line_there.loss = there;
                           lines[i].line_back.loss = back;
                         });
  apply_to_lines<Duration>(hub ? settings.site_jitter : settings.pair_jitter, param("jitter"), names, true, parse_duration,
                           {Duration::zero(), jitter_max}, words, [&](std::size_t i, Duration there, Duration back) {
                             lines[i].line_there.jitter = there;
                             lines[i].line_back.jitter = back;
                           });
  return lines;
}

}  // namespace weft
