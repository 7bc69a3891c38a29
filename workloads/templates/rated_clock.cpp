// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/rated_clock.hpp"

#include <variant>

namespace weft {

OperatorClock rated_clock(const TensorMath& math, Duration optimizer_time, PassScales scales) {
  return OperatorClock([&math, optimizer_time, scales](const Operator& op, OperatorPass pass) {
    if (std::holds_alternative<OptimizerStep>(op.shape)) return optimizer_time;
    return math.time(product_operations(op.shape, pass) * (pass == OperatorPass::forward ? scales.forward : scales.backward));
  });
}

}  // namespace weft
