// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/regressor_times.hpp"

#include <fmt/format.h>

#include <array>
#include <tuple>
#include <utility>

#include "host/op_times/tabled_times.hpp"

namespace weft {

RegressorTimes::RegressorTimes(RegressorProfile profile, OutsideRange outside)
    : profile_(std::move(profile)), masks_(profile_.gpu), outside_(outside) {}

const Regressor* RegressorTimes::regressor_for(const Operator& op, const OperatorKernel& kernel, bool is_backward) const {
  const Regressor* best = nullptr;
  std::tuple<double, bool, double> best_order;
  for (const Regressor& regressor : profile_.regressors) {
    const RegressedFunction& of = regressor.of;
    if (of.kernel != kernel.kernel || of.is_backward != is_backward || !are_timed_alike(operator_type(of.kernel, of.type), op.type))
      continue;
    const std::tuple order(regressor.distance(kernel.sizes), of.function != op.name, regressor.errors.test);
    if (best != nullptr && order >= best_order) continue;
    best = &regressor;
    best_order = order;
  }
  return best;
}

std::optional<Duration> RegressorTimes::time_of(const Operator& op, OperatorPass pass) const {
  const std::optional<OperatorKernel> kernel = kernel_of(op.shape);
  if (!kernel) return std::nullopt;
  const std::optional<Duration> own = answer(op, pass, *kernel, 1);
  if (own) return own;
  const std::optional<OtherMask> other = masks_.other(op, pass);
  return other ? answer(op, pass, other->kernel, other->factor) : std::nullopt;
}

std::optional<Duration> RegressorTimes::answer(const Operator& op, OperatorPass pass, const OperatorKernel& kernel,
                                               double factor) const {
  const std::optional<TabledPass> tabled = tabled_pass(op.shape, pass);
  if (!tabled) return std::nullopt;
  const Regressor* regressor = regressor_for(op, kernel, tabled->is_backward);
  if (regressor == nullptr) return std::nullopt;
  const RegressorPrediction prediction = regressor->predict(kernel.sizes);
  if (!prediction.outside.empty()) {
    const bool is_declined = outside_ == OutsideRange::decline;
    note(fmt::format("{}, {}, is outside what {} was sampled for ({}){}", to_text(op.shape), to_text(pass), regressor->of.text(),
                     prediction.outside, is_declined ? "" : ": extrapolated"));
    if (is_declined) return std::nullopt;
  }
  if (regressor->errors.test > doubtful_error) {
    note(fmt::format("{} is answered by {}, whose error on its test rows is {:.0f} %", to_text(op.shape), regressor->of.text(),
                     100 * regressor->errors.test));
  }
  if (factor != 1) {
    note(fmt::format("{}, {}, is {:.3f} of {}, which has another mask: the analytical model's ratio", to_text(op.shape),
                     to_text(pass), factor, regressor->of.text()));
  }
  return Duration::from_us(prediction.time_us * tabled->share * factor);
}

std::string RegressorTimes::origin() const { return fmt::format("regressors: {}", profile_.gpu); }

std::optional<RegressorTimes::Answer> RegressorTimes::function_time(std::string_view function, bool is_backward, ElementType type,
                                                                    const ColumnValues& row) const {
  for (const Regressor& regressor : profile_.regressors) {
    const RegressedFunction& of = regressor.of;
    const bool is_asked = of.function == function && of.is_backward == is_backward && are_timed_alike(of.type, type);
    if (!is_asked || of.kernel.kind == KernelKind::message) continue;
    std::vector<double> sizes;
    if (kernel_of_function(function, row.names) == of.kernel && of.kernel.kind != KernelKind::columns) {
      sizes = kernel_sizes(function, of.kernel, of.type, row);
    } else {
      for (const std::string& name : of.sizes) {
        const std::optional<double> value = row.of(name);
        if (value) sizes.push_back(*value);
      }
    }
    if (sizes.size() == of.sizes.size()) return Answer{&regressor, regressor.predict(sizes)};
  }
  return std::nullopt;
}

std::optional<RegressorTimes::Answer> RegressorTimes::collective_time(std::string_view function, std::uint32_t nodes,
                                                                      std::uint32_t gpus_per_node, double bytes) const {
  const Regressor* best = nullptr;
  const std::array sizes = {bytes};
  for (const Regressor& regressor : profile_.regressors) {
    const RegressedFunction& of = regressor.of;
    const bool is_function = of.function == function || of.function == fmt::format("{}_large", function);
    if (!is_function || of.kernel.kind != KernelKind::message || of.nodes != nodes || of.gpus_per_node != gpus_per_node) continue;
    if (best == nullptr || regressor.distance(sizes) < best->distance(sizes)) best = &regressor;
  }
  if (best == nullptr) return std::nullopt;
  return Answer{best, best->predict(sizes)};
}

std::vector<std::string> RegressorTimes::notes() const {
  const std::lock_guard lock(noting_);
  return {notes_.begin(), notes_.end()};
}

void RegressorTimes::note(std::string text) const {
  const std::lock_guard lock(noting_);
  notes_.insert(std::move(text));
  // The first by text, so that threads do not matter.
  if (notes_.size() > kept_notes_max) notes_.erase(std::prev(notes_.end()));
}

}  // namespace weft
