// Link delays: what crossing each link takes, whatever is sent.
//
// Where it sits: flow_fabric, switch_operations and host/folding_paths add them up along paths.
#pragma once

#include <vector>

#include "core/units.hpp"

namespace weft {

class Topology;

/// By LinkId: propagation, and switching where the link ends at a packet switch.
std::vector<Duration> link_delays(const Topology& topology, Duration switching_delay);

}  // namespace weft
