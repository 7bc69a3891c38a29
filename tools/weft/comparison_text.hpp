// SPDX-License-Identifier: Apache-2.0
// What `weft compare` prints.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/compare/comparison.hpp"

namespace weft {

/// What differs in what went in, then in what came out, the largest changes of jobs and links.
std::string comparison_page(const ComparedSide& a, const ComparedSide& b, const Comparison& comparison);
/// All differences.
nlohmann::ordered_json comparison_json(const ComparedSide& a, const ComparedSide& b, const Comparison& comparison);

}  // namespace weft
