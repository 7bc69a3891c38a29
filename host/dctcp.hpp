// DCTCP: the window of a queue pair, by the share of its packets that arrive marked.
//
// Where it sits: one of the algorithms of host/congestion_control. As NICs have no slow start, the window begins with what fills the line on an
// idle network, or what the user says.
//
// Model (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1; RFC 8257, section 3.3):
//   about once a round trip - when so much was answered as was under way when the last began - with F the share of it that came marked
//                                     alpha = (1 - g) alpha + g F
//   a mark                            window = window (1 - alpha / 2)
//   something is missing, or nothing was acknowledged for too long
//                                     window = half of what it was (RFC 5681 would begin with a packet after a time-out)
//                                     both once in a window of data: not again before so much was answered as was under way
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
  void on_loss(std::int64_t in_flight) override;

  double alpha() const { return alpha_; }

 private:
  double g_;
  double packet_;    ///< bytes
  double increase_;  ///< likewise, a round trip
  double line_bps_;
  double window_;  ///< bytes
  double alpha_ = 1;
  std::int64_t acknowledged_ = 0;  ///< bytes, in this round trip
  std::int64_t marked_ = 0;        ///< of them
  std::int64_t left_ = -1;         ///< bytes until it ends; -1 before the first
  std::int64_t cut_left_ = 0;      ///< bytes until the window may be cut again
  double before_cut_ = 0;          ///< the window then
};

std::shared_ptr<const CongestionAlgorithm> make_dctcp(const ParamSet& params);

}  // namespace weft
