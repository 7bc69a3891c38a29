// SPDX-License-Identifier: Apache-2.0
// Stage program: the role of one pipeline stage - its passes in the schedule's order, its
// gradients, its optimizer and its parameters.
//
// Where it sits: training_workload.hpp states what it models and calls it for each role.
// Threads: pure functions; the clock is called from the caller's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/dag/dag.hpp"
#include "workloads/plans/parallel_plan.hpp"
#include "workloads/plans/plan_groups.hpp"
#include "workloads/plans/plan_units.hpp"
#include "workloads/plans/training_steps.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

Duration time_of(const ComputeStep& step, const OperatorClock& clock);

/// A step as an op of a role.
struct TimedStep {
  std::string name;       ///< "gather", of the next one in its pass "gather2"
  Op op = {};             ///< of a shift the send
  bool is_shift = false;  ///< has a receive of the same size beside it
  std::vector<std::uint32_t> after = {};
  bool is_last = false;  ///< no other step of its pass waits for it
};

struct TimedPart {
  std::vector<TimedStep> forward;
  std::vector<TimedStep> backward;
  std::vector<TimedStep> backward_input;
  std::vector<TimedStep> backward_weight;
};

/// All parts of a model, ready to be written into roles.
class StageParts {
 public:
  /// `load`: of this role's experts over the mean. `tables`: of all-to-alls to experts and back;
  /// empty: they are even. `inside`: what is combined; null: nothing.
  StageParts(const TransformerModel& model, const ParallelPlan& plan, const PlanGroups& groups, const PartClocks& clocks,
             double load, std::span<const SplitTable> tables, const InsideAxes* inside);

  const TimedPart& of(UnitKind kind) const { return parts_[static_cast<std::size_t>(kind)]; }
  Duration optimizer_time(std::uint64_t parameters) const;
  Bytes pipeline_sent() const { return steps_.pipeline_sent(); }
  /// Of what was received, before a pass.
  const std::vector<TimedStep>& pipeline_gather() const { return pipeline_gather_; }
  bool combines() const { return combines_; }

 private:
  std::array<TimedPart, unit_kind_count> parts_;
  TrainingSteps steps_;
  OperatorClock clock_;
  std::vector<TimedStep> pipeline_gather_;
  bool combines_;
};

RoleDag stage_program(const TransformerModel& model, const ParallelPlan& plan, const PlanGroups& groups, const StageParts& parts,
                      const PipelineOrder& order, std::uint32_t stage);

}  // namespace weft
