// SPDX-License-Identifier: Apache-2.0
// Rows of numbers and texts separated by blanks: what topology files of the ns-3 family are made
// of.
//
// Where it sits: formats/hpcc and formats/simai read their header, their list of ids and their
// links with it.
//
//   A B C ...             counts
//   7 8 9 ...             ids
//   src dst rate delay error        one cable each, both directions
//
// Blank lines are skipped. Every mistake is added to the diagnostics with its place; reading goes
// on where that makes sense.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/text/source_text.hpp"
#include "core/values/units.hpp"

namespace weft {

struct RowField {
  std::string_view text;
  int column = 0;
};

struct Row {
  int line = 0;
  std::vector<RowField> fields;
};

/// A cable of the file, its ends by number.
struct NumberedCable {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  Bandwidth rate;
  Duration delay;
  int line = 0;
};

class NumberedRows {
 public:
  NumberedRows(const SourceText& source, Diagnostics& diagnostics);

  std::size_t row_count() const { return rows_.size(); }
  const Row& row(std::size_t index) const { return rows_[index]; }
  SourcePlace place(const Row& row) const;
  SourcePlace place(const Row& row, const RowField& field) const;

  /// The header's counts. Adds [bad-header] if the row has not as many fields as `layout` names,
  /// which also tells what they are. Fields beyond `numbers` are texts. Nothing if any of it is
  /// wrong.
  std::optional<std::vector<std::uint32_t>> counts(std::size_t numbers, std::size_t texts, std::string_view layout);

  /// `count` different ids below `node_count` from row 1. `allowed` may refuse one with a message.
  /// Adds [count-mismatch], [bad-number], [unknown-node], [duplicate-switch], [bad-switch-id].
  std::vector<std::uint32_t> ids(std::uint32_t count, std::uint32_t node_count, std::string_view what,
                                 const std::function<std::optional<std::string>(std::uint32_t)>& allowed);

  /// Cables from row `first` to the end of the file, `count` of them. Adds [count-mismatch],
  /// [too-few-fields], [trailing-text], [bad-number], [unknown-node], [self-link],
  /// [duplicate-link], [error-rate], and those of link_limits.
  std::vector<NumberedCable> cables(std::size_t first, std::uint32_t count, std::uint32_t node_count);

 private:
  std::optional<std::uint32_t> number(const Row& row, const RowField& field, std::string_view what);
  std::optional<std::uint32_t> node(const Row& row, const RowField& field, std::uint32_t node_count);
  void check_error_rate(const Row& row, const RowField& field);

  const SourceText& source_;
  Diagnostics& diagnostics_;
  std::vector<Row> rows_;
};

}  // namespace weft
