// SPDX-License-Identifier: Apache-2.0
// Plan search: the best plans of a model on a cluster.
//
// Where it sits: `weft project search` prints what it finds.
//
// Model
//   1. every plan of the space that breaks no rule (host/projections/plan_space)
//   2. those whose memory fits, with a margin (host/memory)
//   3. in the order of their iteration estimates (host/projections/iteration_estimate)
//   4. the first of them simulated in flow mode, with what stays inside hosts combined, and put in
//      the order of what came out. Rings of replicas of which a host has four at most send 8
//      messages for all rounds, under ZeRO 3 16 (host/collectives/ring). Without neighbours, under
//      ZeRO 3 without a pipeline and without BLOCK recomputation, 8 and 16 layers alike stand for
//      32 and more, and the iteration goes on as they differ
// Pareto: plans of which no other takes less memory and no more time.
// Threads: one caller; plans are shared out over threads and each is a function of itself alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/values/units.hpp"
#include "host/op_times/operator_times.hpp"
#include "host/projections/iteration_estimate.hpp"
#include "host/projections/plan_space.hpp"
#include "tools/projections/simulated_iteration.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

struct FoundPlan {
  ParallelPlan plan;
  Bytes memory;  ///< of the stage that needs most, without the margin
  IterationEstimate estimate;
  std::optional<Duration> simulated;  ///< iteration

  Duration iteration() const { return simulated.value_or(estimate.iteration); }
};

struct SearchProgress {
  const char* what = "";  ///< "plans ranked", "plans simulated"
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

struct SearchRequest {
  PlanSpace space;
  std::uint64_t simulated = 50;  ///< how many
  Bytes memory;                  ///< of a GPU
  double margin = 0;             ///< of a plan's memory, that has to fit, too
  bool with_neighbours = false;  ///< the cluster's jobs run beside the plans that are simulated
  bool whole = false;            ///< all layers, and all rounds of rings
  std::uint32_t threads = 1;
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const SearchProgress&)> progress;  ///< from one thread at a time
};

struct SearchResult {
  bool interrupted = false;              ///< then nothing below says anything
  std::vector<FoundPlan> plans;          ///< that fit: simulated ones first, each by iteration time
  std::uint64_t refused = 0;             ///< combinations that break a rule
  std::uint64_t out_of_memory = 0;       ///< plans
  std::optional<Bytes> least_too_large;  ///< memory of the smallest of these
  std::uint64_t without_schedule = 0;    ///< whose schedule does not exist for their numbers
  /// Of estimates and simulations of the plans that were simulated.
  std::optional<double> correlation;
  /// By plan: its rank among those simulated as the estimate had it, from 1; 0: not simulated.
  std::vector<std::uint64_t> estimated_rank;
  std::vector<std::size_t> pareto;  ///< indices of `plans`, by memory
};

/// Throws InputError of plans_in(), of clocks and of runs.
SearchResult search_plans(const TransformerModel& model, const Scenario& cluster, const OperatorTimes& times,
                          const SearchRequest& request, const SourcePlace& place);

}  // namespace weft
