// SPDX-License-Identifier: Apache-2.0
// Template "dlrm": a deep-learning recommendation model - dense layers in data parallel, embedding
// tables spread over the ranks.
//
// Where it sits: one of workload_templates(). All ranks play one role. The forward graph joins a
// sparse and a dense branch, as in DLRM (arXiv 1906.00091) and in figure 25 of the paper that this
// simulator follows (sparse, dense, fc, concat, emb; a2a, ar):
//
//   sparse -> a2a_index -> emb -> a2a_emb --.
//   dense -> fc_bottom_0 -> fc_bottom_1 ... -+-> concat -> fc_top_0 ... -> loss
//
// The lookup (emb) runs on a stream of its own, beside the dense layers. Backward runs the other
// way: the top layers' gradients are all-reduced while backward goes on; a2a_grad carries the
// embeddings' gradients to the ranks that hold the tables beside the backward of the bottom layers;
// the step waits for all.
//
// Sizes, with b samples per rank, T tables, dimension d, p lookups per table and sample and e bytes
// per element:
//   a2a_index  b T p 8 B (64-bit indices) a2a_emb, a2a_grad b T d e ar of a layer inputs x outputs
//              x e
// Every rank holds T / ranks tables and pools for all ranks' samples, so both directions have these
// sizes per rank; with T not a multiple of ranks they are means. Compute: 2 m n k floating-point
// operations per matrix product, twice that backward; the lookup reads b T p d e bytes at
// memory_bandwidth, its update writes as many.
// Not modelled: skew between tables, the optimizer's state.
// Thread safety: constants and pure functions.
#pragma once

#include "workloads/templates/workload_templates.hpp"

namespace weft {

Module<WorkloadFactory> dlrm_module();

}  // namespace weft
