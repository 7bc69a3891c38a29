// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/transformer.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/plans/held_parameters.hpp"
#include "workloads/plans/plan_reader.hpp"
#include "workloads/plans/training_workload.hpp"
#include "workloads/templates/rated_clock.hpp"

namespace weft {

namespace {

std::uint32_t or_else(std::uint32_t given, std::uint32_t otherwise) { return given == 0 ? otherwise : given; }

/// Floating-point operations of the products of a pass, all times `scales`.
double operations_of(const TrainingPass& pass, PassScales scales) {
  double sum = 0.0;
  for (const TrainingStep& step : pass) {
    const auto* compute = std::get_if<ComputeStep>(&step.what);
    if (compute == nullptr) continue;
    for (const TimedOperator& timed : compute->operators) {
      sum +=
          product_operations(timed.op.shape, timed.pass) * (timed.pass == OperatorPass::forward ? scales.forward : scales.backward);
    }
  }
  return sum;
}

double operations_of(const PartPasses& part, PassScales scales) {
  return operations_of(part.forward, scales) + operations_of(part.backward, scales);
}

/// Turns parameters into a model, a plan and a clock.
class TransformerPreset {
 public:
  TransformerPreset(const TensorMath& math, const TransformerSettings& settings, const ExpertSettings* experts,
                    const SourcePlace& place)
      : math_(math), settings_(settings), experts_(experts), place_(place) {}

  Workload workload(std::string_view name, double tflops) const {
    check_sizes();
    const TransformerModel transformer = model();
    const ParallelPlan parallel = plan(transformer);
    math_.require_op_count(estimated_ops(transformer, parallel));
    const OperatorClock clock = rated_clock(math_, math_.checked(settings_.optimizer_time), scales(transformer, parallel, tflops));
    Workload made = make_training_workload(std::string(name), transformer, parallel, clock, place_);
    if (settings_.forward_time == Duration::zero()) {
      made.assumptions.push_back(math_.rate_note());
    } else {
      made.assumptions.push_back("forward_time is one layer's; products take time in proportion to their operations");
    }
    if (experts_ != nullptr) made.assumptions.push_back("tokens are spread evenly over the experts");
    return made;
  }

 private:
  std::uint64_t head_width() const { return settings_.head_width > 0 ? settings_.head_width : settings_.hidden / settings_.heads; }

  /// What the counts of a plan and the sizes of its ops cannot hold.
  void check_sizes() const {
    const std::uint64_t ranks = math_.product({settings_.tp, settings_.cp, settings_.pp, settings_.dp});
    if (ranks > workload_rank_count_max) {
      math_.fail("too-large", fmt::format("tp x cp x pp x dp = {} ranks", ranks),
                 fmt::format("at most {} are supported", workload_rank_count_max));
    }
    if (settings_.head_width == 0) math_.require_divides("hidden", settings_.hidden, "heads", settings_.heads);
    // Queries, keys and values; what ranks that share experts gather.
    const std::uint64_t tokens = math_.product({settings_.seq, settings_.microbatch});
    const ElementType widest = *element_type_named("FP32");
    math_.bytes(math_.product({tokens, settings_.hidden}), widest);
    math_.bytes(math_.product({tokens, 3, settings_.heads, head_width()}), widest);
    if (experts_ != nullptr) {
      math_.bytes(math_.product({tokens, settings_.hidden, experts_->top_k, or_else(experts_->etp, settings_.tp)}), widest);
    }
    const double attention = 4.0 * settings_.heads * static_cast<double>(head_width());
    const double mlp = (3.0 * settings_.ffn + 1.0) * (experts_ == nullptr ? 1.0 : experts_->experts);
    const double parameters = settings_.hidden * (settings_.layers * (attention + mlp) + 2.0 * (settings_.vocab + settings_.tp));
    // So that no bucket of them is larger than an op may be.
    constexpr double parameters_max = 1ULL << 48;
    if (parameters > parameters_max) {
      math_.fail("too-large", fmt::format("the model has about {:.3g} parameters", parameters),
                 fmt::format("at most {:.3g} are counted; make it smaller", parameters_max));
    }
  }

  TransformerModel model() const {
    const std::uint32_t kv_heads = or_else(settings_.kv_heads, settings_.heads);
    math_.require_divides("heads", settings_.heads, "kv_heads", kv_heads);
    TransformerModel model;
    model.layers = settings_.layers;
    model.hidden = settings_.hidden;
    model.vocabulary = settings_.vocab;
    model.sequence = settings_.seq;
    model.attention.kind = GroupedQueryAttention{.heads = settings_.heads, .key_value_heads = kv_heads, .head_width = head_width()};
    model.mlp.activation = settings_.is_gated ? Activation::swiglu : Activation::gelu;
    model.norm = Norm::rms_norm;
    model.positions = Positions::rotary;
    model.tied_embeddings = settings_.is_tied;
    if (experts_ == nullptr) {
      model.mlp.width = settings_.ffn;
      return model;
    }
    if (experts_->top_k > experts_->experts) {
      math_.fail("bad-plan", fmt::format("top_k = {} is more than experts = {}", experts_->top_k, experts_->experts),
                 "a token goes to different experts");
    }
    ExpertBlock block;
    block.count = experts_->experts;
    block.top_k = experts_->top_k;
    block.width = settings_.ffn;
    model.experts = std::move(block);
    return model;
  }

  /// Fields of plan.proto.
  std::vector<std::string> plan_fields() const {
    std::vector<std::string> fields;
    const auto set = [&](std::string_view field, const auto& value) { fields.push_back(fmt::format("{}={}", field, value)); };
    set("tensor_parallel", settings_.tp);
    set("context_parallel", settings_.cp);
    set("pipeline_parallel", settings_.pp);
    set("virtual_pipeline", settings_.vpp);
    set("data_parallel", settings_.dp);
    if (experts_ != nullptr) {
      set("expert_parallel", experts_->ep);
      set("expert_tensor_parallel", or_else(experts_->etp, settings_.tp));
    }
    set("microbatch", settings_.microbatch);
    set("global_batch", std::uint64_t{settings_.microbatches} * settings_.microbatch * settings_.dp);
    set("sequence", settings_.seq);
    set("sequence_parallel", settings_.sequence_parallel && settings_.tp > 1);
    set("zero_stage", settings_.shards_optimizer ? 1 : 0);
    if (settings_.schedule != schedule_auto) set("schedule", settings_.schedule);
    set("count_embedding", settings_.counts_ends);
    set("count_output", settings_.counts_ends);
    set("vocabulary_multiple", 1);
    set("precision.kind", settings_.precision);
    set("precision.gradients", settings_.grad_dtype);
    return fields;
  }

  ParallelPlan plan(const TransformerModel& model) const {
    PlanRequest request{.name = "", .overrides = plan_fields(), .gpus = {}};
    request.override_places.assign(request.overrides.size(), place_);
    ParallelPlan plan = load_plan(request, model, place_);
    const HeldSum layer = sum_of(held_by_layer(model, plan, experts_ != nullptr));
    const std::uint64_t parameters = experts_ == nullptr ? layer.dense : std::min(layer.dense, layer.expert);
    plan.gradient_bucket = parameters * std::min(settings_.bucket_layers, settings_.layers);
    return plan;
  }

  PassScales scales(const TransformerModel& model, const ParallelPlan& plan, double tflops) const {
    const TrainingSteps steps(model, plan);
    const PartPasses layer = steps.layer(experts_ != nullptr);
    PassScales scales;
    if (settings_.forward_time != Duration::zero()) {
      const double operations = math_.checked(settings_.forward_time).in_s() * tflops * 1e12;
      scales.forward = operations / operations_of(layer.forward, {});
    }
    constexpr double products_backward = 2.0;  // per product of forward
    scales.backward = scales.forward * settings_.backward_factor / products_backward;
    // Sums over all layers are within a year, too.
    math_.time(operations_of(steps.input(), scales) + operations_of(layer, scales) * settings_.layers +
               operations_of(steps.output(), scales));
    return scales;
  }

  const TensorMath& math_;
  const TransformerSettings& settings_;
  const ExpertSettings* experts_;
  const SourcePlace& place_;
};

}  // namespace

std::string precision_of_dtype(const std::string& dtype, const std::string& /*param*/) {
  if (dtype == "FP32") return "ALL_FP32";
  if (dtype == "TF32") return "ALL_TF32";
  if (dtype == "FP8_E4M3") return "MEGATRON_FP8";
  return "MEGATRON_" + dtype;
}

Workload make_transformer(std::string_view name, const ParamSet& params, const ExpertSettings* experts, const SourcePlace& place) {
  const TensorMath math(params, place);
  const auto settings = filled<TransformerSettings>(params);
  return TransformerPreset(math, settings, experts, place).workload(name, filled<TensorRate>(params).tflops);
}

}  // namespace weft
