// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/tabled_times.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/values/median.hpp"

namespace weft {

namespace {

/// One name for types that are timed alike.
std::string type_of_table(ElementType type) {
  constexpr ElementType half{"FP16", 16};
  return std::string(are_timed_alike(type, half) ? half.name : type.name);
}

bool pooled_under_own_kernel(const RegressedFunction& of) { return of.function == "any_matmul"; }

}  // namespace

std::optional<TabledPass> tabled_pass(const OperatorShape& shape, OperatorPass pass) {
  if (std::holds_alternative<OptimizerStep>(shape)) return TabledPass{false, 1};
  switch (pass) {
    case OperatorPass::forward:
      return TabledPass{false, 1};
    case OperatorPass::backward:
      return TabledPass{true, 1};
    case OperatorPass::backward_input:
    case OperatorPass::backward_weight:
      break;
  }
  if (std::holds_alternative<Matmul>(shape) || std::holds_alternative<GroupedMatmul>(shape)) return TabledPass{true, 0.5};
  return std::nullopt;
}

TabledTimes::TabledTimes(const SampledFolder& samples) : gpu_(samples.gpu), masks_(gpu_) {
  std::map<Key, std::vector<double>> kernels;
  for (const RegressionRows& rows : regression_rows(samples)) {
    std::map<std::vector<double>, std::vector<double>> by_sizes;
    for (const RegressionRow& row : rows.rows) {
      by_sizes[row.sizes].push_back(row.time_us);
      // A pool of the same kernel would count its rows twice.
      if (pooled_under_own_kernel(rows.of)) continue;
      kernels[{rows.of.kernel, rows.of.is_backward, type_of_table(operator_type(rows.of.kernel, rows.of.type)), row.sizes}]
          .push_back(row.time_us);
    }
    for (auto& [sizes, times] : by_sizes) functions_[{rows.of.text(), sizes}] = median(std::move(times));
  }
  for (auto& [key, times] : kernels) kernels_[key] = median(std::move(times));
}

std::optional<Duration> TabledTimes::time_of(const Operator& op, OperatorPass pass) const {
  const std::optional<OperatorKernel> kernel = kernel_of(op.shape);
  if (!kernel) return std::nullopt;
  const std::optional<Duration> own = answer(op, pass, *kernel, 1);
  if (own) return own;
  const std::optional<OtherMask> other = masks_.other(op, pass);
  return other ? answer(op, pass, other->kernel, other->factor) : std::nullopt;
}

std::optional<Duration> TabledTimes::answer(const Operator& op, OperatorPass pass, const OperatorKernel& kernel,
                                            double factor) const {
  const std::optional<TabledPass> tabled = tabled_pass(op.shape, pass);
  if (!tabled) return std::nullopt;
  const auto found = kernels_.find({kernel.kernel, tabled->is_backward, type_of_table(op.type), kernel.sizes});
  if (found == kernels_.end()) return std::nullopt;
  return Duration::from_us(found->second * tabled->share * factor);
}

std::optional<double> TabledTimes::time_us(const RegressedFunction& of, const std::vector<double>& sizes) const {
  const auto found = functions_.find({of.text(), sizes});
  if (found == functions_.end()) return std::nullopt;
  return found->second;
}

std::string TabledTimes::origin() const { return fmt::format("measured: {}", gpu_); }

}  // namespace weft
