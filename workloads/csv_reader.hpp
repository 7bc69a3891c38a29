// CSV reader: comma-separated tables whose first line names the columns, read strictly.
//
// Where it sits: under the job-trace readers. Columns are found by name, in any order; each row has as many fields as the header; blank
// lines are skipped; fields are not quoted. Every fault is reported with its line, and with its column where there is one:
// [missing-column], [unknown-column], [duplicate-column], [wrong-field-count], [bad-value], [negative-duration], [out-of-range].
// A reader that may leave rows out gives a DirtyRows, which then takes the faults of rows; those of the header are errors always.
// Thread safety: one reader belongs to one thread; the source must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "workloads/dirty_rows.hpp"

namespace weft {

struct CsvColumn {
  std::string_view name;
  bool required = true;
};

/// A plain number of `unit` ("s", "ms"): exact where it is a whole number of ticks, else to the nearest. None for anything else, and beyond
/// the clock.
std::optional<Duration> parse_plain_duration(std::string_view text, std::string_view unit);

enum class OtherColumns : std::uint8_t { allowed, refused };

class CsvReader {
 public:
  /// Reads the header. If it is wrong, errors are in `diagnostics` and next() returns false.
  CsvReader(const SourceText& source, std::span<const CsvColumn> columns, OtherColumns others, Diagnostics& diagnostics,
            DirtyRows* dirty = nullptr);

  /// Goes to the next row; rows with a wrong number of fields are reported and skipped.
  bool next();
  int line() const { return line_; }

  // Fields of the current row; `column` counts in the list given to the constructor.
  bool has(std::size_t column) const { return position_[column] != kAbsent; }
  std::string_view field(std::size_t column) const { return fields_[position_[column]]; }
  SourcePlace place(std::size_t column) const;
  std::string name(std::size_t column) const { return std::string(columns_[column].name); }
  /// Says what is wrong with a field of the current row.
  void fault(std::size_t column, std::string code, std::string message, std::string help);
  /// Did the current row have faults? Always false without a DirtyRows.
  bool is_dirty() const { return dirty_ != nullptr && dirty_->has(line_); }

  // Typed fields. Anything wrong is reported, and none returned.
  std::optional<std::uint64_t> whole_number(std::size_t column, std::uint64_t minimum, std::uint64_t maximum);
  std::optional<std::int32_t> integer(std::size_t column);
  /// parse_plain_duration() from 0 to op_duration_max.
  std::optional<Duration> duration(std::size_t column, std::string_view unit);

 private:
  static constexpr std::size_t kAbsent = SIZE_MAX;
  void split(std::string_view row);
  void report(std::string_view column, Diagnostic fault);

  const SourceText* source_;
  Diagnostics* diagnostics_;
  DirtyRows* dirty_;
  std::vector<CsvColumn> columns_;
  std::vector<std::size_t> position_;  ///< of our columns in a row
  std::size_t field_count_ = 0;
  bool usable_ = false;
  int line_ = 1;
  std::vector<std::string_view> fields_;
};

}  // namespace weft
