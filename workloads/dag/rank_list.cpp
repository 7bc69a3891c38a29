// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/rank_list.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

/// Takes a number off the front.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

ParsedRankList parse_rank_list(std::string_view text, std::uint32_t rank_count) {
  ParsedRankList result;
  std::string_view rest = text;
  const auto fail = [&](std::string_view from, std::string message) {
    result.error = std::move(message);
    result.error_at = static_cast<std::size_t>(from.data() - text.data());
    const std::size_t end = from.find_first_of(", ");
    result.error_length = end == 0 || from.empty() ? 1 : std::min(end, from.size());
    result.ranks.clear();
    return result;
  };
  for (;;) {
    skip_blanks(rest);
    const std::string_view item = rest;
    const auto first = take_number(rest);
    if (!first) return fail(item, item.empty() ? "a rank is missing here" : "this is no rank");
    std::uint32_t last = *first;
    std::uint32_t step = 1;
    if (take(rest, '-')) {
      const auto number = take_number(rest);
      if (!number) return fail(item, "this range has no end");
      last = *number;
      if (last < *first) return fail(item, "this range runs backwards");
      if (take(rest, ':')) {
        const auto stride = take_number(rest);
        if (!stride || *stride == 0) return fail(item, "the step of this range is no positive number");
        step = *stride;
      }
    }
    if (last >= rank_count) {
      return fail(item, fmt::format("rank {} is outside 0-{}", last, rank_count - 1));
    }
    for (std::uint64_t rank = *first; rank <= last; rank += step) result.ranks.emplace_back(static_cast<std::uint32_t>(rank));
    if (result.ranks.size() > rank_count) return fail(item, "the list names more ranks than there are");
    skip_blanks(rest);
    if (rest.empty()) return result;
    if (!take(rest, ',')) return fail(rest, "a comma is expected here");
  }
}

std::string to_text(std::span<const RankId> ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    const std::uint32_t first = ranks[i].index();
    std::size_t count = 1;
    std::uint32_t step = 0;
    if (i + 1 < ranks.size() && ranks[i + 1].index() > first) {
      step = ranks[i + 1].index() - first;
      while (i + count < ranks.size() && ranks[i + count].index() == first + step * static_cast<std::uint32_t>(count)) ++count;
    }
    if (!text.empty()) text += ',';
    text += fmt::format("{}", first);
    if (count >= 3 || (count == 2 && step == 1)) {
      text += fmt::format("-{}", ranks[i + count - 1].index());
      if (step != 1) text += fmt::format(":{}", step);
    } else {
      count = 1;
    }
    i += count;
  }
  return text;
}

}  // namespace weft
