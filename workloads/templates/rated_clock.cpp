// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/rated_clock.hpp"

namespace weft {

OperatorClock rated_clock(const TensorMath& math) {
  return [&math](const Operator& op, OperatorPass pass) {
    const double operations = product_operations(op.shape, pass);
    return operations > 0.0 ? math.time(operations) : Duration::zero();
  };
}

}  // namespace weft
