// SPDX-License-Identifier: Apache-2.0
// Replica plan: the parallel plan of templates whose ranks all do the same.
//
// Where it sits: dlrm and unet are presets of a model and this plan.
// Model: one microbatch, everything in FP32, gradients all-reduced block by block as soon as they
// are there.
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "workloads/plans/parallel_plan.hpp"

namespace weft {

/// `batch`: samples per rank; `gradients`: the type in which they are reduced.
ParallelPlan replica_plan(std::uint32_t ranks, std::uint64_t batch, ElementType gradients);

}  // namespace weft
