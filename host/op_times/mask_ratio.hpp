// SPDX-License-Identifier: Apache-2.0
// Mask ratio: how long fused attention with a causal mask takes by measured times of the same
// kernel without one, or the reverse.
//
// Where it sits: look-ups (tabled_times) and regressors (regressor_times) ask it where a GPU's
// samples have only one of both. estimate-train-time's tables are without a mask, training is
// causal.
//
// Model: t(causal) = t(all pairs) x T(causal) / T(all pairs), with the measured t and with the
// times T that the analytical model (analytical_attention.hpp) has for both, of one shape, pass,
// type and GPU. What the model is off in common cancels: rates of products, the version of the
// kernel. What is left is what skips blocks above the diagonal, 129/256 of all for 128 blocks, the
// uneven ends of blocks, and overheads, which both have. For 4 sequences of 4,096 tokens and 16
// heads of 128 it is 0.55 on A100; for a single short head it is 1, and never more.
// The GPU is the first preset of the chip that the tables' name has in it, A100 for
// NVIDIAA100-SXM4-80GB; of other names the one that the model was fitted to most, a100_sxm_80gb.
// Threads: immutable.
#pragma once

#include <optional>
#include <string_view>

#include "host/op_times/gpu.hpp"
#include "host/op_times/sampled_kernel.hpp"
#include "workloads/models/operator.hpp"

namespace weft {

/// The kernel with the other mask, whose time times `factor` is that of the operator.
struct OtherMask {
  OperatorKernel kernel;
  double factor = 1;
};

class MaskRatio {
 public:
  /// `sampled_gpu`: as names of tables begin.
  explicit MaskRatio(std::string_view sampled_gpu);

  /// None of what is no attention, or not one that tables have, or of a type without products.
  std::optional<OtherMask> other(const Operator& op, OperatorPass pass) const;

  const Gpu& gpu() const { return gpu_; }

 private:
  Gpu gpu_;
};

}  // namespace weft
