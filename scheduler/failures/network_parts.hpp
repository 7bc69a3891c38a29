// SPDX-License-Identifier: Apache-2.0
// Network parts: switches and cables of a topology that can fail, and their names.
//
// Where it sits: scheduler/failures/part numbers what fails; this says what the numbers of kinds
// `packet_switch` and `link` stand for.
//
// Model: every packet switch, and every cable that leaves a host or joins two switches; its two
// directions fail together. Cables inside a host belong to its GPUs, NICs and the rest of it. Names
// are Topology::node_name() and, for a cable, link_name() of either direction: "leaf0",
// "leaf0->spine1".
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduler/failures/part.hpp"
#include "topologies/topology.hpp"

namespace weft {

class NetworkParts {
 public:
  /// Requires: not null.
  explicit NetworkParts(std::shared_ptr<const Topology> topology);

  const Topology& topology() const { return *topology_; }
  std::span<const NodeId> switches() const { return switches_; }
  /// The first direction of each.
  std::span<const LinkId> cables() const { return cables_; }
  /// Of a switch or a link: what carries nothing without it.
  std::vector<LinkId> cables_of(const Part& part) const;
  std::string name(const Part& part) const;
  std::map<std::string, Part, std::less<>> names() const;

 private:
  std::shared_ptr<const Topology> topology_;
  std::vector<NodeId> switches_;
  std::vector<LinkId> cables_;
};

}  // namespace weft
