#include "host/congestion_control.hpp"

#include <array>

#include "host/dcqcn.hpp"
#include "host/dctcp.hpp"

namespace weft {

namespace {

class AtLineRate final : public CongestionControl {
 public:
  explicit AtLineRate(Bandwidth line) : line_bps_(static_cast<double>(line.in_bps())) {}
  double on_sent(std::int64_t, Time) override { return line_bps_; }

 private:
  double line_bps_;
};

class NoCongestionControl final : public CongestionAlgorithm {
 public:
  MarkFeedback feedback() const override { return MarkFeedback::none; }
  std::unique_ptr<CongestionControl> begin(const QueuePairLimits& limits) const override {
    return std::make_unique<AtLineRate>(limits.line);
  }
};

std::shared_ptr<const CongestionAlgorithm> make_none(const ParamSet&) { return std::make_shared<NoCongestionControl>(); }

}  // namespace

std::span<const Module<CongestionAlgorithmFactory>> congestion_algorithms() {
  static const std::array<Module<CongestionAlgorithmFactory>, 3> all = {{
      {{"congestion-control", "dcqcn", "Packet mode: a queue pair's rate by congestion notifications.", dcqcn_params()},
       make_dcqcn},
      {{"congestion-control", "dctcp", "Packet mode: a queue pair's window by marks that acknowledgements echo.", dctcp_params()},
       make_dctcp},
      {{"congestion-control", "none", "Packet mode: queue pairs send at line rate, and pauses alone hold them back.", {}},
       make_none},
  }};
  return all;
}

}  // namespace weft
