// SPDX-License-Identifier: Apache-2.0
#include "host/transport/dctcp.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"

namespace weft {

namespace {

std::optional<Bytes> initial_window_of(const std::string& text, const std::string& param) {
  const std::optional<Bytes> window = read_bytes_or(text, "auto", param);
  if (!window || *window > Bytes::zero()) return window;
  fail("bad-value", fmt::format("{}: a window of nothing sends nothing", param), SourcePlace::named(param),
       "write auto, or a size such as 100kB");
}

std::optional<std::uint32_t> increase_of(const std::string& text, const std::string& param) {
  if (text == "auto") return std::nullopt;
  std::uint32_t packets = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), packets);
  if (error == std::errc() && end == text.data() + text.size() && packets >= 1 && packets <= 1000) return packets;
  fail("bad-value", fmt::format("{}: {} is not a number from 1 to 1000", param, in_quotes(text)), SourcePlace::named(param),
       "write auto, or a number of packets");
}

constexpr std::array dctcp_rows = {
    param<&DctcpSettings::g>(
        {.name = "g",
         .default_text = "0.25",
         .minimum = "0.000001",
         .maximum = "1",
         .meaning = "Weight of the last round trip in alpha, the share of packets that arrive marked.",
         .origin =
             "chosen so that 16 flows share a link of 100 to 800 Gb/s evenly within 5 ms (tests/validation/README.md); RFC 8257, "
             "section 4.2, has 1/16"}),
    param_read<increase_of, &DctcpSettings::increase>(
        {.name = "increase",
         .default_text = "auto",
         .meaning = "Packets that an unmarked round trip adds to a window that was full, from 1 to 1000; auto: one for every 100 "
                    "Gb/s of the "
                    "line, and one at least.",
         .origin = "1: congestion avoidance of TCP (RFC 5681, section 3.1); auto, as windows grow with the line's rate"}),
    param_read<initial_window_of, &DctcpSettings::initial_window>(
        {.name = "initial_window",
         .default_text = "auto",
         .meaning =
             "Bytes with headers that a queue pair may send before anything is acknowledged, such as 100kB; auto: what its line "
             "carries "
             "in a round trip on an idle network, and a packet.",
         .origin = "network cards begin at line rate"}),
};

class DctcpAlgorithm final : public CongestionAlgorithm {
 public:
  explicit DctcpAlgorithm(const DctcpSettings& settings) : dctcp_(settings) {}
  MarkFeedback feedback() const override { return MarkFeedback::echoes; }
  CongestionState begin(const QueuePairLimits& limits) const override { return CongestionState(dctcp_.begin(limits)); }
  double on_sent(CongestionState& state, std::int64_t, Time) const override { return state.as<DctcpState>().line_bps; }
  std::int64_t window(const CongestionState& state) const override {
    return static_cast<std::int64_t>(state.as<DctcpState>().window);
  }
  void on_acknowledged(CongestionState& state, const Acknowledgement& acknowledgement) const override {
    dctcp_.on_acknowledged(state.as<DctcpState>(), acknowledgement);
  }
  void on_loss(CongestionState& state, const Loss& loss) const override { dctcp_.on_loss(state.as<DctcpState>(), loss.in_flight); }

 private:
  Dctcp dctcp_;
};

}  // namespace

ParamTable dctcp_params() { return dctcp_rows; }

DctcpSettings::DctcpSettings(const ParamSet& params) { fill(*this, params); }

std::shared_ptr<const CongestionAlgorithm> make_dctcp(const ParamSet& params) {
  return std::make_shared<DctcpAlgorithm>(DctcpSettings(params));
}

Dctcp::Dctcp(const DctcpSettings& settings) : settings_(settings) {
  WEFT_CHECK(settings.g > 0 && settings.g <= 1, "g is above 0 and at most 1");
}

DctcpState Dctcp::begin(const QueuePairLimits& limits) const {
  DctcpState state;
  state.packet = static_cast<double>(limits.full_packet.count());
  state.line_bps = static_cast<double>(limits.line.in_bps());
  constexpr double bps_per_packet = 100e9;
  state.increase = settings_.increase ? *settings_.increase : std::max(1.0, state.line_bps / bps_per_packet);
  state.window = settings_.initial_window ? std::max(state.packet, static_cast<double>(settings_.initial_window->count()))
                                          : state.line_bps / 8 * limits.round_trip.in_s() + state.packet;
  return state;
}

void Dctcp::on_acknowledged(DctcpState& state, const Acknowledgement& acknowledgement) const {
  if (state.left < 0) state.left = acknowledgement.in_flight + acknowledgement.bytes;
  state.acknowledged += acknowledgement.bytes;
  state.cut_left -= acknowledgement.bytes;
  if (acknowledgement.marked) {
    state.marked += acknowledgement.bytes;
    if (state.cut_left <= 0) {
      state.before_cut = state.window;
      state.cut_left = acknowledgement.in_flight;
      state.window = std::max(state.packet, state.window * (1 - state.alpha / 2));
    }
  } else if (static_cast<double>(acknowledgement.in_flight + acknowledgement.bytes) > state.window - state.packet) {
    state.window += state.packet * state.increase * static_cast<double>(acknowledgement.bytes) / state.window;
  }
  state.left -= acknowledgement.bytes;
  if (state.left > 0) return;
  state.alpha =
      (1 - settings_.g) * state.alpha + settings_.g * static_cast<double>(state.marked) / static_cast<double>(state.acknowledged);
  state.left = acknowledgement.in_flight;
  state.acknowledged = 0;
  state.marked = 0;
}

void Dctcp::on_loss(DctcpState& state, std::int64_t in_flight) const {
  if (state.cut_left <= 0) {
    state.before_cut = state.window;
    state.cut_left = in_flight;
  }
  // A mark in the same window of data may have cut it by less.
  state.window = std::max(state.packet, std::min(state.window, state.before_cut / 2));
}

}  // namespace weft
