#include "host/dctcp.hpp"

#include <algorithm>
#include <array>

#include "core/check.hpp"
#include "core/diagnostics.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 3> kParams = {{
    {.name = "g",
     .kind = ParamKind::real,
     .default_text = "0.0625",
     .minimum = "0.000001",
     .maximum = "1",
     .choices = "",
     .meaning = "Weight of the last round trip in alpha, the share of packets that arrive marked.",
     .origin = "RFC 8257, section 4.2"},
    {.name = "increase",
     .kind = ParamKind::integer,
     .default_text = "1",
     .minimum = "1",
     .maximum = "1000",
     .choices = "",
     .meaning = "Packets that an unmarked round trip adds to a window that was full.",
     .origin = "congestion avoidance of TCP (RFC 5681, section 3.1)"},
    {.name = "initial_window",
     .kind = ParamKind::text,
     .default_text = "auto",
     .minimum = "",
     .maximum = "",
     .choices = "",
     .meaning = "Bytes with headers that a queue pair may send before anything is acknowledged, such as 100kB; auto: what its line "
                "carries "
                "in a round trip on an idle network, and a packet.",
     .origin = "network cards begin at line rate"},
}};

std::optional<Bytes> initial_window_of(const ParamSet& params) {
  const std::string& text = params.text("initial_window");
  if (text == "auto") return std::nullopt;
  const ParsedQuantity<Bytes> parsed = parse_bytes(text);
  if (parsed.value && *parsed.value > Bytes::zero()) return parsed.value;
  throw InputError({Severity::error, "bad-value",
                    "dctcp.initial_window: " + (parsed.value ? "a window of nothing sends nothing" : parsed.error.message),
                    SourcePlace::named("dctcp.initial_window"), "write auto, or a size such as 100kB"});
}

class DctcpAlgorithm final : public CongestionAlgorithm {
 public:
  explicit DctcpAlgorithm(const DctcpSettings& settings) : settings_(settings) {}
  MarkFeedback feedback() const override { return MarkFeedback::echoes; }
  std::unique_ptr<CongestionControl> begin(const QueuePairLimits& limits) const override {
    return std::make_unique<Dctcp>(settings_, limits);
  }

 private:
  DctcpSettings settings_;
};

}  // namespace

ParamTable dctcp_params() { return kParams; }

std::shared_ptr<const CongestionAlgorithm> make_dctcp(const ParamSet& params) {
  DctcpSettings settings;
  settings.g = params.real("g");
  settings.increase = static_cast<std::uint32_t>(params.integer("increase"));
  settings.initial_window = initial_window_of(params);
  return std::make_shared<DctcpAlgorithm>(settings);
}

Dctcp::Dctcp(const DctcpSettings& settings, const QueuePairLimits& limits)
    : g_(settings.g),
      packet_(static_cast<double>(limits.full_packet.count())),
      increase_(packet_ * settings.increase),
      line_bps_(static_cast<double>(limits.line.in_bps())),
      window_(line_bps_ / 8 * limits.round_trip.in_s() + packet_) {
  WEFT_CHECK(g_ > 0 && g_ <= 1, "g is above 0 and at most 1");
  if (settings.initial_window) window_ = std::max(packet_, static_cast<double>(settings.initial_window->count()));
}

void Dctcp::on_acknowledged(const Acknowledgement& acknowledgement) {
  if (left_ < 0) left_ = acknowledgement.in_flight + acknowledgement.bytes;
  acknowledged_ += acknowledgement.bytes;
  cut_left_ -= acknowledgement.bytes;
  if (acknowledgement.marked) {
    marked_ += acknowledgement.bytes;
    if (cut_left_ <= 0) {
      before_cut_ = window_;
      cut_left_ = acknowledgement.in_flight;
      window_ = std::max(packet_, window_ * (1 - alpha_ / 2));
    }
  } else if (static_cast<double>(acknowledgement.in_flight + acknowledgement.bytes) > window_ - packet_) {
    window_ += increase_ * static_cast<double>(acknowledgement.bytes) / window_;
  }
  left_ -= acknowledgement.bytes;
  if (left_ > 0) return;
  alpha_ = (1 - g_) * alpha_ + g_ * static_cast<double>(marked_) / static_cast<double>(acknowledged_);
  left_ = acknowledgement.in_flight;
  acknowledged_ = 0;
  marked_ = 0;
}

void Dctcp::on_loss(std::int64_t in_flight) {
  if (cut_left_ <= 0) {
    before_cut_ = window_;
    cut_left_ = in_flight;
  }
  // A mark in the same window of data may have cut it by less.
  window_ = std::max(packet_, std::min(window_, before_cut_ / 2));
}

}  // namespace weft
