// SPDX-License-Identifier: Apache-2.0
// Connected parts: which switches of a network reach each other while some of its cables are out,
// and at which of these parts an endpoint is.
//
// Where it sits: topologies/cut_off finds with it who has no way to the rest;
// topologies/searched_routes asks whether hosts relay.
//
// Model: packet switches and NICs that cables in service join make a part. A NIC with cables to
// several switches joins them only where hosts relay (nics_relay); elsewhere it stands at each of
// their parts, as a NIC with a port in each of two planes does. An endpoint is at a part if a way
// inside its host leads to one of its NICs or switches; a host's PCIe switches are a way for nobody
// else.
// Thread safety: belongs to its owner.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/containers/disjoint_sets.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// Whether no NIC has cables to several switches, so that it does not matter whether hosts relay.
bool has_one_port_nics(const Topology& topology);

/// Whether foreign traffic passes through hosts by way of NICs with several ports (BCube): all
/// cables in service, there is no part at which all endpoints with a way out of their host would be
/// if NICs joined nothing.
bool nics_relay(const Topology& topology);

class ConnectedParts {
 public:
  /// `is_out` is by LinkId, alike in both directions. `relay`: as nics_relay() says. Keeps
  /// references.
  ConnectedParts(const Topology& topology, const std::vector<bool>& is_out, bool relay);

  struct Place {
    bool has_way_out = false;              ///< of its host, be it in service or not
    std::span<const std::uint32_t> parts;  ///< ascending; valid until the next call
  };
  Place of(NodeId endpoint);

 private:
  void note(LinkId way, NodeId node);

  const Topology& topology_;
  const std::vector<bool>& is_out_;
  bool relay_;
  DisjointSets parts_of_nodes_;
  std::vector<std::uint32_t> seen_;  ///< by node: the endpoint whose search met it last
  std::vector<NodeId> open_;
  bool has_way_out_ = false;
  std::vector<std::uint32_t> parts_;
};

}  // namespace weft
