// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "tools/calibrate/markup.hpp"

namespace weft {

namespace {

constexpr std::array<double, 3> nice_digits = {1, 2, 5};
/// Width of a letter, about, at the size of axis labels.
constexpr double letter_width = 6.4;

bool is_seen(double x, double y) { return std::isfinite(x) && std::isfinite(y); }

/// A number of the picture: a tenth of a pixel is enough, and far outside is far outside.
std::string coordinate(double pixels) {
  constexpr double far = 20'000;
  return fmt::format("{:.1f}", std::clamp(pixels, -far, far));
}

std::string tip_element(std::string_view tip) {
  return tip.empty() ? std::string() : fmt::format("<title>{}</title>", escaped(tip));
}

/// The least of 1, 2 and 5 times powers of ten that is no less than `x` > 0, or the largest that is
/// no more.
double nice_above(double x) {
  const int power = static_cast<int>(std::floor(std::log10(x)));
  for (int p = power; p <= power + 1; ++p) {
    for (const double digit : nice_digits) {
      if (const double nice = digit * std::pow(10.0, p); nice >= x * (1 - 1e-9)) return nice;
    }
  }
  return x;
}

double nice_below(double x) {
  const int power = static_cast<int>(std::floor(std::log10(x)));
  double below = std::pow(10.0, power);
  for (int p = power; p <= power + 1; ++p) {
    for (const double digit : nice_digits) {
      if (const double nice = digit * std::pow(10.0, p); nice <= x * (1 + 1e-9)) below = nice;
    }
  }
  return below;
}

double linear_step(double minimum, double maximum, std::size_t count) {
  return nice_above((maximum - minimum) / static_cast<double>(std::max<std::size_t>(count, 1)));
}

std::string tick_label(double at, SvgAxis::Quantity quantity) {
  const auto number = [](double x) { return fmt::format("{:.6g}", x); };
  if (quantity == SvgAxis::Quantity::share) return number(100 * at) + " %";
  if (quantity == SvgAxis::Quantity::number || at == 0) return number(at);
  // Ticks are powers of ten but for rounding.
  const double size = std::abs(at) * (1 + 1e-9);
  if (size >= 1) return number(at) + " s";
  if (size >= 1e-3) return number(at * 1e3) + " ms";
  return size >= 1e-6 ? number(at * 1e6) + " us" : number(at * 1e9) + " ns";
}

std::vector<SvgTick> logarithmic_ticks(const SvgAxis& axis, std::size_t count) {
  const double low = axis.minimum * (1 - 1e-9);
  const double high = axis.maximum * (1 + 1e-9);
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  const double decades = std::log10(axis.maximum) - std::log10(axis.minimum);
  const auto most = static_cast<double>(std::max<std::size_t>(count, 1));
  const bool has_digits = static_cast<double>(nice_digits.size()) * decades <= most + 1;
  const int every = has_digits ? 1 : static_cast<int>(std::ceil(decades / most));
  std::vector<SvgTick> ticks;
  for (int power = first; power <= last; ++power) {
    if (power % every != 0) continue;
    for (std::size_t i = 0; i < (has_digits ? nice_digits.size() : 1); ++i) {
      const double at = nice_digits[i] * std::pow(10.0, power);
      if (at >= low && at <= high) ticks.push_back({at, tick_label(at, axis.quantity)});
    }
  }
  return ticks;
}

double place_on(const SvgAxis& axis, double value) {
  if (axis.scale == SvgAxis::Scale::linear) return (value - axis.minimum) / (axis.maximum - axis.minimum);
  if (!(value > 0)) return std::numeric_limits<double>::quiet_NaN();
  return (std::log(value) - std::log(axis.minimum)) / (std::log(axis.maximum) - std::log(axis.minimum));
}

}  // namespace

SvgAxis SvgAxis::over(std::string title, Scale scale, Quantity quantity, double low, double high) {
  // So far powers of ten are numbers.
  constexpr double largest = 1e300;
  low = std::clamp(low, -largest, largest);
  high = std::clamp(high, low, largest);
  SvgAxis axis{std::move(title), scale, quantity, low, high};
  if (scale == Scale::logarithmic) {
    low = std::max(low, 1 / largest);
    high = std::max(high, low);
    axis.minimum = nice_below(low);
    axis.maximum = nice_above(high);
    if (axis.maximum <= axis.minimum * 1.5) {
      axis.minimum = nice_below(low * 0.7);
      axis.maximum = nice_above(high * 1.5);
    }
    return axis;
  }
  constexpr std::size_t steps = 5;
  const double least = std::max({std::abs(low), std::abs(high), 1e-6}) * 1e-6;
  if (high - low < least) axis.maximum = low + std::max(std::abs(low), least);
  const double step = linear_step(axis.minimum, axis.maximum, steps);
  axis.minimum = step * std::floor(low / step + 1e-9);
  axis.maximum = step * std::ceil(axis.maximum / step - 1e-9);
  return axis;
}

std::vector<SvgTick> nice_ticks(const SvgAxis& axis, std::size_t count) {
  if (axis.scale == SvgAxis::Scale::logarithmic) return logarithmic_ticks(axis, count);
  const double step = linear_step(axis.minimum, axis.maximum, count);
  std::vector<SvgTick> ticks;
  for (double i = std::ceil(axis.minimum / step - 1e-9); i * step <= axis.maximum + 1e-9 * step; ++i) {
    const double at = i == 0 ? 0 : i * step;
    ticks.push_back({at, tick_label(at, axis.quantity)});
  }
  return ticks;
}

SvgChart::SvgChart(About about, SvgAxis x, SvgAxis y, double width, double height)
    : about_(std::move(about)), x_(std::move(x)), y_(std::move(y)), width_(width), height_(height) {}

double SvgChart::place_x(double x) const { return margin_left + place_on(x_, x) * (right() - margin_left); }

double SvgChart::place_y(double y) const { return bottom() - place_on(y_, y) * (bottom() - margin_top); }

void SvgChart::add_area(std::span<const SvgPoint> corners, std::string_view look, std::string_view tip) {
  std::string path;
  for (const SvgPoint& corner : corners) {
    const double x = place_x(corner.x);
    const double y = place_y(corner.y);
    if (is_seen(x, y)) path += fmt::format("{}{} {}", path.empty() ? "M" : "L", coordinate(x), coordinate(y));
  }
  if (path.empty()) return;
  shapes_ += fmt::format("<path class=\"area {}\" d=\"{}Z\">{}</path>\n", look, path, tip_element(tip));
}

void SvgChart::add_line(std::span<const SvgPoint> points, std::string_view look) {
  std::string path;
  std::vector<SvgPoint> alone;
  std::size_t run = 0;
  for (std::size_t i = 0; i <= points.size(); ++i) {
    const double x = i < points.size() ? place_x(points[i].x) : std::numeric_limits<double>::quiet_NaN();
    const double y = i < points.size() ? place_y(points[i].y) : std::numeric_limits<double>::quiet_NaN();
    if (is_seen(x, y)) {
      path += fmt::format("{}{} {}", run == 0 ? "M" : "L", coordinate(x), coordinate(y));
      ++run;
      continue;
    }
    if (run == 1) alone.push_back(points[i - 1]);
    run = 0;
  }
  if (!path.empty()) shapes_ += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", look, path);
  add_dots(alone, look);
}

void SvgChart::add_dots(std::span<const SvgPoint> points, std::string_view look) {
  std::string path;
  for (const SvgPoint& point : points) {
    const double x = place_x(point.x);
    const double y = place_y(point.y);
    // A line of no length with round ends: a dot in a few letters.
    if (is_seen(x, y)) path += fmt::format("M{} {}h0", coordinate(x), coordinate(y));
  }
  if (!path.empty()) shapes_ += fmt::format("<path class=\"dots {}\" d=\"{}\"/>\n", look, path);
}

void SvgChart::add_bar(double x_from, double x_to, double y, std::string_view look, std::string_view tip, std::string_view label) {
  const double left = place_x(x_from);
  const double wide = place_x(x_to) - left;
  const double top = place_y(y);
  if (!is_seen(left + wide, top)) return;
  shapes_ += fmt::format("<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>\n", look, coordinate(left),
                         coordinate(top), coordinate(wide), coordinate(std::max(0.0, bottom() - top)), tip_element(tip));
  if (label.empty()) return;
  shapes_ += fmt::format("<text class=\"value\" x=\"{}\" y=\"{}\">{}</text>\n", coordinate(left + wide / 2), coordinate(top - 4),
                         escaped(label));
}

void SvgChart::add_box(double x_from, double x_to, const Box& box, std::string_view look, std::string_view tip) {
  const double left = place_x(x_from);
  const double end = place_x(x_to);
  const double middle = (left + end) / 2;
  const double low = place_y(box.low);
  const double lower = place_y(box.lower);
  const double median = place_y(box.median);
  const double upper = place_y(box.upper);
  const double high = place_y(box.high);
  if (!is_seen(left + end, low + lower + median + upper + high)) return;
  const std::string m = coordinate(middle);
  const std::string l = coordinate(left);
  shapes_ += fmt::format("<g class=\"box {}\">{}", look, tip_element(tip));
  shapes_ += fmt::format("<path class=\"whisker\" d=\"M{0} {1}V{2}M{0} {3}V{4}\"/>", m, coordinate(low), coordinate(lower),
                         coordinate(upper), coordinate(high));
  // A box of no height is seen as a line.
  shapes_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", l, coordinate(upper), coordinate(end - left),
                         coordinate(std::max(0.5, lower - upper)));
  shapes_ += fmt::format("<path class=\"median\" d=\"M{} {}H{}\"/></g>\n", l, coordinate(median), coordinate(end));
}

void SvgChart::add_mark(SvgPoint at, Mark mark, std::string_view look, std::string_view tip) {
  const double x = place_x(at.x);
  const double y = place_y(at.y);
  if (!is_seen(x, y)) return;
  const std::string start = fmt::format("M{} {}", coordinate(x), coordinate(y));
  const char* path = mark == Mark::triangle ? "m0 -7l6.5 11h-13z" : "m-4 -13l8 8m0 -8l-8 8";
  shapes_ += fmt::format("<path class=\"mark {}\" d=\"{}{}\">{}</path>\n", look, start, path, tip_element(tip));
}

std::string SvgChart::axes() const {
  std::string svg = "<g class=\"axis\" aria-hidden=\"true\">\n";
  const auto y_count = static_cast<std::size_t>(std::max(2.0, (bottom() - margin_top) / 45));
  const std::vector<SvgTick> y_ticks = y_.ticks.empty() ? nice_ticks(y_, y_count) : y_.ticks;
  for (const SvgTick& tick : y_ticks) {
    const double y = place_y(tick.at);
    if (!std::isfinite(y)) continue;
    svg += fmt::format("<path class=\"{}\" d=\"M{} {}H{}\"/>", tick.at == 0 ? "zero" : "grid", coordinate(margin_left),
                       coordinate(y), coordinate(right()));
    svg += fmt::format("<text class=\"y\" x=\"{}\" y=\"{}\">{}</text>\n", coordinate(margin_left - 8), coordinate(y + 4),
                       escaped(tick.label));
  }
  const bool has_names = !x_.ticks.empty();
  const auto x_count = static_cast<std::size_t>(std::max(2.0, (right() - margin_left) / 60));
  const std::vector<SvgTick> x_ticks = has_names ? x_.ticks : nice_ticks(x_, x_count);
  std::size_t letters = 0;
  for (const SvgTick& tick : x_ticks) letters = std::max(letters, tick.label.size());
  const double room = static_cast<double>(letters) * letter_width + 4;
  double free_from = -room;
  for (const SvgTick& tick : x_ticks) {
    const double x = place_x(tick.at);
    if (!std::isfinite(x)) continue;
    if (!has_names) {
      svg += fmt::format("<path class=\"grid\" d=\"M{} {}V{}\"/>", coordinate(x), coordinate(margin_top), coordinate(bottom()));
    }
    // A label that would meet the one before is left out.
    if (x < free_from) continue;
    free_from = x + room;
    svg += fmt::format("<text class=\"x\" x=\"{}\" y=\"{}\">{}</text>\n", coordinate(x), coordinate(bottom() + 17),
                       escaped(tick.label));
  }
  svg += fmt::format("<path class=\"frame\" d=\"M{} {}H{}\"/>", coordinate(margin_left), coordinate(bottom()), coordinate(right()));
  svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", coordinate((margin_left + right()) / 2),
                     coordinate(height_ - 9), escaped(x_.title));
  const double y_middle = (margin_top + bottom()) / 2;
  svg += fmt::format("<text class=\"title\" transform=\"translate(13 {}) rotate(-90)\">{}</text>\n", coordinate(y_middle),
                     escaped(y_.title));
  return svg + "</g>\n";
}

std::string SvgChart::to_svg() const {
  const std::string id = escaped(about_.id);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-labelledby=\"{}-title "
      "{}-desc\">\n",
      width_, height_, id, id);
  svg += fmt::format("<title id=\"{}-title\">{}</title>\n<desc id=\"{}-desc\">{}</desc>\n", id, escaped(about_.title), id,
                     escaped(about_.description));
  svg += axes();
  // Marks at an end of the axes keep their whole shape.
  constexpr double slack = 9;
  svg += fmt::format("<clipPath id=\"{}-clip\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n", id,
                     coordinate(margin_left - slack), coordinate(margin_top - slack - 6),
                     coordinate(right() - margin_left + 2 * slack), coordinate(bottom() - margin_top + slack + 6));
  return svg + fmt::format("<g clip-path=\"url(#{}-clip)\">\n{}</g>\n</svg>\n", id, shapes_);
}

}  // namespace weft
