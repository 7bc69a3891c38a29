// SPDX-License-Identifier: Apache-2.0
#include "host/projections/layer_times.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "host/projections/collective_formulas.hpp"
#include "host/projections/gpu_subgraphs.hpp"
#include "workloads/plans/pass_cost.hpp"

namespace weft {

namespace {

/// Communication of one pass of a part.
struct PartCommunication {
  std::int64_t sums = 0;       ///< all-reduces among tensor-parallel ranks
  std::int64_t exchanges = 0;  ///< all-to-alls among expert-parallel ones
};

Duration communication_time(const PartCommunication& part, const TransformerModel& model, const ParallelPlan& plan,
                            const HardwareConfig& hardware) {
  Duration time;
  if (part.sums > 0) {
    const Bytes size = checked_tensor_size(plan.tokens() * model.hidden, plan.precision.activations());
    time += best_all_reduce(hardware, spread_of(PlanAxis::tensor, plan, hardware.gpus_per_node), size).time * part.sums;
  }
  if (part.exchanges > 0) {
    const GroupSpread group = spread_of(PlanAxis::expert, plan, hardware.gpus_per_node);
    time += all_to_all_time(hardware, group, expert_message(model, plan)) * part.exchanges;
  }
  return time;
}

/// Times are brought from the bench to the plan.
class Restorer {
 public:
  Restorer(const TransformerModel& model, const ParallelPlan& bench, const ParallelPlan& plan, const HardwareConfig& hardware)
      : model_(model), bench_(bench), plan_(plan), hardware_(hardware) {}

  PartTimes part(const PartTimes& times, const PartCommunication& forward, const PartCommunication& backward) const {
    return {pass(times.forward, forward), pass(times.backward, backward)};
  }

 private:
  Duration pass(Duration time, const PartCommunication& part) const {
    const Duration measured = communication_time(part, model_, bench_, hardware_);
    const Duration there = communication_time(part, model_, plan_, hardware_);
    if (bench_.tensor == plan_.tensor) return std::max(time + there - measured, Duration::zero());
    return scaled(std::max(time - measured, Duration::zero()), bench_.tensor, plan_.tensor) + there;
  }

  const TransformerModel& model_;
  const ParallelPlan& bench_;
  const ParallelPlan& plan_;
  const HardwareConfig& hardware_;
};

}  // namespace

LayerTimes timed_layers(const TransformerModel& model, const ParallelPlan& plan, const PartClocks& operators,
                        const AxisClock& network) {
  const TrainingSteps steps(model, plan);
  const auto part = [&](UnitKind kind, const PartPasses& passes) -> PartTimes {
    const OperatorClock& clock = operators.of(kind);
    return {cost_of(passes.forward, clock, network).time, cost_of(passes.backward, clock, network).time};
  };
  LayerTimes times;
  times.input = part(UnitKind::input, steps.input());
  if (model.dense_layers() > 0) times.dense_layer = part(UnitKind::dense_layer, steps.layer(false));
  if (model.experts) times.expert_layer = part(UnitKind::expert_layer, steps.layer(true));
  times.output = part(UnitKind::output, steps.output());
  return times;
}

Bytes expert_message(const TransformerModel& model, const ParallelPlan& plan) {
  WEFT_CHECK(model.experts.has_value(), "there are experts to send to");
  return checked_tensor_size(plan.tokens_between_blocks() * model.experts->top_k * model.hidden, plan.precision.activations());
}

LayerTimes restored(const LayerTimes& times, const TransformerModel& model, const ParallelPlan& bench, const ParallelPlan& plan,
                    const HardwareConfig& hardware) {
  const Restorer restorer(model, bench, plan, hardware);
  constexpr PartCommunication nothing;
  constexpr PartCommunication one_sum{.sums = 1};
  constexpr PartCommunication blocks{.sums = 2};
  const bool shares_experts = model.experts && model.experts->shared_width > 0;
  const PartCommunication expert_blocks{.sums = shares_experts ? 2 : 1, .exchanges = model.experts ? 2 : 0};
  LayerTimes there;
  there.input = restorer.part(times.input, one_sum, nothing);
  there.dense_layer = restorer.part(times.dense_layer, blocks, blocks);
  there.expert_layer = restorer.part(times.expert_layer, expert_blocks, expert_blocks);
  there.output = restorer.part(times.output, nothing, one_sum);
  return there;
}

std::vector<PositionTimes> position_times(const LayerTimes& times, const TransformerModel& model, const ParallelPlan& plan,
                                          Duration transfer, Arithmetic arithmetic) {
  std::vector<PositionTimes> positions;
  for (std::size_t i = 0; i < plan.layout.size(); ++i) {
    PartTimes sum;
    Duration again;
    const auto add = [&](const PartTimes& part, std::uint64_t count, std::uint64_t recomputed) {
      sum.forward += part.forward * static_cast<std::int64_t>(count);
      sum.backward += part.backward * static_cast<std::int64_t>(count);
      again += part.forward * static_cast<std::int64_t>(recomputed);
    };
    const LayerRange& range = plan.layout[i];
    const std::uint64_t experts = expert_layers_in(model, range);
    const std::uint64_t dense = range.count - experts;
    // Dense layers come first, and the first layers of a chunk are computed again.
    const std::uint64_t recomputed = arithmetic == Arithmetic::as_published ? 0 : recomputed_layers(plan, range);
    if (i == 0) add(times.input, 1, 0);
    add(times.dense_layer, dense, std::min(recomputed, dense));
    add(times.expert_layer, experts, recomputed - std::min(recomputed, dense));
    if (i + 1 == plan.layout.size()) add(times.output, 1, 0);
    const Duration half = scaled(sum.backward, 1, 2);
    positions.push_back({.forward = sum.forward,
                         .backward_input = half + again,
                         .backward_weight = sum.backward - half,
                         .backward = sum.backward + again,
                         .forward_transfer = transfer,
                         .backward_transfer = transfer});
  }
  return positions;
}

}  // namespace weft
