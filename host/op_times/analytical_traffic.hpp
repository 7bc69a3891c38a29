// SPDX-License-Identifier: Apache-2.0
// Analytical traffic: how many bytes operators that are bound by memory move, in how many kernels.
//
// Where it sits: AnalyticalTimes (analytical_times.hpp) turns this into times.
//
// Model: time = kernels x kernel_overhead + bytes / rate of the memory. Bytes are counted from the
// kernels: what each reads and writes of whole tensors. A framework may have fused them into one
// (Megatron-Core with Transformer Engine or Apex), or run each expression as a kernel of its own
// (eager PyTorch). analytical_traffic.cpp has both counts of every operator, kernel by kernel.
// Leaves out: caches. A tensor that the kernel before left in L2 is read from memory again.
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "workloads/models/operator.hpp"

namespace weft {

/// In the order of the choices of analytical.kernels.
enum class KernelFusion : std::uint8_t { fused, eager };

struct MemoryTraffic {
  double bytes = 0;
  double kernels = 0;
};

MemoryTraffic traffic_of(const RowWise& shape, double element_bytes, OperatorPass pass, KernelFusion fusion);
MemoryTraffic traffic_of(const EmbeddingLookup& shape, double element_bytes, OperatorPass pass);
/// `gradient_bytes`: of an element of the gradient as the optimizer reads it.
MemoryTraffic traffic_of(const OptimizerStep& shape, double element_bytes, double gradient_bytes, KernelFusion fusion);

}  // namespace weft
