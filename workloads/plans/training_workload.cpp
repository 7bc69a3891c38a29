// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/training_workload.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/params.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/dag/role_script.hpp"
#include "workloads/plans/plan_groups.hpp"
#include "workloads/plans/plan_units.hpp"
#include "workloads/plans/stage_program.hpp"
#include "workloads/plans/training_steps.hpp"
#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

namespace {

/// Ops of all roles together: 80 bytes each while they are built.
constexpr std::uint64_t ops_max = 1ULL << 26;

Duration compute_time(const TrainingPass& pass, const OperatorClock& clock) {
  Duration sum;
  for (const TrainingStep& step : pass) {
    const auto* compute = std::get_if<ComputeStep>(&step.what);
    if (compute != nullptr) sum += time_of(*compute, clock);
  }
  return sum;
}

/// Mean time of the passes of one device, of all its chunks.
PipelineSizes sizes_of(const TransformerModel& model, const ParallelPlan& plan, const PartClocks& clocks) {
  const TrainingSteps steps(model, plan);
  PipelineSizes sizes = pipeline_sizes(plan);
  const auto add = [&](UnitKind kind, const PartPasses& part, std::int64_t times) {
    const OperatorClock& clock = clocks.of(kind);
    sizes.forward += compute_time(part.forward, clock) * times;
    sizes.backward_input += compute_time(part.backward_input, clock) * times;
    sizes.backward_weight += compute_time(part.backward_weight, clock) * times;
  };
  const std::uint64_t dense = model.dense_layers();
  if (dense > 0) add(UnitKind::dense_layer, steps.layer(false), static_cast<std::int64_t>(dense));
  if (dense < model.layers) add(UnitKind::expert_layer, steps.layer(true), static_cast<std::int64_t>(model.layers - dense));
  // A schedule needs times above 0.
  const auto mean = [&](Duration whole) { return std::max(scaled(whole, 1, plan.pipeline), Duration::ns(1)); };
  sizes.forward = mean(sizes.forward);
  sizes.backward_input = mean(sizes.backward_input);
  sizes.backward_weight = mean(sizes.backward_weight);
  return sizes;
}

PipelineOrder one_after_the_other(std::uint32_t microbatches) {
  PipelineOrder order;
  order.devices.resize(1);
  for (std::uint32_t i = 0; i < microbatches; ++i) {
    order.devices.front().push_back({PassKind::forward, i, 0});
    order.devices.front().push_back({PassKind::backward, i, 0});
  }
  return order;
}

/// Do expert-parallel positions have roles of their own?
bool has_uneven_experts(const TransformerModel& model, const ParallelPlan& plan) {
  return model.experts && plan.expert > 1 && !model.experts->load_shares.empty();
}

/// Steps of all passes of one microbatch in all positions.
std::uint64_t steps_per_microbatch(const TransformerModel& model, const ParallelPlan& plan) {
  const TrainingSteps steps(model, plan);
  const auto count = [](const PartPasses& part) {
    return 2 * part.forward.size() + part.backward.size() + part.backward_weight.size();
  };
  const std::uint64_t dense = model.dense_layers();
  std::uint64_t sum = count(steps.input()) + count(steps.output()) + 4 * plan.positions();
  if (dense > 0) sum += dense * count(steps.layer(false));
  if (dense < model.layers) sum += (model.layers - dense) * count(steps.layer(true));
  return sum;
}

/// What position i of an expert group sends to position j, and what comes back.
void add_split_tables(Workload& workload, const TransformerModel& model, const ParallelPlan& plan,
                      const std::vector<double>& loads) {
  const TrainingSteps steps(model, plan);
  Bytes sent;
  for (const TrainingStep& step : steps.layer(true).forward) {
    const auto* collective = std::get_if<AxisCollective>(&step.what);
    if (collective != nullptr && collective->goes_by_load) sent = collective->input;
  }
  std::vector<Bytes> to;
  for (const double load : loads) to.push_back(Bytes::of(std::llround(static_cast<double>(sent.count()) * load)));
  std::vector<Bytes> dispatch;
  std::vector<Bytes> combine;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    dispatch.insert(dispatch.end(), to.begin(), to.end());
    combine.insert(combine.end(), loads.size(), to[i]);
  }
  const auto positions = static_cast<std::uint32_t>(loads.size());
  workload.splits.emplace_back("dispatch", positions, std::move(dispatch));
  workload.splits.emplace_back("combine", positions, std::move(combine));
}

}  // namespace

PipelineOrder pipeline_order(const TransformerModel& model, const ParallelPlan& plan, const PartClocks& clocks,
                             const SourcePlace& place) {
  if (plan.pipeline == 1) return one_after_the_other(static_cast<std::uint32_t>(plan.microbatches()));
  const Module<PipelineScheduleMaker>& module = find_module(pipeline_schedules(), plan.schedule, place);
  PipelineScheduleResult result =
      module.make.make(sizes_of(model, plan, clocks), ParamSet(std::string(module.info.name), module.info.params));
  if (const auto* broken = std::get_if<BrokenScheduleRule>(&result)) fail("bad-plan", broken->rule, place, broken->help);
  return std::get<PipelineSchedule>(std::move(result)).order;
}

std::uint64_t estimated_ops(const TransformerModel& model, const ParallelPlan& plan) {
  const std::uint64_t positions = has_uneven_experts(model, plan) ? plan.expert : 1;
  return steps_per_microbatch(model, plan) * plan.microbatches() * positions;
}

Workload make_training_workload(const std::string& name, const TransformerModel& model, const ParallelPlan& plan,
                                const PartClocks& clocks, const SourcePlace& place, const InsideAxes* inside) {
  const bool is_uneven = has_uneven_experts(model, plan);
  const std::vector<double> loads = is_uneven ? expert_rank_loads(*model.experts, plan.expert) : std::vector<double>{1.0};
  const std::uint64_t ops = estimated_ops(model, plan);
  if (ops > ops_max) {
    fail("too-large", fmt::format("an iteration would have about {} ops", ops), place,
         fmt::format("at most {}: a smaller global batch has the same pipeline with fewer microbatches", ops_max));
  }
  const PipelineOrder order = pipeline_order(model, plan, clocks, place);

  Workload workload = start_workload(name, static_cast<std::uint32_t>(plan.ranks()));
  const PlanGroups groups(workload, model, plan);
  if (is_uneven) add_split_tables(workload, model, plan, loads);
  for (std::size_t position = 0; position < loads.size(); ++position) {
    // A mean load is 1.
    const double load = is_uneven ? loads[position] * static_cast<double>(loads.size()) : 1.0;
    const StageParts parts(model, plan, groups, clocks, load, workload.splits, inside);
    for (std::uint32_t stage = 0; stage < plan.pipeline; ++stage) {
      workload.roles.push_back(stage_program(model, plan, groups, parts, order, stage));
      workload.role_names.push_back(is_uneven ? fmt::format("stage{}.experts{}", stage, position) : fmt::format("stage{}", stage));
    }
  }
  const std::uint64_t stage_ranks = plan.stage_ranks();
  for (std::uint64_t rank = 0; rank < plan.ranks(); ++rank) {
    const std::uint64_t stage = rank / stage_ranks;
    const std::uint64_t position = is_uneven ? rank % stage_ranks / plan.expert_tensor % plan.expert : 0;
    workload.role_of.push_back(static_cast<std::uint16_t>(position * plan.pipeline + stage));
  }
  return workload;
}

}  // namespace weft
