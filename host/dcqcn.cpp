#include "host/dcqcn.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace weft {

Dcqcn::Dcqcn(const DcqcnSettings& settings) : settings_(settings) {
  WEFT_CHECK(settings.g > 0 && settings.g <= 1, "g is above 0 and at most 1");
  WEFT_CHECK(settings.alpha_interval > Duration::zero() && settings.rate_interval > Duration::zero() &&
                 settings.byte_counter > Bytes::zero(),
             "intervals are above 0");
}

DcqcnState Dcqcn::begin(Bandwidth line) const {
  DcqcnState state;
  state.line_bps = static_cast<double>(line.in_bps());
  state.rate_bps = state.line_bps;
  state.target_bps = state.line_bps;
  return state;
}

void Dcqcn::on_notification(DcqcnState& state, Time now) const {
  if (state.notified) {
    if (now - state.cut_at < settings_.decrease_interval) return;
    bring_to(state, now);
  }
  state.notified = true;
  state.cut_at = now;
  if (!settings_.keeps_target || state.timer_count > 0 || state.byte_count > 0) state.target_bps = state.rate_bps;
  const double minimum = std::min(static_cast<double>(settings_.minimum_rate.in_bps()), state.line_bps);
  state.rate_bps = std::max(minimum, state.rate_bps * (1 - state.alpha / 2));
  state.alpha = (1 - settings_.g) * state.alpha + settings_.g;
  state.alpha_at = now + settings_.alpha_interval;
  state.increase_at = now + settings_.rate_interval;
  state.bytes_left = settings_.byte_counter.count();
  state.timer_count = 0;
  state.byte_count = 0;
}

void Dcqcn::on_sent(DcqcnState& state, Bytes bytes, Time now) const {
  if (!state.notified) return;
  bring_to(state, now);
  state.bytes_left -= bytes.count();
  while (state.bytes_left <= 0) {
    state.bytes_left += settings_.byte_counter.count();
    ++state.byte_count;
    increase(state);
  }
}

/// What timers did up to `now`, itself included. Alpha and rate do not meet on the way.
void Dcqcn::bring_to(DcqcnState& state, Time now) const {
  // Long pauses are passed over at once where nothing changes any more.
  constexpr double no_alpha = 1e-200;
  const auto intervals = [now](Time since, Duration interval) { return (now - since).in_ticks() / interval.in_ticks() + 1; };
  while (state.alpha_at <= now && state.alpha > 0) {
    state.alpha *= 1 - settings_.g;
    if (state.alpha < no_alpha) state.alpha = 0;
    state.alpha_at += settings_.alpha_interval;
  }
  if (state.alpha_at <= now) state.alpha_at += settings_.alpha_interval * intervals(state.alpha_at, settings_.alpha_interval);
  while (state.increase_at <= now) {
    if (state.rate_bps == state.line_bps && state.target_bps == state.line_bps) {
      const std::int64_t count = intervals(state.increase_at, settings_.rate_interval);
      state.timer_count = static_cast<std::uint32_t>(std::min<std::int64_t>(state.timer_count + count, UINT32_MAX));
      state.increase_at += settings_.rate_interval * count;
      break;
    }
    state.increase_at += settings_.rate_interval;
    ++state.timer_count;
    increase(state);
  }
}

void Dcqcn::increase(DcqcnState& state) const {
  const std::uint32_t most = std::max(state.timer_count, state.byte_count);
  const std::uint32_t least = std::min(state.timer_count, state.byte_count);
  if (least > settings_.fast_recovery) {
    state.target_bps += static_cast<double>(settings_.hyper_increase.in_bps()) * (least - settings_.fast_recovery);
  } else if (most >= settings_.fast_recovery) {
    state.target_bps += static_cast<double>(settings_.additive_increase.in_bps());
  }
  state.target_bps = std::min(state.target_bps, state.line_bps);
  state.rate_bps = (state.target_bps + state.rate_bps) / 2;
}

}  // namespace weft
