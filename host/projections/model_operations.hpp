// SPDX-License-Identifier: Apache-2.0
// Model operations: the floating-point operations that an iteration needs, for MFU.
//
// Where it sits: projections divide it by time, GPUs and their peak.
//
// Model: products of forward and backward passes of all microbatches on all ranks, without what
// recomputation repeats; of causal attention the half that counts. MFU as Chowdhery et al., "PaLM",
// arXiv 2204.02311, section 4.1 has it, which counts all of attention.
// Threads: pure functions.
#pragma once

#include "workloads/plans/parallel_plan.hpp"

namespace weft {

/// Requires: the plan breaks no rule.
double model_operations(const TransformerModel& model, const ParallelPlan& plan);

}  // namespace weft
