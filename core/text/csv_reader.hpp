// SPDX-License-Identifier: Apache-2.0
// CSV reader: comma-separated tables whose first line names the columns, read strictly.
//
// Where it sits: under the job-trace readers. Columns are found by name, in any order; each row has
// as many fields as the header; blank lines are skipped. Fields may be quoted as RFC 4180 says:
// commas and line ends belong to them then, and "" stands for one quote. Blanks around a field that
// is not quoted are dropped. A row is counted by the line that it begins on; one whose quotes do
// not fit ends there, so that a stray quote takes no other row along.
// Every fault is reported with its line, and with its column where there is one: [missing-column],
// [unknown-column], [duplicate-column], [wrong-field-count], [bad-quotes], [bad-value],
// [negative-duration], [out-of-range].
// A reader that may leave rows out gives a DirtyRows, which then takes the faults of rows; those of
// the header are errors always.
// Thread safety: one reader belongs to one thread; the source must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/dirty_rows.hpp"
#include "core/text/source_text.hpp"
#include "core/values/units.hpp"

namespace weft {

struct CsvColumn {
  std::string_view name;
  bool required = true;
};

/// A plain number of `unit` ("s", "ms"): exact where it is a whole number of ticks, else to the
/// nearest. None for anything else, and beyond the clock.
std::optional<Duration> parse_plain_duration(std::string_view text, std::string_view unit);

/// "16.0", as tables of floats write a count, without its fraction of zeros; any other text as it
/// is.
std::string_view without_zero_fraction(std::string_view text);

enum class OtherColumns : std::uint8_t { allowed, refused };

class CsvReader {
 public:
  /// Reads the header. If it is wrong, errors are in `diagnostics` and next() returns false.
  CsvReader(const SourceText& source, std::span<const CsvColumn> columns, OtherColumns others, Diagnostics& diagnostics,
            DirtyRows* dirty = nullptr);

  /// Goes to the next row; rows with a wrong number of fields or wrong quotes are reported and
  /// skipped.
  bool next();
  int line() const { return line_; }

  // Fields of the current row; `column` counts in the list given to the constructor.
  bool has(std::size_t column) const { return position_[column] != absent; }
  std::string_view field(std::size_t column) const { return fields_[position_[column]].text; }
  /// Is there a value: has(), and the field is neither empty nor what programs print for a missing
  /// one, "None", "null", "nan" or "NaT"?
  bool is_given(std::size_t column) const;
  SourcePlace place(std::size_t column) const;
  std::string name(std::size_t column) const { return std::string(columns_[column].name); }
  /// Says what is wrong with a field of the current row.
  void fault(std::size_t column, std::string code, std::string message, std::string help);
  /// Did the current row have faults? Always false without a DirtyRows.
  bool is_dirty() const { return dirty_ != nullptr && dirty_->has(line_); }

  // Typed fields. Anything wrong is reported, and none returned. Whole numbers may have a fraction
  // of zeros.
  std::optional<std::uint64_t> whole_number(std::size_t column, std::uint64_t minimum, std::uint64_t maximum);
  std::optional<std::int32_t> integer(std::size_t column);
  /// parse_plain_duration() from 0 to one_year.
  std::optional<Duration> duration(std::size_t column, std::string_view unit);

 private:
  static constexpr std::size_t absent = SIZE_MAX;
  /// A field of a row, and where in the text it stands with its quotes.
  struct Field {
    std::string_view text;
    std::size_t offset = 0;
    std::size_t length = 0;
  };
  /// Takes the row at `line_` apart from `offset` on. What is wrong with its last field, or null.
  const char* split(std::size_t offset);
  bool take_quoted(std::string_view& rest);
  SourcePlace place_of(const Field& field) const;
  void report(std::string_view column, Diagnostic fault);

  const SourceText* source_;
  Diagnostics* diagnostics_;
  DirtyRows* dirty_;
  std::vector<CsvColumn> columns_;
  std::vector<std::size_t> position_;  ///< of our columns in a row
  std::size_t field_count_ = 0;
  bool usable_ = false;
  int line_ = 1;       ///< that the row begins on
  int last_line_ = 1;  ///< that it ends on
  std::vector<Field> fields_;
  std::deque<std::string> unquoted_;  ///< fields that have quotes in them
};

}  // namespace weft
