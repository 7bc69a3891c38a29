// SPDX-License-Identifier: Apache-2.0
// The flags of `weft project search`, and the plans that they ask for.
//
// Where it sits: the command fills them from its line, the Python module from keywords.
// Threads: one caller; takes others inside.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/projections/plan_search.hpp"
#include "tools/weft/operator_time_flags.hpp"

namespace weft {

struct SearchFlags {
  std::string model;
  std::string cluster;
  std::string base;
  std::uint64_t gpus = 0;
  std::uint64_t global_batch = 0;  ///< 0: so many sequences as have tokens_of_iteration
  std::vector<std::string> settings;
  OperatorTimeFlags operators;
  std::uint64_t simulated = 50;
  double margin = 0;
  bool whole = false;
  std::uint32_t threads = 0;
};

/// What was found, and of what.
struct SearchedPlans {
  SearchResult result;
  std::string model;
  std::string operators;  ///< where operator times come from
  Bytes memory;           ///< of a GPU
  double operations = 0;  ///< of an iteration; 0 where no plan fits
};

/// Either may be empty. Throws InputError: what readers of models and clusters and search_plans()
/// do, [unused-flag].
SearchedPlans searched_plans(SearchFlags flags, std::function<void(const SearchProgress&)> progress,
                             const std::atomic<bool>* interrupt);

}  // namespace weft
