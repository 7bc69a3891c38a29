// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/numbered_rows.hpp"

#include <charconv>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/link_limits.hpp"

namespace weft {

namespace {

std::string node_range(std::uint32_t node_count) {
  return node_count == 0 ? "the header promises no nodes" : fmt::format("the header promises nodes 0 to {}", node_count - 1);
}

}  // namespace

NumberedRows::NumberedRows(const SourceText& source, Diagnostics& diagnostics) : source_(source), diagnostics_(diagnostics) {
  source.require_utf8_text("topology file");
  constexpr std::string_view blanks = " \t\r\v\f";
  for (std::size_t number = 1; number <= source.line_count(); ++number) {
    const std::string_view line = source.line(number);
    Row row;
    row.line = static_cast<int>(number);
    for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos; at = line.find_first_not_of(blanks, at)) {
      const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
      row.fields.push_back({line.substr(at, end - at), static_cast<int>(at) + 1});
      at = end;
    }
    if (!row.fields.empty()) rows_.push_back(std::move(row));
  }
}

SourcePlace NumberedRows::place(const Row& row) const { return source_.at(row.line); }

SourcePlace NumberedRows::place(const Row& row, const RowField& field) const {
  return source_.at(row.line, field.column, static_cast<int>(field.text.size()));
}

std::optional<std::uint32_t> NumberedRows::number(const Row& row, const RowField& field, std::string_view what) {
  std::uint32_t value = 0;
  const char* const end = field.text.data() + field.text.size();
  const auto [stop, error] = std::from_chars(field.text.data(), end, value);
  if (error == std::errc() && stop == end) return value;
  const bool too_large = error == std::errc::result_out_of_range && stop == end;
  diagnostics_.error(too_large ? "out-of-range" : "bad-number",
                     fmt::format("{} {}{}", what, in_quotes(field.text), too_large ? " is too large" : " is not a whole number"),
                     place(row, field), too_large ? "a number below 2^32 is expected" : "write it in digits, without sign or unit");
  return std::nullopt;
}

std::optional<std::uint32_t> NumberedRows::node(const Row& row, const RowField& field, std::uint32_t node_count) {
  const std::optional<std::uint32_t> id = number(row, field, "the node");
  if (id && *id >= node_count) {
    diagnostics_.error("unknown-node", fmt::format("there is no node {}", *id), place(row, field), node_range(node_count));
    return std::nullopt;
  }
  return id;
}

std::optional<std::vector<std::uint32_t>> NumberedRows::counts(std::size_t numbers, std::size_t texts, std::string_view layout) {
  const Row& header = rows_.front();
  if (header.fields.size() != numbers + texts) {
    diagnostics_.error(
        "bad-header",
        fmt::format("the first line has {} instead of {}", counted(header.fields.size(), "field", "fields"), numbers + texts),
        place(header), fmt::format("it reads \"{}\"; is this file in another format?", layout));
    return std::nullopt;
  }
  std::vector<std::uint32_t> values;
  for (std::size_t i = 0; i < numbers; ++i) {
    if (const auto value = number(header, header.fields[i], "the count")) values.push_back(*value);
  }
  if (values.size() != numbers) return std::nullopt;
  if (values.front() > nodes_of_file_max) {
    diagnostics_.error("out-of-range", fmt::format("the header promises {} nodes", values.front()),
                       place(header, header.fields.front()), fmt::format("at most {} are read from a file", nodes_of_file_max));
    return std::nullopt;
  }
  return values;
}

std::vector<std::uint32_t> NumberedRows::ids(std::uint32_t count, std::uint32_t node_count, std::string_view what,
                                             const std::function<std::optional<std::string>(std::uint32_t)>& allowed) {
  std::vector<std::uint32_t> ids;
  if (count == 0) return ids;
  if (rows_.size() < 2) {
    diagnostics_.error("count-mismatch", fmt::format("the list of {} ids is missing", what), place(rows_.front()),
                       fmt::format("the header promises {} on the second line", counted(count, "id", "ids")));
    return ids;
  }
  const Row& row = rows_[1];
  if (row.fields.size() != count) {
    diagnostics_.error(
        "count-mismatch",
        fmt::format("there are {} of {}, but the header promises {}", counted(row.fields.size(), "id", "ids"), what, count),
        place(row), "correct the header or this line");
  }
  std::vector<bool> seen(node_count, false);
  for (const RowField& field : row.fields) {
    const std::optional<std::uint32_t> id = node(row, field, node_count);
    if (!id) continue;
    if (const std::optional<std::string> objection = allowed(*id)) {
      diagnostics_.error("bad-switch-id", fmt::format("node {} cannot be a switch", *id), place(row, field), *objection);
    } else if (seen[*id]) {
      diagnostics_.error("duplicate-switch", fmt::format("node {} is listed twice", *id), place(row, field), "list it once");
    } else {
      ids.push_back(*id);
    }
    seen[*id] = true;
  }
  return ids;
}

void NumberedRows::check_error_rate(const Row& row, const RowField& field) {
  double rate = 0;
  const char* const end = field.text.data() + field.text.size();
  const auto [stop, error] = std::from_chars(field.text.data(), end, rate);
  if (error != std::errc() || stop != end) {
    diagnostics_.error("bad-number", fmt::format("the error rate {} is not a number", in_quotes(field.text)), place(row, field),
                       "write 0");
  } else if (rate != 0) {
    diagnostics_.error(
        "error-rate",
        fmt::format("links that lose packets are not modelled, so the error rate cannot be {}", in_quotes(field.text)),
        place(row, field), "write 0");
  }
}

std::vector<NumberedCable> NumberedRows::cables(std::size_t first, std::uint32_t count, std::uint32_t node_count) {
  std::vector<NumberedCable> cables;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> lines;
  for (std::size_t i = first; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    constexpr std::size_t fields = 5;
    if (row.fields.size() < fields) {
      diagnostics_.error("too-few-fields",
                         fmt::format("the link has {} instead of 5", counted(row.fields.size(), "field", "fields")), place(row),
                         "a link reads \"src dst rate delay error\", such as \"0 8 100Gbps 1us 0\"");
      continue;
    }
    if (row.fields.size() > fields) {
      diagnostics_.error("trailing-text", "there is more on the line than a link", place(row, row.fields[fields]),
                         "a link reads \"src dst rate delay error\", such as \"0 8 100Gbps 1us 0\"");
    }
    const auto a = node(row, row.fields[0], node_count);
    const auto b = node(row, row.fields[1], node_count);
    const auto rate = read_link_rate(row.fields[2].text, place(row, row.fields[2]), diagnostics_);
    const auto delay = read_link_delay(row.fields[3].text, place(row, row.fields[3]), diagnostics_);
    check_error_rate(row, row.fields[4]);
    if (!a || !b) continue;
    if (*a == *b) {
      diagnostics_.error("self-link", fmt::format("the link joins node {} with itself", *a), place(row, row.fields[1]),
                         "name the other end");
      continue;
    }
    const auto [earlier, is_new] = lines.emplace(std::pair(std::min(*a, *b), std::max(*a, *b)), row.line);
    if (!is_new) {
      diagnostics_.error(
          "duplicate-link", fmt::format("the link between {} and {} is given twice", *a, *b), place(row),
          fmt::format("the first is at line {}; a link is full duplex and stands in the file once", earlier->second));
      continue;
    }
    if (rate && delay) cables.push_back({*a, *b, *rate, *delay, row.line});
  }
  const std::size_t found = rows_.size() > first ? rows_.size() - first : 0;
  if (found != count) {
    const Row& header = rows_.front();
    diagnostics_.error("count-mismatch",
                       fmt::format("the header promises {}, but the file has {}", counted(count, "link", "links"), found),
                       place(header), found < count ? "is the file cut off?" : "correct the header, or drop the surplus");
  }
  return cables;
}

}  // namespace weft
