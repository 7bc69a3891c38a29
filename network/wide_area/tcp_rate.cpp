// SPDX-License-Identifier: Apache-2.0
#include "network/wide_area/tcp_rate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.hpp"

namespace weft {

namespace {

constexpr double unlimited_bps = std::numeric_limits<double>::infinity();

/// x^(3/4) of square roots, which are the same on every platform.
double three_quarters(double x) {
  const double root = std::sqrt(std::sqrt(x));
  return root * root * root;
}

/// Segments per round trip.
double reno_window(double loss) { return std::sqrt(1.5) / std::sqrt(loss); }

double cubic_window(double loss, double round_trip_s) {
  constexpr double c = 0.4;
  constexpr double beta = 0.7;
  const double factor = std::sqrt(std::sqrt(c * (3 + beta) / (4 * (1 - beta))));
  return std::max(factor * three_quarters(round_trip_s) / three_quarters(loss), reno_window(loss));
}

double bbr_bps(const TcpPath& path, double segment_per_round_trip_bps) {
  constexpr double loss_borne = 0.2;
  constexpr double minimum_held_s = 10;
  constexpr double probe_s = 0.2;
  constexpr double window_min = 4;
  const double slowest_bps = path.slowest_bps / path.wire_per_payload;
  const double least_bps = std::min(window_min * segment_per_round_trip_bps, slowest_bps);
  if (path.loss >= loss_borne) return least_bps;
  const double probing_s = std::max(probe_s, path.round_trip.in_s());
  return std::max(minimum_held_s / (minimum_held_s + probing_s) * slowest_bps, least_bps);
}

/// What is sent, were there memory for any window.
double control_bps(const TcpHosts& hosts, const TcpPath& path) {
  const double round_trip_s = path.round_trip.in_s();
  const double per_segment_bps = hosts.segment.in_bits() / round_trip_s;
  switch (hosts.control) {
    case WideAreaControl::reno:
      return path.loss > 0 ? per_segment_bps * reno_window(path.loss) : unlimited_bps;
    case WideAreaControl::cubic:
      return path.loss > 0 ? per_segment_bps * cubic_window(path.loss, round_trip_s) : unlimited_bps;
    case WideAreaControl::bbr:
      return bbr_bps(path, per_segment_bps);
    case WideAreaControl::automatic:
    case WideAreaControl::none:
      break;
  }
  WEFT_CHECK(false, "TCP has a congestion control");
  return 0;
}

}  // namespace

double tcp_rate_bps(const TcpHosts& hosts, const TcpPath& path) {
  WEFT_CHECK(hosts.control != WideAreaControl::automatic, "a control was chosen");
  WEFT_CHECK(path.loss >= 0 && path.loss < 1, "a path loses a share of the packets");
  if (hosts.control == WideAreaControl::none || path.round_trip <= Duration::zero()) return unlimited_bps;
  const double window_bps = hosts.window ? hosts.window->in_bits() / path.round_trip.in_s() : unlimited_bps;
  return (1 - path.loss) * std::min(window_bps, control_bps(hosts, path));
}

}  // namespace weft
