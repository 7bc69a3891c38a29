// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/operator_clock.hpp"

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

OperatorClock operator_clock(const OperatorTimes& times, const SourcePlace& place) {
  return [&times, place](const Operator& op, OperatorPass pass) {
    const std::optional<Duration> time = times.time_of(op, pass);
    if (!time) {
      fail("no-operator-time",
           fmt::format("{} has no time for {} ({}) in {}, {}", times.origin(), op.name, to_text(op.shape), op.type.name,
                       to_text(pass)),
           place, "another precision, GPU or source of operator times may have");
    }
    return *time;
  };
}

}  // namespace weft
