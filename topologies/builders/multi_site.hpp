// SPDX-License-Identifier: Apache-2.0
// Multi-site: several equal fabrics in different places, joined by WAN links.
//
// Where it sits: a builder (builders.hpp).
//
// Model: each site is a fabric of another builder, named by `fabric` and told its parameters by
// `fabric_params`. A site has borders_per_site border routers, each with a cable to every switch of
// the fabric's top tier. In a mesh border router b of a site has a WAN line to border router b of
// every other site; with a hub every border router has one to a core switch, at which hosts may
// stand, too. wan_lines says what lines are like; all are wide-area lines of the topology. Border
// routers and the core are packet switches of level 0 with a deep buffer, border_buffer. Blanks and
// commas separate the parameters in fabric_params, so that a range of host_groups can set one
// parameter only there.
// Thread safety: pure functions.
#pragma once

#include "topologies/builders.hpp"

namespace weft {

Module<TopologyFactory> multi_site_module();

}  // namespace weft
