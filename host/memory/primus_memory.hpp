// SPDX-License-Identifier: Apache-2.0
// Primus' memory arithmetic: the closed forms that the documentation of Primus' projection prints,
// for comparison.
//
// Where it sits: `weft project memory --as=seed` prints it beside what memory_projection.hpp finds.
// docs/internals/memory_model.md lists where the two differ.
//
// Model of rank 0, as printed, for V the padded vocabulary, H hidden, A heads, G groups of keys and
// values, F widths, L layers, E experts:
//   parameters   V H + layers of the first stage x (3 x 2 H + 2 H^2 (1 + G / A) P + MLP), without
//                the output layer and the last norm; experts over EP, nothing over TP
//   bytes        P (2 + 2 + (2 + 4 + 4) / DP), DP = world / (EP PP)
//   sbh          MBS S / (TP CP) H 2 B; a norm, a residual, the router, the embedding keep one each
//   attention    tokens (Q + 2 KV + H + Q) 2 B: the fourth term is called the softmax's
//   MLP          tokens (3 F + H) 2 B, times top_k and shared experts
//   activations  sum of the stage x PP (1 + (PP - 1) / (PP VPP)) x min(1, GA / PP)
//   recomputed   layers keep sbh; then come the activations of one layer, and the embedding's once
// Corrected: the same parameters and activations of a layer with an FP32 copy of 4 bytes and with
// the microbatches that the plan's schedule holds: 1F1B PP of them, not PP (1 + (PP - 1) / PP).
// Source: Primus, docs/projection.md, "Memory Projection", "Example Output".
// Threads: values and pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/models/model.hpp"
#include "workloads/plans/parallel_plan.hpp"
#include "workloads/schedules/pipeline.hpp"

namespace weft {

struct PrimusComponent {
  std::string_view name;
  std::uint64_t parameters = 0;
  double activation_bytes = 0.0;  ///< of one microbatch
};

struct PrimusMemory {
  std::vector<PrimusComponent> components;  ///< of one instance each
  std::uint64_t parameters_total = 0;
  std::uint64_t parameters = 0;  ///< of rank 0
  double data_parallel = 1.0;
  double state_bytes = 0.0;
  double base_activation_bytes = 0.0;  ///< of one microbatch on rank 0
  double penalty = 1.0;
  double accumulation_saving = 1.0;
  double activation_bytes = 0.0;

  double corrected_state_bytes = 0.0;
  double corrected_microbatches = 0.0;  ///< that rank 0 holds
  double corrected_activation_bytes = 0.0;

  double total_bytes() const { return state_bytes + activation_bytes; }
  double corrected_total_bytes() const { return corrected_state_bytes + corrected_activation_bytes; }
};

/// `passes`: of the first stage.
PrimusMemory primus_memory(const TransformerModel& model, const ParallelPlan& plan, const std::vector<PipelinePass>& passes);

}  // namespace weft
