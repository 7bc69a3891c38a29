// SPDX-License-Identifier: Apache-2.0
// Dirty rows: rows of a foreign table that cannot be used, counted by reason instead of ending the
// reading.
//
// Where it sits: under the job-trace readers. Logs of real clusters hold rows without a duration,
// that end before they start, that ask for no GPU or are cut off. By default such a row is left
// out, counted under its reason, and the run says so; with --strict each is an error. What makes a
// whole file wrong (its header, its encoding) is an error always and does not pass through here.
//
// Invariants: 1. a row is counted once in rows(), and once under each of its reasons; 2. memory
// grows with the number of reasons, not of rows.
// Thread safety: belongs to one thread; `diagnostics` outlives it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics.hpp"

namespace weft {

/// Rows left out for one reason.
struct LeftOutRows {
  static constexpr std::size_t kept_lines_max = 5;

  std::string column;      ///< the column at fault; empty: the row
  std::uint64_t rows = 0;  ///< how many
  std::vector<int> lines;  ///< of the first of them
  Diagnostic first;        ///< what is wrong with the first
  /// "3 rows left out [no-gpus], lines 4, 7, 9, first: this job has no GPU".
  std::string to_text() const;
};

class DirtyRows {
 public:
  /// `strict`: faults become errors in `diagnostics`.
  DirtyRows(bool strict, Diagnostics& diagnostics) : strict_(strict), diagnostics_(&diagnostics) {}

  /// A row, that of `fault.place`, cannot be used.
  void report(std::string_view column, Diagnostic fault);
  /// Was something reported about this line, the last one that was?
  bool has(int line) const { return line == last_line_; }

  std::uint64_t rows() const { return rows_; }
  bool strict() const { return strict_; }
  std::span<const LeftOutRows> reasons() const { return reasons_; }

 private:
  bool strict_;
  Diagnostics* diagnostics_;
  int last_line_ = 0;
  std::uint64_t rows_ = 0;
  std::vector<LeftOutRows> reasons_;  ///< by first appearance
};

}  // namespace weft
