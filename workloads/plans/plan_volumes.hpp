// SPDX-License-Identifier: Apache-2.0
// Plan volumes: what a rank communicates in one iteration, in closed form, without a DAG.
//
// Where it sits: projections print it and rank plans by it; tests hold the training workload to it,
// to the byte.
//
// Model, per rank of a stage and iteration, for m microbatches, T tokens of one on a
// context-parallel rank, Ts = T / t of them with sequence parallelism, hidden h, bytes e per
// activation, L layers of the stage:
//   tensor, per dense layer   forward 2 sums, backward 2 sums: all-reduces of T h e; with sequence
//                             parallelism forward 2 all-gathers of Ts h e and 2 reduce-scatters of
//                             T h e, backward 4 and 2; latent attention gathers what is compressed
//   context, per layer        RING: C - 1 shifts of K forward, C - 1 of K and C of as much
//                             backward, for K bytes of keys and values; GATHER: 2 all-gathers of K
//                             and a reduce-scatter of C K; HEADS: 4 all-to-alls
//   expert, per expert layer  4 all-to-alls of Ts k h e, 2 forward and 2 backward; over
//                             expert-tensor-parallel ranks 2 all-gathers, 2 reduce-scatters
//   replicas                  held parameters, once: reduced and gathered
//   pipeline                  one message of Ts h e per position border and direction; where ranks
//                             scatter it, of T h e / t, and an all-gather of that
// A recomputed layer does its forward again.
// Sizes are input buffers of one rank, as Op::bytes has them.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/dag/op_kinds.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft {

/// Of one kind, all together.
struct PlanVolume {
  PlanAxis axis = PlanAxis::tensor;
  OpKind kind = OpKind::collective;  ///< or send
  CollectiveType type = CollectiveType::all_reduce;
  std::uint64_t count = 0;
  Bytes bytes;

  friend bool operator==(const PlanVolume&, const PlanVolume&) = default;
};

/// Of a rank of the stage, by axis and type; those of nothing are left out. On even loads of
/// experts. Requires: the plan breaks no rule.
std::vector<PlanVolume> plan_volumes(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage);

}  // namespace weft
