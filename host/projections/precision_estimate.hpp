// SPDX-License-Identifier: Apache-2.0
// Precision estimate: the time of a training iteration from operators that each have a type of
// their own, and links of one rate.
//
// Where it sits: gpu_subgraphs.hpp says what a GPU computes; any clock says how long it takes.
//
// Model, for M microbatches, D x T x P ranks, links of rate B
//   T = T_comp + T_dp + T_tp + T_pp                                                           (1)
//   T_comp  M times the operators of a microbatch, on the GPU that takes longest
//             as published                            else
//   T_dp (2)  gradients, each in the type of its      what workloads/plans/plan_volumes has, each
//             operator / B                            byte as often as a ring sends it: 2 (N - 1) /
//                                                     N for all-reduces
//   T_tp (3)  gradients of sliced weights / B         activations, in the same way
//   T_pp (4)  T_comp (P - 1), which holds for M = 1   (T_comp + T_tp + T_other) (P - 1) / (M v) and
//                                                     2 (P - 1) messages between stages
//   T_other   0                                       context and expert parallelism, as T_tp
// v: chunks of a stage. Optimizer, and what overlaps, are left out, as they are there.
// Source: Kang et al., "Training Time Prediction for Mixed Precision-based Distributed Training",
// arXiv 2604.16145, equations 1 to 4.
// Threads: pure functions; the clock is called from the caller's thread.
#pragma once

#include "core/values/units.hpp"
#include "host/projections/arithmetic.hpp"
#include "host/projections/gpu_subgraphs.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

struct PrecisionEstimate {
  Duration computation;
  Duration data;
  Duration tensor;
  Duration pipeline;
  Duration other;

  Duration total() const { return computation + data + tensor + pipeline + other; }
};

/// Requires: the plan breaks no rule, the rate is above 0.
PrecisionEstimate precision_estimate(const TransformerModel& model, const ParallelPlan& plan, const OperatorClock& clock,
                                     Bandwidth link, Arithmetic arithmetic);

/// The plan as predictors see it that know of one type only: everything in FP32.
ParallelPlan precision_blind(ParallelPlan plan);

}  // namespace weft
