// SPDX-License-Identifier: Apache-2.0
// Pass builder: writes the steps of one pass in the order in which a training loop issues them.
//
// Where it sits: training_steps.cpp writes each part of a model with it, once per kind of pass.
//
// Computations that follow each other without communication between them are one step. What would
// move nothing, or moves among one rank, is left out.
// Threads: belongs to one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/plans/training_steps.hpp"

namespace weft {

/// Which gradients a backward pass is for.
enum class GradientKind : std::uint8_t { both, input, weight };

class PassBuilder {
 public:
  using Operators = std::vector<TimedOperator>;
  using After = std::vector<std::uint32_t>;

  explicit PassBuilder(const ParallelPlan& plan) : plan_(plan) {}

  // --- After everything so far ---

  void compute(std::string_view name, Operators operators);
  void collective(std::string_view name, PlanAxis axis, CollectiveType type, Bytes input);
  /// An all-to-all to experts or back from them.
  void exchange(std::string_view name, Bytes input, bool is_return);

  // --- Beside each other; the next step begins after the steps that continue_after() names ---

  const After& last() const { return last_; }
  /// The step, or nothing where it moves nothing: then what it would wait for.
  After collective_after(std::string_view name, PlanAxis axis, CollectiveType type, Bytes input, const After& after);
  After shift_after(std::string_view name, PlanAxis axis, Bytes bytes, const After& after);
  After compute_after(std::string_view name, Operators operators, const After& after);
  void continue_after(After after) { last_ = std::move(after); }

  TrainingPass finish() { return std::move(steps_); }

 private:
  std::uint32_t add(TrainingStep step);

  const ParallelPlan& plan_;
  TrainingPass steps_;
  After last_;
};

/// Both, in order, without repetitions.
PassBuilder::After joined(PassBuilder::After first, const PassBuilder::After& second);

}  // namespace weft
