// SPDX-License-Identifier: Apache-2.0
// Link sensitivities: how an instant of a run in flow mode moves with the capacity of each link.
//
// Where it sits: tools/explain/explanation asks for each job, with the tape of one run.
//
// Model: a flow of S bits with rates r_i between instants t_i ends when sum r_i (t_i+1 - t_i) = S,
// so by implicit differentiation
//   r_last dt_end = r_first dt_start + sum (r_i - r_i-1) dt_i - sum (t_i+1 - t_i) dr_i,
// where dt_start and dt_i are dt_end of flows that were waited for, dr = weight x dlevel, and
//   dlevel = (dC - sum of load x dr of flows limited elsewhere) / (sum of weight x load of its own)
// follows from lower levels (Ros-Giralt et al., On the bottleneck structure of
// congestion-controlled networks, SIGMETRICS 2019). This is linear, so one pass backwards over the
// tape takes the derivative of an instant to all links at once (Griewank and Walther, Evaluating
// Derivatives, 2nd edition, chapter 3); forwards each link would take a pass. Between steps only
// links whose flows changed, and levels that depend on them, are computed anew.
// Of one side where several links limit a flow alike (sets of them are told, too), or where two
// events coincide that are not caused by one. Left out: store-and-forward delays, routes and places
// that follow what is under way, computation that slows down beside communication.
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
