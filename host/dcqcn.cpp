#include "host/dcqcn.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/check.hpp"

namespace weft {

namespace {

constexpr std::string_view kHpcc = "the RDMA simulators around HPCC";
constexpr std::string_view kDcqcnPaper = "DCQCN (SIGCOMM 2015), section 5";

constexpr std::array<ParamSpec, 11> kParams = {{
    {.name = "g",
     .kind = ParamKind::real,
     .default_text = "0.00390625",
     .minimum = "0.000001",
     .maximum = "1",
     .choices = "",
     .meaning = "Weight of the newest observation in alpha, the estimate of congestion.",
     .origin = "1/256, DCQCN (SIGCOMM 2015), section 5"},
    {.name = "alpha_interval",
     .kind = ParamKind::duration,
     .default_text = "55us",
     .minimum = "1ns",
     .maximum = "1s",
     .choices = "",
     .meaning = "Without a notification for so long, alpha decays by 1 - g.",
     .origin = kDcqcnPaper},
    {.name = "rate_interval",
     .kind = ParamKind::duration,
     .default_text = "55us",
     .minimum = "1ns",
     .maximum = "1s",
     .choices = "",
     .meaning = "The rate is increased after every such time without a notification.",
     .origin = kDcqcnPaper},
    {.name = "byte_counter",
     .kind = ParamKind::bytes,
     .default_text = "10MB",
     .minimum = "1B",
     .maximum = "1TB",
     .choices = "",
     .meaning = "The rate is increased after every so many bytes without a notification.",
     .origin = kDcqcnPaper},
    {.name = "fast_recovery",
     .kind = ParamKind::integer,
     .default_text = "5",
     .minimum = "1",
     .maximum = "1000",
     .choices = "",
     .meaning = "Increases after a notification that only go back half-way to the rate before it.",
     .origin = kDcqcnPaper},
    {.name = "additive_increase",
     .kind = ParamKind::bandwidth,
     .default_text = "40Mbps",
     .minimum = "1bps",
     .maximum = "1000Gbps",
     .choices = "",
     .meaning = "What increases after fast recovery add to the target.",
     .origin = kDcqcnPaper},
    {.name = "hyper_increase",
     .kind = ParamKind::bandwidth,
     .default_text = "100Mbps",
     .minimum = "1bps",
     .maximum = "1000Gbps",
     .choices = "",
     .meaning = "What further increases add, times their number, once both timer and bytes have passed fast recovery.",
     .origin = kHpcc},
    {.name = "minimum_rate",
     .kind = ParamKind::bandwidth,
     .default_text = "100Mbps",
     .minimum = "1bps",
     .maximum = "1000Gbps",
     .choices = "",
     .meaning = "No queue pair goes slower.",
     .origin = kHpcc},
    {.name = "decrease_interval",
     .kind = ParamKind::duration,
     .default_text = "0ns",
     .minimum = "0ns",
     .maximum = "1s",
     .choices = "",
     .meaning = "Of notifications that come closer together than this, only the first decreases the rate.",
     .origin = "receivers space them already (notification_interval)"},
    {.name = "target",
     .kind = ParamKind::choice,
     .default_text = "each",
     .minimum = "",
     .maximum = "",
     .choices = "each|first",
     .meaning = "Which notifications make the rate before them the target of fast recovery. each: all that count. first: of those "
                "between two "
                "increases the first.",
     .origin = "DCQCN (SIGCOMM 2015), equation 1"},
    {.name = "notification_interval",
     .kind = ParamKind::duration,
     .default_text = "50us",
     .minimum = "0ns",
     .maximum = "1s",
     .choices = "",
     .meaning = "A receiver sends at most one congestion notification per queue pair in this time.",
     .origin = "DCQCN (SIGCOMM 2015), section 3.1"},
}};

class DcqcnAlgorithm final : public CongestionAlgorithm {
 public:
  DcqcnAlgorithm(const DcqcnSettings& settings, Duration notification_interval)
      : dcqcn_(settings), notification_interval_(notification_interval) {}
  MarkFeedback feedback() const override { return MarkFeedback::notifications; }
  Duration notification_interval() const override { return notification_interval_; }
  CongestionState begin(const QueuePairLimits& limits) const override { return CongestionState(dcqcn_.begin(limits.line)); }
  double on_sent(CongestionState& state, std::int64_t bytes, Time now) const override {
    auto& dcqcn = state.as<DcqcnState>();
    const double rate_bps = dcqcn_.rate_bps(dcqcn, now);
    dcqcn_.on_sent(dcqcn, Bytes::of(bytes), now);
    return rate_bps;
  }
  void on_notification(CongestionState& state, Time now) const override { dcqcn_.on_notification(state.as<DcqcnState>(), now); }

 private:
  Dcqcn dcqcn_;
  Duration notification_interval_;
};

}  // namespace

ParamTable dcqcn_params() { return kParams; }

std::shared_ptr<const CongestionAlgorithm> make_dcqcn(const ParamSet& params) {
  DcqcnSettings settings;
  settings.g = params.real("g");
  settings.alpha_interval = params.duration("alpha_interval");
  settings.rate_interval = params.duration("rate_interval");
  settings.byte_counter = params.bytes("byte_counter");
  settings.fast_recovery = static_cast<std::uint32_t>(params.integer("fast_recovery"));
  settings.additive_increase = params.bandwidth("additive_increase");
  settings.hyper_increase = params.bandwidth("hyper_increase");
  settings.minimum_rate = params.bandwidth("minimum_rate");
  settings.decrease_interval = params.duration("decrease_interval");
  settings.keeps_target = params.text("target") == "first";
  return std::make_shared<DcqcnAlgorithm>(settings, params.duration("notification_interval"));
}

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
