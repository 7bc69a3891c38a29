// SPDX-License-Identifier: Apache-2.0
// Tabled times: operator times looked up in sampled tables, exactly as they were measured.
//
// Where it sits: first in a chain of sources, before regressors.
// Model: kernels of equal sizes take equally long, whichever function's table they stand in; of
// several rows the median counts. A table of forward and backward of a matmul does not tell its two
// gradients apart: each is the same number of operations and gets half. Attention without a mask
// answers for causal attention and the reverse where only one was sampled (mask_ratio).
// Invariants: answers are for the sampled sizes and nothing between; FP16 answers for BF16.
// Threads: const functions may be called from any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "host/op_times/mask_ratio.hpp"
#include "host/op_times/operator_times.hpp"
#include "host/op_times/regression_rows.hpp"
#include "host/op_times/sampled_tables.hpp"

namespace weft {

class TabledTimes final : public OperatorTimes {
 public:
  explicit TabledTimes(const SampledFolder& samples);

  std::optional<Duration> time_of(const Operator& op, OperatorPass pass) const override;
  std::string origin() const override;

  /// Of a function, or a collective, by the sizes of its kernel.
  std::optional<double> time_us(const RegressedFunction& of, const std::vector<double>& sizes) const;
  std::size_t kernel_count() const { return kernels_.size(); }

 private:
  /// Kernel, backward, type, sizes.
  using Key = std::tuple<KernelId, bool, std::string, std::vector<double>>;
  std::optional<Duration> answer(const Operator& op, OperatorPass pass, const OperatorKernel& kernel, double factor) const;

  std::string gpu_;
  MaskRatio masks_;
  std::map<Key, double> kernels_;                                            ///< microseconds
  std::map<std::pair<std::string, std::vector<double>>, double> functions_;  ///< by their texts
};

/// How tables answer for a pass: from forward or backward, and what share of it; none of gradients
/// that are not apart.
struct TabledPass {
  bool is_backward = false;
  double share = 1;
};
std::optional<TabledPass> tabled_pass(const OperatorShape& shape, OperatorPass pass);

}  // namespace weft
