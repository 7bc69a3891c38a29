// SPDX-License-Identifier: Apache-2.0
// Simulated iteration: a training job on a cluster's fabric in flow mode, alone or with neighbours.
//
// Where it sits: `weft project training` prints it beside the estimate, searches take it for the
// best plans.
//
// Model: the job comes first and gets the first GPUs of the cluster's placement; neighbours follow
// as the scenario submits them. It runs `iterations` iterations, of which the last counts, from the
// end of the one before: ranks that are done early begin the next while others still update. The
// run ends with the job.
// Threads: one thread per call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/values/units.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "workloads/dag/dag_fwd.hpp"

namespace weft {

/// A link on which the job got less than its hosts' own links would have given it.
struct BlamedLink {
  std::string link;
  bool is_own = false;     ///< by the job's own transfers alone
  std::string trigger;     ///< the job whose start began it
  double congested_s = 0;  ///< of the run
  double lost_share = 0;   ///< of what the job could have had meanwhile
};

struct SimulatedIteration {
  Duration iteration;
  Duration exposed;  ///< communication that no computation hid, mean over ranks
  /// By communicator, seconds of an iteration; where several are under way each counts.
  std::vector<std::pair<std::string, double>> exposed_s;
  std::optional<BlamedLink> blamed;  ///< that cost it most
  std::uint64_t ranks_simulated = 0;
};

struct SimulationRequest {
  std::shared_ptr<const Workload> workload;
  std::string name;  ///< of the job; it gets another one if a neighbour has it
  std::uint64_t iterations = 2;
  bool with_neighbours = false;  ///< the cluster's jobs
  bool finds_blame = true;
  /// ring.messages_max, if the cluster's scenario does not say.
  std::optional<std::uint32_t> ring_messages = {};
};

/// `wanted`, or with a number behind it as long as a job of the cluster has that name.
std::string free_job_name(const Scenario& cluster, const std::string& wanted);

/// Throws InputError as a run does.
SimulatedIteration simulate_iteration(const Scenario& cluster, const SimulationRequest& request, RunOptions options);

}  // namespace weft
