// SPDX-License-Identifier: Apache-2.0
#include "core/text/csv_reader.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/counted.hpp"
#include "core/text/plain_number.hpp"

namespace weft {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view without_leading_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view trimmed(std::string_view text) {
  text = without_leading_blanks(text);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

constexpr const char* quotes_help = "a quoted field ends with its quote before the next comma; a quote inside it is written twice";

}  // namespace

std::optional<Duration> parse_plain_duration(std::string_view text, std::string_view unit) {
  // The column's name says the unit, so none may stand in the field.
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return std::nullopt;
  const ParsedQuantity<Duration> exact = parse_duration(std::string(text) + std::string(unit));
  if (exact.value) return exact.value;
  // Programs print more digits than there are ticks.
  const auto number = plain_number<double>(text);
  if (!number) return std::nullopt;
  const ParsedQuantity<Duration> one = parse_duration(fmt::format("1{}", unit));
  WEFT_CHECK(one.value.has_value(), "a table's unit of time is a unit");
  const double seconds = *number * one.value->in_s();
  if (!(std::abs(seconds) < Duration::max().in_s())) return std::nullopt;
  return Duration::from_seconds(seconds);
}

std::string_view without_zero_fraction(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == 0 || point == std::string_view::npos || point + 1 == text.size()) return text;
  return text.find_first_not_of('0', point + 1) == std::string_view::npos ? text.substr(0, point) : text;
}

CsvReader::CsvReader(const SourceText& source, std::span<const CsvColumn> columns, OtherColumns others, Diagnostics& diagnostics,
                     DirtyRows* dirty)
    : source_(&source),
      diagnostics_(&diagnostics),
      dirty_(dirty),
      columns_(columns.begin(), columns.end()),
      position_(columns.size(), absent) {
  source.require_utf8_text("CSV table");
  const std::size_t errors_before = diagnostics.error_count();
  if (const char* const wrong = split(0)) {
    diagnostics.error("bad-quotes", wrong, place_of(fields_.back()), quotes_help);
    return;
  }
  field_count_ = fields_.size();
  std::vector<std::string> known;
  for (const CsvColumn& column : columns_) known.emplace_back(column.name);
  std::vector<std::string> unclaimed;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const std::string_view name = fields_[f].text;
    const auto at = static_cast<std::size_t>(std::find(known.begin(), known.end(), name) - known.begin());
    const SourcePlace place = place_of(fields_[f]);
    if (at == known.size()) {
      unclaimed.emplace_back(name);
      if (others == OtherColumns::refused) {
        diagnostics.error("unknown-column", fmt::format("there is no column {}", in_quotes(name)), place,
                          suggestion(name, known, "column"));
      }
    } else if (position_[at] != absent) {
      diagnostics.error("duplicate-column", fmt::format("column {} stands twice", in_quotes(name)), place, "remove one of them");
    } else {
      position_[at] = f;
    }
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (!columns_[c].required || position_[c] != absent) continue;
    const std::string alike = closest(columns_[c].name, unclaimed);
    diagnostics.error("missing-column", fmt::format("the table has no column {}", in_quotes(columns_[c].name)), source.at(1, 0),
                      alike.empty() ? fmt::format("the first line names the columns; {} is needed", in_quotes(columns_[c].name))
                                    : fmt::format("is it the one called {}?", in_quotes(alike)));
  }
  usable_ = diagnostics.error_count() == errors_before;
}

const char* CsvReader::split(std::size_t offset) {
  const char* const text = source_->text().data();
  fields_.clear();
  unquoted_.clear();
  last_line_ = line_;
  const std::string_view line = source_->line(static_cast<std::size_t>(line_));
  std::string_view rest = line.substr(offset - static_cast<std::size_t>(line.data() - text));
  for (;;) {
    rest = without_leading_blanks(rest);
    std::size_t comma = 0;
    if (rest.starts_with('"')) {
      if (!take_quoted(rest)) return "this quote is not closed";
      rest = without_leading_blanks(rest);
      if (!rest.empty() && rest.front() != ',') return "something follows this quoted field";
      comma = rest.empty() ? std::string_view::npos : 0;
    } else {
      comma = rest.find(',');
      const std::string_view field = trimmed(rest.substr(0, comma));
      fields_.push_back({field, static_cast<std::size_t>(field.data() - text), field.size()});
    }
    if (comma == std::string_view::npos) return nullptr;
    rest.remove_prefix(comma + 1);
  }
}

/// Takes the quoted field that `rest` begins with; what is left is the rest of the line that it
/// ends on. False if it does not end.
bool CsvReader::take_quoted(std::string_view& rest) {
  const std::string_view text = source_->text();
  const auto open = static_cast<std::size_t>(rest.data() - text.data());
  fields_.push_back({{}, open, 1});
  Field& field = fields_.back();
  bool has_quotes = false;
  std::size_t close = text.find('"', open + 1);
  for (; close != std::string_view::npos && text.substr(close + 1).starts_with('"'); close = text.find('"', close + 2)) {
    has_quotes = true;
  }
  if (close == std::string_view::npos) return false;
  field.text = text.substr(open + 1, close - open - 1);
  field.length = close + 1 - open;
  if (has_quotes) {
    std::string& copy = unquoted_.emplace_back();
    for (std::size_t i = 0; i < field.text.size(); ++i) {
      copy += field.text[i];
      if (field.text[i] == '"') ++i;
    }
    field.text = copy;
  }
  last_line_ += static_cast<int>(
      std::count(text.begin() + static_cast<std::ptrdiff_t>(open), text.begin() + static_cast<std::ptrdiff_t>(close), '\n'));
  const std::string_view line = source_->line(static_cast<std::size_t>(last_line_));
  rest = line.substr(close + 1 - static_cast<std::size_t>(line.data() - text.data()));
  return true;
}

bool CsvReader::next() {
  while (usable_ && static_cast<std::size_t>(last_line_) < source_->line_count()) {
    line_ = ++last_line_;
    const std::string_view row = source_->line(static_cast<std::size_t>(line_));
    if (trimmed(row).empty()) continue;
    const char* const wrong = split(static_cast<std::size_t>(row.data() - source_->text().data()));
    if (wrong == nullptr && fields_.size() == field_count_) return true;
    last_line_ = line_;
    if (wrong != nullptr) {
      report("", {Severity::error, "bad-quotes", wrong, place_of(fields_.back()), quotes_help});
      continue;
    }
    report("", {Severity::error, "wrong-field-count",
                fmt::format("this row has {}, the header {}", counted(fields_.size(), "field", "fields"), field_count_),
                source_->at(line_, 0), "give every column a value"});
  }
  return false;
}

SourcePlace CsvReader::place(std::size_t column) const { return place_of(fields_[position_[column]]); }

SourcePlace CsvReader::place_of(const Field& field) const {
  const std::string_view line = source_->line(static_cast<std::size_t>(line_));
  const auto column = field.offset - static_cast<std::size_t>(line.data() - source_->text().data());
  // A row is known by its first line.
  if (column > line.size()) return source_->at(line_, 0);
  const std::size_t length = std::min(field.length, line.size() - column);
  return source_->at(line_, static_cast<int>(column) + 1, std::max(1, static_cast<int>(length)));
}

bool CsvReader::is_given(std::size_t column) const {
  if (!has(column)) return false;
  constexpr std::array<std::string_view, 4> missing = {"none", "null", "nan", "nat"};
  const std::string_view text = field(column);
  const auto is_said = [&](std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                      [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  };
  return !text.empty() && std::none_of(missing.begin(), missing.end(), is_said);
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
  const std::string_view text = without_zero_fraction(field(column));
  const auto value = plain_number<std::uint64_t>(text);
  const std::string name = std::string(columns_[column].name);
  if (!value && !is_digits(text)) {
    fault(column, "bad-value", fmt::format("{} is no whole number: {}", name, in_quotes(text)), "write digits only, like 8");
    return std::nullopt;
  }
  if (!value || *value < minimum || *value > maximum) {
    fault(column, "out-of-range", fmt::format("{} is {}", name, text), fmt::format("at least {} and at most {}", minimum, maximum));
    return std::nullopt;
  }
  return value;
}

std::optional<std::int32_t> CsvReader::integer(std::size_t column) {
  const std::string_view text = field(column);
  if (const auto value = plain_number<std::int32_t>(without_zero_fraction(text))) return value;
  fault(column, "bad-value", fmt::format("{} is no integer: {}", columns_[column].name, in_quotes(text)),
        "write digits only, like -1 or 3");
  return std::nullopt;
}

std::optional<Duration> CsvReader::duration(std::size_t column, std::string_view unit) {
  const std::string_view text = field(column);
  const std::string name = std::string(columns_[column].name);
  const std::optional<Duration> value = parse_plain_duration(text, unit);
  if (!value) {
    fault(column, "bad-value", fmt::format("{} is no number of {}: {}", name, unit, in_quotes(text)),
          fmt::format("write a plain number, like 3600 or 0.5; the unit is {}", unit));
    return std::nullopt;
  }
  if (*value < Duration::zero()) {
    fault(column, "negative-duration", fmt::format("{} is negative", name), "times are 0 or more");
    return std::nullopt;
  }
  if (*value > one_year) {
    fault(column, "out-of-range", fmt::format("{} is more than a year", name), fmt::format("at most {}", to_text(one_year)));
    return std::nullopt;
  }
  return value;
}

}  // namespace weft
