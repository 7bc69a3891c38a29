// SPDX-License-Identifier: Apache-2.0
// Training steps: what one rank computes and communicates in each part of a transformer under a
// plan, pass by pass.
//
// Where it sits: from a model and a plan come these steps; the workload strings them together by
// the schedule, projections add their times up. held_parameters.hpp says what is reduced.
//
// Model, for T tokens of a microbatch on a context-parallel rank and hidden h; a pass is a small
// DAG of steps, and the next part begins when all of it is done.
//   Tensor parallelism (arXiv 1909.08053, section 3): attention and MLP end with an all-reduce of
//   T h, forward and backward. With sequence parallelism (arXiv 2205.05198, section 4.2.2) each
//   begins with an all-gather and ends with a reduce-scatter instead; backward gathers its input
//   again beside the gradient of the input and scatters that beside the gradient of the weights,
//   as Megatron-LM does (megatron/core/tensor_parallel/layers.py).
//   Context parallelism: by RING keys and values go round in C - 1 shifts beside C parts of
//   attention, in backward with C shifts of their gradients; by GATHER they are all-gathered, and
//   gradients reduce-scattered; by HEADS four all-to-alls (arXiv 2309.14509).
//   Experts: tokens go to top_k experts by an all-to-all over expert-parallel ranks, are gathered
//   over expert-tensor-parallel ones, computed, scattered and sent back; backward mirrors it.
// What is not modelled: dropout's random numbers, norms' gradient reductions over tensor ranks.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "workloads/dag/op_kinds.hpp"
#include "workloads/models/operator.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace weft {

/// Ranks that communicate: axes of the plan.
enum class PlanAxis : std::uint8_t {
  tensor,
  context,
  replicas,  ///< of dense parameters: context x data
  pipeline,
  expert,
  expert_tensor,
  expert_replicas,  ///< of experts
  embedding,        ///< first and last stage, where they share weights
  world             ///< all
};

constexpr std::size_t plan_axis_count = static_cast<std::size_t>(PlanAxis::world) + 1;

/// Ranks of an axis.
std::uint64_t size_of(PlanAxis axis, const ParallelPlan& plan);
/// From one rank of an axis to the next; of `embedding` from the first stage to the last.
std::uint64_t stride_of(PlanAxis axis, const ParallelPlan& plan);
/// "tp", "cp", "dp", "pp", "ep", "etp", "edp", "embedding", "world".
std::string_view to_text(PlanAxis axis);

/// How long a GPU takes for an operator, and its host to hand one over.
class OperatorClock {
 public:
  using Kernels = std::function<Duration(const Operator&, OperatorPass)>;

  OperatorClock() = default;
  template <class Function>
  requires std::is_invocable_r_v<Duration, Function&, const Operator&, OperatorPass> OperatorClock(Function kernels,
                                                                                                   Duration dispatch = {})
      : kernels_(std::move(kernels)), dispatch_(dispatch) {}

  explicit operator bool() const { return static_cast<bool>(kernels_); }
  Duration operator()(const Operator& op, OperatorPass pass) const { return kernels_(op, pass); }
  /// Of one operator, by the host: what follows each other on the GPU takes no less.
  Duration dispatch() const { return dispatch_; }

 private:
  Kernels kernels_;
  Duration dispatch_;
};

/// How long the ranks of an axis take for a collective (`type`, input of one rank), or for a
/// message from each to the next.
struct AxisClock {
  std::function<Duration(PlanAxis axis, CollectiveType type, Bytes input)> collective;
  std::function<Duration(PlanAxis axis, Bytes bytes)> message;
};

struct TimedOperator {
  Operator op;
  OperatorPass pass = OperatorPass::forward;
};

/// One after the other.
struct ComputeStep {
  std::vector<TimedOperator> operators;
};

struct AxisCollective {
  PlanAxis axis = PlanAxis::tensor;
  CollectiveType type = CollectiveType::all_reduce;
  Bytes input;                   ///< as Op::bytes; of an all_to_all on even load
  bool goes_by_load = false;     ///< an all_to_all to experts by their loads
  bool returns_by_load = false;  ///< an all_to_all back from them
};

/// To the next rank of the axis, from the one before.
struct ShiftStep {
  PlanAxis axis = PlanAxis::context;
  Bytes bytes;
};

struct TrainingStep {
  std::string_view name;
  std::variant<ComputeStep, AxisCollective, ShiftStep> what;
  /// Steps of the same pass, by index, that end before it begins; none: it begins with the pass.
  std::vector<std::uint32_t> after;
};

/// In an order in which they can run.
using TrainingPass = std::vector<TrainingStep>;

/// All passes of one part of the model. backward is backward_input and backward_weight in one.
struct PartPasses {
  TrainingPass forward;
  TrainingPass backward;
  TrainingPass backward_input;
  TrainingPass backward_weight;
};

/// Loads of expert-parallel ranks, as shares of the tokens, 1 in all, in their order: sums over
/// each rank's experts, capped by the capacity factor. Even where the model says nothing.
std::vector<double> expert_rank_loads(const ExpertBlock& experts, std::uint32_t expert_ranks);

class TrainingSteps {
 public:
  /// Requires: the plan breaks no rule for the model.
  TrainingSteps(const TransformerModel& model, const ParallelPlan& plan);

  /// `load`: the share of tokens that go to this rank's experts, over the mean.
  PartPasses layer(bool has_experts, double load = 1.0) const;
  /// Embedding, before the first layer.
  PartPasses input() const;
  /// Final norm, output layer and loss.
  PartPasses output() const;
  /// Of all parameters that one rank updates.
  Operator optimizer(std::uint64_t parameters) const;

  /// What goes from stage to stage on a rank, forward and backward.
  Bytes pipeline_message() const;
  /// What a rank sends of that.
  Bytes pipeline_sent() const;
  /// How those that receive get the rest, before a pass; nothing where they have it.
  TrainingPass pipeline_gather() const;

 private:
  const TransformerModel& model_;
  const ParallelPlan& plan_;
};

}  // namespace weft
