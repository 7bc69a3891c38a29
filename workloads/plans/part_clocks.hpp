// SPDX-License-Identifier: Apache-2.0
// Part clocks: how long a GPU takes for operators, where parts of a model may have clocks of their
// own.
//
// Where it sits: estimates and workloads of plans ask it. Most have one clock for everything;
// measured layers correct it part by part (host/projections/measured_clock.hpp), as the same norm
// stands in a layer and before the output.
// Threads: as its clocks.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "workloads/plans/plan_units.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft {

class PartClocks {
 public:
  /// One clock for all; converts from whatever a clock does.
  template <class Clock>
  requires std::is_convertible_v<const Clock&, OperatorClock> PartClocks(const Clock& all) : all_(all) {}

  /// Of one part alone.
  void set(UnitKind part, OperatorClock clock) { own_[static_cast<std::size_t>(part)] = std::move(clock); }

  const OperatorClock& of(UnitKind part) const {
    const OperatorClock& own = own_[static_cast<std::size_t>(part)];
    return own ? own : all_;
  }
  /// Of what belongs to no part: the optimizer.
  const OperatorClock& all() const { return all_; }

 private:
  OperatorClock all_;
  std::array<OperatorClock, unit_kind_count> own_;
};

}  // namespace weft
