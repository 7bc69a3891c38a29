// SPDX-License-Identifier: Apache-2.0
#include "host/projections/iteration_estimate.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "workloads/plans/plan_units.hpp"
#include "workloads/schedules/pipeline_execution.hpp"

namespace weft {

namespace {

const TrainingPass& steps_of(const PartPasses& passes, PassKind kind) {
  switch (kind) {
    case PassKind::forward:
      return passes.forward;
    case PassKind::backward_input:
      return passes.backward_input;
    case PassKind::backward_weight:
      return passes.backward_weight;
    case PassKind::backward:
      break;
  }
  return passes.backward;
}

/// One of every kind of pass, of a part or of all parts of a position together.
class PassCosts {
 public:
  PassCost& of(PassKind kind) { return costs_[static_cast<std::size_t>(kind)]; }
  const PassCost& of(PassKind kind) const { return costs_[static_cast<std::size_t>(kind)]; }

 private:
  std::array<PassCost, pass_kinds.size()> costs_;
};

/// One chunk of one stage.
struct PositionCost {
  std::vector<PlanUnit> units;
  std::vector<GradientBucket> buckets;  ///< in the order in which backward fills them
  PassCosts passes;
};

/// The units of a bucket whose ranks are alike.
PlanAxis replicas_of(const GradientBucket& bucket) { return bucket.is_expert ? PlanAxis::expert_replicas : PlanAxis::replicas; }

class IterationEstimator {
 public:
  IterationEstimator(const TransformerModel& model, const ParallelPlan& plan, const PartClocks& operators, const AxisClock& network)
      : model_(model),
        plan_(plan),
        operators_(operators),
        network_(network),
        steps_(model, plan),
        sizes_(pipeline_sizes(plan)),
        load_(largest_load()),
        pipeline_gather_(cost_of(steps_.pipeline_gather(), operators.all(), network)) {
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
    const Duration norm = norm_time();
    updated += norm;
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
    // All stages wait for the tied weights' gradients, which come last.
    Duration tied;
    for (std::uint32_t stage = 0; stage < plan_.pipeline; ++stage) tied = std::max(tied, tied_time(stage));
    tied = std::min(tied, result.gradients);
    result.axes[static_cast<std::size_t>(PlanAxis::embedding)] = {tied_time(result.stage), tied};
    add_replicas(result, order, result.gradients - tied + result.parameters);
    result.axes[static_cast<std::size_t>(PlanAxis::world)] = {norm, norm};
    return result;
  }

  ExplainedIteration explain(const PipelineOrder& order) {
    ExplainedIteration explained{.estimate = estimate(order), .communication = {}};
    std::vector<CommunicationCost>& rows = explained.communication;
    const std::uint32_t stage = explained.estimate.stage;
    add_passes(rows, order, stage);
    add_messages(rows, order, stage);
    add_gradients(rows, order, stage);
    add_parameters(rows, order, explained.estimate);
    if (plan_.ranks() > 1) {
      const Duration norm = norm_time();
      add_row(rows, {PlanAxis::world, to_text(CollectiveType::all_reduce), "norm", 1, norm_size, norm, norm});
    }
    return explained;
  }

 private:
  // --- Passes ---

  double largest_load() const {
    if (!model_.experts || plan_.expert == 1 || model_.experts->load_shares.empty()) return 1.0;
    const std::vector<double> loads = expert_rank_loads(*model_.experts, plan_.expert);
    return *std::max_element(loads.begin(), loads.end()) * static_cast<double>(loads.size());
  }

  PassCosts& part(UnitKind kind) { return parts_[static_cast<std::size_t>(kind)]; }
  const PassCosts& part(UnitKind kind) const { return parts_[static_cast<std::size_t>(kind)]; }

  void set_part(UnitKind kind, const PartPasses& passes) {
    for (const PassKind pass : pass_kinds)
      part(kind).of(pass) = cost_of(steps_of(passes, pass), operators_.of(kind), network_, load_);
  }

  /// What a layer's backward pass does before it: its forward pass again, if not kept.
  bool is_recomputed(const PositionCost& position, std::size_t unit) const {
    const UnitKind kind = position.units[unit].kind;
    if (kind != UnitKind::dense_layer && kind != UnitKind::expert_layer) return false;
    return plan_.recompute.repeats(unit - (position.units.front().kind == UnitKind::input ? 1 : 0));
  }

  /// Whether there is a position `from`, on another stage.
  bool receives_from(std::size_t number, std::size_t from) const {
    if (from >= plan_.positions()) return false;
    const auto device = [&](std::size_t one) { return place_of(sizes_, plan_.placement, static_cast<std::uint32_t>(one)).device; };
    return device(number) != device(from);
  }

  PositionCost position(std::size_t number) const {
    PositionCost cost;
    cost.units = units_of(model_, plan_, number);
    cost.buckets = buckets_of(cost.units, plan_);
    for (std::size_t unit = 0; unit < cost.units.size(); ++unit) {
      const PassCosts& one = part(cost.units[unit].kind);
      for (const PassKind pass : pass_kinds) {
        if (recomputes_in(pass) && is_recomputed(cost, unit)) cost.passes.of(pass) += one.of(PassKind::forward);
        cost.passes.of(pass) += one.of(pass);
      }
    }
    if (receives_from(number, number - 1)) cost.passes.of(PassKind::forward) += pipeline_gather_;
    if (receives_from(number, number + 1)) {
      cost.passes.of(PassKind::backward) += pipeline_gather_;
      cost.passes.of(PassKind::backward_input) += pipeline_gather_;
    }
    if (plan_.shards_parameters()) {
      for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::backward_input}) wait_for_parameters(cost, pass);
    }
    return cost;
  }

  static bool recomputes_in(PassKind pass) { return pass == PassKind::backward || pass == PassKind::backward_input; }

  /// Of one unit, with what is computed again before it.
  Duration unit_time(const PositionCost& position, std::size_t unit, PassKind pass) const {
    const PassCosts& one = part(position.units[unit].kind);
    const bool again = recomputes_in(pass) && is_recomputed(position, unit);
    return one.of(pass).time + (again ? one.of(PassKind::forward).time : Duration::zero());
  }

  /// ZeRO 3: a unit begins when its parameters are there, for which was asked when the unit before
  /// it began; gradients are scattered behind a whole backward pass on the same ranks.
  void wait_for_parameters(PositionCost& position, PassKind kind) const {
    const std::size_t units = position.units.size();
    std::array<Duration, plan_axis_count> free = {};
    const auto unit_at = [&](std::size_t i) { return kind == PassKind::forward ? i : units - 1 - i; };
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
      const Duration takes = unit_time(position, unit, kind);
      work += takes;
      end = begin + takes;
      if (kind != PassKind::backward) continue;
      for (const GradientBucket& bucket : position.buckets) {
        if (bucket.first_unit != unit) continue;
        Duration& axis_free = free[static_cast<std::size_t>(replicas_of(bucket))];
        axis_free = std::max(axis_free, end) + bucket_reduction(bucket);
      }
    }
    PassCost& pass = position.passes.of(kind);
    pass.time += end - work;
    pass.axes[static_cast<std::size_t>(PlanAxis::replicas)].exposed += end - work;
  }

  void run(const PipelineOrder& order) { timeline_ = executed(order, transfer_time()); }

  Duration transfer_time() const {
    return plan_.pipeline > 1 ? network_.message(PlanAxis::pipeline, steps_.pipeline_sent()) : Duration::zero();
  }

  PipelineTimeline executed(const PipelineOrder& order, Duration transfer) const {
    std::vector<PositionTimes> times;
    for (const PositionCost& position : positions_) {
      const auto time = [&](PassKind pass) { return position.passes.of(pass).time; };
      times.push_back({time(PassKind::forward), time(PassKind::backward_input), time(PassKind::backward_weight),
                       time(PassKind::backward), transfer, transfer});
    }
    return execute(sizes_, order, times, plan_.overlap_pipeline ? DuringTransfer::next_pass : DuringTransfer::wait);
  }

  std::size_t position_at(const PipelineOrder& order, std::uint32_t stage, std::uint32_t chunk) const {
    return position_of(sizes_, order.placement, stage, chunk);
  }

  PassCost passes_of(std::uint32_t stage, const PipelineOrder& order) const {
    PassCost sum;
    for (const TimedPass& timed : timeline_.devices[stage].passes) {
      const PositionCost& position = positions_[position_at(order, stage, timed.pass.chunk)];
      sum += position.passes.of(timed.pass.kind);
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
    return network_.collective(axis, CollectiveType::all_gather, bucket_share(bucket, ranks));
  }

  Bytes bucket_share(const GradientBucket& bucket, std::uint64_t ranks) const {
    return checked_tensor_size(bucket.share(ranks), plan_.precision.parameters);
  }

  CollectiveType reduction() const {
    return plan_.shards_optimizer() ? CollectiveType::reduce_scatter : CollectiveType::all_reduce;
  }

  Duration bucket_reduction(const GradientBucket& bucket) const {
    const PlanAxis axis = replicas_of(bucket);
    return size_of(axis, plan_) == 1 ? Duration::zero() : network_.collective(axis, reduction(), bucket_size(bucket));
  }

  Bytes bucket_size(const GradientBucket& bucket) const {
    return checked_tensor_size(bucket.parameters, plan_.precision.reduced_gradients);
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
          begin += unit_time(position, unit, PassKind::forward);
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

  /// A reduction of gradients, from the start of the passes.
  struct ReductionSpan {
    PlanAxis axis = PlanAxis::replicas;
    Bytes size;
    Duration begin;
    Duration end;
  };

  std::vector<ReductionSpan> reductions(const PipelineOrder& order, std::uint32_t stage) const {
    std::vector<ReductionSpan> spans;
    std::array<Duration, plan_axis_count> free = {};
    const auto reduce = [&](const GradientBucket& bucket, Duration at) {
      const PlanAxis axis = replicas_of(bucket);
      Duration& axis_free = free[static_cast<std::size_t>(axis)];
      const Duration begin = std::max(axis_free, at);
      axis_free = begin + bucket_reduction(bucket);
      spans.push_back({axis, bucket_size(bucket), begin, axis_free});
    };
    const std::vector<TimedPass>& passes = timeline_.devices[stage].passes;
    std::vector<std::uint32_t> done(plan_.chunks);
    for (const TimedPass& timed : passes) {
      const bool has_weights = timed.pass.kind == PassKind::backward || timed.pass.kind == PassKind::backward_weight;
      if (!has_weights) continue;
      const bool is_last = ++done[timed.pass.chunk] == sizes_.microbatches;
      if (!plan_.shards_gradients() && !(is_last && plan_.overlap_gradients)) continue;
      const PositionCost& position = positions_[position_at(order, stage, timed.pass.chunk)];
      const auto takes = [&](std::size_t unit) { return unit_time(position, unit, timed.pass.kind); };
      // What a pass waits for, it waits for before its first unit.
      Duration at = timed.end.since_start();
      for (std::size_t unit = 0; unit < position.units.size(); ++unit) at -= takes(unit);
      for (std::size_t unit = position.units.size(); unit-- > 0;) {
        at += takes(unit);
        for (const GradientBucket& bucket : position.buckets) {
          if (bucket.first_unit == unit) reduce(bucket, at);
        }
      }
    }
    if (!plan_.overlap_gradients && !plan_.shards_gradients()) {
      const Duration end = passes.back().end.since_start();
      for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
        for (const GradientBucket& bucket : positions_[position_at(order, stage, chunk)].buckets) reduce(bucket, end);
      }
    }
    return spans;
  }

  /// Of weights that embedding and output layer share between two stages.
  Bytes tied_size(std::uint32_t stage) const {
    return checked_tensor_size(tied_parameters(model_, plan_, stage), plan_.precision.reduced_gradients);
  }
  Duration tied_time(std::uint32_t stage) const {
    const Bytes size = tied_size(stage);
    return size == Bytes::zero() ? Duration::zero() : network_.collective(PlanAxis::embedding, CollectiveType::all_reduce, size);
  }

  /// When all gradients of a stage are reduced, from the start of the passes.
  Duration gradients_end(const PipelineOrder& order, std::uint32_t stage) const {
    Duration end = timeline_.devices[stage].passes.back().end.since_start();
    for (const ReductionSpan& span : reductions(order, stage)) end = std::max(end, span.end);
    return end + tied_time(stage);
  }

  Duration norm_time() const {
    return plan_.ranks() == 1 ? Duration::zero() : network_.collective(PlanAxis::world, CollectiveType::all_reduce, norm_size);
  }

  Duration optimizer_time(std::uint32_t stage, const PipelineOrder& order) const {
    std::uint64_t updated = 0;
    for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
      for (const GradientBucket& bucket : positions_[position_at(order, stage, chunk)].buckets)
        updated += plan_.shards_optimizer() ? bucket.share(size_of(replicas_of(bucket), plan_)) : bucket.parameters;
    }
    return updated == 0 ? Duration::zero() : operators_.all()(steps_.optimizer(updated), OperatorPass::forward);
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
  void add_replicas(IterationEstimate& result, const PipelineOrder& order, Duration exposed_time) const {
    const std::int64_t reductions = plan_.shards_gradients() ? sizes_.microbatches : 1;
    const std::int64_t gathers = plan_.shards_parameters() ? 2 * sizes_.microbatches : gathers_once() ? 1 : 0;
    for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
      for (const GradientBucket& bucket : positions_[position_at(order, result.stage, chunk)].buckets) {
        AxisTime& axis = result.axes[static_cast<std::size_t>(replicas_of(bucket))];
        axis.busy += bucket_reduction(bucket) * reductions + bucket_gather(bucket) * gathers;
      }
    }
    const PlanAxis exposed = plan_.replicas() > 1 ? PlanAxis::replicas : PlanAxis::expert_replicas;
    result.axes[static_cast<std::size_t>(exposed)].exposed += exposed_time;
  }

  // --- Rows of communication ---

  static constexpr Bytes norm_size = Bytes::of(4);

  /// Adds to the row of its kind; of activations each size has one.
  static void add_row(std::vector<CommunicationCost>& rows, const CommunicationCost& more) {
    for (CommunicationCost& row : rows) {
      if (row.axis != more.axis || row.what != more.what || row.purpose != more.purpose) continue;
      const bool is_in_passes = more.purpose == activations;
      if (is_in_passes && row.each_bytes() != more.each_bytes()) continue;
      row.count += more.count;
      row.bytes += more.bytes;
      row.busy += more.busy;
      row.exposed += more.exposed;
      return;
    }
    rows.push_back(more);
  }

  void add_pass(std::vector<CommunicationCost>& rows, const OperatorClock& clock, const TrainingPass& pass,
                std::uint64_t times) const {
    if (times == 0) return;
    const std::vector<StepCost> costs = step_costs(pass, clock, network_, load_);
    for (std::size_t i = 0; i < pass.size(); ++i) {
      const auto* collective = std::get_if<AxisCollective>(&pass[i].what);
      const auto* shift = std::get_if<ShiftStep>(&pass[i].what);
      if (collective == nullptr && shift == nullptr) continue;
      const Bytes size = collective != nullptr ? input_of(*collective, load_) : shift->bytes;
      const auto count = static_cast<std::int64_t>(times);
      add_row(rows,
              {collective != nullptr ? collective->axis : shift->axis, collective != nullptr ? to_text(collective->type) : message,
               activations, times, size * count, costs[i].busy * count, costs[i].exposed * count});
    }
  }

  PartPasses passes_of_unit(UnitKind kind) const {
    switch (kind) {
      case UnitKind::input:
        return steps_.input();
      case UnitKind::dense_layer:
        return steps_.layer(false);
      case UnitKind::expert_layer:
        return steps_.layer(true, load_);
      case UnitKind::output:
        return steps_.output();
    }
    return {};
  }

  void add_passes(std::vector<CommunicationCost>& rows, const PipelineOrder& order, std::uint32_t stage) const {
    for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
      const PositionCost& position = positions_[position_at(order, stage, chunk)];
      std::array<std::uint64_t, unit_kind_count> units = {};
      std::array<std::uint64_t, unit_kind_count> again = {};
      for (std::size_t unit = 0; unit < position.units.size(); ++unit) {
        const auto kind = static_cast<std::size_t>(position.units[unit].kind);
        ++units[kind];
        if (is_recomputed(position, unit)) ++again[kind];
      }
      const bool is_split = std::ranges::any_of(order.devices[stage], [&](const PipelinePass& pass) {
        return pass.chunk == chunk && pass.kind == PassKind::backward_weight;
      });
      for (std::size_t i = 0; i < unit_kind_count; ++i) {
        if (units[i] == 0) continue;
        const auto kind = static_cast<UnitKind>(i);
        const PartPasses passes = passes_of_unit(kind);
        const OperatorClock& clock = operators_.of(kind);
        const std::uint64_t times = units[i] * sizes_.microbatches;
        add_pass(rows, clock, passes.forward, times + again[i] * sizes_.microbatches);
        add_pass(rows, clock, passes.backward, is_split ? 0 : times);
        add_pass(rows, clock, passes.backward_input, is_split ? times : 0);
        add_pass(rows, clock, passes.backward_weight, is_split ? times : 0);
      }
      const std::size_t number = position_at(order, stage, chunk);
      const std::uint64_t received = (receives_from(number, number - 1) ? 1U : 0U) + (receives_from(number, number + 1) ? 1U : 0U);
      add_pass(rows, operators_.all(), steps_.pipeline_gather(), received * sizes_.microbatches);
    }
  }

  void add_messages(std::vector<CommunicationCost>& rows, const PipelineOrder& order, std::uint32_t stage) const {
    if (plan_.pipeline == 1) return;
    std::uint64_t sent = 0;
    for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
      const auto position = static_cast<std::uint32_t>(position_at(order, stage, chunk));
      const auto goes_to = [&](std::uint32_t next) { return place_of(sizes_, order.placement, next).device != stage; };
      if (position + 1 < positions_.size() && goes_to(position + 1)) sent += sizes_.microbatches;
      if (position > 0 && goes_to(position - 1)) sent += sizes_.microbatches;
    }
    const auto count = static_cast<std::int64_t>(sent);
    const Duration exposed = timeline_.step_time - executed(order, Duration::zero()).step_time;
    add_row(rows, {PlanAxis::pipeline, message, activations, sent, steps_.pipeline_sent() * count, transfer_time() * count,
                   std::max(exposed, Duration::zero())});
  }

  void add_gradients(std::vector<CommunicationCost>& rows, const PipelineOrder& order, std::uint32_t stage) const {
    for (const ReductionSpan& span : reductions(order, stage)) {
      if (size_of(span.axis, plan_) == 1) continue;
      const Duration exposed = std::max(span.end - std::max(span.begin, timeline_.step_time), Duration::zero());
      add_row(rows, {span.axis, to_text(reduction()), gradients, 1, span.size, span.end - span.begin, exposed});
    }
    const Bytes tied = tied_size(stage);
    if (tied == Bytes::zero()) return;
    add_row(rows,
            {PlanAxis::embedding, to_text(CollectiveType::all_reduce), gradients, 1, tied, tied_time(stage), tied_time(stage)});
  }

  /// Waits for parameters are said of dense ones where both kinds are gathered.
  void add_parameters(std::vector<CommunicationCost>& rows, const PipelineOrder& order, const IterationEstimate& estimate) const {
    const std::uint64_t gathers = plan_.shards_parameters() ? 2 * sizes_.microbatches : gathers_once() ? 1 : 0;
    if (gathers == 0) return;
    const auto count = static_cast<std::int64_t>(gathers);
    Duration exposed = plan_.shards_parameters()
                           ? passes_of(estimate.stage, order).axes[static_cast<std::size_t>(PlanAxis::replicas)].exposed
                           : estimate.parameters;
    for (const PlanAxis axis : {PlanAxis::replicas, PlanAxis::expert_replicas}) {
      const std::uint64_t ranks = size_of(axis, plan_);
      if (ranks == 1) continue;
      for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
        for (const GradientBucket& bucket : positions_[position_at(order, estimate.stage, chunk)].buckets) {
          if (replicas_of(bucket) != axis) continue;
          add_row(rows, {axis, to_text(CollectiveType::all_gather), parameters, gathers, bucket_share(bucket, ranks) * count,
                         bucket_gather(bucket) * count, std::exchange(exposed, Duration::zero())});
        }
      }
    }
  }

  static constexpr std::string_view message = "message";
  static constexpr std::string_view activations = "activations";
  static constexpr std::string_view gradients = "gradients";
  static constexpr std::string_view parameters = "parameters";

  const TransformerModel& model_;
  const ParallelPlan& plan_;
  const PartClocks& operators_;
  const AxisClock& network_;
  TrainingSteps steps_;
  PipelineSizes sizes_;
  double load_;
  std::array<PassCosts, unit_kind_count> parts_;
  PassCost pipeline_gather_;  ///< of what another stage sent
  std::vector<PositionCost> positions_;
  PipelineTimeline timeline_;
};

}  // namespace

IterationEstimate estimate_iteration(const TransformerModel& model, const ParallelPlan& plan, const PartClocks& operators,
                                     const AxisClock& network, const SourcePlace& place) {
  return estimate_iteration(model, plan, pipeline_order(model, plan, operators, place), operators, network);
}

IterationEstimate estimate_iteration(const TransformerModel& model, const ParallelPlan& plan, const PipelineOrder& order,
                                     const PartClocks& operators, const AxisClock& network) {
  return IterationEstimator(model, plan, operators, network).estimate(order);
}

ExplainedIteration explain_iteration(const TransformerModel& model, const ParallelPlan& plan, const PipelineOrder& order,
                                     const PartClocks& operators, const AxisClock& network) {
  return IterationEstimator(model, plan, operators, network).explain(order);
}

}  // namespace weft
