// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/markup.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/check.hpp"
#include "tests/tools/calibrate/well_formed.hpp"

namespace weft::markup_test {

TEST(Markup, TextsAreEscaped) {
  EXPECT_EQ(escaped("<a&b> \"c\" 'd'"), "&lt;a&amp;b&gt; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escaped("&amp;"), "&amp;amp;");
  EXPECT_EQ(escaped("tab\tline\n"), "tab\tline\n");
  EXPECT_EQ(escaped(""), "");
}

TEST(Markup, CharactersThatXmlHasNotAreReplaced) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped(std::string("a\0b", 3)), "a" + replaced + "b");
  EXPECT_EQ(escaped("a\x1b[31m"), "a" + replaced + "[31m");
  EXPECT_EQ(escaped("M\xC3\xBCnchen \xE2\x82\xAC \xF0\x9F\x98\x80"), "M\xC3\xBCnchen \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(escaped("M\xFCnchen"), "M" + replaced + "nchen");
  EXPECT_EQ(escaped("\xC3"), replaced);
  // An overlong '<', a surrogate, U+FFFF and something above U+10FFFF: each byte by itself.
  EXPECT_EQ(escaped("\xC0\xBC"), replaced + replaced);
  for (const char* text : {"\xED\xA0\x80", "\xEF\xBF\xBF", "\xE0\x80\xBC"})
    EXPECT_EQ(escaped(text), replaced + replaced + replaced);
  EXPECT_EQ(escaped("\xF4\x90\x80\x80"), replaced + replaced + replaced + replaced);
}

TEST(Markup, FiguresHaveUnits) {
  EXPECT_EQ(percent_figure(0.12345), "12.35 %");
  EXPECT_EQ(percent_figure(std::nan("")), "-");
  EXPECT_EQ(percent_figure(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(signed_percent_figure(0.5), "+50.00 %");
  EXPECT_EQ(signed_percent_figure(-0.005), "-0.50 %");
  EXPECT_EQ(signed_percent_figure(-0.0), "+0.00 %");
  EXPECT_EQ(signed_percent_figure(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(percent_figure(1e300), "1e+302 %");
  EXPECT_EQ(count_figure(0), "0");
  EXPECT_EQ(count_figure(999), "999");
  EXPECT_EQ(count_figure(1'000), "1,000");
  EXPECT_EQ(count_figure(12'345'678), "12,345,678");
}

TEST(Markup, TablesNameTheirRowsAndColumns) {
  HtmlTable table("times & <hosts>", "wf", {"host", "time"});
  table.add_row({"<a>", "1 < 2"});
  const std::string html = table.to_html();
  EXPECT_EQ(fault_of_xml(html), "");
  EXPECT_NE(html.find("<caption>times &amp; &lt;hosts&gt;</caption>"), std::string::npos);
  EXPECT_NE(html.find("<th scope=\"col\" class=\"words\">host</th><th scope=\"col\">time</th>"), std::string::npos);
  EXPECT_NE(html.find("<tr><th scope=\"row\">&lt;a&gt;</th><td>1 &lt; 2</td></tr>"), std::string::npos);
  EXPECT_THROW(table.add_row({"one"}), CheckFailure);
}

TEST(Markup, TheCheckerOfTheseTestsFindsFaults) {
  EXPECT_EQ(fault_of_xml("<a b=\"1\"><c/>&lt;</a>\n"), "");
  for (const char* text : {"", "<a>", "<a></b>", "<a/><b/>", "<a b=1/>", "<a b=\"<\"/>", "<a>&nbsp;</a>", "<a>></a>", "<a/>text",
                           "<a b=\"1\" b=\"2\"/>", "<a", "</a>"})
    EXPECT_NE(fault_of_xml(text), "") << text;
}

}  // namespace weft::markup_test
