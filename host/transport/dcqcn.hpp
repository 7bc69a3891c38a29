// SPDX-License-Identifier: Apache-2.0
// DCQCN: the rate of a queue pair, which its sender sets by congestion notifications (CNP).
//
// Where it sits: an algorithm of host/transport/congestion_control, with a DcqcnState per queue
// pair. Switches mark packets (network/packet/ecn_marking); the receiver's card answers marks by
// CNPs.
//
// Model (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section
// 3.1, equations 1 to 4, figure 7): a queue pair starts at line rate with alpha = 1.
//   notification      target = rate;  rate = rate (1 - alpha / 2);  alpha = (1 - g) alpha + g; all
//                     counters and timers begin anew
//   alpha_interval    without a notification: alpha = (1 - g) alpha
//   increase          every rate_interval, and every byte_counter bytes. With t and b the number of
//                     each since the last notification:
//     max(t, b) < fast_recovery   rate = (target + rate) / 2
//     min(t, b) > hyper_after     target += hyper_increase (min(t, b) - hyper_after), then the same
//     else                        target += additive_increase, then the same
// Rate and target remain between minimum_rate and line rate. Steps and minimum_rate are rates or
// shares of the line rate. docs/internals/packet_mode.md has the options (`is_periodic`,
// `keeps_target`, `awaits_round_trips`, `hyper_by_timer`, `hyper_grows`).
//
// Timers need no events: the state is brought to an instant when it is asked for, and is the same
// bits however often that is.
// Threads: values; functions without side effects.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "host/transport/congestion_control.hpp"

namespace weft {

/// Parameter table "dcqcn".
ParamTable dcqcn_params();

/// A rate, or a share of the line's.
struct RateOrShare {
  Bandwidth rate = Bandwidth::bps(0);
  double share = 0;  ///< if above 0

  double in_bps(double line_bps) const { return share > 0 ? share * line_bps : static_cast<double>(rate.in_bps()); }
  bool operator==(const RateOrShare&) const = default;
};

/// By the table "dcqcn", which has the only defaults.
struct DcqcnSettings {
  /// Throws InputError [bad-value].
  explicit DcqcnSettings(const ParamSet& params);

  double g;
  Duration alpha_interval;
  Duration rate_interval;
  Bytes byte_counter;  ///< zero: bytes do not count
  std::uint32_t fast_recovery;
  std::uint32_t hyper_after;
  RateOrShare additive_increase;
  RateOrShare hyper_increase;
  RateOrShare minimum_rate;
  Duration decrease_interval;
  bool keeps_target;
  bool is_periodic;
  bool hyper_by_timer;
  bool hyper_grows;
  bool awaits_round_trips;
  Duration notification_interval;  ///< at the receiver
};

struct DcqcnState {
  double rate_bps = 0;
  double target_bps = 0;
  double alpha = 1;
  double line_bps = 0;
  /// Of the next decay; of the last look at it, if periodic. Counts once a notification came.
  Time alpha_at;
  Time increase_at = Time::max();  ///< by the timer
  /// Of the last notification that counted; of the first, if periodic.
  Time cut_at;
  Time alpha_due = Time::max();  ///< when a notification will show in alpha, if periodic
  Time cut_due = Time::max();    ///< when it will show in the rate
  std::int64_t bytes_left = 0;   ///< until the next increase by bytes
  std::uint32_t timer_count = 0;
  std::uint32_t byte_count = 0;
  bool notified = false;   ///< ever
  Duration round_trip;     ///< that is awaited; zero: none
  std::uint64_t sent = 0;  ///< packets, at the last notification that counted
};

/// The reaction point's arithmetic.
class Dcqcn {
 public:
  /// Requires: 0 < g <= 1, alpha_interval and rate_interval > 0, decrease_interval too if periodic
  /// (WEFT_CHECK).
  explicit Dcqcn(const DcqcnSettings& settings);

  DcqcnState begin(Bandwidth line, Duration round_trip = {}) const;
  void on_notification(DcqcnState& state, const Notification& notification) const;
  void on_sent(DcqcnState& state, Bytes bytes, Time now) const;
  /// Requires: times that are handed over never go back.
  double rate_bps(DcqcnState& state, Time now) const {
    if (state.notified) bring_to(state, now);
    return state.rate_bps;
  }

 private:
  static Duration at_least_round_trip(const DcqcnState& state, Duration interval) { return std::max(interval, state.round_trip); }
  void bring_to(DcqcnState& state, Time now) const;
  void pass_looks(DcqcnState& state, Time now) const;
  void pass_increases(DcqcnState& state, Time now) const;
  void decay_alpha(DcqcnState& state, Time now) const;
  Time next_look(const DcqcnState& state, Duration shortest, Time now) const;
  void cut(DcqcnState& state, Time now) const;
  void increase(DcqcnState& state) const;

  DcqcnSettings settings_;
};

std::shared_ptr<const CongestionAlgorithm> make_dcqcn(const ParamSet& params);

}  // namespace weft
