// SPDX-License-Identifier: Apache-2.0
#include "host/transport/congestion_control.hpp"

#include <array>

#include "host/transport/dcqcn.hpp"
#include "host/transport/dctcp.hpp"
#include "host/transport/hpcc.hpp"
#include "host/transport/swift.hpp"

namespace weft {

namespace {

class NoCongestionControl final : public CongestionAlgorithm {
 public:
  MarkFeedback feedback() const override { return MarkFeedback::none; }
  /// The line's rate in bits per second.
  CongestionState begin(const QueuePairLimits& limits) const override {
    return CongestionState(static_cast<double>(limits.line.in_bps()));
  }
  double on_sent(CongestionState& state, std::int64_t, Time) const override { return state.as<double>(); }
};

std::shared_ptr<const CongestionAlgorithm> make_none(const ParamSet&) { return std::make_shared<NoCongestionControl>(); }

}  // namespace

std::span<const Module<CongestionAlgorithmFactory>> congestion_algorithms() {
  static const std::array<Module<CongestionAlgorithmFactory>, 5> all = {{
      {{"congestion-control", "dcqcn", "Packet mode: a queue pair's rate by congestion notifications.", dcqcn_params()},
       make_dcqcn},
      {{"congestion-control", "dctcp", "Packet mode: a queue pair's window by marks that acknowledgements echo.", dctcp_params()},
       make_dctcp},
      {{"congestion-control", "hpcc", "Packet mode: a queue pair's window by what switches tell of the ports on its way.",
        hpcc_params()},
       make_hpcc},
      {{"congestion-control", "swift", "Packet mode: a queue pair's window by round-trip times.", swift_params()}, make_swift},
      {{"congestion-control", "none", "Packet mode: queue pairs send at line rate, and pauses alone hold them back.", {}},
       make_none},
  }};
  return all;
}

}  // namespace weft
