// SPDX-License-Identifier: Apache-2.0
// Service: which parts of the cluster fail, which hosts are spares, and when hosts are drained.
//
// Where it sits: load_scenario() asks when the cluster is known. Logs and plans are read here;
// events add to them later.
// Thread safety: belongs to one thread.
#pragma once

#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// Fills failures and maintenance of the scenario. Throws InputError.
void read_service(Scenario& scenario);

/// Whether a run with failing switches and links can go on after they fail. Requires: events have
/// been read. Throws InputError.
void check_network_failures(const Scenario& scenario);

}  // namespace weft
