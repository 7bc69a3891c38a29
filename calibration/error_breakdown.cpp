// SPDX-License-Identifier: Apache-2.0
#include "calibration/error_breakdown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "core/values/compensated_sum.hpp"
#include "core/values/distribution.hpp"

namespace weft {

namespace {

/// Mean absolute errors of some rows.
struct ErrorSums {
  std::uint64_t count = 0;
  CompensatedSum before;
  CompensatedSum after;

  void add(const TimedError& row) {
    ++count;
    before.add(std::abs(relative_time_error(row.before_s, row.measured_s)));
    after.add(std::abs(relative_time_error(row.after_s, row.measured_s)));
  }
  double before_mape() const { return before.value() / static_cast<double>(count); }
  double after_mape() const { return after.value() / static_cast<double>(count); }
};

/// Rows of a class, which may be millions.
struct ClassErrors {
  ErrorSums sums;
  Distribution before;
  Distribution after;
};

/// By the power of two or four that a class begins with; size 0 comes before them all.
using ClassesByPower = std::map<int, ClassErrors>;

void add_to_class(ClassesByPower& classes, std::uint64_t size, int bits_per_class, const TimedError& row) {
  const int power = size == 0 ? -1 : (static_cast<int>(std::bit_width(size)) - 1) / bits_per_class;
  ClassErrors& errors = classes[power];
  errors.sums.add(row);
  errors.before.add(relative_time_error(row.before_s, row.measured_s));
  errors.after.add(relative_time_error(row.after_s, row.measured_s));
}

ErrorSpread spread_of(const Distribution& errors) {
  return {errors.percentile(5), errors.percentile(25), errors.percentile(50), errors.percentile(75), errors.percentile(95)};
}

std::string bytes_label(std::uint64_t bytes) {
  static constexpr std::array<const char*, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024; bytes /= 1024) ++unit;
  return fmt::format("{} {}", bytes, units[unit]);
}

std::string gpus_label(std::uint64_t gpus) { return fmt::format("{} {}", gpus, gpus == 1 ? "GPU" : "GPUs"); }

std::vector<ErrorClass> classes_of(const ClassesByPower& classes, int bits_per_class, std::string (*label)(std::uint64_t)) {
  std::vector<ErrorClass> list;
  for (const auto& [power, errors] : classes) {
    ErrorClass& to = list.emplace_back();
    if (power >= 0) {
      to.minimum = std::uint64_t{1} << (power * bits_per_class);
      const int end_bit = (power + 1) * bits_per_class;
      to.maximum = end_bit >= 64 ? std::numeric_limits<std::uint64_t>::max() : (std::uint64_t{1} << end_bit) - 1;
    }
    to.label = label(to.minimum);
    to.count = errors.sums.count;
    to.before_mape = errors.sums.before_mape();
    to.after_mape = errors.sums.after_mape();
    to.before = spread_of(errors.before);
    to.after = spread_of(errors.after);
  }
  return list;
}

std::vector<CdfPoint> cdf_of(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  std::vector<CdfPoint> points;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double hosts = static_cast<double>(i + 1) / static_cast<double>(errors.size());
    if (!points.empty() && points.back().error == errors[i]) {
      points.back().hosts = hosts;
    } else {
      points.push_back({errors[i], hosts});
    }
  }
  return points;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string(2, c) : std::string(1, c);
  return field + "\"";
}

}  // namespace

bool has_error(const TimedError& row) {
  return std::isfinite(row.measured_s) && row.measured_s > 0 && std::isfinite(relative_time_error(row.before_s, row.measured_s)) &&
         std::isfinite(relative_time_error(row.after_s, row.measured_s));
}

double relative_time_error(double simulated_s, double measured_s) { return (simulated_s - measured_s) / measured_s; }

std::string ErrorBreakdown::to_csv() const {
  std::string csv = "figure,class,count,before_mape,after_mape\n";
  const auto add = [&](const char* figure, const std::string& name, std::uint64_t count, double before, double after) {
    csv += fmt::format("{},{},{},{},{}\n", figure, csv_field(name), count, before, after);
  };
  for (const ErrorClass& c : by_message_size) add("message_size", c.label, c.count, c.before_mape, c.after_mape);
  for (const ErrorClass& c : by_job_size) add("job_size", c.label, c.count, c.before_mape, c.after_mape);
  for (const HostError& h : by_host) add("host_cdf", h.host, h.count, h.before_mape, h.after_mape);
  return csv;
}

ErrorBreakdown break_down_errors(std::span<const TimedError> rows) {
  constexpr int bits_of_four = 2;
  constexpr int bits_of_two = 1;
  ErrorBreakdown breakdown;
  ClassesByPower by_message_size;
  ClassesByPower by_job_size;
  std::map<std::string, ErrorSums> by_host;
  for (const TimedError& row : rows) {
    if (!has_error(row)) {
      ++breakdown.left_out;
      continue;
    }
    if (row.size_bytes) add_to_class(by_message_size, *row.size_bytes, bits_of_four, row);
    if (row.gpus) add_to_class(by_job_size, *row.gpus, bits_of_two, row);
    if (!row.host.empty()) by_host[row.host].add(row);
  }
  breakdown.by_message_size = classes_of(by_message_size, bits_of_four, bytes_label);
  breakdown.by_job_size = classes_of(by_job_size, bits_of_two, gpus_label);
  std::vector<double> before;
  std::vector<double> after;
  for (const auto& [host, sums] : by_host) {
    breakdown.by_host.push_back({host, sums.count, sums.before_mape(), sums.after_mape()});
    before.push_back(sums.before_mape());
    after.push_back(sums.after_mape());
  }
  std::sort(breakdown.by_host.begin(), breakdown.by_host.end(),
            [](const HostError& a, const HostError& b) { return std::tie(a.after_mape, a.host) < std::tie(b.after_mape, b.host); });
  breakdown.host_cdf_before = cdf_of(std::move(before));
  breakdown.host_cdf_after = cdf_of(std::move(after));
  return breakdown;
}

}  // namespace weft
