// SPDX-License-Identifier: Apache-2.0
// HyperX: switches in a grid, all switches of a line joined with each other (Ahn, Binkert, Davis,
// McLaren, Schreiber: SC 2009).
//
// Where it sits: a builder (builders.hpp).
//
// Model: direct_fabric.hpp; a regular HyperX (L, S, K, T) of the paper: L dimensions of S_i
// switches, T hosts per switch, K cables between every two switches that differ in one coordinate
// only. One dimension is the full mesh, two are the flattened butterfly, all sizes 2 the hypercube.
//   distance = number of coordinates that differ; every order of correcting them is a shortest
//   path.
//   Switch ports: T * nics_per_host + K * sum of (S_i - 1). The bisection across dimension i, S_i
//   even, cuts K * S_i / 4 * (product of all sizes) cables.
//
// Not modelled: K and the rate that differ by dimension.
// Thread safety: pure functions.
#pragma once

#include "topologies/builders.hpp"

namespace weft {

Module<TopologyFactory> hyperx_module();

}  // namespace weft
