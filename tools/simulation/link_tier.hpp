// SPDX-License-Identifier: Apache-2.0
// Link tier: which levels of the network a link joins, as tables name it.
// Threads: pure functions.
#pragma once

#include <string>

#include "core/values/ids.hpp"

namespace weft {

class Topology;

/// Both ends are in one host.
bool is_inside_host(const Topology& topology, LinkId link);

/// "host->leaf", "spine->agg"; "host" of a link inside a host.
std::string link_tier(const Topology& topology, LinkId link);

}  // namespace weft
