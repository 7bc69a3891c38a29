// SPDX-License-Identifier: Apache-2.0
#include "host/projections/iteration_estimate.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "workloads/plans/plan_units.hpp"
#include "workloads/schedules/pipeline_execution.hpp"

namespace weft {

namespace {

/// All passes of one part.
struct PartCost {
  PassCost forward;
  PassCost backward;
  PassCost backward_input;
  PassCost backward_weight;
};

/// One chunk of one stage.
struct PositionCost {
  std::vector<PlanUnit> units;
  std::vector<GradientBucket> buckets;  ///< in the order in which backward fills them
  PassCost forward;
  PassCost backward;
  PassCost backward_input;
  PassCost backward_weight;
};

/// The units of a bucket whose ranks are alike.
PlanAxis replicas_of(const GradientBucket& bucket) { return bucket.is_expert ? PlanAxis::expert_replicas : PlanAxis::replicas; }

class IterationEstimator {
 public:
  IterationEstimator(const TransformerModel& model, const ParallelPlan& plan, const OperatorClock& operators,
                     const AxisClock& network)
      : model_(model),
        plan_(plan),
        operators_(operators),
        network_(network),
        steps_(model, plan),
        sizes_(pipeline_sizes(plan)),
        load_(largest_load()) {
    set_part(UnitKind::input, steps_.input());
    if (model.dense_layers() > 0) set_part(UnitKind::dense_layer, steps_.layer(false));
    if (model.experts) set_part(UnitKind::expert_layer, steps_.layer(true, load_));
    set_part(UnitKind::output, steps_.output());
    for (std::size_t number = 0; number < plan.positions(); ++number) positions_.push_back(position(number));
  }

  IterationEstimate estimate(const PipelineOrder& order) {
    run(order);
    IterationEstimate result;
    const Duration waits_for_parameters = first_passes_wait(order);
    Duration reduced;
    for (std::uint32_t stage = 0; stage < plan_.pipeline; ++stage) reduced = std::max(reduced, gradients_end(order, stage));
    Duration updated;
    Duration gathered;
    for (std::uint32_t stage = 0; stage < plan_.pipeline; ++stage) {
      const Duration update = optimizer_time(stage, order);
      updated = std::max(updated, update);
      if (gathers_once() && !plan_.overlap_parameters) gathered = std::max(gathered, gather_time(stage, order));
    }
    if (plan_.ranks() > 1) updated += norm_time();
    result.stage = busiest_stage(order);
    const PassCost passes = passes_of(result.stage, order);
    const Duration span = timeline_.step_time;
    result.compute = passes.compute;
    result.communication = passes.time - passes.compute;
    result.pipeline = span - passes.time;
    result.gradients = reduced - span;
    result.parameters = waits_for_parameters + gathered;
    result.optimizer = updated;
    result.iteration = reduced + updated + waits_for_parameters + gathered;
    result.axes = passes.axes;
    add_replicas(result, order);
    return result;
  }

 private:
  // --- Passes ---

  double largest_load() const {
    if (!model_.experts || plan_.expert == 1 || model_.experts->load_shares.empty()) return 1.0;
    const std::vector<double> loads = expert_rank_loads(*model_.experts, plan_.expert);
    return *std::max_element(loads.begin(), loads.end()) * static_cast<double>(loads.size());
  }

  PartCost& part(UnitKind kind) { return parts_[static_cast<std::size_t>(kind)]; }
  const PartCost& part(UnitKind kind) const { return parts_[static_cast<std::size_t>(kind)]; }

  void set_part(UnitKind kind, const PartPasses& passes) {
    const auto cost = [&](const TrainingPass& pass) { return cost_of(pass, operators_, network_, load_); };
    part(kind) = {cost(passes.forward), cost(passes.backward), cost(passes.backward_input), cost(passes.backward_weight)};
  }

  /// What a layer's backward pass does before it: its forward pass again, if not kept.
  bool is_recomputed(const PositionCost& position, std::size_t unit) const {
    const UnitKind kind = position.units[unit].kind;
    if (kind != UnitKind::dense_layer && kind != UnitKind::expert_layer) return false;
    if (plan_.recompute.kind == RecomputeKind::uniform) return true;
    const std::size_t layer = unit - (position.units.front().kind == UnitKind::input ? 1 : 0);
    return plan_.recompute.kind == RecomputeKind::block && layer < plan_.recompute.layers;
  }

  bool is_elsewhere(std::size_t position, std::size_t from) const {
    const auto device = [&](std::size_t number) {
      return place_of(sizes_, plan_.placement, static_cast<std::uint32_t>(number)).device;
    };
    return device(position) != device(from);
  }

  PositionCost position(std::size_t number) const {
    PositionCost cost;
    cost.units = units_of(model_, plan_, number);
    cost.buckets = buckets_of(cost.units, plan_);
    for (std::size_t unit = 0; unit < cost.units.size(); ++unit) {
      const PartCost& one = part(cost.units[unit].kind);
      cost.forward += one.forward;
      if (is_recomputed(cost, unit)) {
        cost.backward += one.forward;
        cost.backward_input += one.forward;
      }
      cost.backward += one.backward;
      cost.backward_input += one.backward_input;
      cost.backward_weight += one.backward_weight;
    }
    const PassCost gather = cost_of(steps_.pipeline_gather(), operators_, network_);
    if (number > 0 && is_elsewhere(number - 1, number)) cost.forward += gather;
    if (number + 1 < plan_.positions() && is_elsewhere(number + 1, number)) {
      cost.backward += gather;
      cost.backward_input += gather;
    }
    if (plan_.shards_parameters()) {
      wait_for_parameters(cost, cost.forward, false);
      wait_for_parameters(cost, cost.backward, true);
      wait_for_parameters(cost, cost.backward_input, true);
    }
    return cost;
  }

  Duration backward_of(const PositionCost& position, std::size_t unit) const {
    const PartCost& one = part(position.units[unit].kind);
    return is_recomputed(position, unit) ? one.forward.time + one.backward.time : one.backward.time;
  }

  /// ZeRO 3: a unit begins when its parameters are there, for which was asked when the unit before
  /// it began; gradients are scattered behind backward on the same ranks.
  void wait_for_parameters(const PositionCost& position, PassCost& pass, bool is_backward) const {
    const std::size_t units = position.units.size();
    std::array<Duration, plan_axis_count> free = {};
    const auto unit_at = [&](std::size_t i) { return is_backward ? units - 1 - i : i; };
    const auto gathered = [&](std::size_t i, Duration asked) {
      Duration there;
      for (const GradientBucket& bucket : position.buckets) {
        if (!bucket.has(unit_at(i))) continue;
        Duration& axis_free = free[static_cast<std::size_t>(replicas_of(bucket))];
        axis_free = std::max(axis_free, asked) + bucket_gather(bucket);
        there = std::max(there, axis_free);
      }
      return there;
    };
    Duration end;
    Duration work;
    Duration there = gathered(0, Duration::zero());
    for (std::size_t i = 0; i < units; ++i) {
      const Duration begin = std::max(end, there);
      if (i + 1 < units) there = gathered(i + 1, end);
      const std::size_t unit = unit_at(i);
      const Duration takes = is_backward ? backward_of(position, unit) : part(position.units[unit].kind).forward.time;
      work += takes;
      end = begin + takes;
      if (!is_backward) continue;
      for (const GradientBucket& bucket : position.buckets) {
        if (bucket.first_unit != unit) continue;
        Duration& axis_free = free[static_cast<std::size_t>(replicas_of(bucket))];
        axis_free = std::max(axis_free, end) + bucket_reduction(bucket);
      }
    }
    pass.time += end - work;
    pass.axes[static_cast<std::size_t>(PlanAxis::replicas)].exposed += end - work;
  }

  void run(const PipelineOrder& order) {
    const Duration transfer = plan_.pipeline > 1 ? network_.message(PlanAxis::pipeline, steps_.pipeline_sent()) : Duration::zero();
    std::vector<PositionTimes> times;
    for (const PositionCost& position : positions_) {
      times.push_back({position.forward.time, position.backward_input.time, position.backward_weight.time, position.backward.time,
                       transfer, transfer});
    }
    timeline_ = execute(sizes_, order, times, plan_.overlap_pipeline ? DuringTransfer::next_pass : DuringTransfer::wait);
  }

  std::size_t position_at(const PipelineOrder& order, std::uint32_t stage, std::uint32_t chunk) const {
    return position_of(sizes_, order.placement, stage, chunk);
  }

  PassCost passes_of(std::uint32_t stage, const PipelineOrder& order) const {
    PassCost sum;
    for (const TimedPass& timed : timeline_.devices[stage].passes) {
      const PositionCost& position = positions_[position_at(order, stage, timed.pass.chunk)];
      switch (timed.pass.kind) {
        case PassKind::forward:
          sum += position.forward;
          break;
        case PassKind::backward:
          sum += position.backward;
          break;
        case PassKind::backward_input:
          sum += position.backward_input;
          break;
        case PassKind::backward_weight:
          sum += position.backward_weight;
          break;
      }
    }
    return sum;
  }

  std::uint32_t busiest_stage(const PipelineOrder& order) const {
    std::uint32_t busiest = 0;
    Duration most;
    for (std::uint32_t stage = 0; stage < plan_.pipeline; ++stage) {
      const Duration compute = passes_of(stage, order).compute;
      if (compute > most) busiest = stage;
      most = std::max(most, compute);
    }
    return busiest;
  }

  // --- Parameters and gradients ---

  bool gathers_once() const { return plan_.shards_optimizer() && !plan_.shards_parameters(); }

  Duration bucket_gather(const GradientBucket& bucket) const {
    const PlanAxis axis = replicas_of(bucket);
    const std::uint64_t ranks = size_of(axis, plan_);
    if (ranks == 1) return Duration::zero();
    return network_.collective(axis, CollectiveType::all_gather,
                               checked_tensor_size(bucket.share(ranks), plan_.precision.parameters));
  }

  Duration bucket_reduction(const GradientBucket& bucket) const {
    const PlanAxis axis = replicas_of(bucket);
    if (size_of(axis, plan_) == 1) return Duration::zero();
    return network_.collective(axis, plan_.shards_optimizer() ? CollectiveType::reduce_scatter : CollectiveType::all_reduce,
                               checked_tensor_size(bucket.parameters, plan_.precision.reduced_gradients));
  }

  /// How much later all passes run since first ones wait for their parameters.
  Duration first_passes_wait(const PipelineOrder& order) const {
    Duration most;
    if (!gathers_once() || !plan_.overlap_parameters) return most;
    for (std::uint32_t stage = 0; stage < plan_.pipeline; ++stage) {
      std::array<Duration, plan_axis_count> free = {};
      for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
        const PositionCost& position = positions_[position_at(order, stage, chunk)];
        Duration begin = first_begin(stage, chunk);
        std::vector<Duration> there(position.units.size());
        for (std::size_t i = position.buckets.size(); i-- > 0;) {
          const GradientBucket& bucket = position.buckets[i];
          Duration& axis_free = free[static_cast<std::size_t>(replicas_of(bucket))];
          axis_free += bucket_gather(bucket);
          there[bucket.first_unit] = std::max(there[bucket.first_unit], axis_free);
        }
        for (std::size_t unit = 0; unit < position.units.size(); ++unit) {
          most = std::max(most, there[unit] - begin);
          begin += part(position.units[unit].kind).forward.time;
        }
      }
    }
    return most;
  }

  Duration first_begin(std::uint32_t stage, std::uint32_t chunk) const {
    for (const TimedPass& timed : timeline_.devices[stage].passes) {
      if (timed.pass.chunk == chunk) return timed.start.since_start();
    }
    return Duration::zero();
  }

  /// When all gradients of a stage are reduced, from the start of the passes.
  Duration gradients_end(const PipelineOrder& order, std::uint32_t stage) const {
    const std::vector<TimedPass>& passes = timeline_.devices[stage].passes;
    Duration end = passes.back().end.since_start();
    std::array<Duration, plan_axis_count> free = {};
    std::vector<std::uint32_t> done(plan_.chunks);
    for (const TimedPass& timed : passes) {
      const bool has_weights = timed.pass.kind == PassKind::backward || timed.pass.kind == PassKind::backward_weight;
      if (!has_weights) continue;
      const bool is_last = ++done[timed.pass.chunk] == sizes_.microbatches;
      if (!plan_.shards_gradients() && !(is_last && plan_.overlap_gradients)) continue;
      const PositionCost& position = positions_[position_at(order, stage, timed.pass.chunk)];
      Duration at = timed.start.since_start();
      for (std::size_t unit = position.units.size(); unit-- > 0;) {
        at += timed.pass.kind == PassKind::backward ? backward_of(position, unit)
                                                    : part(position.units[unit].kind).backward_weight.time;
        for (const GradientBucket& bucket : position.buckets) {
          if (bucket.first_unit != unit) continue;
          Duration& axis_free = free[static_cast<std::size_t>(replicas_of(bucket))];
          axis_free = std::max(axis_free, at) + bucket_reduction(bucket);
        }
      }
    }
    if (!plan_.overlap_gradients && !plan_.shards_gradients()) {
      free.fill(end);
      for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
        for (const GradientBucket& bucket : positions_[position_at(order, stage, chunk)].buckets)
          free[static_cast<std::size_t>(replicas_of(bucket))] += bucket_reduction(bucket);
      }
    }
    for (const Duration reduced : free) end = std::max(end, reduced);
    const bool has_tied_copy = model_.tied_embeddings && !plan_.ends_share_a_stage() && (stage == 0 || stage + 1 == plan_.pipeline);
    if (has_tied_copy) {
      const std::uint64_t tied = padded_vocabulary(model_, plan_) / plan_.tensor * model_.hidden;
      end += network_.collective(PlanAxis::embedding, CollectiveType::all_reduce,
                                 checked_tensor_size(tied, plan_.precision.reduced_gradients));
    }
    return end;
  }

  Duration norm_time() const {
    // Of all ranks: latency alone, of the slowest axis.
    constexpr Bytes one_number = Bytes::of(4);
    Duration most;
    for (const PlanAxis axis : {PlanAxis::tensor, PlanAxis::context, PlanAxis::replicas, PlanAxis::pipeline}) {
      if (size_of(axis, plan_) > 1) most = std::max(most, network_.collective(axis, CollectiveType::all_reduce, one_number));
    }
    return most;
  }

  Duration optimizer_time(std::uint32_t stage, const PipelineOrder& order) const {
    std::uint64_t updated = 0;
    for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
      for (const GradientBucket& bucket : positions_[position_at(order, stage, chunk)].buckets)
        updated += plan_.shards_optimizer() ? bucket.share(size_of(replicas_of(bucket), plan_)) : bucket.parameters;
    }
    return updated == 0 ? Duration::zero() : operators_(steps_.optimizer(updated), OperatorPass::forward);
  }

  Duration gather_time(std::uint32_t stage, const PipelineOrder& order) const {
    std::array<Duration, plan_axis_count> sums = {};
    for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
      for (const GradientBucket& bucket : positions_[position_at(order, stage, chunk)].buckets)
        sums[static_cast<std::size_t>(replicas_of(bucket))] += bucket_gather(bucket);
    }
    return *std::max_element(sums.begin(), sums.end());
  }

  /// What the axes of replicas do for gradients and parameters.
  void add_replicas(IterationEstimate& result, const PipelineOrder& order) const {
    const std::int64_t reductions = plan_.shards_gradients() ? sizes_.microbatches : 1;
    const std::int64_t gathers = plan_.shards_parameters() ? 2 * sizes_.microbatches : gathers_once() ? 1 : 0;
    for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
      for (const GradientBucket& bucket : positions_[position_at(order, result.stage, chunk)].buckets) {
        AxisTime& axis = result.axes[static_cast<std::size_t>(replicas_of(bucket))];
        axis.busy += bucket_reduction(bucket) * reductions + bucket_gather(bucket) * gathers;
      }
    }
    const PlanAxis exposed = plan_.replicas() > 1 ? PlanAxis::replicas : PlanAxis::expert_replicas;
    result.axes[static_cast<std::size_t>(exposed)].exposed += result.gradients + result.parameters;
  }

  const TransformerModel& model_;
  const ParallelPlan& plan_;
  const OperatorClock& operators_;
  const AxisClock& network_;
  TrainingSteps steps_;
  PipelineSizes sizes_;
  double load_;
  std::array<PartCost, static_cast<std::size_t>(UnitKind::output) + 1> parts_;
  std::vector<PositionCost> positions_;
  PipelineTimeline timeline_;
};

}  // namespace

IterationEstimate estimate_iteration(const TransformerModel& model, const ParallelPlan& plan, const OperatorClock& operators,
                                     const AxisClock& network, const SourcePlace& place) {
  return estimate_iteration(model, plan, pipeline_order(model, plan, operators, place), operators, network);
}

IterationEstimate estimate_iteration(const TransformerModel& model, const ParallelPlan& plan, const PipelineOrder& order,
                                     const OperatorClock& operators, const AxisClock& network) {
  return IterationEstimator(model, plan, operators, network).estimate(order);
}

}  // namespace weft
