// SPDX-License-Identifier: Apache-2.0
// What `weft explain` prints.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/explain/explanation.hpp"

namespace weft {

std::string explanation_page(const Explanation& explanation);
nlohmann::ordered_json explanation_json(const Explanation& explanation);
/// The same with critical paths piece by piece, for a file beside the results of the run that it is
/// of.
nlohmann::ordered_json explanation_json_of_run(const Explanation& explanation, const std::string& fingerprint);

}  // namespace weft
