// SPDX-License-Identifier: Apache-2.0
// Regressor times: operator times, and those of sampled functions and collectives, from a profile.
//
// Where it sits: behind measured tables in a chain of sources, before the analytical model.
// Model: an operator is answered by a regressor of its kernel and type in whose sampled range its
// sizes lie: the function of the operator's name if there is one, else the one with the least error
// on its test rows. The two gradients of a matmul get half of its backward each.
// Outside every range it depends: `decline` leaves the operator to the next source, `extrapolate`
// takes the regressor that is least far away. Either is noted.
// Attention without a mask answers for causal attention and the reverse where the profile has one
// of both (mask_ratio), with a note.
// Invariants: FP16 answers for BF16. Attention has as many key heads as query heads.
// Threads: const functions may be called from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/op_times/mask_ratio.hpp"
#include "host/op_times/operator_times.hpp"
#include "host/op_times/regressor_profile.hpp"

namespace weft {

enum class OutsideRange : std::uint8_t { decline, extrapolate };

class RegressorTimes final : public OperatorTimes {
 public:
  RegressorTimes(RegressorProfile profile, OutsideRange outside);

  std::optional<Duration> time_of(const Operator& op, OperatorPass pass) const override;
  std::string origin() const override;

  struct Answer {
    const Regressor* by = nullptr;
    RegressorPrediction prediction;
  };
  /// By name, with the columns of its table: 004's composition asks so. None if no regressor has
  /// such a function, pass and type, or `row` lacks a column. A whole table answers for forward.
  std::optional<Answer> function_time(std::string_view function, bool is_backward, ElementType type, const ColumnValues& row) const;
  /// Of `bytes` on nodes x GPUs per node. "allreduce" is looked for in tables of that name and of
  /// "allreduce_large", whichever is less far away.
  std::optional<Answer> collective_time(std::string_view function, std::uint32_t nodes, std::uint32_t gpus_per_node,
                                        double bytes) const;

  const RegressorProfile& profile() const { return profile_; }
  /// What was asked outside sampled ranges, or of regressors with an error above `doubtful_error`;
  /// the first by text.
  std::vector<std::string> notes() const;
  static constexpr std::size_t kept_notes_max = 50;
  static constexpr double doubtful_error = 0.1;

 private:
  const Regressor* regressor_for(const Operator& op, const OperatorKernel& kernel, bool is_backward) const;
  /// `factor` of what the regressor of this kernel says, if there is one.
  std::optional<Duration> answer(const Operator& op, OperatorPass pass, const OperatorKernel& kernel, double factor) const;
  void note(std::string text) const;

  RegressorProfile profile_;
  MaskRatio masks_;
  OutsideRange outside_;
  mutable std::mutex noting_;
  mutable std::set<std::string> notes_;
};

}  // namespace weft
