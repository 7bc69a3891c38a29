// SPDX-License-Identifier: Apache-2.0
// HPCC: the window of a queue pair, by what switches tell of the ports on its route.
//
// Where it sits: one of the algorithms of host/transport/congestion_control, with an HpccState per
// queue pair. Asks for telemetry.
//
// Model (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1, equations
// 1 to 4); T the round trip when nothing else is under way, of each port B its rate, q its queue,
// tx its bytes, between this acknowledgement and the one before it:
//   load of a port    u = min(q, q before) / (B T) + tx rate / B
//   load              U = (1 - tau/T) U + tau/T max u, with tau the time between the two at the
//                     port of max u, T at most
//   window            W = Wc / (U / eta) + W_AI    if U >= eta or the last max_stage round trips
//                     only added
//                     W = Wc + W_AI                else
//   Once a round trip - when a packet is acknowledged that was sent after the last such step - Wc
//   becomes W.
//   A packet may go as long as less than W is under way.
//   W begins with line x T, is at most what its route holds, and packets go out at W / T.
//   W_AI = line x T (1 - eta) / flows (section 3.3).
// Threads: values; functions without side effects.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "host/transport/congestion_control.hpp"

namespace weft {

/// Parameter table "hpcc".
ParamTable hpcc_params();

/// By the table "hpcc", which has the only defaults.
struct HpccSettings {
  explicit HpccSettings(const ParamSet& params);

  double eta;
  std::uint32_t stages_max;
  double flows;  ///< that share a port, for W_AI
};

struct HpccState {
  double packet = 0;          ///< bytes
  double window = 0;          ///< W, bytes
  double reference = 0;       ///< Wc
  double window_max = 0;      ///< bytes
  double increase = 0;        ///< W_AI, bytes
  double load = 1;            ///< U
  double round_trip_s = 0;    ///< T
  std::uint64_t step_at = 0;  ///< the acknowledgement of this packet is the next step's
  std::uint32_t stage = 0;    ///< round trips that only added
};

/// The sender's arithmetic.
class Hpcc {
 public:
  /// Requires: 0 < eta <= 1, flows >= 1 (WEFT_CHECK).
  explicit Hpcc(const HpccSettings& settings);

  HpccState begin(const QueuePairLimits& limits) const;
  void on_acknowledged(HpccState& state, const Acknowledgement& acknowledgement) const;
  /// W in whole packets.
  static std::int64_t window(const HpccState& state) {
    return static_cast<std::int64_t>(std::ceil(state.window / state.packet) * state.packet);
  }
  static double rate_bps(const HpccState& state) { return state.window * 8 / state.round_trip_s; }

 private:
  HpccSettings settings_;
};

std::shared_ptr<const CongestionAlgorithm> make_hpcc(const ParamSet& params);

}  // namespace weft
