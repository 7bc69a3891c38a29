// SPDX-License-Identifier: Apache-2.0
// Private links: the ways between endpoints of one host that no other transfer ever takes.
//
// Where it sits: host/inside builds them for the ranks that a job has on a host; inside_network
// moves transfers over them.
//
// Model: links of NVSwitches and cables between two endpoints carry what stays inside the host and
// nothing else, and no path passes through an endpoint (topologies/topology): a link with an end at
// an endpoint carries what this one sends or gets. So transfers among a set of endpoints share no
// link with others as long as all of them have one way to each other, over such links: no way over
// PCIe, which traffic of the NICs takes too, none from one NVSwitch to another, and no choice of
// ways, which hashing would make.
// Two sets whose links are alike, in the order of their endpoints, move the same transfers in the
// same time.
// Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/flow/private_flows.hpp"

namespace weft {

class Topology;

class PrivateLinks {
 public:
  /// Null where the links of these endpoints are not private. Requires: endpoints of one host,
  /// each once.
  static std::shared_ptr<const PrivateLinks> among(const Topology& topology, const LinkDelays& delays,
                                                   std::vector<NodeId> endpoints);

  /// Place of an endpoint among those given. Requires: it is one of them.
  std::size_t place_of(NodeId endpoint) const;
  /// Requires: two different places.
  const PrivateWay& way(std::size_t from, std::size_t to) const { return ways_[from * endpoints_.size() + to]; }
  /// Bits per second, by number.
  std::span<const double> capacities_bps() const { return capacities_bps_; }
  /// In the topology, by number.
  std::span<const LinkId> links() const { return links_; }
  bool is_like(const PrivateLinks& other) const { return ways_ == other.ways_ && capacities_bps_ == other.capacities_bps_; }

 private:
  PrivateLinks() = default;

  std::vector<NodeId> endpoints_;
  std::vector<PrivateWay> ways_;  ///< by two places
  std::vector<LinkId> links_;
  std::vector<double> capacities_bps_;
};

}  // namespace weft
