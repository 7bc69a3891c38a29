// SPDX-License-Identifier: Apache-2.0
#include "tools/report/study_axes.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "core/text/plain_number.hpp"
#include "core/values/units.hpp"

namespace weft {

namespace {

struct Kind {
  std::string_view unit;
  std::optional<double> (*number)(const std::string& text);
};

constexpr std::array<Kind, 4> kinds = {{
    {"", [](const std::string& text) { return plain_number<double>(text); }},
    {"s",
     [](const std::string& text) {
       const auto time = parse_duration(text).value;
       return time ? std::optional(time->in_s()) : std::nullopt;
     }},
    {"bytes",
     [](const std::string& text) {
       const auto size = parse_bytes(text).value;
       return size ? std::optional(static_cast<double>(size->count())) : std::nullopt;
     }},
    {"bps",
     [](const std::string& text) {
       const auto rate = parse_bandwidth(text).value;
       return rate ? std::optional(static_cast<double>(rate->in_bps())) : std::nullopt;
     }},
}};

}  // namespace

double ChartedValues::position_of(const std::string& value) const {
  const auto place = std::ranges::find(values, value) - values.begin();
  return numbers.empty() ? static_cast<double>(place) : numbers[static_cast<std::size_t>(place)];
}

ChartedValues charted(const std::vector<std::string>& texts) {
  ChartedValues charted;
  for (const std::string& text : texts) {
    if (std::ranges::find(charted.values, text) == charted.values.end()) charted.values.push_back(text);
  }
  for (const Kind& kind : kinds) {
    std::vector<std::pair<double, std::string>> sorted;
    for (const std::string& value : charted.values) {
      if (const std::optional<double> number = kind.number(value)) sorted.emplace_back(*number, value);
    }
    if (sorted.size() < charted.values.size()) continue;
    std::ranges::stable_sort(sorted, {}, &std::pair<double, std::string>::first);
    charted.unit = kind.unit;
    charted.values.clear();
    for (auto& [number, value] : sorted) {
      charted.numbers.push_back(number);
      charted.values.push_back(std::move(value));
    }
    break;
  }
  return charted;
}

}  // namespace weft
