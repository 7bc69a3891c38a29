// SPDX-License-Identifier: Apache-2.0
// Swift: the window of a queue pair, by round-trip times.
//
// Where it sits: one of the algorithms of host/transport/congestion_control, with a SwiftState per
// queue pair. Asks for round-trip times.
//
// Model (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
// Datacenter", SIGCOMM 2020, algorithm 1 and section 3.5), of the delay in the fabric; cwnd in
// packets:
//   target    base_target + hop_target x hops + clamp(a / sqrt(cwnd) + b, 0, flow_range)
//             a = flow_range / (1 / sqrt(flow_min) - 1 / sqrt(flow_max)),  b = - a / sqrt(flow_max)
//   delay < target     cwnd += increase / cwnd for each packet acknowledged, increase itself if
//                      cwnd < 1
//   else               cwnd x= max(1 - beta (delay - target) / delay, 1 - decrease_max)
//   something lost     cwnd x= 1 - decrease_max
//   Decreases at most once in a round trip. Below one packet, packets are paced: one every round
//   trip / cwnd.
//   As network cards have no slow start, cwnd begins with what the line carries in a round trip and
//   a packet, and is at most what its route holds.
// Threads: values; functions without side effects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "host/transport/congestion_control.hpp"

namespace weft {

/// Parameter table "swift".
ParamTable swift_params();

/// By the table "swift", which has the only defaults.
struct SwiftSettings {
  /// Throws InputError [bad-value].
  explicit SwiftSettings(const ParamSet& params);

  std::optional<Duration> base_target;  ///< none: the round trip when nothing else is under way
  Duration hop_target;
  std::optional<Duration> flow_range;  ///< none: twice that round trip
  double flow_min;                     ///< cwnd
  double flow_max;                     ///< cwnd
  double increase;                     ///< packets a round trip
  double beta;
  double decrease_max;
  double window_min;  ///< packets
};

struct SwiftState {
  double cwnd = 0;      ///< packets
  double cwnd_max = 0;  ///< packets
  double packet = 0;    ///< bytes
  double line_bps = 0;
  double base_s = 0;   ///< target of a queue pair with a large window
  double range_s = 0;  ///< what small windows add at most
  double delay_s = 0;  ///< the last round-trip time
  Time decreased_at;
  bool has_decreased = false;
};

/// The sender's arithmetic.
class Swift {
 public:
  /// Requires: 0 < flow_min < flow_max, 0 < decrease_max < 1 (WEFT_CHECK).
  explicit Swift(const SwiftSettings& settings);

  SwiftState begin(const QueuePairLimits& limits) const;
  void on_acknowledged(SwiftState& state, const Acknowledgement& acknowledgement) const;
  void on_loss(SwiftState& state, Time now) const;
  double target_s(const SwiftState& state) const;
  static double rate_bps(const SwiftState& state) {
    return state.cwnd >= 1 || state.delay_s == 0 ? state.line_bps : state.cwnd * state.packet * 8 / state.delay_s;
  }

 private:
  void decrease(SwiftState& state, double factor, Time now) const;

  SwiftSettings settings_;
};

std::shared_ptr<const CongestionAlgorithm> make_swift(const ParamSet& params);

}  // namespace weft
