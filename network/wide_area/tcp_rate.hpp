// SPDX-License-Identifier: Apache-2.0
// TCP rate: what one TCP connection gets of a long line that loses packets, in the steady state.
//
// Where it sits: wide_area_paths asks for every path between sites.
//
// Model, with segments of S bytes, round-trip time R, and the probability p that a segment is lost.
// Sent are
//   reno    S/R sqrt(3/2) / sqrt(p): Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior of the
//           TCP congestion avoidance algorithm", CCR 1997, equation 3; C = sqrt(3/2) where
//           losses are periodic and every segment is acknowledged
//   cubic   S/R (C (3 + b) / (4 (1 - b)))^(1/4) (R / p)^(3/4), C = 0.4, b = 0.7: RFC 9438,
//           section 5.1; at least what reno gets (section 4.3, the Reno-friendly region)
//   bbr     10 s / (10 s + T) of the slowest link, T = max(200 ms, R): Cardwell et al., "BBR:
//           Congestion-based congestion control", ACM Queue 2016. Probing at 1.25 times the rate
//           bears losses below 1 - 1 / 1.25 = 20 %, and ProbeRTT stops it for T, 10 s after the
//           least round trip was last seen. At least 4 S/R, and that from 20 % on
//   all     at most W/R, W the window that hosts have memory for
// and 1 - p of it comes through. Rates are those of segments' payload. Not modelled: slow start,
// timeouts, and connections that lose packets to each other's bursts.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "core/values/units.hpp"

namespace weft {

/// In the order of the choices of wan.congestion_control.
enum class WideAreaControl : std::uint8_t { automatic, none, reno, cubic, bbr };

/// A path between sites as TCP sees it.
struct TcpPath {
  Duration round_trip;
  double loss = 0;         ///< of one segment on its way there
  double slowest_bps = 0;  ///< of its links, headers included
  double wire_per_payload = 1;
};

/// What hosts do.
struct TcpHosts {
  WideAreaControl control = WideAreaControl::cubic;
  Bytes segment;
  std::optional<Bytes> window;  ///< none: as much as it takes
};

/// Payload of one connection that comes through per second; infinite where nothing limits it.
/// Requires: a control that is not automatic; 0 <= loss < 1.
double tcp_rate_bps(const TcpHosts& hosts, const TcpPath& path);

}  // namespace weft
