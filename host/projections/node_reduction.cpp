// SPDX-License-Identifier: Apache-2.0
#include "host/projections/node_reduction.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "host/projections/collective_formulas.hpp"
#include "host/projections/gpu_subgraphs.hpp"

namespace weft {

namespace {

/// Divisors of a number but itself, the largest first.
std::vector<std::uint32_t> smaller_divisors(std::uint32_t number) {
  std::vector<std::uint32_t> divisors;
  for (std::uint32_t divisor = number / 2; divisor > 0; --divisor) {
    if (number % divisor == 0) divisors.push_back(divisor);
  }
  return divisors;
}

class PlanReducer {
 public:
  PlanReducer(const TransformerModel& model, const ParallelPlan& plan, std::uint64_t gpus) : reduced_{model, plan}, gpus_(gpus) {}

  std::variant<ReducedTraining, std::string> reduce() {
    const std::uint64_t microbatches = plan().microbatches();
    const ParallelPlan target = plan();
    if (!fits()) reduce_pipeline();
    if (reduced_.model.experts) reduce_experts(target.expert);
    reduce_tensor(target);
    if (!fits()) {
      return fmt::format("context_parallel = {} needs {} GPUs, and the bench has {}: it is not reduced", plan().context,
                         ranks_min(plan()), gpus_);
    }
    fill_data(target.data);
    plan().global_batch = microbatches * plan().microbatch * plan().data;
    return std::move(reduced_);
  }

 private:
  ParallelPlan& plan() { return reduced_.plan; }
  bool fits() { return ranks_min(plan()) <= gpus_; }

  void reduce_pipeline() {
    plan().pipeline = 1;
    plan().chunks = 1;
    plan().placement = ChunkPlacement::loop;
    plan().layout = {{0, reduced_.model.layers}};
  }

  void reduce_experts(std::uint32_t before) {
    for (const std::uint32_t ranks : smaller_divisors(before)) {
      if (fits()) break;
      plan().expert = ranks;
    }
    if (plan().expert == before) return;
    ExpertBlock& experts = *reduced_.model.experts;
    experts.count = experts.count / before * plan().expert;
    experts.load_shares.clear();
  }

  void reduce_tensor(const ParallelPlan& target) {
    for (const std::uint32_t ranks : smaller_divisors(target.tensor)) {
      if (fits()) return;
      plan().tensor = ranks;
      plan().expert_tensor = std::gcd(target.expert_tensor, ranks);
      if (ranks == 1) plan().sequence_parallel = false;
    }
  }

  /// As many replicas as there are GPUs for, and as the plan has.
  void fill_data(std::uint32_t before) {
    const std::uint64_t replica = std::uint64_t{plan().tensor} * plan().context * plan().pipeline;
    const std::uint64_t least = ranks_min(plan()) / replica;
    const std::uint64_t most = std::min<std::uint64_t>(gpus_ / replica, before);
    plan().data = static_cast<std::uint32_t>(std::max(least, most / least * least));
  }

  ReducedTraining reduced_;
  std::uint64_t gpus_;
};

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

std::variant<ReducedTraining, std::string> reduce_to(const TransformerModel& model, const ParallelPlan& plan, std::uint64_t gpus) {
  return PlanReducer(model, plan, gpus).reduce();
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
                                          Duration transfer) {
  std::vector<PositionTimes> positions;
  for (std::size_t i = 0; i < plan.layout.size(); ++i) {
    PartTimes sum;
    const auto add = [&](const PartTimes& part, std::uint64_t count) {
      sum.forward += part.forward * static_cast<std::int64_t>(count);
      sum.backward += part.backward * static_cast<std::int64_t>(count);
    };
    const LayerRange& range = plan.layout[i];
    const std::uint64_t experts = expert_layers_in(model, range);
    if (i == 0) add(times.input, 1);
    add(times.dense_layer, range.count - experts);
    add(times.expert_layer, experts);
    if (i + 1 == plan.layout.size()) add(times.output, 1);
    const Duration half = scaled(sum.backward, 1, 2);
    positions.push_back({.forward = sum.forward,
                         .backward_input = half,
                         .backward_weight = sum.backward - half,
                         .backward = sum.backward,
                         .forward_transfer = transfer,
                         .backward_transfer = transfer});
  }
  return positions;
}

}  // namespace weft
