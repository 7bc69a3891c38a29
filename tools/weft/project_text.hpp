// SPDX-License-Identifier: Apache-2.0
// What `weft project training` prints: one column per way of telling the time of an iteration.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/values/units.hpp"
#include "tools/projections/simulated_iteration.hpp"

namespace weft {

struct ProjectionColumn {
  std::string name;  ///< "isolated", "simulated", "with neighbours"
  Duration iteration;
  std::vector<std::pair<std::string, double>> exposed_s;  ///< by axis, where several overlap each counts
  std::optional<Duration> exposed;                        ///< of all together
  std::optional<BlamedLink> blamed;
  std::uint64_t ranks_simulated = 0;  ///< 0: none
};

struct TrainingProjection {
  std::string model;
  std::string plan;       ///< "TP 4, CP 2, PP 4 x 5, DP 2"
  std::string cluster;    ///< "8 hosts of 8 GPUs (hgx_h100)"
  std::string operators;  ///< where operator times come from
  std::uint64_t gpus = 0;
  std::uint64_t global_batch = 0;  ///< sequences
  std::uint64_t sequence = 0;      ///< tokens
  std::uint64_t microbatches = 0;
  double operations = 0;                                ///< of an iteration
  std::optional<double> peak;                           ///< operations per second of a GPU in the type of the products
  std::optional<double> tokens;                         ///< to train on
  std::vector<std::pair<std::string, Duration>> parts;  ///< of the isolated iteration, which they add up to
  std::vector<ProjectionColumn> columns;
  std::vector<std::string> notes;

  double tokens_per_iteration() const { return static_cast<double>(global_batch) * static_cast<double>(sequence); }
};

std::string training_page(const TrainingProjection& projection);
nlohmann::ordered_json training_json(const TrainingProjection& projection);

}  // namespace weft
