// DCQCN: the rate of a queue pair, as its sender sets it by the congestion notifications (CNP) that come back.
//
// Where it sits: one of the algorithms of host/transport/congestion_control, with a DcqcnState per queue pair. Switches mark (network/packet/ecn_marking), the receiver's card answers marks with notifications.
//
// Model (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3.1, equations 1 to 4, figure 7):
//   at line rate, nothing runs until the first notification; alpha = 1
//   notification    target = rate;  rate = rate (1 - alpha / 2);  alpha = (1 - g) alpha + g;  all counters and timers begin anew
//   alpha_interval without a notification                          alpha = (1 - g) alpha
//   increase: every rate_interval, and every byte_counter bytes; with t and b how often each has happened since the last notification
//     max(t, b) < fast_recovery        fast recovery        rate = (target + rate) / 2
//     min(t, b) > hyper_after          hyper increase       target += hyper_increase x (min(t, b) - hyper_after), then as above; the paper has
//                                                           hyper_after = fast_recovery
//     else                             additive increase    target += additive_increase, then as above
//   With `keeps_target`, of notifications between two increases only the first sets the target: after a burst of them the rate goes back half-way
//   to what it was before the burst.
//   With `awaits_round_trips`, where a round trip of the queue pair's way takes longer than these times do, alpha_interval, rate_interval and decrease_interval last
//   as long as it, and a notification that comes before all is acknowledged that was sent at the last one that counted does not count: it tells of a
//   queue that has been answered.
//   rate and target stay between minimum_rate and the line's rate. Notifications less than decrease_interval after one that counted do not count.
//   Steps and minimum_rate are rates, or shares of the line's rate: so one set of numbers fits links of any rate.
//
// As network cards and the simulators around HPCC have it (`is_periodic`): notifications only set two flags, which are looked at when time comes, counted from
// the first notification:
//   every alpha_interval      alpha = (1 - g) alpha + g if there was a notification since the last look, else (1 - g) alpha
//   every decrease_interval   if there was one, target and rate as above with the alpha of now; counters and timers begin anew
// With `hyper_by_timer`, t alone decides which increase it is; without `hyper_grows`, hyper increases are all of one size.
//
// Timers need no events: the state is brought to an instant when it is asked for. It is the same bits however often that is.
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
  Time alpha_at;                   ///< of the next decay; of the last look at it, if periodic. Counts once a notification came
  Time increase_at = Time::max();  ///< by the timer
  Time cut_at;                     ///< of the last notification that counted; of the first, if periodic
  Time alpha_due = Time::max();    ///< when a notification will show in alpha, if periodic
  Time cut_due = Time::max();      ///< when it will show in the rate
  std::int64_t bytes_left = 0;     ///< until the next increase by bytes
  std::uint32_t timer_count = 0;
  std::uint32_t byte_count = 0;
  bool notified = false;   ///< ever
  Duration round_trip;     ///< that is awaited; zero: none
  std::uint64_t sent = 0;  ///< packets, at the last notification that counted
};

/// The reaction point's arithmetic.
class Dcqcn {
 public:
  /// Requires: 0 < g <= 1, alpha_interval and rate_interval > 0, decrease_interval too if periodic (WEFT_CHECK).
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
