// SPDX-License-Identifier: Apache-2.0
// Markup: text and figures as HTML that is XML as well.
//
// Where it sits: under the pages and pictures of calibrations (calibration_page, svg_chart).
// Threads: pure functions; a table is a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// As text or as an attribute in quotes. Bytes that are no UTF-8, and characters that XML has not,
/// become U+FFFD.
std::string escaped(std::string_view text);

/// A share: "12.34 %"; "-" if it is not finite.
std::string percent_figure(double share);
/// The same with its sign: "+12.34 %", "-0.50 %".
std::string signed_percent_figure(double share);
/// "12,345"
std::string count_figure(std::uint64_t count);

class HtmlTable {
 public:
  /// `layout` has a letter for each column: w for words, which begin at the left, f for figures.
  /// Requires: as many as heads (WEFT_CHECK).
  HtmlTable(std::string_view caption, std::string_view layout, const std::vector<std::string>& heads);
  /// Text of each cell; the first one names the row. Requires: as many as heads (WEFT_CHECK).
  void add_row(const std::vector<std::string>& cells);
  /// Likewise, with markup in place of text.
  void add_markup_row(const std::vector<std::string>& cells);
  std::string to_html() const;

 private:
  const char* words_class(std::size_t column) const;

  std::string layout_;
  std::string html_;
};

}  // namespace weft
