// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/svg_chart.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/tools/calibrate/well_formed.hpp"

namespace weft::svg_chart_test {

namespace {

using Scale = SvgAxis::Scale;
using Quantity = SvgAxis::Quantity;

std::string labels(const SvgAxis& axis, std::size_t count) {
  std::string text;
  for (const SvgTick& tick : nice_ticks(axis, count)) text += (text.empty() ? "" : ", ") + tick.label;
  return text;
}

/// Axes from 0 to 10 in a picture whose inside is 500 by 100: it has 76 at the left, 26 at the
/// right, 16 at the top and 48 at the bottom.
SvgChart chart(Scale scale = Scale::linear) {
  const SvgAxis x{"x", Scale::linear, Quantity::number, 0, 10};
  SvgAxis y{"y", Scale::linear, Quantity::number, 0, 10};
  if (scale == Scale::logarithmic) y = {"y", scale, Quantity::number, 1, 100};
  return SvgChart({"picture", "a <title>", "a & b"}, x, y, 602, 164);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();
constexpr double endless = std::numeric_limits<double>::infinity();

}  // namespace

TEST(SvgChart, TicksAreNice) {
  EXPECT_EQ(labels({"", Scale::linear, Quantity::share, 0, 0.25}, 5), "0 %, 5 %, 10 %, 15 %, 20 %, 25 %");
  EXPECT_EQ(labels({"", Scale::linear, Quantity::share, -0.4, 0.2}, 4), "-40 %, -20 %, 0 %, 20 %");
  EXPECT_EQ(labels({"", Scale::linear, Quantity::share, 0, 0.0003}, 3), "0 %, 0.01 %, 0.02 %, 0.03 %");
  EXPECT_EQ(labels({"", Scale::linear, Quantity::number, 0, 1500}, 4), "0, 500, 1000, 1500");
  EXPECT_EQ(labels({"", Scale::logarithmic, Quantity::seconds, 2e-6, 1e-4}, 6), "2 us, 5 us, 10 us, 20 us, 50 us, 100 us");
  EXPECT_EQ(labels({"", Scale::logarithmic, Quantity::seconds, 1e-8, 10}, 9),
            "10 ns, 100 ns, 1 us, 10 us, 100 us, 1 ms, 10 ms, 100 ms, 1 s, 10 s");
  // Fourteen powers of ten are too many for five labels: every third.
  EXPECT_EQ(labels({"", Scale::logarithmic, Quantity::number, 1e-7, 1e7}, 5), "1e-06, 0.001, 1, 1000, 1e+06");
}

// 0.26 in five steps is 0.052 a step, so 0.1, and up to 0.3; 3 us and 700 us lie between 2 us and
// 1 ms.
TEST(SvgChart, AxesEndAtTicks) {
  const SvgAxis share = SvgAxis::over("", Scale::linear, Quantity::share, 0, 0.26);
  EXPECT_EQ(share.minimum, 0);
  EXPECT_NEAR(share.maximum, 0.3, 1e-12);
  const SvgAxis times = SvgAxis::over("", Scale::logarithmic, Quantity::seconds, 3e-6, 7e-4);
  EXPECT_NEAR(times.minimum, 2e-6, 1e-18);
  EXPECT_NEAR(times.maximum, 1e-3, 1e-12);
  for (const double only : {0.0, 1e-9, 0.05, 7.0}) {
    const SvgAxis axis = SvgAxis::over("", Scale::linear, Quantity::share, only, only);
    EXPECT_LT(axis.minimum, axis.maximum) << only;
    EXPECT_LE(axis.minimum, only);
    EXPECT_GE(axis.maximum, only);
    EXPECT_LE(nice_ticks(axis, 5).size(), 8U);
  }
  const SvgAxis one = SvgAxis::over("", Scale::logarithmic, Quantity::seconds, 1e-3, 1e-3);
  EXPECT_LT(one.minimum, 1e-3);
  EXPECT_GT(one.maximum, 1e-3);
}

// (5, 5) lies at 76 + 250 and 16 + 50; a bar from 2 to 4 up to 10 begins at 76 + 100, is 100 wide
// and 100 high.
TEST(SvgChart, ShapesStandWhereTheyBelong) {
  SvgChart picture = chart();
  const std::array<SvgPoint, 2> line = {{{0, 0}, {5, 5}}};
  picture.add_line(line, "after");
  picture.add_bar(2, 4, 10, "before", "a tip", "10");
  picture.add_box(4, 6, {0, 2, 5, 8, 10}, "after", "");
  const std::string svg = picture.to_svg();
  EXPECT_EQ(fault_of_xml(svg), "");
  EXPECT_TRUE(has(svg, "<path class=\"line after\" d=\"M76.0 116.0L326.0 66.0\"/>"));
  EXPECT_TRUE(has(svg, "<rect class=\"bar before\" x=\"176.0\" y=\"16.0\" width=\"100.0\" height=\"100.0\"><title>a tip</title>"));
  EXPECT_TRUE(has(svg, "<path class=\"whisker\" d=\"M326.0 116.0V96.0M326.0 36.0V16.0\"/>"));
  EXPECT_TRUE(has(svg, "<path class=\"median\" d=\"M276.0 66.0H376.0\"/>"));
}

TEST(SvgChart, WhoDoesNotSeeItHearsTitleAndDescription) {
  const std::string svg = chart().to_svg();
  EXPECT_TRUE(has(svg, "role=\"img\" aria-labelledby=\"picture-title picture-desc\""));
  EXPECT_TRUE(has(svg, "<title id=\"picture-title\">a &lt;title&gt;</title>\n<desc id=\"picture-desc\">a &amp; b</desc>"));
}

// What is not known breaks a line: the first two points are a line and the last one a dot.
TEST(SvgChart, GapsBreakLines) {
  SvgChart picture = chart();
  const std::array<SvgPoint, 4> points = {{{0, 0}, {1, 0}, {2, not_known}, {10, 0}}};
  picture.add_line(points, "after");
  const std::string svg = picture.to_svg();
  EXPECT_TRUE(has(svg, "d=\"M76.0 116.0L126.0 116.0M576.0 116.0\""));
  EXPECT_TRUE(has(svg, "<path class=\"dots after\" d=\"M576.0 116.0h0\"/>"));
}

// Of these only (1, 10) has a place, half-way up from 1 to 100.
TEST(SvgChart, PointsWithoutAPlaceAreLeftOut) {
  SvgChart picture = chart(Scale::logarithmic);
  const std::vector<SvgPoint> points = {{1, 0}, {1, -1}, {not_known, 10}, {endless, 10}, {1, endless}, {1, 10}};
  picture.add_dots(points, "after");
  picture.add_bar(0, 1, not_known, "after", "", "");
  picture.add_box(0, 1, {0, 1, 2, 3, endless}, "after", "");
  picture.add_mark({1, 0}, SvgChart::Mark::cross, "gap", "");
  const std::array<SvgPoint, 1> nowhere = {{{not_known, not_known}}};
  picture.add_area(nowhere, "gap");
  const std::string svg = picture.to_svg();
  EXPECT_EQ(fault_of_xml(svg), "");
  EXPECT_TRUE(has(svg, "<path class=\"dots after\" d=\"M126.0 66.0h0\"/>"));
  for (const char* part : {"nan", "inf", "class=\"bar", "class=\"box", "class=\"mark", "class=\"area"})
    EXPECT_FALSE(has(svg, part)) << part;
}

TEST(SvgChart, LabelsThatWouldMeetAreLeftOutEvenly) {
  SvgAxis x{"x", Scale::linear, Quantity::number, 0, 40};
  for (int i = 0; i < 40; ++i) x.ticks.push_back({i + 0.5, "2026-01-" + std::to_string(10 + i % 20)});
  const std::string svg = SvgChart({"id", "t", "d"}, x, {"y"}, 602, 164).to_svg();
  std::size_t count = 0;
  for (std::size_t at = svg.find("class=\"x\""); at != std::string::npos; at = svg.find("class=\"x\"", at + 1)) ++count;
  // 500 pixels for labels of ten letters of some 6.4: seven at most; every sixth of forty are
  // seven.
  EXPECT_EQ(count, 7U);
}

}  // namespace weft::svg_chart_test
