// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/pass_builder.hpp"

#include <algorithm>
#include <utility>

namespace weft {

void PassBuilder::compute(std::string_view name, Operators operators) {
  if (operators.empty()) return;
  // Does nothing but the computation before it stand at the end?
  const bool goes_on =
      last_.size() == 1 && last_.front() + 1 == steps_.size() && std::holds_alternative<ComputeStep>(steps_.back().what);
  if (goes_on) {
    Operators& all = std::get<ComputeStep>(steps_.back().what).operators;
    all.insert(all.end(), operators.begin(), operators.end());
    return;
  }
  last_ = compute_after(name, std::move(operators), last_);
}

void PassBuilder::collective(std::string_view name, PlanAxis axis, CollectiveType type, Bytes input) {
  last_ = collective_after(name, axis, type, input, last_);
}

void PassBuilder::exchange(std::string_view name, Bytes input, bool is_return) {
  const std::size_t before = steps_.size();
  collective(name, PlanAxis::expert, CollectiveType::all_to_all, input);
  if (steps_.size() == before) return;
  auto& step = std::get<AxisCollective>(steps_.back().what);
  (is_return ? step.returns_by_load : step.goes_by_load) = true;
}

PassBuilder::After PassBuilder::collective_after(std::string_view name, PlanAxis axis, CollectiveType type, Bytes input,
                                                 const After& after) {
  if (size_of(axis, plan_) == 1 || input == Bytes::zero()) return after;
  return {add({name, AxisCollective{.axis = axis, .type = type, .input = input}, after})};
}

PassBuilder::After PassBuilder::shift_after(std::string_view name, PlanAxis axis, Bytes bytes, const After& after) {
  if (size_of(axis, plan_) == 1 || bytes == Bytes::zero()) return after;
  return {add({name, ShiftStep{.axis = axis, .bytes = bytes}, after})};
}

PassBuilder::After PassBuilder::compute_after(std::string_view name, Operators operators, const After& after) {
  if (operators.empty()) return after;
  return {add({name, ComputeStep{std::move(operators)}, after})};
}

std::uint32_t PassBuilder::add(TrainingStep step) {
  steps_.push_back(std::move(step));
  return static_cast<std::uint32_t>(steps_.size() - 1);
}

PassBuilder::After joined(PassBuilder::After first, const PassBuilder::After& second) {
  for (const std::uint32_t step : second) {
    if (std::find(first.begin(), first.end(), step) == first.end()) first.push_back(step);
  }
  return first;
}

}  // namespace weft
