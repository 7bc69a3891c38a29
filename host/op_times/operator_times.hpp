// SPDX-License-Identifier: Apache-2.0
// Operator times: how long one GPU takes for one operator, whoever knows it.
//
// Where it sits: projections and workloads made of models ask this; measured tables, regressors,
// the analytical model and external chip models answer.
// Threads: const functions may be called from any thread.
#pragma once

#include <optional>
#include <string>

#include "core/values/units.hpp"
#include "workloads/models/operator.hpp"

namespace weft {

class OperatorTimes {
 public:
  OperatorTimes() = default;
  OperatorTimes(const OperatorTimes&) = delete;
  OperatorTimes& operator=(const OperatorTimes&) = delete;
  virtual ~OperatorTimes() = default;

  /// Kernels of one pass, from the first one's start to the last one's end, without the wait for a
  /// launch. None where this source does not know such an operator, shape or type.
  virtual std::optional<Duration> time_of(const Operator& op, OperatorPass pass) const = 0;

  /// How long a host takes to hand over one operator.
  virtual Duration dispatch() const { return Duration::zero(); }

  /// What the times come from, for results and manifests: "analytical: h100_sxm".
  virtual std::string origin() const = 0;
};

}  // namespace weft
