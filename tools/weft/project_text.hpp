// SPDX-License-Identifier: Apache-2.0
// What `weft project training` prints: one column per way of telling the time of an iteration, what
// communicates, and clusters beside each other.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/projections/training_projection.hpp"

namespace weft {

std::string training_page(const TrainingProjection& projection);
nlohmann::ordered_json training_json(const TrainingProjection& projection);

/// One row for each cluster. Requires: one cluster at least, all of one model and plan.
std::string clusters_page(const std::vector<TrainingProjection>& projections);

}  // namespace weft
