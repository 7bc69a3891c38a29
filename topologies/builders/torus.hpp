// SPDX-License-Identifier: Apache-2.0
// Torus: routers in a grid of any number of dimensions, each joined to its neighbours, as in TPU
// pods and many supercomputers.
//
// Where it sits: a builder (builders.hpp).
//
// Model: direct_fabric.hpp; routers have coordinates (dimensions.hpp). In each dimension a router
// has a cable to the next one and to the one before; with wraparound the last is joined to the
// first, unless there are only two of them, which have one cable. Chips that are cabled to each
// other, such as TPUs, are hosts of one GPU with a router each: an endpoint relays for nobody, a
// chip's own router does.
//   distance = sum over dimensions of |a - b|, with wraparound of min(|a - b|, size - |a - b|):
//   minimal in every dimension. Where a dimension's two ways round are equally long both are next
//   hops, as are all dimensions in which a packet is not home yet.
//
// Not modelled: twisted and rewired (optically switched) tori; dimension-ordered routing, which
// would use one of the paths only.
// Thread safety: pure functions.
#pragma once

#include "topologies/builders.hpp"

namespace weft {

Module<TopologyFactory> torus_module();

}  // namespace weft
