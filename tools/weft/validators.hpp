// SPDX-License-Identifier: Apache-2.0
// Checks of what flags are given, as strict as those of parameters: CLI11 reads "-1" as 2^64 - 1,
// "010" as 8 and stops at the largest number.
#pragma once

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"

namespace weft {

/// Decimal digits of a number from `least` to `most`, both among the numbers of the type that
/// receives it; else a complaint that names the range.
template <class Number>
CLI::Validator whole_number(Number least = 0, Number most = std::numeric_limits<Number>::max()) {
  const auto complaint = [least, most](std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = !text.empty() && end == text.data() + text.size() && error != std::errc::invalid_argument;
    if (!is_number || error == std::errc::result_out_of_range || value < least || value > most) {
      return fmt::format("{} is no whole number from {} to {}", in_quotes(text), least, most);
    }
    text = fmt::to_string(value);
    return std::string();
  };
  const bool is_bounded = most < std::numeric_limits<Number>::max();
  return {complaint, is_bounded ? fmt::format("{}..{}", least, most) : ""};
}

/// One of these words; else a complaint with the closest of them.
inline CLI::Validator one_of(std::vector<std::string> words) {
  const auto joined = [&words](const char* between) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
    return text;
  };
  const std::string name = fmt::format("{{{}}}", joined(","));
  const auto complaint = [words, listed = joined(", ")](std::string& text) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
    const std::string best = closest(text, words);
    return fmt::format("{} is none of {}{}", in_quotes(text), listed,
                       best.empty() ? "" : fmt::format("; did you mean {}?", in_quotes(best)));
  };
  return {complaint, name};
}

}  // namespace weft
