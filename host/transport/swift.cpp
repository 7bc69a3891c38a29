// SPDX-License-Identifier: Apache-2.0
#include "host/transport/swift.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"

namespace weft {

namespace {

constexpr std::string_view paper = "Swift (SIGCOMM 2020), section 3.5";

constexpr std::array swift_rows = {
    param<&SwiftSettings::base_target>(
        {.name = "base_target",
         .default_text = "auto",
         .meaning = "Round-trip time that queue pairs aim at, before hops and small windows are added, such as 25us; auto: what a "
                    "packet and "
                    "its acknowledgement take when nothing else is under way.",
         .origin = "Swift (SIGCOMM 2020), section 3.1: the fabric's delay without queues; auto, as paths differ",
         .word = "auto"}),
    param<&SwiftSettings::hop_target>(
        {.name = "hop_target",
         .default_text = "1us",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning = "What every switch on the way adds to the target (topology-based scaling).",
         .origin = "Swift (SIGCOMM 2020), section 3.5, names no number; 1 us is a queue of 12.5 kB at 100 Gb/s"}),
    param<&SwiftSettings::flow_range>(
        {.name = "flow_range",
         .default_text = "auto",
         .meaning =
             "What the smallest windows add to the target (flow-based scaling), such as 50us; auto: twice the round trip without "
             "queues.",
         .origin = "Swift (SIGCOMM 2020), section 3.5, names no number; chosen so that 16 flows share a link evenly within 5 ms "
                   "(tests/validation/README.md)",
         .word = "auto"}),
    param<&SwiftSettings::flow_min>({.name = "flow_min",
                                     .default_text = "0.1",
                                     .minimum = "0.001",
                                     .maximum = "1000",
                                     .meaning = "Window in packets at and below which flow_range is added whole.",
                                     .origin = paper}),
    param<&SwiftSettings::flow_max>({.name = "flow_max",
                                     .default_text = "100",
                                     .minimum = "0.01",
                                     .maximum = "1000000",
                                     .meaning = "Window in packets from which nothing of flow_range is added.",
                                     .origin = paper}),
    param<&SwiftSettings::increase>({.name = "increase",
                                     .default_text = "1",
                                     .minimum = "0.001",
                                     .maximum = "1000",
                                     .meaning = "Packets that a round trip below the target adds to the window.",
                                     .origin = "additive increase of Swift (SIGCOMM 2020), algorithm 1"}),
    param<&SwiftSettings::beta>({.name = "beta",
                                 .default_text = "0.8",
                                 .minimum = "0.001",
                                 .maximum = "1",
                                 .meaning = "How strongly delay above the target shrinks the window.",
                                 .origin = "Swift as htsim has it; the paper names no number"}),
    param<&SwiftSettings::decrease_max>({.name = "max_mdf",
                                         .default_text = "0.5",
                                         .minimum = "0.001",
                                         .maximum = "0.999",
                                         .meaning = "The most that a decrease takes off the window, as a share of it.",
                                         .origin = "Swift as htsim has it; the paper names no number"}),
    param<&SwiftSettings::window_min>(
        {.name = "min_cwnd",
         .default_text = "0.01",
         .minimum = "0.000001",
         .maximum = "1000",
         .meaning = "Packets; no window is smaller. Below one, packets are paced.",
         .origin = "Swift (SIGCOMM 2020), section 3.3: windows well below a packet serve large incasts"}),
};

class SwiftAlgorithm final : public CongestionAlgorithm {
 public:
  explicit SwiftAlgorithm(const SwiftSettings& settings) : swift_(settings) {}
  MarkFeedback feedback() const override { return MarkFeedback::none; }
  Measures measures() const override { return {.round_trips = true, .telemetry = false}; }
  CongestionState begin(const QueuePairLimits& limits) const override { return CongestionState(swift_.begin(limits)); }
  double on_sent(CongestionState& state, std::int64_t, Time) const override { return Swift::rate_bps(state.as<SwiftState>()); }
  std::int64_t window(const CongestionState& state) const override {
    const auto& swift = state.as<SwiftState>();
    return static_cast<std::int64_t>(swift.cwnd * swift.packet);
  }
  void on_acknowledged(CongestionState& state, const Acknowledgement& acknowledgement) const override {
    swift_.on_acknowledged(state.as<SwiftState>(), acknowledgement);
  }
  void on_loss(CongestionState& state, const Loss& loss) const override { swift_.on_loss(state.as<SwiftState>(), loss.now); }

 private:
  Swift swift_;
};

}  // namespace

ParamTable swift_params() { return swift_rows; }

SwiftSettings::SwiftSettings(const ParamSet& params) {
  fill(*this, params);
  if (flow_min >= flow_max) {
    fail("bad-value", "swift.flow_min is not below swift.flow_max", SourcePlace::named("swift.flow_min"),
         "small windows add to the target, large ones nothing: 0.1 and 100");
  }
}

std::shared_ptr<const CongestionAlgorithm> make_swift(const ParamSet& params) {
  return std::make_shared<SwiftAlgorithm>(SwiftSettings(params));
}

Swift::Swift(const SwiftSettings& settings) : settings_(settings) {
  WEFT_CHECK(settings.flow_min > 0 && settings.flow_min < settings.flow_max, "flow_min is above 0 and below flow_max");
  WEFT_CHECK(settings.decrease_max > 0 && settings.decrease_max < 1, "a decrease leaves something");
}

SwiftState Swift::begin(const QueuePairLimits& limits) const {
  SwiftState state;
  state.packet = static_cast<double>(limits.full_packet.count());
  state.line_bps = static_cast<double>(limits.line.in_bps());
  const double filled = state.line_bps / 8 * limits.round_trip.in_s() / state.packet + 1;
  state.cwnd_max = std::max(filled, static_cast<double>(limits.window_max) / state.packet);
  state.cwnd = filled;
  state.base_s = settings_.base_target.value_or(limits.round_trip).in_s() + settings_.hop_target.in_s() * limits.switches;
  state.range_s = settings_.flow_range ? settings_.flow_range->in_s() : 2 * limits.round_trip.in_s();
  return state;
}

double Swift::target_s(const SwiftState& state) const {
  const double at_max = 1 / std::sqrt(settings_.flow_max);
  const double a = state.range_s / (1 / std::sqrt(settings_.flow_min) - at_max);
  return state.base_s + std::clamp(a * (1 / std::sqrt(state.cwnd) - at_max), 0.0, state.range_s);
}

void Swift::on_acknowledged(SwiftState& state, const Acknowledgement& acknowledgement) const {
  if (acknowledgement.round_trip == Duration::zero()) return;
  state.delay_s = acknowledgement.round_trip.in_s();
  const double target = target_s(state);
  if (state.delay_s < target) {
    const double packets = static_cast<double>(acknowledgement.bytes) / state.packet;
    state.cwnd = std::min(state.cwnd_max, state.cwnd + settings_.increase * packets / std::max(1.0, state.cwnd));
    return;
  }
  decrease(state, std::max(1 - settings_.beta * (state.delay_s - target) / state.delay_s, 1 - settings_.decrease_max),
           acknowledgement.now);
}

void Swift::on_loss(SwiftState& state, Time now) const { decrease(state, 1 - settings_.decrease_max, now); }

void Swift::decrease(SwiftState& state, double factor, Time now) const {
  if (state.has_decreased && (now - state.decreased_at).in_s() < state.delay_s) return;
  state.has_decreased = true;
  state.decreased_at = now;
  state.cwnd = std::max(settings_.window_min, state.cwnd * factor);
}

}  // namespace weft
