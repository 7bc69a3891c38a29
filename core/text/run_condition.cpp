// SPDX-License-Identifier: Apache-2.0
#include "core/text/run_condition.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/values/units.hpp"

namespace weft {

namespace {

/// The parts of `text` between `separator`s.
std::vector<std::string> parts_of(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

RunComparison parse_comparison(const std::string& text) {
  const bool is_equal = text.find(" != ") == std::string::npos;
  const std::vector<std::string> sides = parts_of(text, is_equal ? " = " : " != ");
  WEFT_CHECK(sides.size() == 2 && !sides[0].empty(), fmt::format("\"{}\" compares a subject with values", text));
  return {sides[0], is_equal, parts_of(sides[1], "|")};
}

/// Whether two sets of one table have the same value of a quantity.
bool is_same_quantity(const ParamSet& a, const ParamSet& b, const ParamSpec& row) {
  switch (row.kind) {
    case ParamKind::integer:
      return a.integer(row.name) == b.integer(row.name);
    case ParamKind::real:
      return a.real(row.name) == b.real(row.name);
    case ParamKind::duration:
      return a.duration(row.name) == b.duration(row.name);
    case ParamKind::bytes:
      return a.bytes(row.name) == b.bytes(row.name);
    case ParamKind::bandwidth:
      return a.bandwidth(row.name) == b.bandwidth(row.name);
    case ParamKind::length:
      return a.length(row.name) == b.length(row.name);
    default:
      fail_check("kind is a quantity", fmt::format("{} is a quantity", row.name), __FILE__, __LINE__);
  }
}

bool is_quantity(ParamKind kind) {
  return kind != ParamKind::text && kind != ParamKind::choice && kind != ParamKind::file && kind != ParamKind::boolean;
}

}  // namespace

std::vector<RunComparison> parse_run_condition(std::string_view condition) {
  std::vector<RunComparison> comparisons;
  for (const std::string& part : parts_of(condition, " and ")) comparisons.push_back(parse_comparison(part));
  return comparisons;
}

bool holds(std::string_view condition, const HasValue& has_value) {
  return std::ranges::all_of(parse_run_condition(condition), [&](const RunComparison& one) {
    const bool has_one = std::ranges::any_of(one.values, [&](const std::string& value) { return has_value(one.subject, value); });
    return has_one == one.is_equal;
  });
}

const UnusedWhen* first_that_holds(const UnusedList& unused, const HasValue& has_value) {
  const auto found =
      std::find_if(unused.begin(), unused.end(), [&](const UnusedWhen& when) { return holds(when.condition, has_value); });
  return found == unused.end() ? nullptr : found;
}

bool has_value(const ParamSet& params, std::string_view name, std::string_view value) {
  const auto row = std::ranges::find(params.table(), name, &ParamSpec::name);
  WEFT_CHECK(row != params.table().end(), fmt::format("{} has a parameter {}", params.module(), name));
  if (!is_quantity(row->kind)) return params.value_text(static_cast<std::size_t>(row - params.table().begin())) == value;
  ParamSet other(params.module(), params.table());
  try {
    other.set(name, value, SourcePlace::named("condition"));
  } catch (const InputError& error) {
    fail_check("value is of the kind", error.what(), __FILE__, __LINE__);
  }
  return is_same_quantity(params, other, *row);
}

}  // namespace weft
