// SPDX-License-Identifier: Apache-2.0
// Results table: a CSV file that Weft wrote, read back by the names of its columns.
//
// Where it sits: tools/report makes charts of what a run or a study left in its folder.
// Model: a column that a table lacks, as those of older versions may, has no values; a table that a
// run did not write has no rows.
// Threads: belongs to one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/csv_reader.hpp"

namespace weft {

class ResultsTable {
 public:
  /// A row while each() is at it.
  class Row {
   public:
    Row(const ResultsTable& table, const CsvReader& reader) : table_(table), reader_(reader) {}
    /// "" where there is no such column.
    std::string_view text(std::string_view column) const;
    std::optional<double> number(std::string_view column) const;

   private:
    const ResultsTable& table_;
    const CsvReader& reader_;
  };

  /// `path`, or else `path`.gz. Throws what SourceText::read() does of a file that is there.
  explicit ResultsTable(std::filesystem::path path);

  bool is_there() const { return source_.has_value(); }
  bool has(std::string_view column) const { return index_.contains(column); }
  /// Throws InputError of CsvReader.
  void each(const std::function<void(const Row&)>& take) const;

 private:
  std::optional<SourceText> source_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace weft
