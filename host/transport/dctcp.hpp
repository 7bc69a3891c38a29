// SPDX-License-Identifier: Apache-2.0
// DCTCP: the window of a queue pair, by the share of its packets that arrive marked.
//
// Where it sits: one of the algorithms of host/transport/congestion_control, with a DctcpState per
// queue pair. As NICs have no slow start, the window begins with what fills the line on an idle
// network, or what the user says.
//
// Model (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1; RFC 8257, section
// 3.3):
//   about once a round trip - when so much was answered as was under way when the last began - with
//   F the share of it that came marked
//                                     alpha = (1 - g) alpha + g F
//   a mark                            window = window (1 - alpha / 2)
//   something is missing, or nothing was acknowledged for too long
//                                     window = half of what it was (RFC 5681 would begin with a
//                                     packet after a time-out)
//                                     both once in a window of data: not again before so much was
//                                     answered as was under way
//   unmarked, and the window full     window += increase packets a round trip; by default one for
//                                     every 100 Gb/s of the line, as windows grow with it
//   The window is never below a packet.
// Threads: values; functions without side effects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "host/transport/congestion_control.hpp"

namespace weft {

/// Parameter table "dctcp".
ParamTable dctcp_params();

/// By the table "dctcp", which has the only defaults.
struct DctcpSettings {
  /// Throws InputError [bad-value].
  explicit DctcpSettings(const ParamSet& params);

  double g;
  std::optional<std::uint32_t> increase;  ///< packets; none: by the line
  /// On the wire; none: what the line carries in a round trip, and a packet.
  std::optional<Bytes> initial_window;
};

struct DctcpState {
  double packet = 0;    ///< bytes
  double increase = 0;  ///< packets a round trip
  double line_bps = 0;
  double window = 0;  ///< bytes
  double alpha = 1;
  double before_cut = 0;          ///< the window then
  std::int64_t acknowledged = 0;  ///< bytes, in this round trip
  std::int64_t marked = 0;        ///< of them
  std::int64_t left = -1;         ///< bytes until it ends; -1 before the first
  std::int64_t cut_left = 0;      ///< bytes until the window may be cut again
};

/// The sender's arithmetic.
class Dctcp {
 public:
  /// Requires: 0 < g <= 1 (WEFT_CHECK).
  explicit Dctcp(const DctcpSettings& settings);

  DctcpState begin(const QueuePairLimits& limits) const;
  void on_acknowledged(DctcpState& state, const Acknowledgement& acknowledgement) const;
  void on_loss(DctcpState& state, std::int64_t in_flight) const;

 private:
  DctcpSettings settings_;
};

std::shared_ptr<const CongestionAlgorithm> make_dctcp(const ParamSet& params);

}  // namespace weft
