// SPDX-License-Identifier: Apache-2.0
#include "tools/study/study_points.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/values/random.hpp"

namespace weft {

namespace {

using Settings = std::vector<StudySetting>;

// Purposes of chance.
constexpr std::uint32_t order_purpose = 0x6f726472;
constexpr std::uint32_t place_purpose = 0x706c6163;

void add(const StudyAxis& axis, const std::vector<std::string>& values, Settings& settings) {
  for (std::size_t i = 0; i < axis.names.size(); ++i) settings.push_back({axis.names[i], values[i]});
}

std::vector<Settings> grid(const std::vector<StudyAxis>& axes) {
  std::vector<Settings> points(1);
  for (const StudyAxis& axis : axes) {
    std::vector<Settings> longer;
    for (const Settings& point : points) {
      for (const std::vector<std::string>& values : axis.values) {
        longer.push_back(point);
        add(axis, values, longer.back());
      }
    }
    points = std::move(longer);
  }
  return points;
}

std::vector<Settings> one_at_a_time(const std::vector<StudyAxis>& axes) {
  std::vector<Settings> points;
  const auto add_point = [&](std::size_t moved, std::size_t to) {
    Settings& point = points.emplace_back();
    for (std::size_t i = 0; i < axes.size(); ++i) add(axes[i], axes[i].values[i == moved ? to : 0], point);
  };
  add_point(axes.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (std::size_t value = 1; value < axes[i].values.size(); ++value) add_point(i, value);
  }
  return points;
}

std::vector<Settings> latin_hypercube(const Study& study) {
  std::vector<Settings> points(study.samples);
  for (std::uint32_t i = 0; i < study.axes.size(); ++i) {
    const StudyAxis& axis = study.axes[i];
    std::vector<std::uint32_t> parts(study.samples);
    std::iota(parts.begin(), parts.end(), 0U);
    RandomStream order(study.seed, i, order_purpose);
    RandomStream place(study.seed, i, place_purpose);
    for (std::size_t k = parts.size(); k > 1; --k) std::swap(parts[k - 1], parts[order.below(k)]);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (axis.range) {
        points[k].push_back({axis.names.front(), axis.range->value_at((parts[k] + place.uniform()) / study.samples)});
      } else {
        add(axis, axis.values[std::uint64_t{parts[k]} * axis.values.size() / study.samples], points[k]);
      }
    }
  }
  return points;
}

std::vector<Settings> settings_of(const Study& study) {
  if (!study.listed.empty()) return study.listed;
  switch (study.sampling) {
    case Sampling::one_at_a_time:
      return one_at_a_time(study.axes);
    case Sampling::latin_hypercube:
      return latin_hypercube(study);
    case Sampling::grid:
      break;
  }
  return grid(study.axes);
}

}  // namespace

std::string StudyPoint::value_of(const std::string& name) const {
  const auto found = std::ranges::find(settings, name, &StudySetting::name);
  return found == settings.end() ? "" : found->value;
}

std::uint64_t point_count(const Study& study) {
  const auto times = [](std::uint64_t a, std::uint64_t b) {
    return b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b ? std::numeric_limits<std::uint64_t>::max() : a * b;
  };
  std::uint64_t points = 1;
  if (!study.listed.empty()) {
    points = study.listed.size();
  } else if (study.sampling == Sampling::latin_hypercube) {
    points = study.samples;
  } else if (study.sampling == Sampling::one_at_a_time) {
    for (const StudyAxis& axis : study.axes) points += axis.values.size() - 1;
  } else {
    for (const StudyAxis& axis : study.axes) points = times(points, axis.values.size());
  }
  return times(points, study.replicates);
}

std::vector<StudyPoint> points_of(const Study& study) {
  std::vector<StudyPoint> points;
  for (const Settings& settings : settings_of(study)) {
    for (std::uint32_t replicate = 0; replicate < study.replicates; ++replicate)
      points.push_back({points.size(), replicate, study.seed + replicate, settings});
  }
  return points;
}

RunFlags flags_of(const Study& study, const StudyPoint& point) {
  RunFlags flags = study.base;
  flags.seed = point.seed;
  const SourcePlace place = SourcePlace::named(study.file);
  for (const StudySetting& setting : point.settings) apply(setting, flags, place);
  return flags;
}

}  // namespace weft
