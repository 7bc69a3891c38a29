// SPDX-License-Identifier: Apache-2.0
// SVG chart: a picture of axes, lines, dots, bars and boxes, to stand in an HTML page.
//
// Where it sits: the pictures of a calibration page. How it looks is the page's style sheet: shapes
// have classes such as "line after", whose second word is the caller's and sets the colour --c.
//
// Invariants
//   1. Coordinates are finite. A point that is not, or that a logarithmic axis has no place for,
//      is left out, and a line breaks there.
//   2. Title and description come first in the picture, and texts are escaped.
// Threads: values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct SvgPoint {
  double x = 0;
  double y = 0;
};

struct SvgTick {
  double at = 0;
  std::string label;
};

struct SvgAxis {
  enum class Scale : std::uint8_t { linear, logarithmic };
  enum class Quantity : std::uint8_t { number, share, seconds };

  std::string title;
  Scale scale = Scale::linear;
  Quantity quantity = Quantity::number;  ///< shares are shown in per cent, seconds as "20 us"
  double minimum = 0;
  double maximum = 1;
  /// Names of classes, dates; empty: 1, 2 and 5 times powers of ten.
  std::vector<SvgTick> ticks = {};

  /// An axis on which low to high have room, from and to one of its ticks. On a logarithmic one
  /// both are above zero. Requires: low <= high, both are finite.
  static SvgAxis over(std::string title, Scale scale, Quantity quantity, double low, double high);
};

/// At 1, 2 and 5 times powers of ten, or at powers of ten; about `count`.
std::vector<SvgTick> nice_ticks(const SvgAxis& axis, std::size_t count);

class SvgChart {
 public:
  struct About {
    std::string id;  ///< of one picture of the page
    std::string title;
    std::string description;  ///< what someone who does not see it needs to know
  };

  SvgChart(About about, SvgAxis x, SvgAxis y, double width, double height);

  // `look`: a word of the style sheet; `tip`: what is shown under the mouse, as text.
  /// An area between corners.
  void add_area(std::span<const SvgPoint> corners, std::string_view look, std::string_view tip = "");
  /// A point between two gaps becomes a dot.
  void add_line(std::span<const SvgPoint> points, std::string_view look);
  void add_dots(std::span<const SvgPoint> points, std::string_view look);
  /// From the bottom up to `y`, with a label over it where that is not empty.
  void add_bar(double x_from, double x_to, double y, std::string_view look, std::string_view tip, std::string_view label);
  /// Whiskers, quartiles and median, rising.
  struct Box {
    double low, lower, median, upper, high;
  };
  void add_box(double x_from, double x_to, const Box& box, std::string_view look, std::string_view tip);
  /// A triangle lies on its place, a cross above it.
  enum class Mark : std::uint8_t { triangle, cross };
  void add_mark(SvgPoint at, Mark mark, std::string_view look, std::string_view tip);

  std::string to_svg() const;

 private:
  double place_x(double x) const;  ///< NaN where there is none
  double place_y(double y) const;
  double bottom() const { return height_ - margin_bottom; }
  double right() const { return width_ - margin_right; }
  std::string axes() const;

  static constexpr double margin_left = 76;
  static constexpr double margin_right = 26;
  static constexpr double margin_top = 16;
  static constexpr double margin_bottom = 48;

  About about_;
  SvgAxis x_;
  SvgAxis y_;
  double width_;
  double height_;
  std::string shapes_;
};

}  // namespace weft
