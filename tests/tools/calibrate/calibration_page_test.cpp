// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/calibration_page.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/calibrate/well_formed.hpp"
#include "tools/calibrate/calibration_figures.hpp"

namespace weft::calibration_page_test {

namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();
constexpr double endless = std::numeric_limits<double>::infinity();

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// From where the section begins to its end; empty: there is none.
std::string section_of(const std::string& html, const std::string& id) {
  const std::size_t from = html.find("<section id=\"" + id + "\">");
  return from == std::string::npos ? "" : html.substr(from, html.find("</section>", from) - from);
}

CalibrationProfile::Parameter parameter(const std::string& name) {
  CalibrationProfile::Parameter p;
  p.name = name;
  p.value = "2.5us";
  p.start = "1us";
  p.minimum = "0ns";
  p.maximum = "10us";
  p.low = "2us";
  p.high = "3us";
  p.knowledge = CalibrationProfile::Knowledge::loose;
  return p;
}

NightPoint night(const std::string& date, double uncalibrated, double drift, double published) {
  return {date, uncalibrated, drift, drift, published, "published", false};
}

/// Before they are half as long as measured, after a hundredth too long.
std::vector<TimedError> many_times(std::size_t count) {
  std::vector<TimedError> times;
  for (std::size_t i = 0; i < count; ++i) {
    const double measured_s = 1e-6 * static_cast<double>(10 + i);
    times.push_back(
        {measured_s, 0.5 * measured_s, 1.01 * measured_s, 1000 * (i + 1), 8, fmt::format("host{}", i % 10), i % 4 == 0});
  }
  return times;
}

/// A page with all of its sections.
CalibrationPage whole_page() {
  CalibrationPage page;
  page.title = "Calibration of dc1";
  page.status = "published";
  page.tone = CalibrationPage::Tone::good;
  page.reasons = {"held out 1.00 %"};
  page.profile.machine = "dc1";
  page.profile.runs = 1234;
  page.profile.search = "hill_climbing";
  page.profile.inputs = {{"topology", "dc1.textproto", "0123"}};
  page.profile.parameters = {parameter("flow.wqe_latency")};
  page.profile.before = {4000, 0.5, 0.75};
  page.profile.training = {3000, 0.0125, 1};
  page.profile.hold_out = {1000, 0.015, 0.995};
  page.times = many_times(100);
  page.nights = {night("2026-01-01", 0.2, 0.02, 0.02), night("2026-01-02", 0.21, 0.04, 0.02)};
  page.nights.back().alarm = true;
  page.drift_threshold = 0.03;
  page.profile.weights = {{"iteration", 400}, {"case <a>", 0.5}};
  return page;
}

const std::vector<std::string> sections = {"nights",    "parameters", "times", "message-size",
                                           "residuals", "job-size",   "hosts", "inputs"};

}  // namespace

TEST(CalibrationPage, AWholePageIsOneFileThatIsWellFormed) {
  const std::string html = whole_page().to_html();
  EXPECT_EQ(fault_of_xml(html), "");
  for (const std::string& id : sections) EXPECT_NE(section_of(html, id), "") << id;
  // Below each picture stand its figures.
  EXPECT_EQ(count_of(html, "<details>"), 6U);
  for (const char* part : {"<script", "href=", "src=", "url(h", "@import"}) EXPECT_FALSE(has(html, part)) << part;
  EXPECT_TRUE(has(html, "Weights of times in the fit and in mean errors: iteration 400, case &lt;a&gt; 0.5; else 1."));
  EXPECT_TRUE(has(html, "prefers-color-scheme:dark"));
  EXPECT_TRUE(has(html, "@media print"));
  EXPECT_EQ(html, whole_page().to_html());
}

TEST(CalibrationPage, WhatThereIsNothingOfIsLeftOut) {
  CalibrationPage page;
  page.title = "nothing";
  const std::string html = page.to_html();
  EXPECT_EQ(fault_of_xml(html), "");
  for (const char* part : {"<section", "<svg", "class=\"status", "class=\"cards", "class=\"about", "<table"})
    EXPECT_FALSE(has(html, part)) << part;
  // Times of which neither size, job nor host is known
  page.times = {{1e-3, 1e-3, 1e-3, {}, {}, "", false}};
  const std::string with_times = page.to_html();
  EXPECT_EQ(count_of(with_times, "<section"), 1U);
  EXPECT_NE(section_of(with_times, "times"), "");
}

TEST(CalibrationPage, StatusComesWithItsReasons) {
  CalibrationPage page;
  page.status = "refused: no times";
  page.tone = CalibrationPage::Tone::bad;
  page.reasons = {"flows.csv is empty", "iterations.csv is missing"};
  const std::string html = page.to_html();
  EXPECT_TRUE(has(html, "<div class=\"status bad\" role=\"status\">\n<strong>refused: no times</strong>"));
  EXPECT_TRUE(has(html, "<li>flows.csv is empty</li>\n<li>iterations.csv is missing</li>"));
}

TEST(CalibrationPage, NamesAreEscapedEverywhere) {
  const std::string name = "<a&b>\"'";
  CalibrationPage page = whole_page();
  page.title = page.status = name;
  page.reasons = {name};
  page.profile.machine = page.profile.search = page.profile.weft_version = page.profile.date = name;
  page.profile.inputs = {{name, name, name}};
  CalibrationProfile::Parameter& p = page.profile.parameters.front();
  p.name = p.value = p.start = p.low = p.high = p.minimum = p.maximum = name;
  page.parameter_meanings[name] = name;
  for (TimedError& time : page.times) time.host = name + time.host;
  for (NightPoint& one : page.nights) one.date = one.status = name;
  page.nights.front().uncalibrated_mape = page.nights.front().drift = page.nights.front().published_mape = not_known;
  const std::string html = page.to_html();
  EXPECT_EQ(fault_of_xml(html), "");
  EXPECT_FALSE(has(html, "<a&"));
  EXPECT_TRUE(has(html, "<title>&lt;a&amp;b&gt;&quot;&#39;</title>"));
  EXPECT_TRUE(has(section_of(html, "hosts"), "&lt;a&amp;b&gt;&quot;&#39;host1"));
}

TEST(CalibrationPage, HeadlineFiguresHaveUnits) {
  const std::string html = whole_page().to_html();
  const std::string cards = html.substr(html.find("<dl class"), html.find("</dl>") - html.find("<dl class"));
  EXPECT_TRUE(has(cards, "<dt>Error before</dt><dd><span class=\"figure\">50.00 %</span><br/><span class=\"more\">4,000 times"));
  EXPECT_TRUE(has(cards, "<dt>Error after</dt><dd><span class=\"figure\">1.25 %</span>"));
  // Those held out are half as long as measured before, as all are.
  EXPECT_TRUE(has(cards,
                  "<dt>Error held out</dt><dd><span class=\"figure\">1.50 %</span><br/><span class=\"more\">1,000 times that the "
                  "search did not see; 50.00 % before"));
  EXPECT_TRUE(has(cards,
                  "<dt>Pairs in order</dt><dd><span class=\"figure\">100.00 %</span><br/><span class=\"more\">75.00 % before; "
                  "held out 99.50 %"));
  EXPECT_TRUE(has(cards,
                  "<dt>Within 5 %</dt><dd><span class=\"figure\">100.00 %</span><br/><span class=\"more\">of 100 times; 0.00 % "
                  "before"));
  CalibrationPage page = whole_page();
  page.profile.hold_out = {};
  EXPECT_FALSE(has(page.to_html(), "held out</dt>"));
}

// The range of 10 us lies from 8 to 142: 2.5 us at 8 + 134/4, 1 us at 8 + 13.4, and from 2 to 3 us
// is from 8 + 26.8 to 8 + 40.2, and a tenth of a pixel so that an interval of nothing is seen.
TEST(CalibrationPage, ParametersSayWhatIsKnown) {
  CalibrationPage page = whole_page();
  page.parameter_meanings["flow.wqe_latency"] = "until the first byte";
  page.profile.parameters.push_back(parameter("flow.efficiency"));
  CalibrationProfile::Parameter& p = page.profile.parameters.back();
  p.low = p.high = "";
  p.minimum = "0.5";
  p.maximum = "0.5";
  p.knowledge = CalibrationProfile::Knowledge::free;
  p.stamp = CalibrationProfile::Stamp::transferred;
  const std::string html = section_of(page.to_html(), "parameters");
  EXPECT_TRUE(
      has(html,
          "flow.wqe_latency<span class=\"meaning\">until the first byte</span></th><td>1us</td><td><strong>2.5us</strong></td>"
          "<td>2us .. 3us</td>"));
  EXPECT_TRUE(has(html, "<circle cx=\"41.5\""));
  EXPECT_TRUE(has(html, "<path class=\"start\" d=\"M21.4 3V19\"/>"));
  EXPECT_TRUE(has(html, "<path class=\"interval\" d=\"M34.8 11H48.3\"/>"));
  EXPECT_TRUE(has(html, "loose</span>: the times do not tell it within 5 %"));
  EXPECT_EQ(count_of(html, "<svg"), 1U);  // nothing lies between the ends of the other's range
  EXPECT_TRUE(has(html, "<td>-</td>"));
  EXPECT_TRUE(
      has(html, "free</span>: nothing depends on it, or others make up for what it does; taken from a profile of another machine"));
}

TEST(CalibrationPage, ManyTimesAreSampledAndThePageSaysSo) {
  const std::string all = times_figure(many_times(drawn_times_max));
  EXPECT_FALSE(has(all, "are drawn"));
  EXPECT_EQ(count_of(all, "h0"), 2 * drawn_times_max);
  std::vector<TimedError> times = many_times(5000);
  // The one that is furthest off is drawn whatever its place: 20 us measured, 2 s simulated. The
  // axis goes from 5 us, half of the shortest, to 2 s, and it lies at its upper end.
  times[10].after_s = 2;
  const std::string some = times_figure(times);
  EXPECT_TRUE(has(
      some, "2,000 of 5,000 times are drawn: the 100 furthest off after the fit, and evenly many of the others in order of time."));
  EXPECT_EQ(count_of(some, "h0"), 2 * drawn_times_max);
  EXPECT_TRUE(has(some, " 16.0h0"));
  EXPECT_EQ(some, times_figure(times));
}

// From 10 us up to 100 us there are 90 times, then 10 of from 100 us: all half as long before.
TEST(CalibrationPage, TimesHaveATableByTensOfMeasuredTime) {
  const std::string html = times_figure(many_times(100));
  EXPECT_EQ(fault_of_xml(html), "");
  EXPECT_TRUE(has(html, "<th scope=\"row\">10 us</th><td>90</td><td>50.00 %</td><td>1.00 %</td><td>0.00 %</td><td>100.00 %</td>"));
  EXPECT_TRUE(has(html, "<th scope=\"row\">100 us</th><td>10</td>"));
  EXPECT_TRUE(has(html, "after, held out from the search"));
}

// Classes from 256 B and 1 KiB: the first has 20 % before and 10 % after. Axes end at a tick above
// 20 %: bars are as high as 20 % of 25 %, of 300 - 48 - 16 pixels 188.8.
TEST(CalibrationPage, ClassesHaveBarsBoxesAndRows) {
  const std::vector<TimedError> times = {{10, 12, 9, 256, 8, "", false}, {10, 11, 10, 1024, 16, "", false}};
  const ErrorBreakdown breakdown = break_down_errors(times);
  const std::string by_size = message_size_figure(breakdown);
  EXPECT_EQ(fault_of_xml(by_size), "");
  EXPECT_EQ(count_of(by_size, "<rect class=\"bar"), 4U);
  EXPECT_TRUE(has(by_size, "height=\"188.8\"><title>from 256 B, before: 20.00 % (1 time)</title>"));
  EXPECT_TRUE(has(by_size, "Largest after the fit: 10.00 % from 256 B (1 time), 20.00 % before."));
  EXPECT_TRUE(has(by_size, "<th scope=\"row\">1 KiB</th><td>1</td><td>10.00 %</td><td>0.00 %</td>"));
  EXPECT_TRUE(has(job_size_figure(breakdown), "<th scope=\"row\">16 GPUs</th><td>1</td><td>10.00 %</td><td>0.00 %</td>"));
  const std::string residuals = residuals_figure(breakdown);
  EXPECT_EQ(fault_of_xml(residuals), "");
  EXPECT_EQ(count_of(residuals, "class=\"box before\""), 2U);
  EXPECT_EQ(count_of(residuals, "class=\"box after\""), 2U);
  EXPECT_TRUE(has(residuals, "from 256 B: median -10.00 %, quartiles -10.00 % and -10.00 %"));
  // 20 % is not four times 10 %, so both have one scale; with 1 % it is twenty times.
  EXPECT_FALSE(has(residuals, "different scales"));
  EXPECT_TRUE(
      has(residuals_figure(break_down_errors(std::vector<TimedError>{{100, 120, 99, 256, 8, "", false}})), "different scales"));
  EXPECT_EQ(message_size_figure({}) + job_size_figure({}) + residuals_figure({}) + host_figure({}), "");
}

// Errors of the hosts after are 1 % to 10 %, so six of ten have at most 6 %; host 11 has 900 %, and
// then 60 % of eleven, 6.6, are seven. 98 % of eleven are all of them, so that nothing is cut; of a
// hundred more at 1 % the axis ends before it.
TEST(CalibrationPage, HostsAreACurve) {
  std::vector<TimedError> times;
  for (int i = 1; i <= 10; ++i) times.push_back({100, 100, 100.0 + i, {}, {}, fmt::format("h{:02}", i), false});
  const std::string ten = host_figure(break_down_errors(times));
  EXPECT_EQ(fault_of_xml(ten), "");
  EXPECT_TRUE(has(ten, "10 hosts: 60 % of them have an error of at most 6.00 % after the fit, 0.00 % before."));
  EXPECT_TRUE(has(ten, "<th scope=\"row\">h10</th><td>1</td><td>0.00 %</td><td>10.00 %</td>"));
  times.push_back({100, 100, 1000, {}, {}, "far", false});
  const std::string eleven = host_figure(break_down_errors(times));
  EXPECT_TRUE(has(eleven, "at most 7.00 % after"));
  EXPECT_FALSE(has(eleven, "beyond the right end"));
  for (int i = 0; i < 100; ++i) times.push_back({100, 100, 101, {}, {}, fmt::format("more{}", i), false});
  const std::string many = host_figure(break_down_errors(times));
  EXPECT_TRUE(has(many, "1 host lies beyond the right end."));
  EXPECT_TRUE(has(many, "The 20 hosts furthest off after the fit"));
}

// Four nights, of which the third was refused: each line is of two pieces, the second of which is a
// night alone.
TEST(CalibrationPage, NightsHaveGapsAndAlarms) {
  std::vector<NightPoint> nights = {night("2026-02-27", 0.2, 0.02, 0.02), night("2026-02-28T02:15:00Z", 0.2, 0.04, 0.02),
                                    night("2026-03-01", not_known, not_known, not_known), night("2026-03-02", 0.2, 0.05, 0.02)};
  nights[1].alarm = nights[3].alarm = true;
  nights[3].drift_median = 0.035;
  nights[2].status = "refused: no flows";
  const std::string html = nights_figure(nights, 0.03);
  EXPECT_EQ(fault_of_xml(html), "");
  EXPECT_TRUE(has(html,
                  "2026-03-02: published profile 2.00 %, drift 5.00 %, uncalibrated 20.00 %. In 4 nights: 2 alarms, 1 "
                  "without errors."));
  const std::size_t line = html.find("class=\"line uncalibrated\" d=\"");
  ASSERT_NE(line, std::string::npos);
  EXPECT_EQ(count_of(html.substr(line, html.find("/>", line) - line), "M"), 2U);
  EXPECT_EQ(count_of(html, "class=\"area gap\""), 1U);
  EXPECT_EQ(count_of(html, "class=\"mark gap-mark\""), 1U);
  EXPECT_EQ(count_of(html, "class=\"mark alarm\""), 2U);
  EXPECT_TRUE(has(html, "<title>2026-03-02: alarm, drift 5.00 %, in the median 3.50 %</title>"));
  EXPECT_EQ(count_of(html, "class=\"line threshold\""), 1U);
  EXPECT_TRUE(has(html, "<title>2026-03-01: refused: no flows</title>"));
  EXPECT_TRUE(has(
      html, "<th scope=\"row\">2026-03-01</th><td class=\"words\">refused: no flows</td><td>-</td><td>-</td><td>-</td><td>-</td>"));
  EXPECT_FALSE(has(nights_figure(nights, {}), "threshold"));
}

// 900 pixels less 76 and 26 are 798. Days 1, 2 and 4 have a place for each of four days: at 1/8,
// 3/8 and 7/8 of it. What is no date stands at 1/6, 3/6 and 5/6.
TEST(CalibrationPage, NightsStandAtTheirDates) {
  const auto three = [](const std::string& last) {
    return nights_figure(
        std::vector<NightPoint>{night("2025-12-31", 0.2, 0.1, 0.1), night("2026-01-01", 0.2, 0.1, 0.1), night(last, 0.2, 0.1, 0.1)},
        {});
  };
  EXPECT_TRUE(has(three("2026-01-03"), "class=\"x\" x=\"175.8\"")) << three("2026-01-03");
  EXPECT_TRUE(has(three("2026-01-03"), "class=\"x\" x=\"774.2\""));
  EXPECT_TRUE(has(three("2026-02-30"), "class=\"x\" x=\"741.0\""));
  EXPECT_TRUE(has(three("2025-12-30"), "class=\"x\" x=\"741.0\""));
}

TEST(CalibrationPage, ErrorsFarApartHaveALogarithmicAxis) {
  // 20 % and 1 % are told from each other by lines.
  const std::string classes = job_size_figure(break_down_errors(std::vector<TimedError>{{100, 120, 99, {}, 8, "", false}}));
  EXPECT_EQ(fault_of_xml(classes), "");
  EXPECT_TRUE(has(classes, "mean absolute error (logarithmic)"));
  EXPECT_EQ(count_of(classes, "class=\"bar"), 0U);
  const std::string hosts = host_figure(break_down_errors(std::vector<TimedError>{{100, 120, 99, {}, {}, "h", false}}));
  EXPECT_TRUE(has(hosts, "mean absolute error of a host (logarithmic)"));
  EXPECT_FALSE(has(nights_figure(std::vector<NightPoint>{night("a", 0.2, 0.02, 0.02)}, {}), "logarithmic"));
  EXPECT_TRUE(has(nights_figure(std::vector<NightPoint>{night("a", 0.5, 0.02, 0.02)}, {}), "logarithmic"));
}

// Whatever the figures are, coordinates are numbers.
TEST(CalibrationPage, PicturesHaveNoCoordinatesThatAreNone) {
  CalibrationPage page = whole_page();
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::vector<double> odd = {not_known, endless, -endless, 0, -1, 1e-300, 1e300, 5e-324, 1};
  page.times.clear();
  for (const double measured_s : odd) {
    for (const double before_s : odd) {
      for (const double after_s : odd) page.times.push_back({measured_s, before_s, after_s, most, most, "host", false});
    }
  }
  page.nights.clear();
  for (const double error : odd) {
    page.nights.push_back(night("2026-01-01", error, error, error));
    page.nights.back().alarm = true;
  }
  for (const double threshold : odd) {
    page.drift_threshold = threshold;
    for (const double mape : odd) {
      page.profile.before.mape = page.profile.hold_out.ordering_accuracy = mape;
      const std::string html = page.to_html();
      ASSERT_EQ(fault_of_xml(html), "");
      for (const char* part : {"nan", "inf ", "inf%", "inf\"", "inf\xC2", "Minf", "Linf"}) ASSERT_FALSE(has(html, part)) << part;
    }
  }
  // Only a night alone without an error, and only hosts without one
  page.nights = {night("2026-01-01", 0, 0, 0)};
  page.times = {{1, 1, 1, 1, 1, "host", true}};
  page.drift_threshold = 0;
  const std::string still = page.to_html();
  EXPECT_EQ(fault_of_xml(still), "");
  EXPECT_FALSE(has(still, "nan"));
  for (const std::string& id : sections) EXPECT_NE(section_of(still, id), "") << id;
}

}  // namespace weft::calibration_page_test
