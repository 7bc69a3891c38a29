// SPDX-License-Identifier: Apache-2.0
// Block workload: the DAG of one training iteration of a recommender or a U-Net.
//
// Where it sits: `weft workload make --model --plan` and scenarios make workloads with it, and the
// templates dlrm and unet do. Transformers have training_workload.hpp.
//
// Model: all ranks play one role, as every rank has all layers and an even share of tables.
//   Microbatches  one after the other: blocks in order, then back. A block goes forward when those
//                 that it reads have, and backward when those that read it have; the first blocks
//                 of a microbatch wait for all of the one before, updates of tables included.
//   Gradients     of buckets of gradient_bucket parameters, from the last block to the first:
//                 all-reduced (ZeRO 0), else reduce-scattered, when the last microbatch's backward
//                 has passed them, or after all unless overlap_gradients. ZeRO 2: after every
//                 microbatch.
//   Optimizer     of parameters that all ranks have, after all gradients. Rows of tables are
//                 updated where backward reaches them.
//   Parameters    ZeRO 1 and 2: all-gathered by the same buckets, before the first block that needs
//                 them or, unless overlap_parameters, after the optimizer.
// Collectives share the communicator of all ranks, hence a stream: they run in the order written.
// What is left out: norms of gradients, which recipes of these models do not clip; statistics of
// batch norms between ranks, which stay on each.
// Threads: pure functions; the clock is called from the caller's thread.
#pragma once

#include <string>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/plans/model_blocks.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft {

/// Operators of a block's backward pass, in order: each product's gradient of the input and of the
/// weights, all else in one.
std::vector<TimedOperator> backward_operators(const ModelBlock& block);

/// Requires: the plan breaks no rule for the model. Throws InputError [too-large] at `place` for
/// sizes that no operation may have, and for more ops than a workload may have.
Workload make_training_workload(const std::string& name, const RecommenderModel& model, const ParallelPlan& plan,
                                const OperatorClock& clock, const SourcePlace& place);
Workload make_training_workload(const std::string& name, const UNetModel& model, const ParallelPlan& plan,
                                const OperatorClock& clock, const SourcePlace& place);

}  // namespace weft
