#include "workloads/csv_reader.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.hpp"
#include "core/counted.hpp"
#include "workloads/limits.hpp"
#include "workloads/plain_number.hpp"

namespace weft {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<Duration> parse_plain_duration(std::string_view text, std::string_view unit) {
  // The column's name says the unit, so none may stand in the field.
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return std::nullopt;
  const ParsedQuantity<Duration> exact = parse_duration(std::string(text) + std::string(unit));
  if (exact.value) return exact.value;
  // Programs print more digits than there are ticks.
  const auto number = plain_number<double>(text);
  if (!number) return std::nullopt;
  const ParsedQuantity<Duration> one = parse_duration("1" + std::string(unit));
  WEFT_CHECK(one.value.has_value(), "a table's unit of time is a unit");
  const double seconds = *number * one.value->in_s();
  if (!(std::abs(seconds) < Duration::max().in_s())) return std::nullopt;
  return Duration::from_seconds(seconds);
}

CsvReader::CsvReader(const SourceText& source, std::span<const CsvColumn> columns, OtherColumns others, Diagnostics& diagnostics,
                     DirtyRows* dirty)
    : source_(&source),
      diagnostics_(&diagnostics),
      dirty_(dirty),
      columns_(columns.begin(), columns.end()),
      position_(columns.size(), kAbsent) {
  source.require_utf8_text("CSV table");
  const std::size_t errors_before = diagnostics.error_count();
  std::string_view header = source.line(1);
  if (header.substr(0, 3) == "\xEF\xBB\xBF") header.remove_prefix(3);  // byte order mark
  split(header);
  field_count_ = fields_.size();
  std::vector<std::string> known;
  for (const CsvColumn& column : columns_) known.emplace_back(column.name);
  std::vector<std::string> unclaimed;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const auto at = static_cast<std::size_t>(std::find(known.begin(), known.end(), fields_[f]) - known.begin());
    const SourcePlace place = source.at(1, static_cast<int>(fields_[f].data() - source.line(1).data()) + 1,
                                        std::max(1, static_cast<int>(fields_[f].size())));
    if (at == known.size()) {
      unclaimed.emplace_back(fields_[f]);
      if (others == OtherColumns::refused) {
        diagnostics.error("unknown-column", "there is no column " + in_quotes(fields_[f]), place,
                          suggestion(fields_[f], known, "column"));
      }
    } else if (position_[at] != kAbsent) {
      diagnostics.error("duplicate-column", "column " + in_quotes(fields_[f]) + " stands twice", place, "remove one of them");
    } else {
      position_[at] = f;
    }
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (!columns_[c].required || position_[c] != kAbsent) continue;
    const std::string alike = closest(columns_[c].name, unclaimed);
    diagnostics.error("missing-column", "the table has no column " + in_quotes(columns_[c].name), source.at(1, 0),
                      alike.empty() ? "the first line names the columns; " + in_quotes(columns_[c].name) + " is needed"
                                    : "is it the one called " + in_quotes(alike) + "?");
  }
  usable_ = diagnostics.error_count() == errors_before;
}

void CsvReader::split(std::string_view row) {
  fields_.clear();
  for (;;) {
    const std::size_t comma = row.find(',');
    fields_.push_back(trimmed(row.substr(0, comma)));
    if (comma == std::string_view::npos) return;
    row.remove_prefix(comma + 1);
  }
}

bool CsvReader::next() {
  while (usable_ && static_cast<std::size_t>(line_) < source_->line_count()) {
    ++line_;
    const std::string_view row = source_->line(static_cast<std::size_t>(line_));
    if (trimmed(row).empty()) continue;
    split(row);
    if (fields_.size() == field_count_) return true;
    report("", {Severity::error, "wrong-field-count",
                "this row has " + counted(fields_.size(), "field", "fields") + ", the header " + std::to_string(field_count_),
                source_->at(line_, 0), "give every column a value"});
  }
  return false;
}

SourcePlace CsvReader::place(std::size_t column) const {
  const std::string_view text = field(column);
  const auto offset = static_cast<int>(text.data() - source_->line(static_cast<std::size_t>(line_)).data());
  return source_->at(line_, offset + 1, std::max(1, static_cast<int>(text.size())));
}

void CsvReader::report(std::string_view column, Diagnostic fault) {
  if (dirty_ != nullptr) {
    dirty_->report(column, std::move(fault));
  } else {
    diagnostics_->add(std::move(fault));
  }
}

void CsvReader::fault(std::size_t column, std::string code, std::string message, std::string help) {
  report(columns_[column].name, {Severity::error, std::move(code), std::move(message), place(column), std::move(help)});
}

std::optional<std::uint64_t> CsvReader::whole_number(std::size_t column, std::uint64_t minimum, std::uint64_t maximum) {
  const std::string_view text = field(column);
  const auto value = plain_number<std::uint64_t>(text);
  const std::string name = std::string(columns_[column].name);
  if (!value && !is_digits(text)) {
    fault(column, "bad-value", name + " is no whole number: " + in_quotes(text), "write digits only, like 8");
    return std::nullopt;
  }
  if (!value || *value < minimum || *value > maximum) {
    fault(column, "out-of-range", name + " is " + std::string(text),
          "at least " + std::to_string(minimum) + " and at most " + std::to_string(maximum));
    return std::nullopt;
  }
  return value;
}

std::optional<std::int32_t> CsvReader::integer(std::size_t column) {
  const std::string_view text = field(column);
  if (const auto value = plain_number<std::int32_t>(text)) return value;
  fault(column, "bad-value", std::string(columns_[column].name) + " is no integer: " + in_quotes(text),
        "write digits only, like -1 or 3");
  return std::nullopt;
}

std::optional<Duration> CsvReader::duration(std::size_t column, std::string_view unit) {
  const std::string_view text = field(column);
  const std::string name = std::string(columns_[column].name);
  const std::optional<Duration> value = parse_plain_duration(text, unit);
  if (!value) {
    fault(column, "bad-value", name + " is no number of " + std::string(unit) + ": " + in_quotes(text),
          "write a plain number, like 3600 or 0.5; the unit is " + std::string(unit));
    return std::nullopt;
  }
  if (*value < Duration::zero()) {
    fault(column, "negative-duration", name + " is negative", "times are 0 or more");
    return std::nullopt;
  }
  if (*value > op_duration_max) {
    fault(column, "out-of-range", name + " is more than a year", "at most " + to_text(op_duration_max));
    return std::nullopt;
  }
  return value;
}

}  // namespace weft
