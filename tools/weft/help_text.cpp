// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/help_text.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace weft {

namespace {

/// Prose of at least so many columns was broken by hand and goes on in the next line.
constexpr std::size_t broken_by_hand = 60;

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

bool is_example(std::string_view line) { return line.starts_with("  weft "); }

/// Where the description of an option begins: behind the first two blanks in a row. 0: the line has
/// none.
std::size_t description_of(std::string_view line) {
  const std::size_t indent = indent_of(line);
  if (indent == 0) return 0;
  const std::size_t gap = line.find("  ", indent);
  return gap == std::string_view::npos ? 0 : line.find_first_not_of(' ', gap);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  bool goes_on = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool is_prose = !line.empty() && line.front() != ' ';
    if (goes_on && is_prose && !line.starts_with("Usage:")) {
      (lines.back() += ' ') += line;
    } else {
      lines.emplace_back(line);
    }
    goes_on = is_prose && line.size() >= broken_by_hand;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void append_wrapped(std::string line, std::string& text) {
  const bool has_backslash = is_example(line);
  const std::size_t description = has_backslash ? 0 : description_of(line);
  const std::size_t indent = has_backslash ? 6 : description > 0 ? description : indent_of(line);
  const std::size_t width = help_columns - (has_backslash ? 2 : 0);
  while (line.size() > help_columns) {
    std::size_t end = line.rfind(' ', width);
    if (end == std::string::npos || end <= indent) end = line.find(' ', std::max(width, indent));
    if (end == std::string::npos) break;
    text += line.substr(0, end) + (has_backslash ? " \\\n" : "\n");
    line = std::string(indent, ' ') + line.substr(end + 1);
  }
  text += fmt::format("{}\n", line);
}

}  // namespace

std::string wrapped_help(std::string_view text) {
  std::string result;
  for (const std::string& line : lines_of(text)) append_wrapped(line, result);
  return result;
}

}  // namespace weft
