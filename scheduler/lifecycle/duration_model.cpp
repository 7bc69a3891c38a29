// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/duration_model.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/text_pieces.hpp"
#include "core/values/random.hpp"

namespace weft {
namespace {

/// Names this use of chance among all streams of a job.
constexpr std::uint32_t stream_purpose = 0x6a6f6264;  // "jobd"

struct ShapeInfo {
  DurationModel::Shape shape;
  std::string_view name;
  std::string_view usage;
  std::size_t arguments;
};
constexpr std::array shapes = {
    ShapeInfo{DurationModel::Shape::exponential, "exponential", "exponential(MEAN), for example exponential(2h)", 1},
    ShapeInfo{DurationModel::Shape::lognormal, "lognormal", "lognormal(MEDIAN, SIGMA), for example lognormal(1h, 0.5)", 2},
    ShapeInfo{DurationModel::Shape::uniform, "uniform", "uniform(MINIMUM, MAXIMUM), for example uniform(1h, 3h)", 2},
    ShapeInfo{DurationModel::Shape::normal, "normal", "normal(MEAN, DEVIATION), for example normal(1h, 10min)", 2},
};

constexpr std::string_view blanks = " \t";

Duration parse_quantity(std::string_view text, const SourcePlace& place) {
  const ParsedQuantity<Duration> parsed = parse_duration(text);
  if (!parsed.value) fail("bad-duration", parsed.error.message, place, parsed.error.help);
  return *parsed.value;
}

double parse_sigma(std::string_view text, const SourcePlace& place) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    fail("bad-duration", fmt::format("the sigma of a lognormal distribution is a plain number, but {} is not", in_quotes(text)),
         place, "it is the standard deviation of the logarithm and has no unit, for example lognormal(1h, 0.5)");
  }
  if (value < 0) {
    fail("out-of-range", "the sigma of a lognormal distribution cannot be negative", place, "give a number of at least 0");
  }
  return value;
}

/// To the nearest tick; Duration::max() if that does not fit.
Duration from_ticks(double ticks) {
  const double nearest = std::round(ticks);
  return nearest < 0x1p63 ? Duration::ticks(static_cast<std::int64_t>(nearest)) : Duration::max();
}

/// Mean of N(mean, deviation) given that it is >= 0: mean + deviation * phi(a) / (1 - Phi(a)) with
/// a = -mean / deviation.
double truncated_normal_mean(double mean, double deviation) {
  if (deviation == 0) return mean;
  const double a = -mean / deviation;
  const double density = std::exp(-a * a / 2) / std::sqrt(2 * std::numbers::pi);
  const double above = std::erfc(a / std::numbers::sqrt2) / 2;
  return mean + deviation * density / above;
}

std::string shortest_text(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  WEFT_CHECK(error == std::errc(), "a double has a text of at most 32 characters");
  return {buffer.data(), end};
}

}  // namespace

DurationModel DurationModel::fixed(Duration duration) {
  WEFT_CHECK(duration >= Duration::zero(), "a job's duration is not negative");
  DurationModel model;
  model.first_ = duration;
  return model;
}

DurationModel DurationModel::parse(std::string_view text, const SourcePlace& place) {
  text = trimmed(text, blanks);
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) return fixed(parse_quantity(text, place));

  const std::string_view name = trimmed(text.substr(0, open), blanks);
  const ShapeInfo* info = nullptr;
  std::vector<std::string> names;
  for (const ShapeInfo& candidate : shapes) {
    if (candidate.name == name) info = &candidate;
    names.emplace_back(candidate.name);
  }
  if (info == nullptr) {
    fail("unknown-distribution", fmt::format("there is no distribution {}", in_quotes(name)), place,
         suggestion(name, names, "distribution"));
  }
  if (text.back() != ')')
    fail("bad-duration", fmt::format("{} lacks its closing parenthesis", in_quotes(text)), place,
         fmt::format("write {}", info->usage));

  std::vector<std::string_view> arguments;
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  for (;;) {
    const std::size_t comma = rest.find(',');
    arguments.push_back(trimmed(rest.substr(0, comma), blanks));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (arguments.size() != info->arguments) {
    fail("bad-duration",
         fmt::format("{} has {}{} instead of {}", in_quotes(text), arguments.size(),
                     arguments.size() == 1 ? " argument" : " arguments", info->arguments),
         place, fmt::format("write {}", info->usage));
  }

  DurationModel model;
  model.shape_ = info->shape;
  model.first_ = parse_quantity(arguments[0], place);
  if (model.shape_ == Shape::lognormal) {
    model.sigma_ = parse_sigma(arguments[1], place);
  } else if (model.shape_ != Shape::exponential) {
    model.second_ = parse_quantity(arguments[1], place);
  }
  if (model.shape_ == Shape::uniform && model.second_ < model.first_) {
    fail("out-of-range", fmt::format("{} has its maximum below its minimum", in_quotes(text)), place,
         fmt::format("write {}", info->usage));
  }
  if (model.mean() == Duration::zero()) {
    fail("out-of-range", fmt::format("{} has a mean of 0: each of its draws is 0", in_quotes(text)), place,
         "give it a mean above 0, or write \"0s\" for a job that takes no time");
  }
  if (model.mean() == Duration::max()) {
    fail("out-of-range", fmt::format("the mean of {} is beyond the simulated clock", in_quotes(text)), place,
         fmt::format("a run lasts at most {} of simulated time",
                     weft::to_text(Duration::s(Duration::max().in_ticks() / Duration::ticks_per_s))));
  }
  return model;
}

Duration DurationModel::sample(std::uint64_t seed, JobId job) const {
  return sample(RandomStream(seed, job.index(), stream_purpose));
}

Duration DurationModel::sample(RandomStream stream) const {
  const auto first = static_cast<double>(first_.in_ticks());
  const auto second = static_cast<double>(second_.in_ticks());
  switch (shape_) {
    case Shape::fixed:
      break;
    case Shape::exponential:
      return from_ticks(stream.exponential(first));
    case Shape::lognormal:
      return from_ticks(first * stream.lognormal(0, sigma_));
    case Shape::uniform:
      return from_ticks(first + (second - first) * stream.uniform());
    case Shape::normal: {
      // The mean is >= 0, so that at least every second draw is kept.
      double draw = stream.normal(first, second);
      while (draw < 0) draw = stream.normal(first, second);
      return from_ticks(draw);
    }
  }
  return first_;
}

Duration DurationModel::mean() const {
  const auto first = static_cast<double>(first_.in_ticks());
  const auto second = static_cast<double>(second_.in_ticks());
  switch (shape_) {
    case Shape::fixed:
    case Shape::exponential:
      break;
    case Shape::lognormal:
      return from_ticks(first * std::exp(sigma_ * sigma_ / 2));
    case Shape::uniform:
      return from_ticks(first + (second - first) / 2);
    case Shape::normal:
      return from_ticks(truncated_normal_mean(first, second));
  }
  return first_;
}

std::string DurationModel::to_text() const {
  if (shape_ == Shape::fixed) return weft::to_text(first_);
  std::string result;
  for (const ShapeInfo& info : shapes) {
    if (info.shape == shape_) result = fmt::format("{}({}", info.name, weft::to_text(first_));
  }
  if (shape_ == Shape::lognormal) {
    result += fmt::format(", {}", shortest_text(sigma_));
  } else if (shape_ != Shape::exponential) {
    result += fmt::format(", {}", weft::to_text(second_));
  }
  return result + ")";
}

}  // namespace weft
