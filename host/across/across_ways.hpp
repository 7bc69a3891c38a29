// SPDX-License-Identifier: Apache-2.0
// Across ways: where the messages of a collective between hosts go.
//
// Where it sits: host/across/across_traffic finds them once for a group and a plan, and has the
// group's transfers move over them while nothing else does (network/flow/private_flows).
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/ranks/job.hpp"
#include "network/flow/private_flows.hpp"

namespace weft {

class FlowFabric;
class Topology;

class AcrossWays {
 public:
  /// Over the fabric's hashed paths.
  AcrossWays(const RunningJob& job, std::uint16_t communicator, GroupId group, const CollectivePlan& plan, const Topology& topology,
             FlowFabric& fabric);

  /// Requires: a message of the collective; `position` is that of its source.
  const PrivateWay& way(std::uint32_t position, const Transfer& transfer) const;
  std::size_t size() const { return size_; }
  /// In the topology, by number.
  std::span<const LinkId> links() const { return links_; }
  /// Bits per second, by number.
  std::span<const double> capacities_bps() const { return capacities_bps_; }

 private:
  struct Entry {
    NodeId destination;
    std::uint32_t connection = 0;
    PrivateWay way;
  };
  std::vector<std::vector<Entry>> ways_;  ///< by position of the source
  std::size_t size_ = 0;
  std::vector<LinkId> links_;
  std::vector<double> capacities_bps_;
};

/// Of every position, how many connections it sends over; the most.
std::size_t connections_max(const CollectivePlan& plan);

}  // namespace weft
