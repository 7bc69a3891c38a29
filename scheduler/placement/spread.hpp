// SPDX-License-Identifier: Apache-2.0
// Spread: as many hosts as there are, each as few GPUs as can be, so that a job has the most NICs'
// bandwidth for each GPU and hosts stay cool.
//
// Model: hosts with free GPUs, those with most of them first; the job takes one GPU of each in
// turn, round by round, until it has all. Ranks go host by host. On an empty cluster of h equal
// hosts a job of n GPUs has ceil(n / h) or floor(n / h) on each, or one on n of them.
// Thread safety: immutable.
#pragma once

#include "scheduler/placement/placer.hpp"

namespace weft {

class Spread final : public Placer {
 public:
  std::optional<Placement> place(const ClusterState& cluster, std::uint32_t gpus) const override;
};

Module<PlacerFactory> spread_module();

}  // namespace weft
