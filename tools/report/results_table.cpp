// SPDX-License-Identifier: Apache-2.0
#include "tools/report/results_table.hpp"

#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/source_text.hpp"

namespace weft {

std::string_view ResultsTable::Row::text(std::string_view column) const {
  const auto found = table_.index_.find(column);
  return found == table_.index_.end() ? std::string_view() : reader_.field(found->second);
}

std::optional<double> ResultsTable::Row::number(std::string_view column) const { return plain_number<double>(text(column)); }

ResultsTable::ResultsTable(std::filesystem::path path) {
  if (!std::filesystem::exists(path)) path += ".gz";
  if (!std::filesystem::exists(path)) return;
  source_ = SourceText::read(path.string());
  // No column that Weft writes has a comma or a quote in its name.
  std::string_view header = source_->line_count() > 0 ? source_->line(1) : std::string_view();
  while (!header.empty()) {
    const std::size_t end = header.find(',');
    names_.emplace_back(header.substr(0, end));
    header.remove_prefix(end == std::string_view::npos ? header.size() : end + 1);
  }
  for (std::size_t i = 0; i < names_.size(); ++i) index_.emplace(names_[i], i);
}

void ResultsTable::each(const std::function<void(const Row&)>& take) const {
  if (!source_) return;
  std::vector<CsvColumn> columns;
  for (const std::string& name : names_) columns.push_back({name, false});
  Diagnostics diagnostics;
  CsvReader reader(*source_, columns, OtherColumns::allowed, diagnostics);
  const Row row(*this, reader);
  while (reader.next()) take(row);
  diagnostics.throw_if_errors();
}

}  // namespace weft
