// SPDX-License-Identifier: Apache-2.0
// Topology summary: the figures that tell what a topology is, for `weft topology show`.
//
// Where it sits: reads a Topology; the tools print the text or the figures.
//
// Model
//   Tier of a packet switch = fewest cables between it and a NIC or endpoint; the switch that a NIC
//   is cabled to is tier 1, whatever level the source gave it.
//   Of a tier: rate_down = sum of its cables to lower tiers and hosts, rate_up = sum of its cables
//   to the next tier, both one way. Oversubscription = rate_down / rate_up: above 1, hosts can
//   offer more than the tier takes up. Diameter = most links on a shortest path between endpoints
//   of two hosts, or inside a host. Measured from every endpoint while that is cheap, else from two
//   endpoints far apart, which is a lower bound (and exact for all built fabrics).
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/topology.hpp"

namespace weft {

struct TopologySummary {
  static constexpr std::uint32_t no_tier = UINT32_MAX;

  struct Tier {
    std::uint32_t tier = 0;
    std::uint32_t switches = 0;
    std::uint32_t ports_min = 0;  ///< of one switch
    std::uint32_t ports_max = 0;
    double rate_down_bps = 0;
    double rate_up_bps = 0;    ///< 0 at the top
    double rate_same_bps = 0;  ///< to switches of the same tier
  };
  struct CableClass {
    std::string from;  ///< "gpu", "nic", "tier 1", ...
    std::string to;
    Bandwidth rate;
    Bandwidth rate_back;
    Duration delay;
    std::uint32_t count = 0;
    /// Of wide-area lines, whose ends are those of the first by name.
    std::optional<WideAreaLine> line = {};
    std::optional<WideAreaLine> line_back = {};
  };

  std::string name;
  std::uint32_t hosts = 0;
  std::uint32_t gpus = 0;
  std::uint32_t ports = 0;  ///< endpoints of hosts without GPUs
  std::uint32_t nvswitches = 0;
  std::uint32_t nics = 0;
  std::uint32_t pcie_switches = 0;
  std::uint32_t switches = 0;
  std::uint32_t cables = 0;
  std::uint32_t gpus_per_host_min = 0;  ///< endpoints, to be exact
  std::uint32_t gpus_per_host_max = 0;
  std::vector<Tier> tiers;
  std::vector<CableClass> cable_classes;
  std::uint32_t diameter_links = 0;
  bool diameter_is_exact = true;
  std::vector<std::string> assumptions;  ///< of the topology
};

TopologySummary summarize(const Topology& topology);

/// Tier per node; 0 for everything inside a host, no_tier for a switch that is joined to nothing.
std::vector<std::uint32_t> tiers_of(const Topology& topology);

/// A table for people.
std::string to_text(const TopologySummary& summary);

}  // namespace weft
