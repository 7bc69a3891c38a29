// DCTCP: the window of a queue pair, by the share of its packets that arrive marked.
//
// Where it sits: one of the algorithms of host/congestion_control. As NICs have no slow start, the window begins with what fills the line on an
// idle network, or what the user says.
//
// Model (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1; RFC 8257, section 3.3):
//   about once a round trip - when all is acknowledged that was under way when the last began - with F the share of bytes acknowledged as marked
//                                     alpha = (1 - g) alpha + g F
//   the first mark of a round trip    window = window (1 - alpha / 2)
//   something is missing              window = window / 2, once a round trip as well
//   unmarked, and the window full     window += increase packets a round trip
//   The window is never below a packet.
// Threads: as CongestionControl.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "host/congestion_control.hpp"

namespace weft {

/// Parameter table "dctcp".
ParamTable dctcp_params();

struct DctcpSettings {
  double g = 1.0 / 16;
  std::uint32_t increase = 1;           ///< packets
  std::optional<Bytes> initial_window;  ///< on the wire; none: what the line carries in a round trip, and a packet
};

class Dctcp final : public CongestionControl {
 public:
  /// Requires: 0 < g <= 1 (WEFT_CHECK).
  Dctcp(const DctcpSettings& settings, const QueuePairLimits& limits);

  double on_sent(std::int64_t, Time) override { return line_bps_; }
  std::int64_t window() const override { return static_cast<std::int64_t>(window_); }
  void on_acknowledged(const Acknowledgement& acknowledgement) override;
  void on_loss() override;

  double alpha() const { return alpha_; }

 private:
  void cut(double by);

  double g_;
  double packet_;    ///< bytes
  double increase_;  ///< likewise, a round trip
  double line_bps_;
  double window_;  ///< bytes
  double alpha_ = 1;
  std::int64_t acknowledged_ = 0;  ///< bytes, in this round trip
  std::int64_t marked_ = 0;        ///< of them
  std::int64_t left_ = 0;          ///< bytes until it ends
  bool was_cut_ = false;           ///< in this round trip
};

std::shared_ptr<const CongestionAlgorithm> make_dctcp(const ParamSet& params);

}  // namespace weft
