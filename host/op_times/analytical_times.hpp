// SPDX-License-Identifier: Apache-2.0
// Analytical times: operator times from shapes and the numbers of a GPU alone; no GPU is needed.
//
// Where it sits: an OperatorTimes beside measured tables and regressors, for projections where
// nothing was measured.
//
// Model: products by tiles and waves (analytical_matmul.hpp), attention by FlashAttention's blocks
// (analytical_attention.hpp), all else by bytes (analytical_traffic.hpp).
//   Matmul, GroupedMatmul  problems of the pass: forward m x n x k, backward_input m x k x n,
//                          backward_weight k x n x m; backward is both, one after the other
//   Convolution            implicit GEMM: rows are the outputs' places, inner is input channels x
//                          kernel^2; its input lies in memory once
// Invariants
//   1. Times are positive and no less than the roofline: operations / peak, bytes / bandwidth.
//   2. An operator in a type that the GPU has no products for has no time; so has a gradient of
//      weights that an operator lacks.
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/text/params.hpp"
#include "host/op_times/analytical_attention.hpp"
#include "host/op_times/analytical_traffic.hpp"
#include "host/op_times/gpu.hpp"
#include "host/op_times/operator_times.hpp"

namespace weft {

/// In the order of the choices of analytical.loss.
enum class LossKernels : std::uint8_t { as_others, fused, eager };

/// In the order of the choices of analytical.load.
enum class GpuLoad : std::uint8_t { training, kernels };

struct AnalyticalSettings {
  GpuLoad load = GpuLoad::training;
  KernelFusion kernels = KernelFusion::fused;
  LossKernels loss = LossKernels::as_others;

  /// Of an operator.
  KernelFusion kernels_of(RowOperator what) const;
  AttentionVersion attention = AttentionVersion::automatic;
  /// Size of an element of the gradient that the optimizer reads, where kernels are fused.
  ElementType gradient_type;
  Duration dispatch;  ///< by the host, per operator
};

/// Parameters of the model beside those of the GPU, module "analytical".
ParamTable analytical_params();

class AnalyticalTimes final : public OperatorTimes {
 public:
  AnalyticalTimes(Gpu gpu, const AnalyticalSettings& settings);

  std::optional<Duration> time_of(const Operator& op, OperatorPass pass) const override;
  Duration dispatch() const override { return settings_.dispatch; }
  /// "analytical: h100_sxm"
  std::string origin() const override;

  /// Why there is no time: "h100_sxm has no FP4"; none where there is one.
  std::optional<std::string> missing(const Operator& op, OperatorPass pass) const;

  /// With the clock that the load leaves.
  const Gpu& gpu() const { return gpu_; }

 private:
  Gpu gpu_;
  AnalyticalSettings settings_;
};

}  // namespace weft
