// SPDX-License-Identifier: Apache-2.0
// Table: the columns of a result, with their units and meanings, and how a row fills them.
//
// Where it sits: tools/results/tables has one for each struct of tools/results/rows. Files, the
// reference of the documentation and other languages read the same columns.
// Thread safety: constants.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "core/values/units.hpp"

namespace weft {

/// What a row has in a column. Empty where it has nothing; a Duration is written in nanoseconds.
using Cell = std::variant<std::monostate, std::string_view, std::int64_t, std::uint64_t, double, Duration>;
/// As a file has it; none of a text, or where there is nothing.
std::optional<double> number_of(const Cell& cell);

struct ColumnInfo {
  std::string_view name;
  /// "s", "ns", "bytes", "bps", "Gbps", ...; empty for names, counts and ratios
  std::string_view unit;
  std::string_view meaning;
};

template <class Row>
struct Column {
  ColumnInfo info;
  Cell (*cell)(const Row& row);
};

struct TableInfo {
  std::string_view file;
  std::string_view meaning;
  std::string_view when;  ///< in which runs it is written; empty: in all
};

/// Specialised in tools/results/tables for every row: `info` and `columns()`.
template <class Row>
struct TableOf;

}  // namespace weft
