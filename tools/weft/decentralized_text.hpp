// SPDX-License-Identifier: Apache-2.0
// What `weft project decentralized` prints: a page and JSON.
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/weft/decentralized_flags.hpp"

namespace weft {

std::string decentralized_page(const ProjectedSites& projected);
/// With what was asked, variable by variable.
nlohmann::ordered_json decentralized_json(const ProjectedSites& projected);

}  // namespace weft
