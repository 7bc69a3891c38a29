// SPDX-License-Identifier: Apache-2.0
// Topology builders: fabrics that are built from a name and parameters.
//
// Where it sits: scenarios, topology files and `weft topology build` choose one by name; `weft
// modules topology` prints them. A builder is one file that ends in a Module; adding one means
// adding its line to builders.cpp.
//
// All builders make their graph together with structural Routes, so that next hops need no table.
// Impossible combinations of parameters are InputErrors at the given place.
// Thread safety: constants; factories may be called from any thread.
#pragma once

#include <memory>
#include <span>

#include "core/text/params.hpp"
#include "topologies/topology.hpp"

namespace weft {

using TopologyFactory = std::shared_ptr<const Topology> (*)(const ParamSet& params, const SourcePlace& place);

/// Every builder, in the order in which they are printed.
std::span<const Module<TopologyFactory>> topology_builders();

}  // namespace weft
