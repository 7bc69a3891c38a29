// SPDX-License-Identifier: Apache-2.0
// Host speed entries: what a scenario file says of the speed of hosts.
//
// Where it sits: the scenario reader asks once the cluster is known; host/ranks/host_speed makes
// speeds of the entries.
#pragma once

#include <cstdint>
#include <vector>

#include "core/text/textproto.hpp"
#include "host/ranks/host_speed.hpp"
#include "tools/simulation/scenario.pb.h"

namespace weft {

/// Throws InputError with everything that is wrong: [bad-hosts], [missing-field], [bad-value],
/// [out-of-range].
std::vector<HostSpeedEntry> read_host_speeds(const scenario::Scenario& scenario, const FieldPlaces& places,
                                             std::uint32_t host_count);

}  // namespace weft
