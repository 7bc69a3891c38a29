// SPDX-License-Identifier: Apache-2.0
// Wide-area paths: what lines between sites do to what crosses them - a rate that TCP does not
// exceed, and delays that vary.
//
// Where it sits: the flow fabric and the planner of queue pairs ask for every path. Topologies
// without wide-area lines, and lines that neither lose packets nor have a jitter while no
// congestion control is asked for, cost nothing and change nothing.
//
// Model: of a path with links l, of which link l carries the share w of what is sent
//   round trip  2 (propagation and switching there) + mean jitter of all lines there and back
//   loss        1 - product of (1 - loss of l)^w
//   rate        tcp_rate of these for each queue pair, and headers on top
//   jitter      the sum of w times an exponential draw for each line, from the stream of the seed
//               and of the message: its ends, connection, tag and start
// What auto chooses holds for both directions of a connection: CUBIC where lines lose packets there
// or back.
// The way back is taken to be that there.
// Threads: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/values/units.hpp"
#include "network/network_model.hpp"
#include "network/wide_area/wide_area_settings.hpp"
#include "topologies/topology.hpp"

namespace weft {

struct FlowSettings;

/// What TCP lets a queue pair have on a path.
struct WideAreaRate {
  TcpPath path;
  WideAreaControl control = WideAreaControl::none;  ///< the one chosen
  /// Headers included; infinite where nothing limits it.
  double cap_bps = 0;
};

/// What it has done in a run, for its notes.
struct WideAreaUse {
  std::uint64_t transfers = 0;  ///< over wide-area lines, with a rate that TCP limits
  std::uint64_t slowed = 0;     ///< to less than the slowest link of their path has
  WideAreaRate slowest;         ///< of those slowed
  NodeId source = NodeId::none();
  NodeId destination = NodeId::none();

  /// Requires: a rate on a path of a transfer over `queue_pairs` of these.
  void count(const WideAreaRate& rate, std::uint32_t queue_pairs, const Transfer& transfer, std::uint32_t multiplicity);
};

class WideAreaPaths {
 public:
  /// Keeps a reference to the topology. `wire_per_payload`: of full packets.
  WideAreaPaths(const Topology& topology, const WideAreaSettings& settings, Duration switching_delay, double wire_per_payload);
  WideAreaPaths(const Topology& topology, const FlowSettings& settings);

  /// Whether lines change anything at all.
  bool act() const { return has_caps_ || has_jitter_; }
  bool have_jitter() const { return has_jitter_; }
  /// Whether what crosses the link is slowed down or delayed.
  bool act_on(LinkId link) const { return act() && topology_.wide_area(link) != nullptr; }

  /// Whether one of the links is a line with a jitter or one on which TCP is limited.
  bool limit(std::span<const LinkId> links) const;
  /// Nothing where the path crosses no line. `loads`: of what is sent, by link; empty: 1 each.
  std::optional<WideAreaRate> rate(std::span<const LinkId> links, std::span<const double> loads) const;
  /// Of one message over one queue pair; zero where it crosses no line with a jitter.
  Duration jitter(std::span<const LinkId> links, std::span<const double> loads, const Transfer& transfer, std::uint32_t queue_pair,
                  Time start) const;

 private:
  const Topology& topology_;
  WideAreaSettings settings_;
  Duration switching_delay_;
  double wire_per_payload_;
  bool has_caps_ = false;
  bool has_jitter_ = false;
};

}  // namespace weft
