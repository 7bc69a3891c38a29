// SPDX-License-Identifier: Apache-2.0
// Unloaded paths: what a message between two endpoints takes while nothing else is under way.
//
// Where it sits: what a run says of slots and windows (tools/simulation/run_notes) holds them
// against the bandwidth-delay products of paths.
//
// Model: as network/flow/flow_fabric moves a message that meets nobody. Its queue pairs share it
// evenly; the rate of all together is the least, over the links of their paths, of the link's rate
// over the part of the message that crosses it, and no more than the caps of queue pairs and of
// staging. Under adaptive routing queue pairs take the paths that they would take by hash, which
// are as long.
//
// Threads: one.
#pragma once

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/flow/inside_host.hpp"
#include "network/flow/staging.hpp"
#include "network/routing/path_delay.hpp"
#include "network/routing/spray.hpp"
#include "network/wide_area/wide_area_paths.hpp"

namespace weft {

class Topology;

class UnloadedPath {
 public:
  /// From the first byte until the last has left the source. An empty message takes none.
  Duration leave_time(Bytes payload) const;
  /// From being handed over until the destination hears of it.
  Duration message_time(Bytes payload) const;
  double rate_bps() const { return rate_bps_; }
  /// The link that sets the rate; none() where queue pairs or staging do.
  LinkId slowest() const { return slowest_; }

 private:
  friend class UnloadedPaths;
  const FlowSettings* settings_ = nullptr;
  PathDelay delay_;     ///< the longest of any queue pair
  Duration latencies_;  ///< of both hosts
  double rate_bps_ = 0;
  LinkId slowest_ = LinkId::none();
  bool is_inside_host_ = false;
};

class UnloadedPaths {
 public:
  /// Keeps references.
  UnloadedPaths(const Topology& topology, const FlowSettings& settings);
  /// Requires: source != destination, a path exists (WEFT_CHECK). Valid as long as this.
  UnloadedPath path(NodeId source, NodeId destination, std::uint32_t connection);

 private:
  const Topology& topology_;
  const FlowSettings& settings_;
  LinkDelays delays_;
  InsideHost inside_host_;
  Staging staging_;
  SprayPaths spray_;
  WideAreaPaths wide_area_;
};

}  // namespace weft
