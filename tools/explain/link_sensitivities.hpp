// SPDX-License-Identifier: Apache-2.0
// Link sensitivities: how an instant of a run in flow mode moves with the capacity of each link.
//
// Where it sits: tools/explain/explanation asks for each job, with the tape of one run.
//
// Model: a flow of S bits with rates r_i between instants t_i ends when sum r_i (t_i+1 - t_i) = S,
// so by implicit differentiation
//   r_last dt_end = r_first dt_start + sum (r_i - r_i-1) dt_i - sum (t_i+1 - t_i) dr_i.
// dt_start is dt_end of the last flow that its start waited for, dt_i that of the flow whose end
// or start changed the rate at t_i, dr_i = weight x dlevel of the link that limits it, and
//   dlevel = (dC - sum over flows limited elsewhere of load x dr) / (sum of weight x load of its own),
// which earlier (lower) levels give. This is linear, so one pass backwards over the tape takes the
// derivative of one instant to all links at once (reverse accumulation: Griewank and Walther,
// Evaluating Derivatives, 2nd edition, chapter 3); forwards it would take a pass per link. Between
// steps only links whose flows changed, and levels that depend on them, are computed anew.
// (Bottleneck structure: Ros-Giralt et al., On the bottleneck structure of congestion-controlled
// networks, SIGMETRICS 2019.)
// Not differentiable where several links limit a flow alike (sets of them are told, too), where
// two events coincide that are not caused by one, or a cap meets a level: the derivative is then
// that of one side. Left out: store-and-forward delays, which depend on rates of links; choices that follow
// what is under way (adaptive routing, placement by time); compute that slows down beside
// communication.
// Threads: pure.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"

namespace weft {

class FlowTape;

/// A flow whose end an instant waited for, and how much it counts (1, or a part of a mean).
using WeighedFlow = std::pair<std::uint32_t, double>;

/// Links that limit flows alike: full on the path of the same flows, so that only all of them
/// together give anything; most often a link by itself.
struct TiedLinks {
  std::vector<LinkId> links;  ///< ascending
  double seconds = 0;         ///< by which the instant moves, by part of their capacity more
};

struct LinkSensitivities {
  std::vector<double> by_capacity;  ///< by LinkId: seconds per bit/s, of one side where it is tied
  /// The same by sets: what raising some links moves is the sum over the sets that they contain.
  std::vector<TiedLinks> tied;
  /// Of raising these by a part of their capacity. `contains`: by LinkId.
  double of(const std::vector<bool>& contains) const;
};

/// Requires: tape.has_limits().
LinkSensitivities link_sensitivities(const FlowTape& tape, std::span<const WeighedFlow> ends);

}  // namespace weft
