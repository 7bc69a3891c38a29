// SPDX-License-Identifier: Apache-2.0
// Parallel plan: how training spreads a model over GPUs. One plan serves memory, the workload and
// the volumes of communication.
//
// Where it sits: plan_reader.hpp reads one for a model; searches make them; broken_rules() says
// whether a model can be trained so.
//
// Model: tensor x context x data ranks hold one pipeline stage; there are `pipeline` stages. Ranks
// are numbered with tensor-parallel ones as neighbours, then context, data, pipeline:
//   rank = ((stage D + d) C + c) T + t
// Experts divide the T C D ranks of a stage anew, independently of the dense axes (Liu et al., "MoE
// Parallel Folding", arXiv 2504.14960):
//   rank = ((stage D_e + d_e) E + e) X + x          T C D = X E D_e
// Dense parameters have C D replicas, those of experts D_e.
//   microbatches of an iteration   global batch / (microbatch D)
//   GPUs at least                  P lcm(T C, X E)
// Threads: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/models/model.hpp"
#include "workloads/plans/pipeline_layout.hpp"
#include "workloads/plans/precision.hpp"
#include "workloads/schedules/pipeline.hpp"

namespace weft {

enum class RecomputeKind : std::uint8_t { keep, selective, uniform, block };

struct Recompute {
  RecomputeKind kind = RecomputeKind::keep;
  std::uint64_t layers = 1;  ///< of block: of each chunk; of uniform: between inputs that are kept

  /// Is the forward pass of this layer of a chunk, counted from 0, done once more before backward?
  bool repeats(std::uint64_t layer) const {
    return kind == RecomputeKind::uniform || (kind == RecomputeKind::block && layer < layers);
  }

  friend bool operator==(const Recompute&, const Recompute&) = default;
};

/// How context-parallel ranks get to each other's keys and values.
enum class ContextExchange : std::uint8_t { ring, gather, heads };

struct ParallelPlan {
  std::string name;
  std::string origin;
  std::uint32_t tensor = 1;
  std::uint32_t context = 1;
  std::uint32_t pipeline = 1;
  std::uint32_t chunks = 1;  ///< per stage
  std::uint32_t data = 1;
  std::uint32_t expert = 1;
  std::uint32_t expert_tensor = 1;
  std::uint64_t microbatch = 1;  ///< sequences
  std::uint64_t global_batch = 1;
  std::uint64_t sequence = 1;  ///< tokens
  bool sequence_parallel = false;
  std::uint32_t zero_stage = 1;  ///< 0 to 3
  std::string schedule;
  ChunkPlacement placement = ChunkPlacement::loop;  ///< of the schedule
  Recompute recompute;
  Precision precision = precision_of(PrecisionKind::megatron_bf16);
  PipelineLayout layout;  ///< by position
  bool overlap_gradients = true;
  bool overlap_parameters = true;
  bool overlap_pipeline = false;
  bool scatter_between_stages = false;
  std::uint64_t gradient_bucket = 0;  ///< parameters
  ContextExchange context_exchange = ContextExchange::ring;
  bool fused_attention = true;
  std::uint32_t vocabulary_multiple = 1;

  bool shards_optimizer() const { return zero_stage >= 1; }
  bool shards_gradients() const { return zero_stage >= 2; }
  bool shards_parameters() const { return zero_stage >= 3; }

  std::uint64_t stage_ranks() const { return std::uint64_t{tensor} * context * data; }
  std::uint64_t ranks() const { return stage_ranks() * pipeline; }
  std::uint64_t positions() const { return std::uint64_t{pipeline} * chunks; }
  /// One stage holds both the first position and the last.
  bool ends_share_a_stage() const { return pipeline == 1 || placement == ChunkPlacement::v_shape; }
  /// Replicas of dense parameters, which share their optimizer states under ZeRO.
  std::uint64_t replicas() const { return std::uint64_t{context} * data; }
  /// Replicas of each expert.
  std::uint64_t expert_replicas() const { return stage_ranks() / (std::uint64_t{expert} * expert_tensor); }
  /// Of one replica in an iteration.
  std::uint64_t microbatches() const { return global_batch / (microbatch * data); }
  /// Of one microbatch on one context-parallel rank, before tensor parallelism divides them.
  std::uint64_t tokens() const { return microbatch * (sequence / context); }
  /// Of one microbatch where norms, residuals and routers work.
  std::uint64_t tokens_between_blocks() const { return sequence_parallel ? tokens() / tensor : tokens(); }
};

/// Its pipeline, for pipeline.hpp's functions; without times.
PipelineSizes pipeline_sizes(const ParallelPlan& plan);

/// The vocabulary that training allocates.
std::uint64_t padded_vocabulary(const TransformerModel& model, const ParallelPlan& plan);

/// The fewest GPUs that hold one replica of everything.
std::uint64_t ranks_min(const ParallelPlan& plan);

/// Megatron-LM's parameters per gradient bucket: the larger of 40,000,000 and 1,000,000 times the
/// replicas (megatron/core/distributed/distributed_data_parallel.py).
std::uint64_t default_gradient_bucket(std::uint64_t replicas);

/// PyTorch's DistributedDataParallel: 25 MiB of FP32 (bucket_cap_mb).
constexpr std::uint64_t ddp_gradient_bucket = 6'553'600;

// --- What a model allows ---

struct BrokenPlanRule {
  std::string field;  ///< of plan.proto
  std::string rule;   ///< with the numbers that break it
  std::string help;
};

/// Every rule that the plan breaks for the model; nothing: it can be trained so. Layouts and
/// schedules are checked where they are made.
std::vector<BrokenPlanRule> broken_rules(const ParallelPlan& plan, const TransformerModel& model);

/// Those of the batch alone, whatever the model.
std::vector<BrokenPlanRule> broken_batch_rules(const ParallelPlan& plan);

}  // namespace weft
