// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/night_date.hpp"

#include <charconv>

#include <fmt/format.h>

namespace weft {

std::optional<std::chrono::sys_days> day_of(std::string_view date) {
  if (date.size() != 10 || date[4] != '-' || date[7] != '-') return std::nullopt;
  bool are_numbers = true;
  const auto number = [&](std::size_t from, std::size_t size) {
    unsigned n = 0;
    const char* const end = date.data() + from + size;
    are_numbers = std::from_chars(date.data() + from, end, n).ptr == end && are_numbers;
    return n;
  };
  const std::chrono::year_month_day day(std::chrono::year(static_cast<int>(number(0, 4))), std::chrono::month(number(5, 2)),
                                        std::chrono::day(number(8, 2)));
  if (!are_numbers || !day.ok()) return std::nullopt;
  return std::chrono::sys_days(day);
}

std::string date_of(std::chrono::sys_days day) {
  const std::chrono::year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

std::string yesterday() {
  return date_of(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()) - std::chrono::days(1));
}

void check_date(const std::string& date, const SourcePlace& place) {
  if (day_of(date)) return;
  fail("bad-value", fmt::format("{} is no date", in_quotes(date)), place, "write year, month and day: 2026-01-31");
}

}  // namespace weft
