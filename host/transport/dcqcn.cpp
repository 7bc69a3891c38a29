// SPDX-License-Identifier: Apache-2.0
#include "host/transport/dcqcn.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"

namespace weft {

namespace {

constexpr std::string_view study =
    "chosen so that 16 flows share a link of 100 to 800 Gb/s evenly within 5 ms, and keep it busy (tests/validation/README.md)";
constexpr std::string_view sigcomm_2015 = "DCQCN (SIGCOMM 2015), section 5";

InputError bad_value(const std::string& param, const std::string& what, const std::string& hint) {
  return InputError({Severity::error, "bad-value", fmt::format("{}: {}", param, what), SourcePlace::named(param), hint});
}

Bytes byte_counter_of(const std::string& text, const std::string& param) {
  const std::optional<Bytes> bytes = read_bytes_or(text, "none", param);
  if (bytes && *bytes == Bytes::zero()) {
    throw bad_value(param, "the rate would be increased all the time", "write none, or a size such as 10MB");
  }
  return bytes.value_or(Bytes::zero());
}

RateOrShare rate_or_share(std::string_view text, const std::string& param) {
  RateOrShare found;
  if (text.ends_with('%')) {
    const std::string_view number = text.substr(0, text.size() - 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), found.share);
    found.share /= 100;
    if (error == std::errc() && end == number.data() + number.size() && found.share > 0 && found.share <= 1) return found;
    throw bad_value(param, fmt::format("{} is no share of the line's rate above 0% and up to 100%", in_quotes(text)),
                    "write a share such as 0.1%, or a rate such as 40Mbps");
  }
  const std::optional<Bandwidth> rate = read_bandwidth_or(text, "0", param);
  if (!rate || *rate == Bandwidth::bps(0))
    throw bad_value(param, fmt::format("{} is nothing", in_quotes(text)),
                    "write a rate such as 40Mbps, or a share of the line's such as 0.1%");
  found.rate = *rate;
  return found;
}

constexpr std::array dcqcn_rows = {
    param<&DcqcnSettings::g>({.name = "g",
                              .default_text = "0.0625",
                              .minimum = "0.000001",
                              .maximum = "1",
                              .meaning = "Weight of the newest observation in alpha, the estimate of congestion.",
                              .origin = study}),
    param<&DcqcnSettings::alpha_interval>({.name = "alpha_interval",
                                           .default_text = "55us",
                                           .minimum = "1ns",
                                           .maximum = "1s",
                                           .meaning = "Without a notification for so long, alpha decays by 1 - g.",
                                           .origin = sigcomm_2015,
                                           .fit = {"1us", "1ms", true}}),
    param<&DcqcnSettings::rate_interval>({.name = "rate_interval",
                                          .default_text = "55us",
                                          .minimum = "1ns",
                                          .maximum = "1s",
                                          .meaning = "The rate is increased after every such time without a notification.",
                                          .origin = sigcomm_2015,
                                          .fit = {"1us", "2ms", true}}),
    param_read<byte_counter_of, &DcqcnSettings::byte_counter>(
        {.name = "byte_counter",
         .default_text = "none",
         .meaning =
             "The rate is increased after every so many bytes without a notification, such as 10MB; none: by the timer alone.",
         .origin = study}),
    param<&DcqcnSettings::fast_recovery>(
        {.name = "fast_recovery",
         .default_text = "1",
         .minimum = "1",
         .maximum = "1000",
         .meaning = "Increases after a notification that only go back half-way to the rate before it.",
         .origin = study}),
    param<&DcqcnSettings::hyper_after>({.name = "hyper_after",
                                        .default_text = "10",
                                        .minimum = "1",
                                        .maximum = "1000",
                                        .meaning = "Increases after a notification after which further ones are hyper increases.",
                                        .origin = study}),
    param_read<rate_or_share, &DcqcnSettings::additive_increase>(
        {.name = "additive_increase",
         .default_text = "0.3%",
         .meaning =
             "What increases after fast recovery add to the target: a rate such as 40Mbps, or a share of the line's such as 0.1%.",
         .origin = study}),
    param_read<rate_or_share, &DcqcnSettings::hyper_increase>(
        {.name = "hyper_increase",
         .default_text = "0.2%",
         .meaning =
             "What further increases add, times their number, once both timer and bytes have passed fast recovery; a rate or a "
             "share likewise.",
         .origin = study}),
    param_read<rate_or_share, &DcqcnSettings::minimum_rate>(
        {.name = "minimum_rate",
         .default_text = "0.1%",
         .meaning = "No queue pair goes slower; a rate or a share likewise.",
         .origin = "100 Mb/s at 100 Gb/s, as in the RDMA simulators around HPCC"}),
    param<&DcqcnSettings::decrease_interval>(
        {.name = "decrease_interval",
         .default_text = "0ns",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning = "Of notifications that come closer together than this, only the first decreases the rate.",
         .origin = "receivers space them already (notification_interval)"}),
    param<&DcqcnSettings::is_periodic>(
        {.name = "updates",
         .default_text = "on_notification",
         .choices = "on_notification|periodic",
         .meaning =
             "on_notification: each one that counts moves alpha and cuts the rate at once. periodic: alpha moves every "
             "alpha_interval, up if one came in it, else down, and the rate is cut every decrease_interval in which one came.",
         .origin = "on_notification: DCQCN (SIGCOMM 2015), section 3.1; periodic: network cards, and the simulators around HPCC",
         .word = "periodic"}),
    param<&DcqcnSettings::hyper_by_timer>({.name = "hyper_by",
                                           .default_text = "timer",
                                           .choices = "both|timer",
                                           .meaning = "What has to have passed fast recovery for hyper increases. both: timer and "
                                                      "bytes. timer: the timer, whose number alone "
                                                      "says which increase comes next.",
                                           .origin = "both: DCQCN (SIGCOMM 2015), figure 7; timer: the simulators around HPCC",
                                           .word = "timer"}),
    param<&DcqcnSettings::hyper_grows>(
        {.name = "hyper_steps",
         .default_text = "growing",
         .choices = "growing|equal",
         .meaning = "growing: the n-th hyper increase adds n times hyper_increase. equal: each adds it once.",
         .origin = "growing: DCQCN (SIGCOMM 2015), section 3.1; equal: the simulators around HPCC",
         .word = "growing"}),
    param<&DcqcnSettings::keeps_target>(
        {.name = "target",
         .default_text = "each",
         .choices = "each|first",
         .meaning =
             "Which notifications make the rate before them the target of fast recovery. each: all that count. first: of those "
             "between two "
             "increases the first.",
         .origin = "DCQCN (SIGCOMM 2015), equation 1",
         .word = "first"}),
    param<&DcqcnSettings::awaits_round_trips>(
        {.name = "round_trips",
         .default_text = "awaited",
         .choices = "awaited|ignored",
         .meaning = "awaited: where a round trip of a queue pair's way, alone, is longer than rate_interval, then alpha_interval, "
                    "rate_interval and decrease_interval last a round trip; and after a notification that counted no other one "
                    "does before "
                    "all is acknowledged that was sent by then. ignored: the times are what they are, however long the way.",
         .origin =
             "reactions at most once per window of data: RFC 3168, section 6.1.2, and DCTCP (SIGCOMM 2010), section 3.1; the times "
             "of DCQCN are for round trips inside a data center",
         .word = "awaited"}),
    param<&DcqcnSettings::notification_interval>(
        {.name = "notification_interval",
         .default_text = "50us",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning = "A receiver sends at most one congestion notification per queue pair in this time.",
         .origin = "DCQCN (SIGCOMM 2015), section 3.1",
         .fit = {"1us", "1ms", true}}),
};

class DcqcnAlgorithm final : public CongestionAlgorithm {
 public:
  explicit DcqcnAlgorithm(const DcqcnSettings& settings)
      : dcqcn_(settings), notification_interval_(settings.notification_interval) {}
  MarkFeedback feedback() const override { return MarkFeedback::notifications; }
  Duration notification_interval() const override { return notification_interval_; }
  CongestionState begin(const QueuePairLimits& limits) const override {
    return CongestionState(dcqcn_.begin(limits.line, limits.round_trip));
  }
  double on_sent(CongestionState& state, std::int64_t bytes, Time now) const override {
    auto& dcqcn = state.as<DcqcnState>();
    const double rate_bps = dcqcn_.rate_bps(dcqcn, now);
    dcqcn_.on_sent(dcqcn, Bytes::of(bytes), now);
    return rate_bps;
  }
  void on_notification(CongestionState& state, const Notification& notification) const override {
    dcqcn_.on_notification(state.as<DcqcnState>(), notification);
  }

 private:
  Dcqcn dcqcn_;
  Duration notification_interval_;
};

}  // namespace

ParamTable dcqcn_params() { return dcqcn_rows; }

DcqcnSettings::DcqcnSettings(const ParamSet& params) {
  fill(*this, params);
  if (is_periodic && decrease_interval == Duration::zero()) {
    throw bad_value("dcqcn.decrease_interval", "0ns, and with dcqcn.updates = periodic the rate is cut once in it",
                    "give it some microseconds; network cards have 4us");
  }
}

std::shared_ptr<const CongestionAlgorithm> make_dcqcn(const ParamSet& params) {
  return std::make_shared<DcqcnAlgorithm>(DcqcnSettings(params));
}

Dcqcn::Dcqcn(const DcqcnSettings& settings) : settings_(settings) {
  WEFT_CHECK(settings.g > 0 && settings.g <= 1, "g is above 0 and at most 1");
  WEFT_CHECK(settings.alpha_interval > Duration::zero() && settings.rate_interval > Duration::zero() &&
                 (!settings.is_periodic || settings.decrease_interval > Duration::zero()),
             "intervals are above 0");
}

DcqcnState Dcqcn::begin(Bandwidth line, Duration round_trip) const {
  DcqcnState state;
  state.line_bps = static_cast<double>(line.in_bps());
  state.rate_bps = state.line_bps;
  state.target_bps = state.line_bps;
  if (settings_.awaits_round_trips && round_trip > settings_.rate_interval) state.round_trip = round_trip;
  return state;
}

void Dcqcn::on_notification(DcqcnState& state, const Notification& notification) const {
  const Time now = notification.now;
  if (settings_.is_periodic) {
    if (!state.notified) {
      state.notified = true;
      state.cut_at = state.alpha_at = now;
      state.cut_due = now + at_least_round_trip(state, settings_.decrease_interval);
      return;
    }
    bring_to(state, now);
    if (state.alpha_due == Time::max()) state.alpha_due = next_look(state, settings_.alpha_interval, now);
    if (state.cut_due == Time::max()) state.cut_due = next_look(state, settings_.decrease_interval, now);
    return;
  }
  if (state.notified) {
    if (now - state.cut_at < settings_.decrease_interval) return;
    if (state.round_trip > Duration::zero() && notification.acknowledged < state.sent) return;
    bring_to(state, now);
  }
  state.notified = true;
  state.cut_at = now;
  state.sent = notification.sent;
  cut(state, now);
  state.alpha = (1 - settings_.g) * state.alpha + settings_.g;
  state.alpha_at = now + at_least_round_trip(state, settings_.alpha_interval);
}

/// By alpha; what increases the rate begins anew.
void Dcqcn::cut(DcqcnState& state, Time now) const {
  if (!settings_.keeps_target || state.timer_count > 0 || state.byte_count > 0) state.target_bps = state.rate_bps;
  const double minimum = std::min(settings_.minimum_rate.in_bps(state.line_bps), state.line_bps);
  state.rate_bps = std::max(minimum, state.rate_bps * (1 - state.alpha / 2));
  state.increase_at = now + at_least_round_trip(state, settings_.rate_interval);
  state.bytes_left = settings_.byte_counter.count();
  state.timer_count = 0;
  state.byte_count = 0;
}

void Dcqcn::on_sent(DcqcnState& state, Bytes bytes, Time now) const {
  if (!state.notified) return;
  bring_to(state, now);
  if (settings_.byte_counter == Bytes::zero() || state.increase_at == Time::max()) return;
  state.bytes_left -= bytes.count();
  while (state.bytes_left <= 0) {
    state.bytes_left += settings_.byte_counter.count();
    ++state.byte_count;
    increase(state);
  }
}

/// What timers did up to `now`, itself included.
void Dcqcn::bring_to(DcqcnState& state, Time now) const {
  if (settings_.is_periodic) {
    pass_looks(state, now);
  } else {
    // Alpha and rate do not meet on the way.
    decay_alpha(state, now);
  }
  pass_increases(state, now);
}

/// At one instant alpha comes before the rate's decrease, and that before its increase.
void Dcqcn::pass_looks(DcqcnState& state, Time now) const {
  while (std::min(state.alpha_due, state.cut_due) <= now) {
    const Time at = std::min(state.alpha_due, state.cut_due);
    pass_increases(state, at - Duration::ticks(1));
    if (state.alpha_due == at) {
      decay_alpha(state, at - Duration::ticks(1));
      state.alpha = (1 - settings_.g) * state.alpha + settings_.g;
      state.alpha_at = at;
      state.alpha_due = Time::max();
    }
    if (state.cut_due == at) {
      decay_alpha(state, at);
      cut(state, at);
      state.cut_due = Time::max();
    }
  }
}

/// Of which there is one every `interval` from the first notification on.
Time Dcqcn::next_look(const DcqcnState& state, Duration shortest, Time now) const {
  const Duration interval = at_least_round_trip(state, shortest);
  return state.cut_at + interval * ((now - state.cut_at).in_ticks() / interval.in_ticks() + 1);
}

/// For all intervals without a notification that end by `now`.
void Dcqcn::decay_alpha(DcqcnState& state, Time now) const {
  const Duration interval = at_least_round_trip(state, settings_.alpha_interval);
  if (settings_.is_periodic) {
    // However many there are, the same bits: nobody asks for alpha in between but at the looks
    // themselves.
    std::int64_t count = (now - state.alpha_at).in_ticks() / interval.in_ticks();
    state.alpha_at += interval * count;
    for (double factor = 1 - settings_.g; count > 0; count /= 2, factor *= factor) {
      if (count % 2 != 0) state.alpha *= factor;
    }
    return;
  }
  // Long pauses are passed over at once where nothing changes any more.
  constexpr double no_alpha = 1e-200;
  while (state.alpha_at <= now && state.alpha > 0) {
    state.alpha *= 1 - settings_.g;
    if (state.alpha < no_alpha) state.alpha = 0;
    state.alpha_at += interval;
  }
  if (state.alpha_at <= now) state.alpha_at += interval * ((now - state.alpha_at).in_ticks() / interval.in_ticks() + 1);
}

void Dcqcn::pass_increases(DcqcnState& state, Time now) const {
  const Duration interval = at_least_round_trip(state, settings_.rate_interval);
  while (state.increase_at <= now) {
    if (state.rate_bps == state.line_bps && state.target_bps == state.line_bps) {
      const std::int64_t count = (now - state.increase_at).in_ticks() / interval.in_ticks() + 1;
      state.timer_count = static_cast<std::uint32_t>(std::min<std::int64_t>(state.timer_count + count, UINT32_MAX));
      state.increase_at += interval * count;
      break;
    }
    state.increase_at += interval;
    ++state.timer_count;
    increase(state);
  }
}

void Dcqcn::increase(DcqcnState& state) const {
  const std::uint32_t most = settings_.hyper_by_timer ? state.timer_count : std::max(state.timer_count, state.byte_count);
  const std::uint32_t least = settings_.hyper_by_timer ? state.timer_count : std::min(state.timer_count, state.byte_count);
  if (least > settings_.hyper_after) {
    state.target_bps +=
        settings_.hyper_increase.in_bps(state.line_bps) * (settings_.hyper_grows ? least - settings_.hyper_after : 1);
  } else if (most >= settings_.fast_recovery) {
    state.target_bps += settings_.additive_increase.in_bps(state.line_bps);
  }
  state.target_bps = std::min(state.target_bps, state.line_bps);
  state.rate_bps = (state.target_bps + state.rate_bps) / 2;
}

}  // namespace weft
