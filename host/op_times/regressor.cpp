// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/regressor.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/values/random.hpp"
#include "host/op_times/kernel_features.hpp"

namespace weft {

namespace {

bool is_half(ElementType type) { return type.name == "FP16" || type.name == "BF16"; }

}  // namespace

bool are_timed_alike(ElementType type, ElementType other) { return type == other || (is_half(type) && is_half(other)); }

std::string RegressedFunction::text() const {
  std::string name = function + " ";
  for (const char letter : type.name) name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (nodes > 0) return fmt::format("{} on {} x {}", name, nodes, gpus_per_node);
  return is_whole ? name : name + (is_backward ? " backward" : " forward");
}

std::vector<std::string> range_names(const RegressedFunction& of) {
  std::vector<std::string> names = of.sizes;
  if (of.kernel.kind == KernelKind::matmul) {
    names.emplace_back("columns/inner");
    names.emplace_back("rows/columns");
  }
  return names;
}

std::vector<double> range_values(const KernelId& kernel, std::span<const double> sizes) {
  std::vector<double> values(sizes.begin(), sizes.end());
  if (kernel.kind == KernelKind::matmul) {
    values.push_back(sizes[1] / sizes[2]);
    values.push_back(sizes[0] / sizes[1]);
  }
  return values;
}

RegressorPrediction Regressor::predict(std::span<const double> sizes) const {
  WEFT_CHECK(sizes.size() == of.sizes.size(), "a kernel has the sizes of its function");
  const std::vector<double> values = range_values(of.kernel, sizes);
  const std::vector<std::string> names = range_names(of);
  RegressorPrediction prediction;
  std::vector<double> moved(sizes.begin(), sizes.end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_below = values[i] < ranges[i].least;
    if (!is_below && values[i] <= ranges[i].most) continue;
    const double end = is_below ? ranges[i].least : ranges[i].most;
    if (i < moved.size()) moved[i] = end;
    prediction.outside += fmt::format("{}{} {:.6g} is {} {:.6g}", prediction.outside.empty() ? "" : ", ", names[i], values[i],
                                      is_below ? "below" : "above", end);
  }
  const double bytes_each = of.type.bytes();
  const double at_law = law.time_us(kernel_features(of.kernel.kind, sizes, bytes_each).terms);
  const KernelFeatures inside = kernel_features(of.kernel.kind, moved, bytes_each);
  prediction.time_us = at_law * portable_exp(trees.predict(inside.features));
  return prediction;
}

double Regressor::distance(std::span<const double> sizes) const {
  const std::vector<double> values = range_values(of.kernel, sizes);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < ranges[i].least) sum += portable_log(ranges[i].least / values[i]);
    if (values[i] > ranges[i].most) sum += portable_log(values[i] / ranges[i].most);
  }
  return sum;
}

}  // namespace weft
