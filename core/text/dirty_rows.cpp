// SPDX-License-Identifier: Apache-2.0
#include "core/text/dirty_rows.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"

namespace weft {

std::string LeftOutRows::to_text() const {
  const bool one = rows == 1;
  std::string text = fmt::format("{} left out [{}], {}", counted(rows, "row", "rows"), first.code, one ? "line " : "lines ");
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "" : ", ") + fmt::to_string(lines[i]);
  if (rows > lines.size()) text += ", ...";
  return text + (one ? ": " : ", first: ") + first.message;
}

void DirtyRows::report(std::string_view column, Diagnostic fault) {
  const int line = fault.place.line;
  if (line != last_line_) ++rows_;
  last_line_ = line;
  if (strict_) {
    diagnostics_->add(std::move(fault));
    return;
  }
  const auto same = std::find_if(reasons_.begin(), reasons_.end(), [&](const LeftOutRows& known) {
    return known.first.code == fault.code && known.column == column;
  });
  LeftOutRows& reason = same != reasons_.end() ? *same : reasons_.emplace_back();
  if (reason.rows++ == 0) {
    reason.column = std::string(column);
    reason.first = std::move(fault);
  }
  if (reason.lines.size() < LeftOutRows::kept_lines_max && (reason.lines.empty() || reason.lines.back() != line)) {
    reason.lines.push_back(line);
  }
}

}  // namespace weft
