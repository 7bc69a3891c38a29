// SPDX-License-Identifier: Apache-2.0
// Placer: which free GPUs a job gets.
//
// Where it sits: JobLifecycle asks it whenever the policy wants to start a job. Placers are chosen
// by name from placers().
//
// Contract
//   1. All or nothing (gang): a placement has exactly as many distinct free GPUs as asked for, or
//      there is none.
//   2. A function of the cluster state and the number of GPUs; it changes neither.
//   3. The order of the GPUs is the order of the job's ranks.
// Thread safety: immutable; called from the scheduler's logical process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/text/params.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"

namespace weft {

class Placer {
 public:
  virtual ~Placer() = default;
  /// GPUs for a job of `gpus`, if they can be had now. Requires: gpus > 0.
  virtual std::optional<Placement> place(const ClusterState& cluster, std::uint32_t gpus) const = 0;
};

/// What a placer may know of the run when it is made.
struct PlacerContext {
  /// GPUs that each job wants, > 0; empty where that is not known
  std::vector<std::uint32_t> job_sizes = {};
  /// null where the cluster is given as hosts and GPUs only
  std::shared_ptr<const Topology> topology = nullptr;
};

using PlacerFactory = std::unique_ptr<Placer> (*)(const ParamSet& params, const PlacerContext& context);

/// Every placer there is.
std::span<const Module<PlacerFactory>> placers();

}  // namespace weft
