// SPDX-License-Identifier: Apache-2.0
// Template "dlrm": a deep-learning recommendation model - dense layers in data parallel, embedding
// tables spread over the ranks.
//
// Where it sits: one of workload_templates(), a preset: it makes a RecommenderModel and a plan of
// its parameters and calls block_workload.hpp. The forward graph joins a sparse and a dense branch,
// as in DLRM (arXiv 1906.00091) and in figure 25 of the paper that this simulator follows:
//
//   indices -> lookup -> embeddings --.
//   bottom_0 -> bottom_1 ... ----------+-> interaction -> top_0 ... and the loss
//
// Model: model_blocks.hpp has operators and sizes. Products take their operations at tflops; a
// lookup reads b T p d elements at memory_bandwidth, its update reads and writes them; all else
// takes no time. Gradients of every layer are all-reduced as soon as they are there. With tables no
// multiple of the ranks, what a rank exchanges is a mean.
// Not modelled: skew between tables, the optimizer's state.
// Thread safety: constants and pure functions.
#pragma once

#include "workloads/templates/workload_templates.hpp"

namespace weft {

Module<WorkloadFactory> dlrm_module();

}  // namespace weft
