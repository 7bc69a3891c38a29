// SPDX-License-Identifier: Apache-2.0
// Compute clock: when the compute ops of a rank end, at a speed that changes while they run.
//
// Where it sits: each rank runner has one; hosts change its speed when they throttle, runners when
// communication slows kernels down.
//
// Model: an op of duration d at speed 1 is done when the integral of the speed since its start has
// reached d. GPU ops run at host speed x GPU speed, CPU ops at host speed. An op whose speed never
// changes from 1 ends after exactly d; otherwise ends are rounded up to a tick. Every change gives
// the op a new end; the events of old ends are told by their version.
// Invariant: finishes are a function of the sequence of calls.
// Threads: belongs to its rank.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "workloads/dag/op_kinds.hpp"

namespace weft {

class ComputeClock {
 public:
  /// When an op will end if nothing changes.
  struct End {
    OpId op;
    std::uint64_t version = 0;
    Duration in;  ///< from now
  };

  /// Requires: `duration` > 0; the op is not running.
  End start(OpId op, Processor processor, Duration duration, Time now);
  bool is_running() const { return !running_.empty(); }
  /// What an op takes if nothing changes.
  Duration time_of(Processor processor, Duration duration) const;
  /// Whether this is the op's current end; then it stops running.
  bool finish(OpId op, std::uint64_t version);

  /// Sets a speed and returns the new ends of the ops that it moves. Requires: speed > 0.
  std::vector<End> set_host_speed(double speed, Time now);
  std::vector<End> set_gpu_speed(double speed, Time now);

 private:
  struct Running {
    OpId op;
    Processor processor = Processor::gpu;
    std::uint64_t version = 0;
    double work = 0;  ///< ticks at speed 1 that are left at `since`
    Time since;
  };

  double speed_of(Processor processor) const { return processor == Processor::gpu ? host_speed_ * gpu_speed_ : host_speed_; }
  End end_of(const Running& running) const;
  std::vector<End> change(double& speed, double value, bool moves_cpu, Time now);

  double host_speed_ = 1;
  double gpu_speed_ = 1;
  std::uint64_t version_ = 0;  ///< speed changes so far
  std::vector<Running> running_;
};

}  // namespace weft
