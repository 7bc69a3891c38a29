// SPDX-License-Identifier: Apache-2.0
// What `weft project training` prints of the literature: the projection from a node to a cluster
// and other estimators, as published beside what is right, and measured layers beside calculated
// ones.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/projections/training_projection.hpp"

namespace weft {

std::string nodes_page(const NodesComparison& nodes);
nlohmann::ordered_json nodes_json(const NodesComparison& nodes);

std::string estimates_table(const std::vector<LiteratureEstimate>& estimates);
nlohmann::ordered_json estimates_json(const std::vector<LiteratureEstimate>& estimates);

/// By kind of layer; `compares`: with those of the clock and the difference.
std::string layers_table(const MeasuredBench& bench, bool compares);
nlohmann::ordered_json layers_json(const MeasuredBench& bench);

}  // namespace weft
