// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/markup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace weft {

namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

/// Bytes of the character that `text` begins with; 0: they are no UTF-8, or XML has no such
/// character.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 ? (first == 0x7F ? 0 : 1) : (first == '\t' || first == '\n' || first == '\r' ? 1 : 0);
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  std::uint32_t code = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  const bool is_overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool is_no_character = (code >= 0xD800 && code < 0xE000) || code == 0xFFFE || code == 0xFFFF || code > 0x10FFFF;
  return is_overlong || is_no_character ? 0 : size;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string to;
  to.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const char c = text.front();
    if (size == 0) {
      to += replacement_character;
    } else if (c == '&') {
      to += "&amp;";
    } else if (c == '<') {
      to += "&lt;";
    } else if (c == '>') {
      to += "&gt;";
    } else if (c == '"') {
      to += "&quot;";
    } else if (c == '\'') {
      to += "&#39;";
    } else {
      to += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return to;
}

std::string percent_figure(double share) {
  const double percent = 100 * share;
  // Where digits would go on for lines
  constexpr double huge = 1e7;
  if (!std::isfinite(percent)) return "-";
  return std::abs(percent) < huge ? fmt::format("{:.2f} %", percent) : fmt::format("{:.3g} %", percent);
}

std::string signed_percent_figure(double share) {
  if (!std::isfinite(100 * share)) return "-";
  // 0 has no sign of its own.
  return share < 0 ? percent_figure(share) : "+" + percent_figure(std::abs(share));
}

std::string count_figure(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

HtmlTable::HtmlTable(std::string_view caption, std::string_view layout, const std::vector<std::string>& heads) : layout_(layout) {
  WEFT_CHECK(heads.size() == layout.size(), "a column has a head and a letter of the layout");
  html_ = fmt::format("<div class=\"table\"><table>\n<caption>{}</caption>\n<thead><tr>", escaped(caption));
  for (std::size_t i = 0; i < heads.size(); ++i)
    html_ += fmt::format("<th scope=\"col\"{}>{}</th>", words_class(i), escaped(heads[i]));
  html_ += "</tr></thead>\n<tbody>\n";
}

const char* HtmlTable::words_class(std::size_t column) const { return layout_[column] == 'w' ? " class=\"words\"" : ""; }

void HtmlTable::add_row(const std::vector<std::string>& cells) {
  std::vector<std::string> markup;
  for (const std::string& cell : cells) markup.push_back(escaped(cell));
  add_markup_row(markup);
}

void HtmlTable::add_markup_row(const std::vector<std::string>& cells) {
  WEFT_CHECK(cells.size() == layout_.size(), "a row has a cell for each head");
  html_ += fmt::format("<tr><th scope=\"row\">{}</th>", cells.front());
  for (std::size_t i = 1; i < cells.size(); ++i) html_ += fmt::format("<td{}>{}</td>", words_class(i), cells[i]);
  html_ += "</tr>\n";
}

std::string HtmlTable::to_html() const { return html_ + "</tbody>\n</table></div>\n"; }

}  // namespace weft
