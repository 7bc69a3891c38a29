// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/block_workload.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/role_script.hpp"
#include "workloads/plans/block_sizes.hpp"
#include "workloads/plans/plan_units.hpp"

namespace weft {

namespace {

constexpr std::uint64_t block_ops_max = 1ULL << 26;
constexpr std::uint16_t world = 0;

/// As buckets see them.
std::vector<PlanUnit> units_of_blocks(const std::vector<ModelBlock>& blocks) {
  std::vector<PlanUnit> units;
  for (const ModelBlock& block : blocks) {
    PlanUnit& unit = units.emplace_back();
    unit.name = block.name;
    unit.held.dense = block.parameters;
  }
  return units;
}

class BlockProgram {
 public:
  using After = RoleScript::After;

  BlockProgram(const std::vector<ModelBlock>& blocks, const ParallelPlan& plan, const OperatorClock& clock,
               const SourcePlace& place)
      : blocks_(blocks),
        plan_(plan),
        clock_(clock),
        place_(place),
        sizes_(plan.precision, place),
        buckets_(buckets_of(units_of_blocks(blocks), plan)),
        users_(blocks.size()),
        gathers_(buckets_.size()) {
    for (std::uint32_t i = 0; i < blocks.size(); ++i) {
      for (const std::uint32_t before : blocks[i].after) users_[before].push_back(i);
      std::vector<TimedOperator> forward;
      for (const Operator& op : blocks[i].operators) forward.push_back({op, OperatorPass::forward});
      forward_times_.push_back(checked_time(forward));
      backward_times_.push_back(checked_time(backward_operators(blocks[i])));
    }
  }

  RoleDag write() {
    if (plan_.shards_optimizer() && plan_.overlap_parameters) gather_all({});
    const std::uint64_t microbatches = plan_.microbatches();
    After begin;
    for (std::uint64_t i = 0; i < microbatches; ++i) {
      const std::vector<After> forward_ends = forward(i, begin);
      begin = backward(i, forward_ends, i + 1 == microbatches);
    }
    if (!plan_.overlap_gradients && !plan_.shards_gradients()) {
      for (const GradientBucket& bucket : buckets_) reduce(bucket, "grads", begin);
    }
    begin.insert(begin.end(), reductions_.begin(), reductions_.end());
    optimize(begin);
    return script_.finish();
  }

 private:
  static void join(After& after, const After& more) {
    for (const std::uint32_t op : more) {
      if (std::find(after.begin(), after.end(), op) == after.end()) after.push_back(op);
    }
  }

  Duration checked(Duration duration) const {
    if (duration > op_duration_max)
      fail("too-large", fmt::format("a computation would take more than {}", to_text(op_duration_max)), place_,
           "make the model or the batch smaller");
    return duration;
  }
  /// As time_of(), with sums of long operators checked one by one.
  Duration checked_time(const std::vector<TimedOperator>& operators) const {
    Duration sum;
    for (const TimedOperator& timed : operators) sum = checked(sum + checked(clock_(timed.op, timed.pass)));
    return checked(std::max(sum, clock_.dispatch() * static_cast<std::int64_t>(operators.size())));
  }

  bool communicates() const { return plan_.ranks() > 1; }

  // --- Passes ---

  After write_block(const ModelBlock& block, const std::string& name, Duration time, const After& after) {
    switch (block.kind) {
      case BlockKind::layer:
        return {script_.compute(name, time, after)};
      case BlockKind::lookup:
        return {script_.unordered_compute(name, time, after)};
      case BlockKind::exchange:
      case BlockKind::request:
        if (!communicates()) return after;
        return {script_.collective(name, CollectiveType::all_to_all, world, block.exchanged, after)};
    }
    return after;
  }

  /// Ends of all blocks.
  std::vector<After> forward(std::uint64_t microbatch, const After& begin) {
    std::vector<After> ends(blocks_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      After after = blocks_[i].after.empty() ? begin : After();
      for (const std::uint32_t before : blocks_[i].after) join(after, ends[before]);
      for (std::size_t bucket = 0; bucket < buckets_.size() && microbatch == 0; ++bucket) {
        if (blocks_[i].parameters > 0 && buckets_[bucket].has(i)) join(after, gathers_[bucket]);
      }
      ends[i] = write_block(blocks_[i], fmt::format("fwd.{}.{}", microbatch, blocks_[i].name), forward_times_[i], after);
    }
    return ends;
  }

  /// Ends of the blocks that no other waits for.
  After backward(std::uint64_t microbatch, const std::vector<After>& forward_ends, bool is_last) {
    std::vector<After> ends(blocks_.size());
    After last;
    for (std::size_t i = blocks_.size(); i-- > 0;) {
      After after = users_[i].empty() ? forward_ends[i] : After();
      for (const std::uint32_t user : users_[i]) join(after, ends[user]);
      ends[i] = blocks_[i].kind == BlockKind::request
                    ? after
                    : write_block(blocks_[i], fmt::format("bwd.{}.{}", microbatch, blocks_[i].name), backward_times_[i], after);
      if (blocks_[i].after.empty()) join(last, ends[i]);
      if (plan_.shards_gradients() || (is_last && plan_.overlap_gradients)) gradients_of(i, microbatch, ends[i]);
    }
    return last;
  }

  // --- Gradients and parameters ---

  void gradients_of(std::size_t block, std::uint64_t microbatch, const After& after) {
    for (const GradientBucket& bucket : buckets_) {
      if (bucket.first_unit != block) continue;
      const bool each_time = plan_.shards_gradients() && plan_.microbatches() > 1;
      reduce(bucket, each_time ? fmt::format("grads.{}", microbatch) : "grads", after);
    }
  }

  std::string name_of(const std::string& prefix, const GradientBucket& bucket) const {
    const std::string& first = blocks_[bucket.first_unit].name;
    if (bucket.first_unit == bucket.last_unit) return fmt::format("{}.{}", prefix, first);
    return fmt::format("{}.{}-{}", prefix, first, blocks_[bucket.last_unit].name);
  }

  void reduce(const GradientBucket& bucket, const std::string& prefix, const After& after) {
    if (!communicates()) return;
    const CollectiveType type = plan_.shards_optimizer() ? CollectiveType::reduce_scatter : CollectiveType::all_reduce;
    reductions_.push_back(script_.collective(name_of(prefix, bucket), type, world,
                                             sizes_.bytes(bucket.parameters, plan_.precision.reduced_gradients), after));
  }

  /// In the order in which forward needs them.
  void gather_all(const After& after) {
    if (!communicates()) return;
    for (std::size_t i = buckets_.size(); i-- > 0;) {
      const Bytes share = sizes_.bytes(buckets_[i].share(plan_.ranks()), plan_.precision.parameters);
      gathers_[i] = {script_.collective(name_of("params", buckets_[i]), CollectiveType::all_gather, world, share, after)};
    }
  }

  void optimize(const After& after) {
    std::uint64_t updated = 0;
    for (const GradientBucket& bucket : buckets_)
      updated += plan_.shards_optimizer() ? bucket.share(plan_.ranks()) : bucket.parameters;
    const Operator op{"optimizer", OptimizerStep{.parameters = updated}, plan_.precision.parameters};
    const After done = {script_.compute("optimizer", checked_time({{op, OperatorPass::forward}}), after)};
    if (plan_.shards_optimizer() && !plan_.overlap_parameters) gather_all(done);
  }

  const std::vector<ModelBlock>& blocks_;
  const ParallelPlan& plan_;
  const OperatorClock& clock_;
  const SourcePlace& place_;
  BlockSizes sizes_;
  std::vector<GradientBucket> buckets_;
  std::vector<std::vector<std::uint32_t>> users_;  ///< of each block's output
  std::vector<Duration> forward_times_;
  std::vector<Duration> backward_times_;
  std::vector<After> gathers_;  ///< of each bucket's parameters
  After reductions_;
  RoleScript script_;
};

template <class Model>
Workload block_workload(const std::string& name, const Model& model, const ParallelPlan& plan, const OperatorClock& clock,
                        const SourcePlace& place) {
  const std::vector<ModelBlock> blocks = model_blocks(model, plan, place);
  // Each block goes forward and backward and may have its gradients reduced.
  constexpr std::uint64_t ops_per_block = 3;
  const std::uint64_t per_microbatch = ops_per_block * blocks.size();
  if (plan.microbatches() > block_ops_max / per_microbatch) {
    fail("too-large", fmt::format("an iteration would have about {} microbatches of {} ops", plan.microbatches(), per_microbatch),
         place, fmt::format("at most {} ops: a larger microbatch needs fewer of them", block_ops_max));
  }
  Workload workload = start_workload(name, static_cast<std::uint32_t>(plan.ranks()));
  add_role_of_all(workload, BlockProgram(blocks, plan, clock, place).write());
  return workload;
}

}  // namespace

std::vector<TimedOperator> backward_operators(const ModelBlock& block) {
  const bool reads_samples = block.after.empty();
  std::vector<TimedOperator> timed;
  for (std::size_t i = block.operators.size(); i-- > 0;) {
    const Operator& op = block.operators[i];
    const bool is_product = std::holds_alternative<Matmul>(op.shape) || std::holds_alternative<Convolution>(op.shape);
    if (!is_product) {
      timed.push_back({op, OperatorPass::backward});
      continue;
    }
    if (!reads_samples || i > 0) timed.push_back({op, OperatorPass::backward_input});
    timed.push_back({op, OperatorPass::backward_weight});
  }
  return timed;
}

Workload make_training_workload(const std::string& name, const RecommenderModel& model, const ParallelPlan& plan,
                                const OperatorClock& clock, const SourcePlace& place) {
  Workload workload = block_workload(name, model, plan, clock, place);
  workload.assumptions.emplace_back("tables are spread evenly over the ranks and their lookups over the tables");
  return workload;
}

Workload make_training_workload(const std::string& name, const UNetModel& model, const ParallelPlan& plan,
                                const OperatorClock& clock, const SourcePlace& place) {
  return block_workload(name, model, plan, clock, place);
}

}  // namespace weft
