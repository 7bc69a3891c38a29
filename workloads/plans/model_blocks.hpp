// SPDX-License-Identifier: Apache-2.0
// Model blocks: recommenders and U-Nets as operators on one rank of a plan, in a small graph.
//
// Where it sits: block_workload.hpp strings the blocks together to an iteration. Transformers,
// whose layers are alike and may be divided, have training_steps.hpp instead.
//
// Model, for b samples of a microbatch on a rank, T tables, n = T + 1, width d, p lookups each:
//   Recommender  bottom_0 .. reads dense features; indices (all-to-all of b T p 8 B) -> lookup ->
//                embeddings (all-to-all of b T d activations); interaction_0 .. reads both ends;
//                top_0 .. and the loss. Tables are laid end to end and divided evenly, so every
//                rank looks up b T p rows and updates as many in backward.
//     DLRM       interaction: products of all pairs, n x n x d per sample
//     DHEN       an interaction per layer, its modules summed (recommender_model.hpp)
//   U-Net        encoder_0 .. encoder_L, then decoder_{L-1} .. decoder_0, which read encoders, too.
//                A transposed convolution of 2 x 2 is a product of P / 4 points with 4 c columns.
// A block reads the samples if it reads no other: gradients of its input are left out.
// What is left out: skew between tables and between their rows, dropout, copies from the host.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "workloads/models/operator.hpp"
#include "workloads/models/recommender_model.hpp"
#include "workloads/models/unet_model.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace weft {

enum class BlockKind : std::uint8_t {
  layer,     ///< operators on the stream of computation
  lookup,    ///< operators beside it
  exchange,  ///< all-to-all among all ranks, backward as forward
  request    ///< all-to-all that has no gradient
};

struct ModelBlock {
  std::string name;  ///< "bottom_0"
  BlockKind kind = BlockKind::layer;
  std::vector<std::uint32_t> after = {};  ///< blocks before it that it reads
  std::uint64_t parameters = 0;           ///< that every rank has
  std::vector<Operator> operators = {};   ///< of forward, one after the other
  Bytes exchanged = {};                   ///< by one rank, as Op::bytes
};

/// In the order of forward. Requires: the plan breaks no rule. Throws InputError [too-large] at
/// `place` for a size that no operation may have.
std::vector<ModelBlock> model_blocks(const RecommenderModel& model, const ParallelPlan& plan, const SourcePlace& place);
std::vector<ModelBlock> model_blocks(const UNetModel& model, const ParallelPlan& plan, const SourcePlace& place);

}  // namespace weft
