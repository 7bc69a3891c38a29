// SPDX-License-Identifier: Apache-2.0
// Scheduler settings: how the scheduler goes about it, whatever its policy and placement.
//
// Where it sits: tools fill them from the table "scheduler"; JobLifecycle carries them out.
// Thread safety: values.
#pragma once

#include <cstdint>

#include "core/text/params.hpp"
#include "core/values/units.hpp"

namespace weft {

/// Parameter table "scheduler".
ParamTable scheduler_params();

struct SchedulerSettings {
  Duration control_delay;   ///< of messages to hosts
  Duration start_overhead;  ///< from the start of a job until it gets on, each time
  Duration round;           ///< between passes; zero: a pass whenever something has happened
  /// Setbacks in a row without anything kept of any job, after which the run ends; 0: it goes on.
  std::uint64_t setbacks_max = 0;
  /// Iterations to simulate before jobs are fast-forwarded; 0: all are simulated.
  std::uint64_t fast_forward = 0;
};

}  // namespace weft
