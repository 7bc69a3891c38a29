// SPDX-License-Identifier: Apache-2.0
// Platform graph: hosts, switches and cables in the making, as formats that know neither servers
// nor ports describe them.
//
// Where it sits: formats/simgrid fills it, partly through formats/simgrid_cluster and
// formats/route_graph; build() makes the Topology.
//
// Model: a host is one endpoint (NodeKind::host) of its own. In such formats traffic may pass
// through hosts; in a Topology it may not. So a host with several cables gets a switch
// "NAME/router" that takes them over, and a cable to it that is as fast as all of them together and
// takes no time: it never limits.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "topologies/topology.hpp"

namespace weft {

struct PlatformCable {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  Bandwidth rate;
  Duration delay;
};

class PlatformGraph {
 public:
  static constexpr std::uint64_t nodes_max = 1U << 20;
  static constexpr std::uint64_t cables_max = 1U << 22;

  /// Returns the node's number. A name that is taken already gets a number behind it.
  std::uint32_t add_host(const std::string& name) { return add(name, true, 0); }
  std::uint32_t add_switch(const std::string& name, std::uint8_t level = 0) { return add(name, false, level); }
  /// Returns the cable's number. Requires: a != b, rate > 0, delay >= 0.
  std::uint32_t join(std::uint32_t a, std::uint32_t b, Bandwidth rate, Duration delay);

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes_.size()); }
  std::size_t cable_count() const { return cables_.size(); }
  std::uint32_t host_count() const { return host_count_; }
  bool is_host(std::uint32_t node) const { return nodes_[node].is_host; }
  const std::string& name(std::uint32_t node) const { return nodes_[node].name; }

  /// Sum of two rates that does not leave the limits of a link.
  static Bandwidth sum(Bandwidth a, Bandwidth b);

  struct Built {
    std::shared_ptr<const Topology> topology;
    std::vector<NodeId> nodes;   ///< per node of the graph
    std::vector<LinkId> cables;  ///< per cable of the graph: its first direction
  };
  /// Throws what TopologyBuilder::build() throws.
  Built build(const std::string& name, const std::vector<std::string>& assumptions, const SourcePlace& place) const;

 private:
  struct Node {
    std::string name;
    bool is_host = false;
    std::uint8_t level = 0;
  };

  std::uint32_t add(const std::string& name, bool is_host, std::uint8_t level);

  std::vector<Node> nodes_;
  std::vector<PlatformCable> cables_;
  std::set<std::string> names_;
  std::uint32_t host_count_ = 0;
};

}  // namespace weft
