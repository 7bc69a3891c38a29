// SPDX-License-Identifier: Apache-2.0
#include "host/transport/hpcc.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"

namespace weft {

namespace {

constexpr std::array hpcc_rows = {
    param<&HpccSettings::eta>({.name = "eta",
                               .default_text = "0.95",
                               .minimum = "0.1",
                               .maximum = "1",
                               .meaning = "Load of the busiest port that a queue pair aims at, as a share of its rate.",
                               .origin = "HPCC (SIGCOMM 2019), section 5.1"}),
    param<&HpccSettings::stages_max>({.name = "max_stage",
                                      .default_text = "5",
                                      .minimum = "0",
                                      .maximum = "1000",
                                      .meaning = "Round trips that only add to the window before one that multiplies it.",
                                      .origin = "HPCC (SIGCOMM 2019), section 5.1"}),
    param<&HpccSettings::flows>(
        {.name = "flows",
         .default_text = "16",
         .minimum = "1",
         .maximum = "100000",
         .meaning = "Queue pairs that share a port without a queue: in a round trip each adds the share 1 - eta of what its line "
                    "carries in "
                    "that time over this number (W_AI).",
         .origin = "HPCC (SIGCOMM 2019), section 3.3; the number is chosen so that 2 to 16 share a link evenly within 5 ms "
                   "(tests/validation/README.md), the paper has 100"}),
};

class HpccAlgorithm final : public CongestionAlgorithm {
 public:
  explicit HpccAlgorithm(const HpccSettings& settings) : hpcc_(settings) {}
  MarkFeedback feedback() const override { return MarkFeedback::none; }
  Measures measures() const override { return {.round_trips = false, .telemetry = true}; }
  CongestionState begin(const QueuePairLimits& limits) const override { return CongestionState(hpcc_.begin(limits)); }
  double on_sent(CongestionState& state, std::int64_t, Time) const override { return Hpcc::rate_bps(state.as<HpccState>()); }
  std::int64_t window(const CongestionState& state) const override { return Hpcc::window(state.as<HpccState>()); }
  void on_acknowledged(CongestionState& state, const Acknowledgement& acknowledgement) const override {
    hpcc_.on_acknowledged(state.as<HpccState>(), acknowledgement);
  }

 private:
  Hpcc hpcc_;
};

}  // namespace

ParamTable hpcc_params() { return hpcc_rows; }

HpccSettings::HpccSettings(const ParamSet& params) { fill(*this, params); }

std::shared_ptr<const CongestionAlgorithm> make_hpcc(const ParamSet& params) {
  return std::make_shared<HpccAlgorithm>(HpccSettings(params));
}

Hpcc::Hpcc(const HpccSettings& settings) : settings_(settings) {
  WEFT_CHECK(settings.eta > 0 && settings.eta <= 1 && settings.flows >= 1, "eta is above 0 and at most 1, and there is a flow");
}

HpccState Hpcc::begin(const QueuePairLimits& limits) const {
  HpccState state;
  state.packet = static_cast<double>(limits.full_packet.count());
  state.round_trip_s = limits.round_trip.in_s();
  state.window = static_cast<double>(limits.line.in_bps()) / 8 * state.round_trip_s;
  state.reference = state.window;
  state.window_max = std::max(state.window, static_cast<double>(limits.window_max));
  state.increase = state.window * (1 - settings_.eta) / settings_.flows;
  return state;
}

void Hpcc::on_acknowledged(HpccState& state, const Acknowledgement& acknowledgement) const {
  if (acknowledgement.hops.empty() || acknowledgement.hops.size() != acknowledgement.hops_before.size()) return;
  double busiest = 0;
  double tau_s = 0;
  for (std::size_t i = 0; i < acknowledgement.hops.size(); ++i) {
    const HopTelemetry& now = acknowledgement.hops[i];
    const HopTelemetry& before = acknowledgement.hops_before[i];
    const double span_s = (now.at - before.at).in_s();
    if (span_s <= 0) continue;
    const double rate = static_cast<double>(now.rate.in_bps()) / 8;
    const double load = static_cast<double>(std::min(now.queue_bytes, before.queue_bytes)) / (rate * state.round_trip_s) +
                        static_cast<double>(now.sent_bytes - before.sent_bytes) / span_s / rate;
    if (load <= busiest) continue;
    busiest = load;
    tau_s = std::min(span_s, state.round_trip_s);
  }
  const double share = tau_s / state.round_trip_s;
  state.load = (1 - share) * state.load + share * busiest;
  const bool multiplies = state.load >= settings_.eta || state.stage >= settings_.stages_max;
  const double base = multiplies ? state.reference / (state.load / settings_.eta) : state.reference;
  state.window = std::clamp(base + state.increase, state.increase, state.window_max);
  if (acknowledgement.acknowledged <= state.step_at) return;
  state.step_at = acknowledgement.next;
  state.stage = multiplies ? 0 : state.stage + 1;
  state.reference = state.window;
}

}  // namespace weft
