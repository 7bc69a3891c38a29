// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/transformer.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/role_script.hpp"
#include "workloads/dag/strided_groups.hpp"

namespace weft {

// Collectives of tensor parallelism. Attention and MLP each end with an all-reduce, forward and
// backward. With sequence parallelism each begins with an all-gather and ends with a reduce-scatter
// instead. A rank keeps only its part of the block's input then, so backward gathers it again. Per
// layer and micro-batch, of T h e bytes each:
//   forward   2 all-gathers, 2 reduce-scatters    or 2 all-reduces
//   backward  4 all-gathers, 2 reduce-scatters    or 2 all-reduces
//
// Backward of a block, in Megatron-LM's order:
//
//   gather -> rest -+-> dgrad --------+-> scatter -+->
//                   +-> input_gather -+-> wgrad ---+
//
// dgrad is the gradient of the input, by the matrices split by columns (queries, keys and values;
// the MLP's first; the head). wgrad is the gradient of these matrices, rest all other operations.
// An all-reduce is beside wgrad, too.
//
// Vocabulary (arXiv 1909.08053 section 3): each rank has a part of it. The embedding's sum is
// all-reduced or, as Megatron does with rotary positions, reduce-scattered; its gradient is then
// gathered. The head is a block without rest and without a sum in forward. Its loss all-reduces
// three FP32 numbers per token: the largest logit, the target's, and the sum of exponentials.
// Experts: tokens go to top_k experts by an all-to-all among "ep", are gathered among "tp",
// computed, reduce-scattered and sent back. Routing is balanced. Experts keep what they gathered:
// backward does not gather it again, as in Megatron-LM.
// Tied embeddings: first and last stage each have the vocabulary's weights. When all reductions
// have ended, the two sum its gradient by an all-reduce of vocab h / tp among "embedding"
// (megatron/core/distributed/finalize_model_grads.py). A single stage has them once.
//
// Floating-point operations of one rank, T = seq x microbatch tokens, h hidden, F ffn, g = 2
// matrices per MLP (3 if gated), k = top_k. A product of m x k by k x n costs 2 m n k, so forward
//   attention  2 T h 4h / tp (queries, keys, values, output) + 2 x 2 T seq h / tp (scores, values)
//   MLP        g 2 T h F / tp
//   experts    g 2 T k h F / tp + 2 T h experts / tp (router)
//   head       2 T h vocab / tp
// and backward backward_factor as much. A given forward_time is one layer's; the parts and the head
// share it in these proportions.
// Bytes: activations T h e; a layer's weights (4 h^2 + g h F) / tp, experts (experts / ep) g h F /
// tp; embedding and head vocab h / tp.

namespace {

/// A group size with its communicator.
struct Axis {
  std::uint32_t size = 1;
  std::uint16_t communicator = 0;
};

/// One line of a layer's program: a computation, or a collective of a tensor that is `whole` on one
/// side or the other.
struct Step {
  std::string name;
  bool is_compute = true;
  Duration duration;
  CollectiveType type = CollectiveType::all_reduce;
  Axis axis;
  Bytes whole;
  /// The next line starts with this one, and what follows waits for both.
  bool is_beside_next = false;
};

/// A computation of the forward. `column` of its operations are in the matrices that are split by
/// columns and read the block's input, which tensor parallelism has to sum the gradient of.
struct Work {
  Duration forward;
  double column = 0;
};

/// Gradients that are summed together.
struct Weights {
  std::string name;
  std::uint64_t elements = 0;
  Axis axis;
};

class TransformerBuilder {
 public:
  TransformerBuilder(std::string_view name, const TensorMath& math, const TransformerSettings& settings, const ExpertPlan& experts)
      : math_(math), settings_(settings), experts_(experts) {
    read_parameters();
    check_plan();
    workload_ = start_workload(name, tp_.size * pp_.size * dp_.size);
    add_axes();
    plan_layer();
  }

  Workload build() {
    workload_.role_of.resize(workload_.rank_count);
    for (std::uint32_t stage = 0; stage < pp_.size; ++stage) {
      workload_.roles.push_back(stage_program(stage));
      workload_.role_names.push_back(fmt::format("stage{}", stage));
    }
    const std::uint32_t ranks_per_stage = tp_.size * dp_.size;
    for (std::uint32_t rank = 0; rank < workload_.rank_count; ++rank) {
      workload_.role_of[rank] = static_cast<std::uint16_t>(rank / ranks_per_stage);
    }
    if (settings_.forward_time == Duration::zero()) {
      workload_.assumptions.push_back(math_.rate_note());
    } else {
      workload_.assumptions.push_back(
          "forward_time is one layer's; attention, MLP and head take time in proportion to their operations");
    }
    if (experts_.experts > 0) workload_.assumptions.push_back("tokens are spread evenly over the experts");
    return std::move(workload_);
  }

 private:
  void read_parameters() {
    tp_.size = settings_.tp;
    pp_.size = settings_.pp;
    dp_.size = settings_.dp;
    layers_ = settings_.layers;
    hidden_ = settings_.hidden;
    ffn_ = settings_.ffn;
    vocab_ = settings_.vocab;
    batches_ = settings_.microbatches;
    matrices_ = settings_.is_gated ? 3 : 2;
    seq_ = settings_.seq;
    tokens_ = math_.product({seq_, settings_.microbatch});
    sequence_parallel_ = settings_.sequence_parallel;
    shards_optimizer_ = settings_.shards_optimizer;
    is_tied_ = settings_.is_tied;
    dtype_ = settings_.dtype;
    grad_dtype_ = settings_.grad_dtype;
  }

  void check_plan() const {
    const std::uint64_t ranks = math_.product({tp_.size, pp_.size, dp_.size});
    if (ranks > workload_rank_count_max) {
      math_.fail("too-large", fmt::format("tp x pp x dp = {} ranks", ranks),
                 fmt::format("at most {} are supported", workload_rank_count_max));
    }
    math_.require_divides("layers", layers_, "pp", pp_.size);
    math_.require_divides("hidden", hidden_, "heads", settings_.heads);
    math_.require_divides("heads", settings_.heads, "tp", tp_.size);
    math_.require_divides("ffn", ffn_, "tp", tp_.size);
    math_.require_divides("vocab", vocab_, "tp", tp_.size);
    if (experts_.experts > 0) {
      math_.require_divides("dp", dp_.size, "ep", experts_.ep);
      math_.require_divides("experts", experts_.experts, "ep", experts_.ep);
      if (experts_.top_k > experts_.experts) {
        math_.fail("bad-plan", fmt::format("top_k = {} is more than experts = {}", experts_.top_k, experts_.experts),
                   "a token goes to different experts");
      }
      if (tp_.size > 1 && !sequence_parallel_) {
        math_.fail("bad-plan", fmt::format("experts with tp = {} need sequence_parallel", tp_.size),
                   "set sequence_parallel=true or tp=1, as Megatron demands");
      }
    }
    // A layer has at most 20 lines both ways, a stage 4 messages or collectives beside them, the
    // head 9.
    math_.require_op_count(math_.product({batches_, std::uint64_t{20} * layers_ + 4 * pp_.size + 11}) + 4 * layers_ + 8 * pp_.size);
  }

  void add_axis(Axis& axis, const char* name, std::uint32_t stride) {
    if (axis.size == 1) return;
    axis.communicator = static_cast<std::uint16_t>(workload_.communicators.size());
    workload_.communicators.push_back(strided_communicator(name, workload_.rank_count, axis.size, stride));
  }

  void add_axes() {
    ep_.size = experts_.ep;
    dp_ep_.size = dp_.size / experts_.ep;
    add_axis(tp_, "tp", 1);
    add_axis(pp_, "pp", tp_.size * dp_.size);
    add_axis(dp_, "dp", tp_.size);
    add_embedding_axis();
    if (experts_.experts == 0) return;
    add_axis(ep_, "ep", tp_.size);
    add_axis(dp_ep_, "dp_ep", tp_.size * experts_.ep);
  }

  /// The first and the last stage's ranks that hold one and the same part of the vocabulary, if
  /// they are two that must agree.
  void add_embedding_axis() {
    if (!is_tied_ || pp_.size == 1) return;
    const std::uint32_t ranks_per_stage = tp_.size * dp_.size;
    std::vector<std::vector<RankId>> groups;
    for (std::uint32_t rank = 0; rank < ranks_per_stage; ++rank) {
      groups.push_back({RankId(rank), RankId(rank + (pp_.size - 1) * ranks_per_stage)});
    }
    embedding_ = {2, static_cast<std::uint16_t>(workload_.communicators.size())};
    workload_.communicators.emplace_back("embedding", workload_.rank_count, groups);
  }

  /// The parts of a layer and the head.
  struct Works {
    Work attention;
    Work mlp;
    Work head;
  };

  Works forward_works() const {
    const double tp = tp_.size;
    const auto tokens = static_cast<double>(tokens_);
    const double hidden = hidden_;
    const double queries_keys_values = 2 * tokens * hidden * 3 * hidden / tp;
    const double attention = 2 * tokens * hidden * 4 * hidden / tp + 2 * 2 * tokens * seq_ * hidden / tp;
    double mlp = matrices_ * 2 * tokens * hidden * ffn_ / tp;
    if (experts_.experts > 0) mlp = mlp * experts_.top_k + 2 * tokens * hidden * experts_.experts / tp;
    const double head = 2 * tokens * hidden * vocab_ / tp;
    const Duration given = math_.checked(settings_.forward_time);
    const auto time = [&](double operations) {
      return given == Duration::zero() ? math_.time(operations) : math_.scaled(given, operations / (attention + mlp));
    };
    return {{time(attention), queries_keys_values / attention}, {time(mlp), (matrices_ - 1.0) / matrices_}, {time(head), 1}};
  }

  Duration backward_time(Duration forward) const { return math_.scaled(forward, settings_.backward_factor); }

  static Step computation(std::string name, Duration duration) {
    Step step;
    step.name = std::move(name);
    step.duration = duration;
    return step;
  }

  static void add_collective(std::vector<Step>& steps, std::string name, CollectiveType type, Axis axis, Bytes whole) {
    if (axis.size == 1) return;
    Step step;
    step.name = std::move(name);
    step.is_compute = false;
    step.type = type;
    step.axis = axis;
    step.whole = whole;
    steps.push_back(std::move(step));
  }

  /// Makes what a block needs whole of the parts of the sequence, if they are spread.
  void add_gather(std::vector<Step>& steps, const std::string& name) const {
    if (sequence_parallel_) add_collective(steps, name, CollectiveType::all_gather, tp_, activations_);
  }

  /// Sums what the ranks of a block have computed, to all of them or spread along the sequence.
  void add_sum(std::vector<Step>& steps, const std::string& name) const {
    if (sequence_parallel_) {
      add_collective(steps, fmt::format("{}_scatter", name), CollectiveType::reduce_scatter, tp_, activations_);
    } else {
      add_collective(steps, fmt::format("{}_reduce", name), CollectiveType::all_reduce, tp_, activations_);
    }
  }

  std::vector<Step> dense_forward(const std::string& name, const Work& work) const {
    std::vector<Step> steps;
    add_gather(steps, fmt::format("{}_gather", name));
    steps.push_back(computation(name, work.forward));
    add_sum(steps, name);
    return steps;
  }

  std::vector<Step> dense_backward(const std::string& name, const Work& work) const {
    std::vector<Step> steps;
    add_gather(steps, fmt::format("{}_gather", name));
    add_input_gradient(steps, name, work);
    return steps;
  }

  /// Backward of a computation, with the sum of its input's gradient beside the gradient of the
  /// matrices that read the input. The two products that a matrix takes in backward are equal.
  void add_input_gradient(std::vector<Step>& steps, const std::string& name, const Work& work) const {
    const Duration whole = backward_time(work.forward);
    if (tp_.size == 1) {
      steps.push_back(computation(name, whole));
      return;
    }
    // Rounded so that the parts add up to the whole.
    const Duration column = math_.scaled(whole, work.column);
    const Duration weight_gradient = math_.scaled(column, 0.5);
    if (work.column < 1) steps.push_back(computation(name, whole - column));
    if (sequence_parallel_) {
      add_gather(steps, fmt::format("{}_input_gather", name));
      steps.back().is_beside_next = true;
    }
    steps.push_back(computation(fmt::format("{}_dgrad", name), column - weight_gradient));
    add_sum(steps, name);
    steps.back().is_beside_next = true;
    steps.push_back(computation(fmt::format("{}_wgrad", name), weight_gradient));
  }

  std::vector<Step> expert_block(Duration duration) const {
    // All tokens that a tensor-parallel group holds, once per chosen expert; each of its ranks
    // dispatches its part.
    const Bytes routed = math_.bytes(math_.product({tokens_, hidden_, experts_.top_k}), dtype_);
    const Bytes own = TensorMath::share(routed, tp_.size);
    std::vector<Step> steps;
    add_collective(steps, "dispatch", CollectiveType::all_to_all, ep_, own);
    add_collective(steps, "expert_gather", CollectiveType::all_gather, tp_, routed);
    steps.push_back(computation("experts", duration));
    add_collective(steps, "expert_scatter", CollectiveType::reduce_scatter, tp_, routed);
    add_collective(steps, "combine", CollectiveType::all_to_all, ep_, own);
    return steps;
  }

  void plan_layer() {
    activations_ = math_.bytes(math_.product({tokens_, hidden_}), dtype_);
    passed_on_ = sequence_parallel_ ? TensorMath::share(activations_, tp_.size) : activations_;
    const Works works = forward_works();
    const bool has_experts = experts_.experts > 0;
    const auto append = [](std::vector<Step>& steps, std::vector<Step> more) {
      steps.insert(steps.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    };
    append(forward_, dense_forward("attention", works.attention));
    append(forward_, has_experts ? expert_block(works.mlp.forward) : dense_forward("mlp", works.mlp));
    append(backward_, has_experts ? expert_block(backward_time(works.mlp.forward)) : dense_backward("mlp", works.mlp));
    append(backward_, dense_backward("attention", works.attention));
    plan_ends(works.head);
  }

  /// Embedding and head, whose vocabulary is spread among tensor-parallel ranks.
  void plan_ends(const Work& head) {
    const CollectiveType sum = sequence_parallel_ ? CollectiveType::reduce_scatter : CollectiveType::all_reduce;
    add_collective(embed_, "embedding", sum, tp_, activations_);
    add_gather(embed_backward_, "embedding");
    add_gather(head_, "head_gather");
    head_.push_back(computation("head", head.forward));
    const Bytes number_per_token = math_.bytes(tokens_, *element_type_named("FP32"));
    for (const char* name : {"loss_maximum", "loss_target", "loss_sum"}) {
      add_collective(head_, name, CollectiveType::all_reduce, tp_, number_per_token);
    }
    add_input_gradient(head_backward_, "head", head);
  }

  // --- One stage ---

  struct Stage {
    RoleScript script;
    std::uint32_t index = 0;
    RoleScript::After last;          ///< what the next line waits for
    RoleScript::After reductions;    ///< what the optimizer waits for
    std::vector<Weights> reduced;    ///< in order of reduction
    std::vector<Weights> collected;  ///< a bucket that is not full yet
  };

  RoleDag stage_program(std::uint32_t index) const {
    Stage stage;
    stage.index = index;
    const std::uint32_t warm_up = std::min(pp_.size - 1 - index, batches_);
    for (std::uint32_t batch = 0; batch < warm_up; ++batch) forward(stage, batch);
    for (std::uint32_t batch = warm_up; batch < batches_; ++batch) {
      forward(stage, batch);
      backward(stage, batch - warm_up);
    }
    for (std::uint32_t batch = batches_ - warm_up; batch < batches_; ++batch) backward(stage, batch);
    optimize(stage);
    return stage.script.finish();
  }

  static std::string name_of(const char* pass, std::uint32_t batch, const std::string& what) {
    return fmt::format("{}.{}.{}", pass, batch, what);
  }

  bool is_first(const Stage& stage) const { return stage.index == 0; }
  bool is_last(const Stage& stage) const { return stage.index + 1 == pp_.size; }

  void forward(Stage& stage, std::uint32_t batch) const {
    if (!is_first(stage)) receive(stage, name_of("fwd", batch, "recv"), stage.index - 1);
    if (is_first(stage)) run(stage, embed_, fmt::format("fwd.{}", batch));
    const std::uint32_t per_stage = layers_ / pp_.size;
    for (std::uint32_t layer = 0; layer < per_stage; ++layer) {
      run(stage, forward_, name_of("fwd", batch, fmt::format("layer{}", stage.index * per_stage + layer)));
    }
    if (is_last(stage)) run(stage, head_, fmt::format("fwd.{}", batch));
    if (!is_last(stage))
      stage.script.send(name_of("fwd", batch, "send"), pp_.communicator, stage.index + 1, passed_on_, stage.last);
  }

  void backward(Stage& stage, std::uint32_t batch) const {
    const bool sums = batch + 1 == batches_;
    if (!is_last(stage)) receive(stage, name_of("bwd", batch, "recv"), stage.index + 1);
    if (is_last(stage)) {
      run(stage, head_backward_, fmt::format("bwd.{}", batch));
      // The only stage of a tied model has one gradient for embedding and head, complete when
      // backward ends.
      if (sums && !(is_tied_ && is_first(stage))) reduce(stage, {{"head", vocabulary(), dp_}});
    }
    const std::uint32_t per_stage = layers_ / pp_.size;
    for (std::uint32_t layer = per_stage; layer-- > 0;) {
      const std::string name = fmt::format("layer{}", stage.index * per_stage + layer);
      run(stage, backward_, name_of("bwd", batch, name));
      if (sums) collect(stage, name, layer);
    }
    if (!is_first(stage)) {
      stage.script.send(name_of("bwd", batch, "send"), pp_.communicator, stage.index - 1, passed_on_, stage.last);
      return;
    }
    run(stage, embed_backward_, fmt::format("bwd.{}", batch));
    if (sums) reduce(stage, {{"embedding", vocabulary(), dp_}});
  }

  void receive(Stage& stage, const std::string& name, std::uint32_t from) const {
    stage.last = {stage.script.receive(name, pp_.communicator, from, passed_on_, stage.last)};
  }

  static void run(Stage& stage, const std::vector<Step>& steps, const std::string& prefix) {
    RoleScript::After beside;
    for (const Step& step : steps) {
      const std::uint32_t op = add(stage.script, step, fmt::format("{}.{}", prefix, step.name), stage.last);
      if (step.is_beside_next) {
        beside.push_back(op);
        continue;
      }
      stage.last = std::exchange(beside, {});
      stage.last.push_back(op);
    }
  }

  static std::uint32_t add(RoleScript& script, const Step& step, const std::string& name, const RoleScript::After& after) {
    if (step.is_compute) return script.compute(name, step.duration, after);
    const bool is_gather = step.type == CollectiveType::all_gather;
    const Bytes input = is_gather ? TensorMath::share(step.whole, step.axis.size) : step.whole;
    return script.collective(name, step.type, step.axis.communicator, input, after);
  }

  std::uint64_t vocabulary() const { return math_.product({vocab_, hidden_}) / tp_.size; }

  /// Adds a layer's gradients to the bucket, which is reduced when it is full or the stage's first
  /// layer is in it.
  void collect(Stage& stage, const std::string& name, std::uint32_t layer) const {
    const std::uint64_t attention = math_.product({4, hidden_, hidden_}) / tp_.size;
    const std::uint64_t mlp = math_.product({static_cast<std::uint64_t>(matrices_), hidden_, ffn_}) / tp_.size;
    const bool has_experts = experts_.experts > 0;
    if (stage.collected.empty()) {
      stage.collected.push_back({name, 0, dp_});
      if (has_experts) stage.collected.push_back({fmt::format("{}.experts", name), 0, dp_ep_});
    }
    stage.collected[0].elements += has_experts ? attention + math_.product({hidden_, experts_.experts}) : attention + mlp;
    if (has_experts) stage.collected[1].elements += math_.product({mlp, experts_.experts / experts_.ep});
    const std::uint32_t bucket = settings_.bucket_layers;
    if ((layers_ / pp_.size - layer) % bucket != 0 && layer != 0) return;
    reduce(stage, std::exchange(stage.collected, {}));
  }

  void reduce(Stage& stage, std::vector<Weights> weights) const {
    for (Weights& part : weights) {
      if (part.axis.size == 1) continue;
      stage.reductions.push_back(stage.script.collective(
          fmt::format("grad.{}", part.name), shards_optimizer_ ? CollectiveType::reduce_scatter : CollectiveType::all_reduce,
          part.axis.communicator, math_.bytes(part.elements, grad_dtype_), stage.last));
      stage.reduced.push_back(std::move(part));
    }
  }

  void optimize(Stage& stage) const {
    RoleScript::After after = stage.last;
    after.insert(after.end(), stage.reductions.begin(), stage.reductions.end());
    if (embedding_.size > 1 && (is_first(stage) || is_last(stage))) {
      after = {stage.script.collective("grad.tied", CollectiveType::all_reduce, embedding_.communicator,
                                       math_.bytes(vocabulary(), grad_dtype_), after)};
    }
    const std::uint32_t step = stage.script.compute("optimizer", math_.checked(settings_.optimizer_time), after);
    if (!shards_optimizer_) return;
    for (const Weights& part : stage.reduced) {
      stage.script.collective(fmt::format("weights.{}", part.name), CollectiveType::all_gather, part.axis.communicator,
                              TensorMath::share(math_.bytes(part.elements, dtype_), part.axis.size), {step});
    }
  }

  const TensorMath& math_;
  const TransformerSettings& settings_;
  ExpertPlan experts_;
  Axis tp_;
  Axis pp_;
  Axis dp_;
  Axis ep_;
  Axis dp_ep_;
  Axis embedding_;
  std::uint32_t layers_ = 0;
  std::uint32_t hidden_ = 0;
  std::uint32_t ffn_ = 0;
  std::uint32_t vocab_ = 0;
  std::uint32_t seq_ = 0;
  std::uint32_t batches_ = 0;
  int matrices_ = 2;
  std::uint64_t tokens_ = 0;
  bool sequence_parallel_ = false;
  bool shards_optimizer_ = false;
  bool is_tied_ = false;
  ElementType dtype_;
  ElementType grad_dtype_;
  Workload workload_;
  Bytes activations_;
  Bytes passed_on_;
  std::vector<Step> forward_;
  std::vector<Step> backward_;
  std::vector<Step> embed_;
  std::vector<Step> embed_backward_;
  std::vector<Step> head_;
  std::vector<Step> head_backward_;
};

}  // namespace

Workload make_transformer(std::string_view name, const ParamSet& params, const ExpertPlan& experts, const SourcePlace& place) {
  const TensorMath math(params, place);
  const auto settings = filled<TransformerSettings>(params);
  return TransformerBuilder(name, math, settings, experts).build();
}

}  // namespace weft
