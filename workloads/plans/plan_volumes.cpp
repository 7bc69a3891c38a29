// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/plan_volumes.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

#include "workloads/plans/plan_units.hpp"

namespace weft {

namespace {

std::int64_t bytes_of(std::uint64_t elements, ElementType type) { return checked_tensor_size(elements, type).count(); }

/// Adds volumes up, layer by layer.
class VolumeCounter {
 public:
  VolumeCounter(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage)
      : model_(model), plan_(plan), stage_(stage), microbatches_(plan.microbatches()) {}

  std::vector<PlanVolume> count() {
    const PipelineSizes sizes = pipeline_sizes(plan_);
    for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk)
      count_position(sizes, position_of(sizes, plan_.placement, stage_, chunk));
    count_tied();
    std::vector<PlanVolume> all;
    for (const auto& [key, sum] : sums_) {
      const auto& [axis, kind, type] = key;
      all.push_back({axis, kind, type, sum.count, Bytes::of(sum.bytes)});
    }
    return all;
  }

 private:
  struct Sum {
    std::uint64_t count = 0;
    std::int64_t bytes = 0;
  };

  void add(PlanAxis axis, OpKind kind, CollectiveType type, std::uint64_t count, std::int64_t bytes) {
    if (size_of(axis, plan_) == 1 || count == 0 || bytes == 0) return;
    Sum& sum = sums_[{axis, kind, type}];
    sum.count += count;
    sum.bytes += static_cast<std::int64_t>(count) * bytes;
  }
  void add(PlanAxis axis, CollectiveType type, std::uint64_t count, std::int64_t bytes) {
    add(axis, OpKind::collective, type, count, bytes);
  }
  void add_sends(PlanAxis axis, std::uint64_t count, std::int64_t bytes) {
    add(axis, OpKind::send, CollectiveType::all_reduce, count, bytes);
  }

  std::int64_t activations(std::uint64_t elements) const { return bytes_of(elements, plan_.precision.activations()); }
  std::uint64_t h() const { return model_.hidden; }
  std::uint64_t tokens() const { return plan_.microbatch * plan_.sequence / plan_.context; }
  std::uint64_t rows() const { return plan_.sequence_parallel ? tokens() / plan_.tensor : tokens(); }

  void count_position(const PipelineSizes& sizes, std::uint32_t position) {
    const std::uint64_t forward = microbatches_;
    if (position == 0) count_input(forward);
    const LayerRange& range = plan_.layout[position];
    for (std::uint64_t i = 0; i < range.count; ++i) {
      count_layer(model_.has_experts(range.first + i), forward * (plan_.recompute.repeats(i) ? 2 : 1));
    }
    if (position + 1 == plan_.positions()) count_output();
    const auto sends_to = [&](std::uint64_t other) {
      if (place_of(sizes, plan_.placement, static_cast<std::uint32_t>(other)).device == stage_) return;
      const std::uint64_t senders = plan_.scatter_between_stages ? plan_.tensor : 1;
      const std::int64_t sent = activations(rows() * h() / senders);
      add_sends(PlanAxis::pipeline, microbatches_, sent);
      // As much comes from there.
      if (plan_.scatter_between_stages) add(PlanAxis::tensor, CollectiveType::all_gather, microbatches_, sent);
    };
    if (position + 1 < plan_.positions()) sends_to(position + 1);
    if (position > 0) sends_to(position - 1);
    count_parameters(units_of(model_, plan_, position));
  }

  // --- Tensor parallelism ---

  /// Inputs of `width` come together and outputs of h are added up, `forward` times; backward once
  /// per microbatch.
  void count_block(std::uint64_t width, std::uint64_t forward) {
    if (plan_.sequence_parallel) {
      add(PlanAxis::tensor, CollectiveType::all_gather, forward + microbatches_, activations(rows() * width));
      add(PlanAxis::tensor, CollectiveType::all_gather, microbatches_, activations(rows() * h()));
      add(PlanAxis::tensor, CollectiveType::reduce_scatter, forward, activations(tokens() * h()));
      add(PlanAxis::tensor, CollectiveType::reduce_scatter, microbatches_, activations(tokens() * width));
    } else {
      add(PlanAxis::tensor, CollectiveType::all_reduce, forward, activations(tokens() * h()));
      add(PlanAxis::tensor, CollectiveType::all_reduce, microbatches_, activations(tokens() * width));
    }
  }

  void count_input(std::uint64_t forward) {
    if (model_.images) return;
    if (plan_.sequence_parallel) {
      add(PlanAxis::tensor, CollectiveType::reduce_scatter, forward, activations(tokens() * h()));
      add(PlanAxis::tensor, CollectiveType::all_gather, microbatches_, activations(rows() * h()));
    } else {
      add(PlanAxis::tensor, CollectiveType::all_reduce, forward, activations(tokens() * h()));
    }
  }

  void count_output() {
    if (model_.images) return;
    constexpr std::uint64_t numbers_per_token = 3;
    add(PlanAxis::tensor, CollectiveType::all_reduce, numbers_per_token * microbatches_,
        bytes_of(tokens(), *element_type_named("FP32")));
    if (plan_.sequence_parallel) {
      add(PlanAxis::tensor, CollectiveType::all_gather, 2 * microbatches_, activations(rows() * h()));
      add(PlanAxis::tensor, CollectiveType::reduce_scatter, microbatches_, activations(tokens() * h()));
    } else {
      add(PlanAxis::tensor, CollectiveType::all_reduce, microbatches_, activations(tokens() * h()));
    }
  }

  // --- Layers ---

  void count_layer(bool has_experts, std::uint64_t forward) {
    count_block(attention_width(), forward);
    count_context(forward);
    if (!has_experts) return count_block(h(), forward);
    count_experts(*model_.experts, forward);
  }

  std::uint64_t attention_width() const {
    const auto* latent = std::get_if<LatentAttention>(&model_.attention.kind);
    if (latent == nullptr) return h();
    return (latent->query_rank > 0 ? latent->query_rank : h()) + latent->key_value_rank + latent->rotary_width;
  }

  void count_context(std::uint64_t forward) {
    const AttentionBlock& attention = model_.attention;
    const std::uint64_t heads = attention.heads() / plan_.tensor;
    const std::uint64_t pairs = std::max<std::uint64_t>(attention.key_value_heads() / plan_.tensor, 1);
    const std::uint64_t both = pairs * (attention.key_width() + attention.value_width());
    const std::int64_t keys = activations(tokens() * both);
    const std::uint64_t c = plan_.context;
    switch (plan_.context_exchange) {
      case ContextExchange::ring:
        return add_sends(PlanAxis::context, (c - 1) * forward + (c - 1 + c) * microbatches_, keys);
      case ContextExchange::gather:
        add(PlanAxis::context, CollectiveType::all_gather, forward + microbatches_, keys);
        return add(PlanAxis::context, CollectiveType::reduce_scatter, microbatches_, activations(c * tokens() * both));
      case ContextExchange::heads:
        add(PlanAxis::context, CollectiveType::all_to_all, forward + microbatches_,
            activations(tokens() * (heads * attention.key_width() + both)));
        return add(PlanAxis::context, CollectiveType::all_to_all, forward + microbatches_,
                   activations(tokens() * heads * attention.value_width()));
    }
  }

  void count_experts(const ExpertBlock& experts, std::uint64_t forward) {
    const std::uint64_t sent = rows() * experts.top_k;
    add(PlanAxis::expert, CollectiveType::all_to_all, 2 * (forward + microbatches_), activations(sent * h()));
    add(PlanAxis::expert_tensor, CollectiveType::all_gather, forward + microbatches_, activations(sent * h()));
    add(PlanAxis::expert_tensor, CollectiveType::reduce_scatter, forward + microbatches_,
        activations(sent * plan_.expert_tensor * h()));
    if (experts.shared_width > 0) count_block(h(), forward);
  }

  // --- Parameters ---

  void count_parameters(const std::vector<PlanUnit>& units) {
    for (const GradientBucket& bucket : buckets_of(units, plan_)) {
      const PlanAxis axis = bucket.is_expert ? PlanAxis::expert_replicas : PlanAxis::replicas;
      const std::uint64_t ranks = size_of(axis, plan_);
      const std::uint64_t reductions = plan_.shards_gradients() ? microbatches_ : 1;
      add(axis, plan_.shards_optimizer() ? CollectiveType::reduce_scatter : CollectiveType::all_reduce, reductions,
          bytes_of(bucket.parameters, plan_.precision.reduced_gradients));
      if (!plan_.shards_optimizer()) continue;
      const std::uint64_t gathers = plan_.shards_parameters() ? 2 * microbatches_ : 1;
      add(axis, CollectiveType::all_gather, gathers, bytes_of(bucket.share(ranks), plan_.precision.parameters));
    }
  }

  void count_tied() {
    add(PlanAxis::embedding, CollectiveType::all_reduce, 1,
        bytes_of(tied_parameters(model_, plan_, stage_), plan_.precision.reduced_gradients));
  }

  const TransformerModel& model_;
  const ParallelPlan& plan_;
  std::uint32_t stage_;
  std::uint64_t microbatches_;
  std::map<std::tuple<PlanAxis, OpKind, CollectiveType>, Sum> sums_;
};

}  // namespace

std::vector<PlanVolume> plan_volumes(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage) {
  return VolumeCounter(model, plan, stage).count();
}

}  // namespace weft
