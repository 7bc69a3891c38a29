// SPDX-License-Identifier: Apache-2.0
// Switch entries: `switches { ... }` of a scenario, which gives switches memory and marks of their
// own in packet mode.
//
// Where it sits: load_scenario() reads them once the topology is known; the assembly puts them
// before the profiles of packet.profiles, which stand where both set something.
// Errors, at the entry or its field: [switches-content], [unknown-switch], and those of parameters.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/text/textproto.hpp"
#include "host/transport/switch_profiles.hpp"
#include "tools/simulation/scenario.pb.h"

namespace weft {

/// In order: where several name a switch and set the same, the last one stands. Throws InputError
/// with all that is wrong.
std::vector<SwitchProfile> read_switch_entries(const scenario::Scenario& scenario, const FieldPlaces& places,
                                               const Topology& topology);

/// For the manifest: "tier 1: buffer=64MB; leaf*: ecn_pmax=0.5".
std::string text_of_switch_entries(const scenario::Scenario& scenario, const FieldPlaces& places);

}  // namespace weft
