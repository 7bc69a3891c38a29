// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/split_tables.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

namespace pb = workload_file;

class TableReader {
 public:
  TableReader(const pb::SplitTable& file, FieldPlaces places, SourcePlace place, Diagnostics& diagnostics)
      : file_(file), places_(places), place_(std::move(place)), diagnostics_(diagnostics) {}

  SplitTable read() {
    const auto positions = static_cast<std::uint32_t>(file_.row_size());
    if (!is_square()) return {file_.name(), 1, {Bytes::zero()}};
    std::vector<Bytes> bytes;
    bytes.reserve(std::size_t{positions} * positions);
    for (int row = 0; row < file_.row_size(); ++row) {
      for (int column = 0; column < file_.row_size(); ++column) bytes.push_back(size_at(row, column));
    }
    require_small_sums(bytes);
    return {file_.name(), positions, std::move(bytes)};
  }

 private:
  std::string title() const { return fmt::format("splits {}", in_quotes(file_.name())); }
  SourcePlace place_of_row(int row) const { return places_.of(file_, "row", row); }

  bool is_square() {
    if (file_.row_size() == 0) {
      diagnostics_.error("missing-field", fmt::format("{} have no rows", title()), place_,
                         "add row { size: \"1MB\" ... } for each position");
      return false;
    }
    if (static_cast<std::uint32_t>(file_.row_size()) > split_positions_max) {
      diagnostics_.error("out-of-range", fmt::format("{} have {} rows", title(), file_.row_size()), place_,
                         fmt::format("at most {} are supported", split_positions_max));
      return false;
    }
    for (int row = 0; row < file_.row_size(); ++row) {
      const int sizes = file_.row(row).size_size();
      if (sizes == file_.row_size()) continue;
      diagnostics_.error("not-square",
                         fmt::format("row {} of {} has {}, but there are {}", row, title(),
                                     counted(static_cast<std::uint64_t>(sizes), "size", "sizes"),
                                     counted(static_cast<std::uint64_t>(file_.row_size()), "row", "rows")),
                         place_of_row(row), "a row says what one position sends to each of them, itself included");
      return false;
    }
    return true;
  }

  Bytes size_at(int row, int column) {
    const std::string& text = file_.row(row).size(column);
    const auto report = [&](const char* code, const std::string& fault, std::string help) {
      diagnostics_.error(code, fmt::format("size {} in row {} of {}{}", column, row, title(), fault),
                         places_.inside(file_, "row", row).of(file_.row(row), "size", column), std::move(help));
      return Bytes::zero();
    };
    const ParsedQuantity<Bytes> parsed = parse_bytes(text);
    if (!parsed.value) return report("bad-value", fmt::format(": {}", parsed.error.message), parsed.error.help);
    if (*parsed.value < Bytes::zero()) return report("negative-size", " is negative", "sizes are 0B or more");
    if (*parsed.value > op_size_max) {
      return report("out-of-range", " is too large", fmt::format("the largest op moves {}", to_text(op_size_max)));
    }
    return *parsed.value;
  }

  /// A position sends and receives no more than any op.
  void require_small_sums(const std::vector<Bytes>& bytes) {
    const auto positions = static_cast<std::size_t>(file_.row_size());
    const auto require = [&](const char* line, std::size_t index, std::size_t begin, std::size_t step) {
      Bytes sum;
      for (std::size_t i = 0; i < positions; ++i) sum += bytes[begin + i * step];
      if (sum <= op_size_max) return;
      diagnostics_.error("out-of-range", fmt::format("{} {} of {} adds up to {}", line, index, title(), to_text(sum)), place_,
                         fmt::format("the largest op moves {}", to_text(op_size_max)));
    };
    for (std::size_t i = 0; i < positions; ++i) require("row", i, i * positions, 1);
    for (std::size_t i = 0; i < positions; ++i) require("column", i, i, positions);
  }

  const pb::SplitTable& file_;
  FieldPlaces places_;
  SourcePlace place_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::vector<SplitTable> read_split_tables(const pb::Workload& file, const FieldPlaces& places, Diagnostics& diagnostics) {
  std::vector<SplitTable> tables;
  for (int t = 0; t < file.splits_size(); ++t) {
    const pb::SplitTable& table = file.splits(t);
    const FieldPlaces inside = places.inside(file, "splits", t);
    const SourcePlace place = places.of(file, "splits", t);
    if (table.name().empty()) {
      diagnostics.error("missing-field", "these splits have no name", place, "add a line like name: \"skew\"");
    } else if (std::any_of(tables.begin(), tables.end(), [&](const SplitTable& other) { return other.name() == table.name(); })) {
      diagnostics.error("duplicate-splits", fmt::format("splits {} are defined twice", in_quotes(table.name())),
                        inside.of(table, "name"), "give one of them another name");
    }
    tables.push_back(TableReader(table, inside, place, diagnostics).read());
  }
  return tables;
}

}  // namespace weft
