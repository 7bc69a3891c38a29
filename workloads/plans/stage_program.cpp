// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/stage_program.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "workloads/dag/role_script.hpp"
#include "workloads/plans/pass_cost.hpp"
#include "workloads/plans/pass_regions.hpp"

namespace weft {

namespace {

using After = RoleScript::After;

void wait_for(After& after, const After& more) {
  for (const std::uint32_t op : more) {
    if (std::find(after.begin(), after.end(), op) == after.end()) after.push_back(op);
  }
}

// --- Steps as ops ---

struct StepAsOp {
  const PlanGroups& groups;
  const OperatorClock& clock;
  /// Of all-to-alls to experts and back; empty: loads are even.
  std::span<const SplitTable> tables;

  Op operator()(const ComputeStep& step) const {
    Op op;
    op.duration = time_of(step, clock);
    return op;
  }
  Op operator()(const AxisCollective& step) const {
    Op op;
    op.kind = OpKind::collective;
    op.collective = step.type;
    op.communicator = groups.of(step.axis).communicator;
    op.stream = RoleScript::stream_of(op.communicator);
    op.bytes = step.input;
    if (!tables.empty() && (step.goes_by_load || step.returns_by_load)) {
      op.collective = CollectiveType::all_to_all_v;
      op.splits = step.goes_by_load ? 0 : 1;
      op.bytes = tables[op.splits].row_sum_max();
    }
    return op;
  }
  Op operator()(const ShiftStep& step) const {
    Op op;
    op.kind = OpKind::send;
    op.addressing = PeerAddressing::relative;
    op.communicator = groups.of(step.axis).communicator;
    op.peer = 1;
    op.bytes = step.bytes;
    return op;
  }
};

/// Steps of a region as a pass of their own.
TrainingPass part_of(const TrainingPass& pass, const PassRegion& region) {
  TrainingPass part(pass.begin() + static_cast<std::ptrdiff_t>(region.first),
                    pass.begin() + static_cast<std::ptrdiff_t>(region.end));
  for (TrainingStep& step : part) {
    std::erase_if(step.after, [&](std::uint32_t before) { return before < region.first; });
    for (std::uint32_t& before : step.after) before -= static_cast<std::uint32_t>(region.first);
  }
  return part;
}

/// Writes the steps of a pass as ops: each as one, or what stays inside hosts together.
class StepTimer {
 public:
  StepTimer(StepAsOp as_op, const InsideAxes* inside) : as_op_(as_op), inside_(inside) {}

  TimedPart timed(const PartPasses& part) const {
    return {timed(part.forward), timed(part.backward), timed(part.backward_input), timed(part.backward_weight)};
  }
  std::vector<TimedStep> timed(const TrainingPass& pass) const {
    std::vector<TimedStep> steps;
    std::vector<After> ends(pass.size());  // by step of the pass: what stands for its end
    const auto wait_for_steps = [&](TimedStep& timed, const TrainingStep& step, std::size_t first) {
      for (const std::uint32_t before : step.after) {
        if (before < first) wait_for(timed.after, ends[before]);
      }
    };
    for (const PassRegion& region : regions(pass)) {
      if (region.is_inside) {
        TimedStep together{.name = std::string(pass[region.first].name), .op = {}};
        together.op.duration = cost_of(part_of(pass, region), as_op_.clock, inside_->clock).time;
        for (std::size_t i = region.first; i < region.end; ++i) {
          wait_for_steps(together, pass[i], region.first);
          ends[i] = {static_cast<std::uint32_t>(steps.size())};
        }
        steps.push_back(std::move(together));
        continue;
      }
      for (std::size_t i = region.first; i < region.end; ++i) {
        TimedStep one{.name = std::string(pass[i].name),
                      .op = std::visit(as_op_, pass[i].what),
                      .is_shift = std::holds_alternative<ShiftStep>(pass[i].what)};
        wait_for_steps(one, pass[i], i);
        // What takes no time by the clock is no op: who waits for it waits for what it waits for.
        if (one.op.kind == OpKind::compute && one.op.duration == Duration::zero()) {
          ends[i] = std::move(one.after);
          continue;
        }
        ends[i] = {static_cast<std::uint32_t>(steps.size())};
        steps.push_back(std::move(one));
      }
    }
    number_names(steps);
    std::vector<bool> is_last(steps.size(), true);
    for (const TimedStep& step : steps) {
      for (const std::uint32_t before : step.after) is_last[before] = false;
    }
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i].is_last = is_last[i];
    return steps;
  }

 private:
  /// So that ops have names of their own.
  static void number_names(std::vector<TimedStep>& steps) {
    std::map<std::string, int> seen;
    for (TimedStep& step : steps) {
      const int number = ++seen[step.name];
      if (number > 1) step.name += fmt::to_string(number);
    }
  }

  std::vector<PassRegion> regions(const TrainingPass& pass) const {
    if (inside_ != nullptr) return regions_of(pass, *inside_);
    return {{0, pass.size(), false}};
  }

  StepAsOp as_op_;
  const InsideAxes* inside_;
};

// --- One stage ---

/// A chunk of the stage.
struct Position {
  std::uint32_t number = 0;
  std::vector<PlanUnit> units;
  std::vector<GradientBucket> buckets;
  std::vector<After> gathers;      ///< of each bucket's parameters; empty once they were waited for
  std::uint32_t weights_done = 0;  ///< microbatches
};

class StageWriter {
 public:
  StageWriter(const TransformerModel& model, const ParallelPlan& plan, const PlanGroups& groups, const StageParts& parts,
              const PipelineOrder& order, std::uint32_t stage)
      : plan_(plan), groups_(groups), parts_(parts), order_(order), stage_(stage), sizes_(pipeline_sizes(plan)) {
    for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
      Position position;
      position.number = position_of(sizes_, order.placement, stage, chunk);
      position.units = units_of(model, plan, position.number);
      position.buckets = buckets_of(position.units, plan);
      position.gathers.resize(position.buckets.size());
      positions_.push_back(std::move(position));
    }
    tied_parameters_ = tied_parameters(model, plan, stage);
  }

  RoleDag write() {
    if (gathers_once() && plan_.overlap_parameters) {
      for (Position& position : positions_) gather_all(position);
    }
    for (const PipelinePass& pass : order_.devices[stage_]) run(pass);
    finish_gradients();
    optimize();
    return script_.finish();
  }

 private:
  /// Parameters are gathered once per iteration.
  bool gathers_once() const { return plan_.shards_optimizer() && !plan_.shards_parameters(); }

  // --- Passes ---

  void run(const PipelinePass& pass) {
    if (!plan_.overlap_pipeline) wait_for(last(), std::exchange(sent_, {}));
    Position& position = positions_[pass.chunk];
    switch (pass.kind) {
      case PassKind::forward:
        return forward(position, pass.microbatch);
      case PassKind::backward:
        return backward(position, pass.microbatch, &TimedPart::backward);
      case PassKind::backward_input:
        return backward(position, pass.microbatch, &TimedPart::backward_input);
      case PassKind::backward_weight:
        return weights(position, pass.microbatch);
    }
  }

  void forward(Position& position, std::uint32_t microbatch) {
    if (position.number > 0) receive("fwd", microbatch, position, position.number - 1, false);
    for (std::size_t unit = 0; unit < position.units.size(); ++unit) {
      need_parameters(position, unit, unit + 1 < position.units.size() ? std::optional(unit + 1) : std::nullopt, "fwd", microbatch);
      write_steps(parts_.of(position.units[unit].kind).forward, "fwd", microbatch, position.units[unit].name);
      passed();
    }
    if (position.number + 1 < plan_.positions()) send("fwd", microbatch, position, position.number + 1, false);
  }

  void backward(Position& position, std::uint32_t microbatch, std::vector<TimedStep> TimedPart::*pass) {
    if (position.number + 1 < plan_.positions()) receive("bwd", microbatch, position, position.number + 1, true);
    const bool has_weights = pass == &TimedPart::backward;
    if (has_weights) ++position.weights_done;
    for (std::size_t unit = position.units.size(); unit-- > 0;) {
      need_parameters(position, unit, unit > 0 ? std::optional(unit - 1) : std::nullopt, "bwd", microbatch);
      recompute(position, unit, microbatch);
      write_steps(parts_.of(position.units[unit].kind).*pass, "bwd", microbatch, position.units[unit].name);
      passed();
      if (has_weights) gradients_of(position, unit, microbatch);
    }
    if (position.number > 0) send("bwd", microbatch, position, position.number - 1, true);
  }

  void weights(Position& position, std::uint32_t microbatch) {
    ++position.weights_done;
    for (std::size_t unit = position.units.size(); unit-- > 0;) {
      write_steps(parts_.of(position.units[unit].kind).backward_weight, "wgrad", microbatch, position.units[unit].name);
      gradients_of(position, unit, microbatch);
    }
  }

  /// Forward again of layers whose activations were not kept, before the first of them goes
  /// backward.
  void recompute(const Position& position, std::size_t unit, std::uint32_t microbatch) {
    const std::size_t before = position.number == 0 ? 1 : 0;  // the embedding
    const bool is_layer = position.units[unit].kind == UnitKind::dense_layer || position.units[unit].kind == UnitKind::expert_layer;
    if (!is_layer || !plan_.recompute.repeats(unit - before)) return;
    const std::size_t layer = unit - before;
    const std::size_t layers = plan_.layout[position.number].count;
    std::size_t first = layer;
    if (plan_.recompute.kind == RecomputeKind::uniform) {
      const std::size_t group = plan_.recompute.layers;
      const bool ends_group = (layer + 1) % group == 0 || layer + 1 == layers;
      if (!ends_group) return;
      first = layer / group * group;
    }
    for (std::size_t again = first; again <= layer; ++again) {
      const PlanUnit& one = position.units[before + again];
      write_steps(parts_.of(one.kind).forward, "again", microbatch, one.name);
    }
  }

  /// Computation of units one after the other is one op, if what stays inside hosts is combined.
  void keep(const TimedStep& step, const char* pass, std::uint32_t microbatch, const std::string& unit) {
    if (kept_time_ == Duration::zero()) kept_name_ = fmt::format("{}.{}.{}.{}", pass, microbatch, unit, step.name);
    kept_time_ += step.op.duration;
  }
  /// What the next step waits for, now that all before it is written.
  After& last() {
    if (kept_time_ > Duration::zero()) last_ = {script_.compute(kept_name_, std::exchange(kept_time_, Duration::zero()), last_)};
    return last_;
  }

  void write_steps(const std::vector<TimedStep>& steps, const char* pass, std::uint32_t microbatch, const std::string& unit) {
    if (steps.empty()) return;
    if (parts_.combines() && steps.size() == 1 && steps.front().op.kind == OpKind::compute)
      return keep(steps.front(), pass, microbatch, unit);
    std::vector<After> ops(steps.size());
    After ends;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const TimedStep& step = steps[i];
      After after = step.after.empty() ? last() : After();
      for (const std::uint32_t before : step.after) wait_for(after, ops[before]);
      ops[i] = write_step(step, fmt::format("{}.{}.{}.{}", pass, microbatch, unit, step.name), after);
      if (step.is_last) wait_for(ends, ops[i]);
    }
    last_ = std::move(ends);
  }

  After write_step(const TimedStep& step, const std::string& name, const After& after) {
    if (step.op.kind == OpKind::compute) return {script_.compute(name, step.op.duration, after)};
    if (!step.is_shift) return {script_.add(step.op, name, after)};
    Op receive = step.op;
    receive.kind = OpKind::receive;
    receive.peer = -step.op.peer;
    return {script_.add(step.op, name + ".send", after), script_.add(receive, name + ".recv", after)};
  }

  // --- Between stages ---

  Op message(OpKind kind, std::uint32_t microbatch, std::uint32_t peer_position, std::uint32_t to, bool is_backward) const {
    Op op;
    op.kind = kind;
    op.communicator = groups_.of(PlanAxis::pipeline).communicator;
    op.peer = static_cast<std::int32_t>(place_of(sizes_, order_.placement, peer_position).device);
    op.tag = static_cast<std::uint32_t>((microbatch * plan_.positions() + to) * 2 + (is_backward ? 1 : 0));
    op.bytes = parts_.pipeline_sent();
    return op;
  }
  bool is_own(std::uint32_t position) const { return place_of(sizes_, order_.placement, position).device == stage_; }

  /// "send", of one of several chunks "position3.send".
  std::string message_name(const Position& position, const char* what) const {
    return plan_.chunks == 1 ? what : fmt::format("position{}.{}", position.number, what);
  }

  void receive(const char* pass, std::uint32_t microbatch, const Position& at, std::uint32_t from, bool is_backward) {
    if (is_own(from)) return;
    const std::string name = message_name(at, "recv");
    last_ = {script_.add(message(OpKind::receive, microbatch, from, at.number, is_backward),
                         fmt::format("{}.{}.{}", pass, microbatch, name), last())};
    write_steps(parts_.pipeline_gather(), pass, microbatch, name);
  }
  void send(const char* pass, std::uint32_t microbatch, const Position& at, std::uint32_t to, bool is_backward) {
    if (is_own(to)) return;
    sent_ = {script_.add(message(OpKind::send, microbatch, to, to, is_backward),
                         fmt::format("{}.{}.{}", pass, microbatch, message_name(at, "send")), last())};
  }

  // --- Parameters ---

  PlanGroup replicas_of(const GradientBucket& bucket) const {
    return groups_.of(bucket.is_expert ? PlanAxis::expert_replicas : PlanAxis::replicas);
  }

  static std::string name_of(const Position& position, const GradientBucket& bucket) {
    const std::string& first = position.units[bucket.first_unit].name;
    const std::string& last = position.units[bucket.last_unit].name;
    return fmt::format("{}{}{}", first, bucket.first_unit == bucket.last_unit ? "" : "-" + last,
                       bucket.is_expert ? ".experts" : "");
  }

  /// All-gather of a bucket's parameters; nothing where one rank has them all.
  After gather(const Position& position, const GradientBucket& bucket, const std::string& prefix, const After& after) {
    const PlanGroup group = replicas_of(bucket);
    if (group.size == 1) return {};
    const Bytes share = checked_tensor_size(bucket.share(group.size), plan_.precision.parameters);
    return {script_.collective(fmt::format("{}.{}", prefix, name_of(position, bucket)), CollectiveType::all_gather,
                               group.communicator, share, after)};
  }

  /// Buckets in the order in which forward needs them.
  void gather_all(Position& position) {
    for (std::size_t i = position.buckets.size(); i-- > 0;)
      position.gathers[i] = gather(position, position.buckets[i], "params", last());
  }

  /// `next`: the unit after this one in the pass.
  void need_parameters(Position& position, std::size_t unit, std::optional<std::size_t> next, const char* pass,
                       std::uint32_t microbatch) {
    if (!plan_.shards_parameters()) {
      for (std::size_t i = 0; i < position.buckets.size(); ++i) {
        if (position.buckets[i].has(unit) && !position.gathers[i].empty()) wait_for(last(), std::exchange(position.gathers[i], {}));
      }
      return;
    }
    // One unit ahead: the next unit's parameters are asked for when this one begins, before its
    // gradients are scattered on the same ranks.
    const std::string prefix = fmt::format("params.{}.{}", pass, microbatch);
    const After gathered = ahead_ ? *std::exchange(ahead_, std::nullopt) : gather_unit(position, unit, prefix, before_last_unit_);
    if (next) ahead_ = gather_unit(position, *next, prefix, last());
    wait_for(last(), gathered);
  }

  /// All buckets of a unit.
  After gather_unit(const Position& position, std::size_t unit, const std::string& prefix, const After& after) {
    After gathered;
    for (const GradientBucket& bucket : position.buckets) {
      if (bucket.has(unit)) wait_for(gathered, gather(position, bucket, prefix, after));
    }
    return gathered;
  }

  /// A unit's pass was written.
  void passed() {
    if (plan_.shards_parameters()) before_last_unit_ = std::exchange(last_unit_, last());
  }

  // --- Gradients ---

  void gradients_of(Position& position, std::size_t unit, std::uint32_t microbatch) {
    const bool is_complete = position.weights_done == sizes_.microbatches;
    const bool goes_now = plan_.shards_gradients() || (is_complete && plan_.overlap_gradients);
    if (!goes_now) return;
    for (const GradientBucket& bucket : position.buckets) {
      if (bucket.first_unit != unit) continue;
      const bool each_time = plan_.shards_gradients() && sizes_.microbatches > 1;
      reduce(position, bucket, each_time ? fmt::format("grads.{}", microbatch) : "grads");
    }
  }

  void reduce(const Position& position, const GradientBucket& bucket, const std::string& prefix) {
    const PlanGroup group = replicas_of(bucket);
    if (group.size == 1) return;
    reductions_.push_back(script_.collective(fmt::format("{}.{}", prefix, name_of(position, bucket)),
                                             plan_.shards_optimizer() ? CollectiveType::reduce_scatter : CollectiveType::all_reduce,
                                             group.communicator,
                                             checked_tensor_size(bucket.parameters, plan_.precision.reduced_gradients), last()));
  }

  void finish_gradients() {
    if (!plan_.overlap_gradients && !plan_.shards_gradients()) {
      for (std::size_t chunk = positions_.size(); chunk-- > 0;) {
        for (const GradientBucket& bucket : positions_[chunk].buckets) reduce(positions_[chunk], bucket, "grads");
      }
    }
    wait_for(last(), reductions_);
    wait_for(last(), sent_);
    if (tied_parameters_ == 0) return;
    last_ = {script_.collective("grads.tied", CollectiveType::all_reduce, groups_.of(PlanAxis::embedding).communicator,
                                checked_tensor_size(tied_parameters_, plan_.precision.reduced_gradients), last())};
  }

  void optimize() {
    std::uint64_t updated = 0;
    for (const Position& position : positions_) {
      for (const GradientBucket& bucket : position.buckets) {
        updated += plan_.shards_optimizer() ? bucket.share(replicas_of(bucket).size) : bucket.parameters;
      }
    }
    if (plan_.ranks() > 1) {
      constexpr Bytes one_number = Bytes::of(4);
      last_ = {script_.collective("grad_norm", CollectiveType::all_reduce, 0, one_number, last())};
    }
    last_ = {script_.compute("optimizer", parts_.optimizer_time(updated), last())};
    if (!gathers_once() || plan_.overlap_parameters) return;
    for (Position& position : positions_) gather_all(position);
  }

  const ParallelPlan& plan_;
  const PlanGroups& groups_;
  const StageParts& parts_;
  const PipelineOrder& order_;
  std::uint32_t stage_;
  PipelineSizes sizes_;
  std::vector<Position> positions_;
  RoleScript script_;
  After last_;          ///< what the next step waits for, as soon as what is kept is written
  Duration kept_time_;  ///< of computation that is not written yet
  std::string kept_name_;
  After sent_;                  ///< of the last pass
  After last_unit_;             ///< ends of the unit before
  After before_last_unit_;      ///< and of the one before that
  std::optional<After> ahead_;  ///< parameters of the next unit of the pass, if asked for
  After reductions_;
  std::uint64_t tied_parameters_ = 0;  ///< of this stage and another one
};

}  // namespace

Duration time_of(const ComputeStep& step, const OperatorClock& clock) {
  Duration sum;
  for (const TimedOperator& timed : step.operators) sum += clock(timed.op, timed.pass);
  return std::max(sum, clock.dispatch() * static_cast<std::int64_t>(step.operators.size()));
}

StageParts::StageParts(const TransformerModel& model, const ParallelPlan& plan, const PlanGroups& groups, const PartClocks& clocks,
                       double load, std::span<const SplitTable> tables, const InsideAxes* inside)
    : steps_(model, plan), clock_(clocks.all()), combines_(inside != nullptr) {
  const auto set = [&](UnitKind kind, const PartPasses& passes) {
    parts_[static_cast<std::size_t>(kind)] = StepTimer({groups, clocks.of(kind), tables}, inside).timed(passes);
  };
  set(UnitKind::input, steps_.input());
  if (model.dense_layers() > 0) set(UnitKind::dense_layer, steps_.layer(false));
  if (model.experts) set(UnitKind::expert_layer, steps_.layer(true, load));
  set(UnitKind::output, steps_.output());
  pipeline_gather_ = StepTimer({groups, clock_, tables}, inside).timed(steps_.pipeline_gather());
}

Duration StageParts::optimizer_time(std::uint64_t parameters) const {
  return parameters == 0 ? Duration::zero() : clock_(steps_.optimizer(parameters), OperatorPass::forward);
}

RoleDag stage_program(const TransformerModel& model, const ParallelPlan& plan, const PlanGroups& groups, const StageParts& parts,
                      const PipelineOrder& order, std::uint32_t stage) {
  return StageWriter(model, plan, groups, parts, order, stage).write();
}

}  // namespace weft
