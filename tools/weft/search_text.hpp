// SPDX-License-Identifier: Apache-2.0
// What `weft project search` prints.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/projections/plan_search.hpp"

namespace weft {

struct SearchPage {
  std::string model;
  std::string cluster;
  std::string operators;  ///< where operator times come from
  std::uint64_t gpus = 0;
  Bytes memory;           ///< of a GPU
  double operations = 0;  ///< of an iteration
  std::uint64_t shown = 20;
  bool whole = false;  ///< iterations were simulated whole
  const SearchResult* result = nullptr;
};

std::string search_page(const SearchPage& page);
nlohmann::ordered_json search_json(const SearchPage& page);

/// " 42 % of 5120 plans ranked  12 s left"
std::string search_progress_text(const SearchProgress& progress, double elapsed_s);

}  // namespace weft
