// SPDX-License-Identifier: Apache-2.0
// The <cluster> of SimGrid: many hosts alike, joined as one of its four shapes.
//
// Where it sits: formats/simgrid reads the attributes into a SimgridCluster; this adds hosts,
// switches and cables to the PlatformGraph.
//
// Model (kernel/routing/{StarZone,FatTreeZone,DragonflyZone,TorusZone}.cpp of SimGrid)
//   FLAT       a switch named as the router, a cable per host. A backbone adds half of its delay to
//              every host's cable and caps its rate; for traffic that leaves the cluster it is a
//              cable between the switch and the router, as wide as it is. What all hosts together
//              may send over it is not limited.
//   FAT_TREE   "levels;children,..;parents,..;cables,.." (k-ary n-trees as in "D-Mod-K routing" by
//              Zahavi): a node of level l is joined to those of level l + 1 whose label differs in
//              digit l only, by so many parallel cables
//   DRAGONFLY  "groups,cables;chassis,cables;blades,cables;nodes": the blades of a chassis are all
//              joined (green), blades of the same number in the chassis of a group too (black), and
//              router j of group i to router i of group j (blue). So many cables count as one of
//              their rate together, as in SimGrid.
//   TORUS      "x,y,..": every host has a router; routers next to each other in one dimension are
//              joined, around the ends too. Along a dimension of two there is one cable.
// Every cable has the cluster's rate and latency.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/formats/platform_graph.hpp"

namespace weft {

struct SimgridCluster {
  enum class Shape : std::uint8_t { flat, fat_tree, dragonfly, torus };
  struct Backbone {
    Bandwidth rate;
    Duration delay;
    bool shared = true;
  };

  std::string name;
  std::vector<std::string> hosts;
  std::string router;            ///< its name
  bool router_is_named = false;  ///< some route of the file leads to it
  Shape shape = Shape::flat;
  std::vector<std::vector<std::uint32_t>> parameters;  ///< lists between ";", numbers between ","
  Bandwidth rate;
  Duration delay;
  bool shared = true;
  std::optional<Backbone> backbone;
};

/// Why a cluster cannot be built.
struct ClusterError {
  std::string code;
  std::string message;
  std::string help;
};

/// Adds the cluster, or says what is wrong with it: [bad-topology], [count-mismatch], [too-large].
std::optional<ClusterError> add_cluster(PlatformGraph& graph, const SimgridCluster& cluster);

}  // namespace weft
