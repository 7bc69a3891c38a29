// SPDX-License-Identifier: Apache-2.0
// Dragonfly: groups of routers that look like one large router each, joined all to all (Kim, Dally,
// Scott, Abts: ISCA 2008).
//
// Where it sits: a builder (builders.hpp).
//
// Model: direct_fabric.hpp; g groups of a routers, p hosts and h global cables per router, section
// 3.1 of the paper. Routers of a group are all joined. Router r of a group owns the group's global
// ports r*h .. r*h + h - 1, of a*h in all, and g <= a*h + 1. Of these ports g - 1 go to the other
// groups, one each, as long as they last: port i leads to
//   consecutive   group i, or i + 1 if that is not below the group's own number
//   palmtree      group (own number - i - 1) modulo g
// (Camarero, Vallejo, Beivide: Topological characterization of Hamming and dragonfly networks,
// 2014.) With fewer groups than a*h + 1 the g - 1 are repeated as often as they fit; ports left
// over stay free.
//   distance is 0 to 3: any two routers meet by local - global - local.
//
// What the paper's minimal routing has and this has not: at most one global cable. Routes of Weft
// are all the paths of fewest cables, and a path of two global cables over a third group may have
// as few; it is one of the choices of ECMP then. Of the pairs of routers in different groups of the
// 72-host dragonfly (palmtree) that is so for 33 %; for another 3 % such a path has fewer.
// AvailableRoutes around load (Valiant, UGAL) are not modelled.
// Thread safety: pure functions.
#pragma once

#include "topologies/builders.hpp"

namespace weft {

Module<TopologyFactory> dragonfly_module();

}  // namespace weft
